//! The faults of the mock behind a port, by the transport of the feature `reqwest`. `it` has its other tests over sockets.

use azure_table_tests::SocketTransport;

const TRANSPORT: SocketTransport = SocketTransport::Reqwest;

#[path = "socket_faults.rs"]
mod socket_faults;
