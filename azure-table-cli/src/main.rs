//! `azure-table`: a command line for Azure Table Storage and Azure Cosmos DB for Table.

// `terminal::message` ignores a closed standard error, where `eprintln!` panics.
#![cfg_attr(not(test), warn(clippy::print_stderr))]

mod args;
mod commands;
mod engine;
#[cfg(unix)]
mod file_size;
mod format;
mod key_order;
mod output;
mod progress;
mod requests;
mod row;
mod secrets;
mod service_clock;
mod side_table;
mod sort;
mod table_name;

use std::ffi::OsString;
use std::process::ExitCode;

use args::{Arguments, Command};
// The modules of the library are also `crate::…` here.
use azure_table_cli::{confirm, connect, edm_type, failure, interrupt, links, terminal};
use failure::{Exit, Failure};

/// The name in messages.
const NAME: &str = "azure-table";

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if let Err(failure) = secrets::refuse(&arguments) {
        return failure.report(NAME);
    }
    let parsed = match Arguments::read(arguments) {
        Ok(parsed) => parsed,
        Err(error) => {
            // `--help` and `--version` are errors of clap too. A closed output is ignored.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() };
        }
    };
    let result = match parsed.command {
        // The emulator has a runtime of its own.
        Command::Serve(args) => match commands::serve::check(&parsed.globals.connection) {
            Ok(()) => return commands::serve::run(args),
            Err(failure) => Err(failure),
        },
        Command::Completions(args) => commands::completions::run(&args),
        Command::Man(args) => commands::man::run(&args),
        command => run(command, &parsed.globals),
    };
    match result {
        Ok(()) => Exit::Done.into(),
        Err(failure) => failure.report(NAME),
    }
}

fn run(command: Command, globals: &args::Globals) -> failure::Result<()> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| {
            Failure::new(Exit::Failed, format!("cannot start the runtime: {error}"))
        })?;
    let result = runtime.block_on(async {
        #[cfg(unix)]
        file_size::report_limit()?;
        commands::run(command, globals).await
    });
    // Does not wait for lookups of hosts that have no answer yet.
    runtime.shutdown_background();
    result
}
