//! `azure-table-mock`: a stand-alone Azure Table Storage for development and tests. The service is that
//! of `azure_table_client::mock`; here are its host, its options, and a page that shows what it holds.
//!
//! `options <- accounts <- page <- exchange <- host`, each of which uses those before it.

mod accounts;
mod exchange;
mod host;
mod options;
mod page;

use std::fmt::Display;
use std::io::Write as _;
use std::process::ExitCode;
use std::{env, io};

use accounts::Accounts;
use options::{Command, HELP, Options};

/// The exit code of a program that does not understand its options.
const BAD_OPTIONS: u8 = 2;

fn main() -> ExitCode {
    match Command::parse(env::args_os().skip(1), |name| env::var_os(name)) {
        Ok(Command::Help) => say(HELP.trim_end()),
        Ok(Command::Version) => say(concat!("azure-table-mock ", env!("CARGO_PKG_VERSION"))),
        Ok(Command::Run(options)) => {
            if let Err(error) = run(&options) {
                complain(&error);
                return ExitCode::FAILURE;
            }
        }
        Err(error) => {
            complain(&error);
            return ExitCode::from(BAD_OPTIONS);
        }
    }
    ExitCode::SUCCESS
}

fn run(options: &Options) -> Result<(), String> {
    let accounts = Accounts::open(options)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the runtime: {error}"))?;
    runtime.block_on(host::serve(options, accounts))
}

/// A line on standard output. Nothing is lost where nobody reads it.
fn say(line: impl Display) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// A line on standard error.
fn complain(line: impl Display) {
    let _ = writeln!(io::stderr().lock(), "azure-table-mock: {line}");
}
