//! `serve`: the emulator.

use std::process::ExitCode;

use crate::args::Serve;

pub(crate) fn run(args: Serve) -> ExitCode {
    azure_table_mock::run(args.options, |name| std::env::var_os(name))
}
