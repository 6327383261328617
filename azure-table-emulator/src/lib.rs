//! The emulator as a function: a stand-alone Azure Table Storage for development and tests. It hosts the service of
//! [`azure_table_client::mock`] and a page that shows the stored tables.
//!
//! The program `azure-table-emulator` calls [`run`], and so does `azure-table serve`. Tests in Rust need neither:
//! they start the service in memory with `MockTableService`.
//!
//! Each module uses only modules to its left: `(control_token, folder, limits, options, socket, structs) <- (body, log, oauth, stream, tls)
//! <- (accounts, health, start) <- gate <- page_state <- shared <- page <- control <- exchange <- connections <- host`.

mod accounts;
mod body;
mod connections;
mod control;
mod control_token;
mod exchange;
mod folder;
mod gate;
mod header_case;
mod health;
mod host;
mod limits;
mod log;
mod oauth;
mod options;
mod page;
mod page_state;
mod shared;
mod socket;
mod start;
mod stream;
#[doc(hidden)]
pub mod structs;
mod tls;

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use accounts::Accounts;
use options::{Command, HELP, Options};
use tls::Https;

/// The number of steps of tasks between two looks at the sockets.
const STEPS_PER_POLL: u32 = 8;
/// The time that tasks have to end after the last request.
const SHUTDOWN: Duration = Duration::from_secs(1);
/// The exit code for invalid options.
const BAD_OPTIONS: u8 = 2;

/// Runs the emulator until it receives a stop signal (Ctrl-C, or SIGTERM on Unix), and returns the exit code: 0 after
/// a stop signal, 1 after a failure, 2 for invalid options.
///
/// `arguments` are those of the program without its name; `--help` lists them. `environment` returns the value of a
/// variable: each option has one, and an argument overrides it. The function starts a runtime of its own, so call it
/// outside an async context. It prints the address to standard output and errors to standard error.
///
/// ```no_run
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     let arguments = ["--port", "0"].map(Into::into);
///     azure_table_emulator::run(arguments, |name| std::env::var_os(name))
/// }
/// ```
pub fn run(
    arguments: impl IntoIterator<Item = OsString>,
    environment: impl Fn(&str) -> Option<OsString>,
) -> ExitCode {
    match Command::parse(arguments, environment) {
        Ok(Command::Help) => print_line(HELP.trim_end()),
        Ok(Command::Version) => {
            print_line(concat!("azure-table-emulator ", env!("CARGO_PKG_VERSION")));
        }
        Ok(Command::Run(options)) => return exit_code(serve(&Arc::from(options))),
        Ok(Command::Health(options)) => return exit_code(health::check(&options).map(print_line)),
        Err(error) => {
            print_error(&error);
            return ExitCode::from(BAD_OPTIONS);
        }
    }
    ExitCode::SUCCESS
}

fn exit_code(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_error(error);
            ExitCode::FAILURE
        }
    }
}

fn serve(options: &Arc<Options>) -> Result<(), String> {
    let https = Https::load(options)?;
    let accounts = Arc::new(Accounts::open(options)?);
    control::load(options, &accounts)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        // Look for new requests after a few steps of long ones.
        .event_interval(STEPS_PER_POLL)
        .build()
        .map_err(|error| format!("cannot start the runtime: {error}"))?;
    let result = runtime.block_on(host::serve(options, Arc::clone(&accounts), https));
    // A read of the accounts' file may never end.
    runtime.shutdown_timeout(SHUTDOWN);
    // The last reference, which waits until the data files are written.
    drop(accounts);
    result
}

/// Prints a line to standard output. A closed output is ignored.
fn print_line(line: impl Display) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Prints a line to standard error.
fn print_error(line: impl Display) {
    let _ = writeln!(io::stderr().lock(), "azure-table-emulator: {line}");
}
