//! Sending requests: the transports over HTTP, and the seam for tests and for transports of your own.

#[cfg(any(feature = "reqwest", feature = "hyper"))]
mod body;
#[cfg(any(feature = "reqwest", feature = "hyper"))]
mod host_header;
#[cfg(feature = "reqwest")]
mod http;
#[cfg(feature = "hyper")]
mod hyper;
mod loopback;
#[cfg(all(test, feature = "mock"))]
pub(crate) mod recording;

#[doc(inline)]
pub use azure_table_protocol::transport::{
    HttpRequest, HttpResponse, ResponseFuture, Transport, TransportError, TransportErrorKind,
};

#[cfg(feature = "reqwest")]
pub use self::http::HttpTransport;
#[cfg(feature = "hyper")]
pub use self::hyper::HyperTransport;
pub(crate) use self::loopback::is_this_machine;
#[cfg(any(feature = "reqwest", feature = "hyper"))]
pub(crate) use self::loopback::look_up_this_machine;

/// A page has at most 4 MiB of data; JSON and escapes enlarge it.
#[cfg(any(feature = "reqwest", feature = "hyper"))]
pub(crate) const DEFAULT_MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;

/// The causes of transports that cannot set up TLS. They name the remedy.
pub(crate) const NO_TLS: &str =
    "the hyper transport is built without TLS: turn on the feature rustls of azure-table-client";
pub(crate) const NO_PROVIDER: &str = "no provider of cryptography is installed: before it builds a client, a \
                           program with the feature rustls-no-provider installs one, for example by \
                           rustls::crypto::ring::default_provider().install_default()";
