//! The transport over hyper itself. Only this file and those below `hyper/` name hyper.

mod connect;
mod connection;
mod head_limit;
mod pool;
mod stream;
#[cfg(all(test, feature = "rustls"))]
mod tests;
#[cfg(feature = "rustls-no-provider")]
mod tls;
#[cfg(not(feature = "rustls-no-provider"))]
#[path = "hyper/no_tls.rs"]
mod tls;

use std::sync::Arc;
use std::time::Duration;

use ::http::{HeaderValue, Method, Request, Uri, header};
use bytes::Bytes;
use http_body_util::Full;
use hyper_util::client::proxy::matcher::Intercept;

use self::connect::Connector;
use self::connection::Connection;
use self::pool::{Pool, PoolHost};
use super::{
    DEFAULT_MAX_RESPONSE_BYTES, HttpRequest, HttpResponse, ResponseFuture, Transport,
    TransportError, TransportErrorKind,
};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_CONNECTIONS_PER_HOST: usize = 256;

/// A request as hyper sends it.
type Message = Request<Full<Bytes>>;

/// Sends over HTTP/1.1 by hyper itself, from a bounded pool of kept connections.
///
/// It needs fewer instructions for a request than `HttpTransport`, and has fewer settings. It is the default transport of
/// a client if the feature `reqwest` is off. Connections are kept for 60 s, `TCP_NODELAY` is on, redirects are not
/// followed.
///
/// - **TLS** by rustls with the platform's roots, with the feature `rustls` or `rustls-no-provider`; without them, requests
///   to `https` endpoints and through `https` proxies are errors. It is set up by the first of these requests, or when the
///   client is built if this is its default transport. The provider of cryptography is the one that the program has
///   installed, otherwise aws-lc-rs (feature `rustls`).
/// - **Proxies** by `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, read when the transport is created: `http` and
///   `https` proxies, not SOCKS. Requests to `localhost` and to loopback addresses do not use a proxy.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use azure_table_client::TableServiceClient;
/// use azure_table_client::transport::HyperTransport;
///
/// # fn main() -> Result<(), azure_table_client::Error> {
/// let transport = HyperTransport::new().connect_timeout(Duration::from_secs(3));
/// let service = TableServiceClient::builder_from_connection_string("UseDevelopmentStorage=true")?
///     .transport(Arc::new(transport))
///     .build()?;
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct HyperTransport {
    pool: Arc<Pool>,
    connector: Connector,
    max_response_bytes: usize,
}

impl HyperTransport {
    /// Creates a transport with its own connection pool. Nothing is opened or read yet except the environment's
    /// proxies.
    pub fn new() -> Self {
        Self::with_connector(Connector::new(CONNECT_TIMEOUT))
    }

    fn with_connector(connector: Connector) -> Self {
        Self {
            pool: Arc::new(Pool::new(MAX_CONNECTIONS_PER_HOST)),
            connector,
            max_response_bytes: DEFAULT_MAX_RESPONSE_BYTES,
        }
    }

    /// Sets the time limit for opening a connection, with the handshakes of a proxy and of TLS; 10 s by default.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connector.set_timeout(timeout);
        self
    }

    /// Sets the largest response that is accepted; 64 MiB by default.
    pub fn max_response_bytes(mut self, bytes: usize) -> Self {
        self.max_response_bytes = bytes;
        self
    }

    /// Sets the largest number of connections to one host; 256 by default. Further requests wait for a connection.
    ///
    /// The wait is part of the attempt. An attempt whose `try_timeout` ends while it waits counts as sent, so the outcome
    /// of a write can be unknown although nothing was sent. To prevent this, set
    /// [`max_in_flight`](crate::TableServiceClientBuilder::max_in_flight) of the client to at most this number.
    pub fn max_connections_per_host(mut self, connections: usize) -> Self {
        self.pool = Arc::new(Pool::new(connections));
        self
    }

    /// Sets up what requests to such an endpoint need, so that an error is reported before the first request.
    #[cfg(any(all(test, feature = "rustls-no-provider"), not(feature = "reqwest")))]
    pub(crate) fn prepare(&self, is_https: bool) -> Result<(), TransportError> {
        if is_https {
            self.connector.tls.set_up()?;
        }
        Ok(())
    }

    async fn send_once(&self, request: HttpRequest) -> Result<HttpResponse, TransportError> {
        let host = self.pool.host(&request.uri, |uri| self.connector.route(uri))?;
        let _permit = host.permit().await?;
        let mut message = message(request, &host);
        while let Some(mut connection) = host.take_idle() {
            match connection.exchange(message, self.max_response_bytes).await {
                // The connection was closed while it was idle. Nothing was written to it.
                Err(SendFailure::NotSent(unsent, _)) => message = *unsent,
                exchanged => return self.finish(exchanged, connection, &host),
            }
        }
        let stream = self.connector.connect(host.route()).await?;
        let mut connection = Connection::open(stream).await?;
        let exchanged = connection.exchange(message, self.max_response_bytes).await;
        self.finish(exchanged, connection, &host)
    }

    fn finish(
        &self,
        exchanged: Result<HttpResponse, SendFailure>,
        connection: Connection,
        host: &Arc<PoolHost>,
    ) -> Result<HttpResponse, TransportError> {
        let response = exchanged?;
        if connection.is_reusable() {
            self.pool.keep(host, connection);
        }
        Ok(response)
    }
}

impl Default for HyperTransport {
    fn default() -> Self {
        Self::new()
    }
}

fn message(request: HttpRequest, host: &PoolHost) -> Message {
    let has_length = !request.body.is_empty();
    let mut message = Request::new(Full::new(request.body));
    let headers = message.headers_mut();
    *headers = request.headers;
    headers.insert(header::HOST, host.header().clone());
    if !has_length && matches!(request.method, Method::POST | Method::PUT) {
        // Hyper omits the header of an empty body, which some servers refuse with 411.
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    let proxy = host.route().forwarding_proxy();
    if let Some(authorization) = proxy.and_then(Intercept::basic_auth) {
        headers.insert(header::PROXY_AUTHORIZATION, authorization.clone());
    }
    *message.method_mut() = request.method;
    *message.uri_mut() = if proxy.is_some() { request.uri } else { origin_form(request.uri) };
    message
}

fn origin_form(uri: Uri) -> Uri {
    uri.into_parts().path_and_query.map_or_else(|| Uri::from_static("/"), Uri::from)
}

fn not_connected(error: impl std::error::Error + Send + Sync + 'static) -> TransportError {
    TransportError::new(TransportErrorKind::Connect, error)
}

/// A failure that another attempt would repeat.
fn invalid(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> TransportError {
    TransportError::new(TransportErrorKind::Invalid, cause)
}

/// The reason why an exchange has no response.
enum SendFailure {
    /// The connection was closed before anything of the request was written to it.
    NotSent(Box<Message>, hyper::Error),
    Other(TransportError),
}

impl From<TransportError> for SendFailure {
    fn from(error: TransportError) -> Self {
        Self::Other(error)
    }
}

impl From<SendFailure> for TransportError {
    fn from(failure: SendFailure) -> Self {
        match failure {
            SendFailure::NotSent(_, error) => Self::new(TransportErrorKind::Connect, error),
            SendFailure::Other(error) => error,
        }
    }
}

impl Transport for HyperTransport {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        Box::pin(self.send_once(request))
    }
}

opaque_debug!(HyperTransport, |it| max_response_bytes: it.max_response_bytes);
