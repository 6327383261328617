//! The tests over sockets, by the transport of the feature `hyper`.

use azure_table_tests::SocketTransport;

const TRANSPORT: SocketTransport = SocketTransport::Hyper;

#[path = "../it/connections.rs"]
mod connections;
#[path = "../it/hostile_replies.rs"]
mod hostile_replies;
