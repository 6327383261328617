//! The further targets on which the conformance list of `azure-table-conformance` runs. `cargo test` leaves them out;
//! `--test endpoints` selects them, and a filter selects some:
//! - `cases::` are the cases of bytes on the wire, on the mock over HTTP;
//! - `formats::` is the mock in each format and dialect, and `mock_server::` the mock over HTTP by each transport;
//! - `endpoint::` is the endpoint that `AZURE_STORAGE_CONNECTION_STRING` names, without which these tests fail;
//! - `interop::` needs the official clients, which `tools/clients/run` installs.
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
