//! The tests over sockets, by the transport of the feature `hyper`.

use azure_table_tests::SocketTransport;

const TRANSPORT: SocketTransport = SocketTransport::Hyper;

#[path = "connections.rs"]
mod connections;
#[path = "hostile_replies.rs"]
mod hostile_replies;
#[path = "mock_server.rs"]
mod mock_server;
#[path = "socket_faults.rs"]
mod socket_faults;
