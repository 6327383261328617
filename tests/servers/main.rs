//! The tests over sockets by the second transport, `by_hyper::`; the faults of the mock behind a port, by both transports, `socket_faults::`; and
//! `differential::`, which needs Azurite. `cargo test` leaves them out; `--test servers` selects them.
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
mod socket_faults;
