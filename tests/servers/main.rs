//! The tests over sockets by the second transport, and those that need another server. `cargo test` leaves them out;
//! `--test servers` selects them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

mod by_hyper;
mod differential;
#[allow(dead_code, reason = "`it` uses more of it")]
#[path = "../it/hostile_server.rs"]
mod hostile_server;
