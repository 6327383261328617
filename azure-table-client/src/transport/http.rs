//! The transport over the network. Only this file and the builder's HTTP settings name reqwest.

use std::time::Duration;

use ::http::{HeaderMap, HeaderValue, Method, header};
use bytes::Bytes;
use reqwest::redirect::Policy;
use url::Url;

use super::body::Body;
use super::{
    HttpRequest, HttpResponse, ResponseFuture, Transport, TransportError, TransportErrorKind,
};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Idle connections are closed before the service does it (which then loses a request).
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Sends over HTTP, from a pool of kept connections.
///
/// This is the default transport of a client. Create one to wrap it in a transport of your own. Connections are
/// kept for 60 s, TCP_NODELAY is on, redirects are not followed.
pub struct HttpTransport {
    client: reqwest::Client,
    max_response_bytes: usize,
}

impl HttpTransport {
    /// A transport with its own connection pool, which accepts replies of up to
    /// `max_response_bytes`.
    ///
    /// # Errors
    /// The TLS backend cannot be set up, for example because the feature
    /// `rustls-no-provider` is on and the program has installed no provider.
    pub fn new(max_response_bytes: usize) -> Result<Self, TransportError> {
        Self::connecting_within(CONNECT_TIMEOUT, max_response_bytes)
    }

    /// The same, with a time limit for connecting other than 10 s.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub fn connecting_within(
        timeout: Duration,
        max_response_bytes: usize,
    ) -> Result<Self, TransportError> {
        check_provider()?;
        let client = reqwest::Client::builder()
            .connect_timeout(timeout)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .tcp_nodelay(true)
            // Attempts are counted, dated and signed by the pipeline; a redirect would carry the
            // credential elsewhere.
            .retry(reqwest::retry::never())
            .redirect(Policy::none())
            .build()
            .map_err(|error| TransportError::new(TransportErrorKind::Invalid, error))?;
        Ok(Self { client, max_response_bytes })
    }

    /// A transport over an HTTP client that is at hand; see
    /// [`http_client`](crate::client::TableServiceClientBuilder::http_client).
    pub fn with_client(client: reqwest::Client, max_response_bytes: usize) -> Self {
        Self { client, max_response_bytes }
    }

    async fn send_once(&self, request: HttpRequest) -> Result<HttpResponse, TransportError> {
        let url = Url::parse(&request.uri.to_string())
            .map_err(|error| TransportError::new(TransportErrorKind::Invalid, error))?;
        let mut outgoing = reqwest::Request::new(request.method, url);
        *outgoing.headers_mut() = request.headers;
        if !request.body.is_empty() {
            *outgoing.body_mut() = Some(request.body.into());
        } else if matches!(*outgoing.method(), Method::POST | Method::PUT) {
            // Hyper omits the header of an empty body, which some servers refuse with 411.
            outgoing.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        let mut reply = self.client.execute(outgoing).await.map_err(of_reqwest)?;
        let body = self.read_body(&mut reply).await?;
        Ok(HttpResponse {
            status: reply.status(),
            headers: std::mem::replace(reply.headers_mut(), HeaderMap::new()),
            body,
        })
    }

    async fn read_body(&self, reply: &mut reqwest::Response) -> Result<Bytes, TransportError> {
        let mut body = Body::new(reply.content_length(), self.max_response_bytes)?;
        while let Some(chunk) = reply.chunk().await.map_err(of_reqwest)? {
            body.push(chunk)?;
        }
        Ok(body.finish())
    }
}

/// Without a provider, reqwest would panic.
#[cfg(all(feature = "rustls-no-provider", not(any(feature = "rustls", feature = "native-tls"))))]
fn check_provider() -> Result<(), TransportError> {
    if rustls::crypto::CryptoProvider::get_default().is_some() {
        return Ok(());
    }
    Err(TransportError::new(TransportErrorKind::Invalid, NO_PROVIDER))
}

#[cfg(not(all(
    feature = "rustls-no-provider",
    not(any(feature = "rustls", feature = "native-tls"))
)))]
#[expect(clippy::unnecessary_wraps, reason = "has the signature of the check above")]
const fn check_provider() -> Result<(), TransportError> {
    Ok(())
}

#[cfg(all(feature = "rustls-no-provider", not(any(feature = "rustls", feature = "native-tls"))))]
const NO_PROVIDER: &str = "no provider of cryptography is installed: before it builds a client, a \
                           program with the feature rustls-no-provider installs one, for example by \
                           rustls::crypto::ring::default_provider().install_default()";

fn of_reqwest(error: reqwest::Error) -> TransportError {
    let kind = if error.is_connect() {
        TransportErrorKind::Connect
    } else if error.is_builder() {
        TransportErrorKind::Invalid
    } else {
        TransportErrorKind::Interrupted
    };
    // The URL may hold a shared access signature.
    TransportError::new(kind, error.without_url())
}

impl Transport for HttpTransport {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        Box::pin(self.send_once(request))
    }
}

opaque_debug!(HttpTransport, |it| max_response_bytes: it.max_response_bytes);

#[cfg(all(
    test,
    feature = "rustls-no-provider",
    not(any(feature = "rustls", feature = "native-tls"))
))]
mod tests {
    use crate::{ErrorKind, TableServiceClient};

    #[test]
    fn without_a_provider_there_is_an_error_and_no_panic() {
        let built = TableServiceClient::from_connection_string("UseDevelopmentStorage=true");
        let error = built.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        let page = include_str!("../../docs/troubleshooting.md");
        assert!(page.contains(&error.to_string()), "{error}");
    }
}
