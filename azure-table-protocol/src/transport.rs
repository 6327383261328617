//! The seam between a client and the network: a request, its response, and the trait that exchanges them.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, Uri};

use crate::wire::Operation;

/// A request as it is sent: complete, signed, with an absolute URI.
///
/// A transport sends `method`, `uri`, `headers` and `body`. The other fields describe the attempt for transports
/// that wrap another one. `Debug` shows neither the query, which may hold a signature, nor the headers and the body.
#[derive(Clone)]
pub struct HttpRequest {
    /// The verb; `MERGE` among them.
    pub method: Method,
    /// `scheme://host[:port]/path[?query]`, percent-encoded.
    pub uri: Uri,
    /// All headers but `Host` and `Content-Length`.
    pub headers: HeaderMap,
    /// The body; empty if there is none.
    pub body: Bytes,
    /// The operation that the request belongs to.
    pub operation: Operation,
    /// The number of the attempt within its call, from 1.
    pub attempt: u32,
    /// The time after which the client drops the attempt.
    pub time_limit: Duration,
}

impl HttpRequest {
    /// Returns a first attempt of [`Operation::Other`] without headers, body and time limit, for tests, and for servers
    /// that forward requests to a transport.
    pub fn new(method: Method, uri: Uri) -> Self {
        Self {
            method,
            uri,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            operation: Operation::Other,
            attempt: 1,
            time_limit: Duration::MAX,
        }
    }
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = (self.uri.scheme_str().unwrap_or_default(), self.uri.authority());
        let host = origin.1.map_or("", |authority| authority.host());
        f.debug_struct("HttpRequest")
            .field("operation", &self.operation)
            .field("attempt", &self.attempt)
            .field("method", &self.method)
            .field("uri", &format_args!("{}://{host}{}", origin.0, self.uri.path()))
            .field("body", &format_args!("{} bytes", self.body.len()))
            .finish_non_exhaustive()
    }
}

/// A reply with its whole body. `Debug` shows neither the headers nor the body.
#[derive(Clone)]
pub struct HttpResponse {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body; empty if there is none.
    pub body: Bytes,
}

impl fmt::Debug for HttpResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpResponse")
            .field("status", &self.status)
            .field("body", &format_args!("{} bytes", self.body.len()))
            .finish_non_exhaustive()
    }
}

/// The reason why a response is missing or incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransportErrorKind {
    /// No connection: the request was not sent.
    Connect,
    /// The connection broke, or the response was cut or not HTTP: the request may have been received.
    Interrupted,
    /// The response is larger than the client accepts.
    TooLarge,
    /// The response is from another URL than the request's. The request may have been received.
    Foreign,
    /// The request could not be made: it was not sent.
    Invalid,
}

impl TransportErrorKind {
    /// Returns the name of the kind in telemetry: `connect`, `interrupted`, `too_large`, `foreign` or
    /// `invalid`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Interrupted => "interrupted",
            Self::TooLarge => "too_large",
            Self::Foreign => "foreign",
            Self::Invalid => "invalid",
        }
    }
}

/// A failure of the transport. Its text shows no query and no header.
#[derive(Debug)]
pub struct TransportError {
    kind: TransportErrorKind,
    source: Box<dyn std::error::Error + Send + Sync>,
}

impl TransportError {
    /// An error of this kind, caused by `source`.
    pub fn new(
        kind: TransportErrorKind,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self { kind, source: source.into() }
    }

    /// Returns the kind of the failure.
    pub const fn kind(&self) -> TransportErrorKind {
        self.kind
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            TransportErrorKind::Connect => "could not connect",
            TransportErrorKind::Interrupted => {
                "the connection broke before the whole reply was read"
            }
            TransportErrorKind::TooLarge => "the response is larger than the client accepts",
            TransportErrorKind::Foreign => "the response is from another URL than the request's",
            TransportErrorKind::Invalid => "the request could not be made",
        })
    }
}

impl std::error::Error for TransportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.source)
    }
}

/// The future of a reply.
pub type ResponseFuture<'a> =
    Pin<Box<dyn Future<Output = Result<HttpResponse, TransportError>> + Send + 'a>>;

/// Carries one request to the service and brings its reply back.
///
/// The client sends through this trait only, so a transport that wraps another one can observe or alter each
/// request. A transport sends a request once; attempts, waits and time limits are the client's.
pub trait Transport: fmt::Debug + Send + Sync {
    /// Sends `request` once and reads the whole response, regardless of its status.
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_of_a_response_shows_neither_headers_nor_body() {
        let location = http::HeaderValue::from_static("https://a.example/?sig=secret");
        let response = HttpResponse {
            status: StatusCode::CREATED,
            headers: HeaderMap::from_iter([(http::header::LOCATION, location)]),
            body: Bytes::from_static(b"{\"Name\":\"secret\"}"),
        };
        assert_eq!(format!("{response:?}"), "HttpResponse { status: 201, body: 17 bytes, .. }");
    }
}
