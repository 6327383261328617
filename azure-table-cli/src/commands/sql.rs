//! `sql`: the program `azure-table-sql`, a package of its own because of its size.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use clap::ValueEnum as _;

use crate::args::{Globals, Sql};
use crate::connect::{Connection, Target};
use crate::failure::{Exit, Failure, Result};

pub(crate) fn run(args: Sql, globals: &Globals) -> Result<()> {
    let name = format!("azure-table-sql{}", env::consts::EXE_SUFFIX);
    let own_folder = env::current_exe().ok().and_then(|path| path.parent().map(Path::to_owned));
    let path = env::var_os("PATH").unwrap_or_default();
    let Some(program) = find(&name, own_folder.as_deref(), &path) else {
        return Err(Failure::new(
            Exit::Failed,
            "azure-table-sql is not installed: it is neither in the folder of azure-table nor in PATH \
             (in a clone of the repository: cargo install --path data/azure-table-sql)",
        ));
    };
    let mut command = Command::new(&program);
    connect(&mut command, &globals.connection)?;
    command.args(args.arguments);
    let status =
        become_program(&mut command).map_err(|error| Failure::file("run", &program, error))?;
    match status.code() {
        Some(0) => Ok(()),
        // The program reported its error.
        Some(code) => Err(Failure::silent(u8::try_from(code).map_or(Exit::Failed, Exit::of_code))),
        None => Err(Failure::new(Exit::Failed, format!("azure-table-sql was stopped: {status}"))),
    }
}

/// Replaces this program by the other one, which then receives the signals and returns its exit code to the shell. Returns only
/// if that fails.
#[cfg(unix)]
fn become_program(command: &mut Command) -> io::Result<ExitStatus> {
    Err(std::os::unix::process::CommandExt::exec(command))
}

/// Runs the program until it ends. Ctrl-C does not end this one, which returns the exit code of the program.
#[cfg(windows)]
fn become_program(command: &mut Command) -> io::Result<ExitStatus> {
    let _ctrl_c = tokio::signal::windows::ctrl_c()?;
    command.status()
}

/// Passes the connection on: a connection string by the environment, since other users see arguments. Without an account there
/// is nothing to pass on, because the help text of the program works without one.
fn connect(command: &mut Command, connection: &Connection) -> Result<()> {
    if let Some(dialect) = connection.dialect.and_then(|dialect| dialect.to_possible_value()) {
        command.arg(format!("--dialect={}", dialect.get_name()));
    }
    if connection.allow_http {
        command.arg("--allow-http");
    }
    if let Some(endpoint) = connection.sign_in()? {
        command.arg(format!("--connection-from=entra:{endpoint}"));
        return Ok(());
    }
    match connection.target().map(Target::connection_string) {
        Ok(Some(text)) => {
            command.env("AZURE_STORAGE_CONNECTION_STRING", &*text);
        }
        Err(failure) if connection.is_given() => return Err(failure),
        Ok(None) | Err(_) => {}
    }
    Ok(())
}

/// Returns the program in its own folder, or in the first folder of `path` that has it.
fn find(name: &str, own_folder: Option<&Path>, path: &OsStr) -> Option<PathBuf> {
    let folders = own_folder.map(Path::to_owned).into_iter().chain(env::split_paths(path));
    folders
        .filter(|folder| !folder.as_os_str().is_empty())
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}
