use std::sync::Arc;

use azure_table_client::TableServiceClientBuilder;
use azure_table_client::transport::{HyperTransport, Transport};

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

    /// Creates the transport, unless it is the default.
    pub fn transport(self) -> Option<Arc<dyn Transport>> {
        match self {
            Self::Reqwest => None,
            Self::Hyper => Some(Arc::new(HyperTransport::new())),
        }
    }

    /// Lets the clients of `builder` send through this transport.
    pub fn of(self, builder: TableServiceClientBuilder) -> TableServiceClientBuilder {
        match self.transport() {
            Some(transport) => builder.transport(transport),
            None => builder,
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
