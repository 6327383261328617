//! `serve`: the emulator.

use std::process::ExitCode;

use crate::args::Serve;
use crate::connect::Connection;
use crate::failure::{Failure, Result};

/// Refuses options before the word `serve` that are those of a client.
pub(crate) fn check(connection: &Connection) -> Result<()> {
    if connection.is_given() || connection.dialect.is_some() || connection.allow_http {
        return Err(Failure::usage(
            "serve connects to no account: pass the options of the emulator after the word serve",
        ));
    }
    Ok(())
}

pub(crate) fn run(args: Serve) -> ExitCode {
    azure_table_emulator::run(args.options, |name| std::env::var_os(name))
}
