//! The transports of the client that are measured. A new one is added here and nowhere else.

use std::sync::Arc;

use azure_table_client::transport::HyperTransport;
use azure_table_client::transport::{HttpTransport, Transport};

const MAX_RESPONSE_BYTES: usize = 1 << 30;

/// The HTTP client under a transport of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    Reqwest,
    Hyper,
}

impl Over {
    pub(crate) const ALL: &[Self] = &[Self::Reqwest, Self::Hyper];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Reqwest => "reqwest",
            Self::Hyper => "hyper",
        }
    }

    /// Creates a transport without connections.
    pub(crate) fn transport(self) -> Arc<dyn Transport> {
        match self {
            Self::Reqwest => Arc::new(HttpTransport::new(MAX_RESPONSE_BYTES).expect("a transport")),
            Self::Hyper => Arc::new(HyperTransport::new().max_response_bytes(MAX_RESPONSE_BYTES)),
        }
    }
}
