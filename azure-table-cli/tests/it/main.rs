//! Tests of the program `azure-table`: each runs it against an emulator on loopback.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

mod chaos;
mod control;
mod file_kills;
mod files;
mod program;
mod support;
