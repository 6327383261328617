//! The targets on which the conformance list of `azure-table-conformance` runs.
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

mod cases;
mod endpoint;
mod formats;
mod interop;
mod mock;
mod mock_server;

use azure_table_conformance::client::Target;
use azure_table_tests::SocketTransport;

/// A service behind a socket, which this transport reaches.
fn over_http(connection_string: String, socket: SocketTransport) -> Target {
    let target = Target::new(connection_string);
    match socket.transport() {
        Some(transport) => target.transport(transport),
        None => target,
    }
}
