//! The program as it is used: started, asked over HTTP, looked at, and stopped.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    reason = "tests"
)]

mod page;
mod process;
mod requests;
mod server;
