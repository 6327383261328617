//! The tests over sockets, by the transport of the feature `reqwest`.

use azure_table_tests::SocketTransport;

const TRANSPORT: SocketTransport = SocketTransport::Reqwest;

#[path = "connections.rs"]
mod connections;
#[path = "hostile_replies.rs"]
mod hostile_replies;
