//! The conformance list: behaviors of every service, each written once, and the targets on which it runs.
//!
//! By default it runs on the mock in this process, and on the mock over HTTP. With `--ignored`, it runs on the further targets:
//! the mock in each format and dialect and by the second transport, and the endpoint that `AZURE_STORAGE_CONNECTION_STRING`
//! names. `--skip endpoint:: --skip interop::` leaves out what needs a server.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

mod behaviors;
mod endpoint;
mod formats;
mod interop;
mod left_out;
mod mock;
mod mock_server;
mod target;
