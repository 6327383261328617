use std::sync::Arc;

use azure_table_client::TableServiceClientBuilder;
use azure_table_client::transport::HyperTransport;

/// A transport over sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketTransport {
    /// `HttpTransport`, the default.
    Reqwest,
    /// `HyperTransport`.
    Hyper,
}

impl SocketTransport {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Reqwest, Self::Hyper];

    /// Lets the clients of `builder` send through this transport.
    pub fn of(self, builder: TableServiceClientBuilder) -> TableServiceClientBuilder {
        match self {
            Self::Reqwest => builder,
            Self::Hyper => builder.transport(Arc::new(HyperTransport::new())),
        }
    }

    /// The same, with a limit for the bytes of a response.
    pub fn limited(
        self,
        builder: TableServiceClientBuilder,
        max_response_bytes: usize,
    ) -> TableServiceClientBuilder {
        match self {
            Self::Reqwest => builder.max_response_bytes(max_response_bytes),
            Self::Hyper => {
                let transport = HyperTransport::new().max_response_bytes(max_response_bytes);
                builder.transport(Arc::new(transport))
            }
        }
    }
}
