//! The transport over the network. Only this file and the builder's HTTP settings name reqwest.

use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use ::http::uri::{Authority, Scheme};
use ::http::{HeaderMap, HeaderValue, Method, Uri, header};
use bytes::Bytes;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Proxy};
use tokio::task::coop::consume_budget;
use url::Url;

use super::body::BoundedBody;
use super::host_header::host_header;
use super::{
    HttpRequest, HttpResponse, ResponseFuture, Transport, TransportError, TransportErrorKind,
    is_this_machine, look_up_this_machine,
};
use crate::lock::lock;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Idle connections are closed before the service does it (which then loses a request).
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Sends over HTTP, from a pool of kept connections.
///
/// This is the default transport of a client. Create one to wrap it in a transport of your own. Connections are
/// kept for 60 s, TCP_NODELAY is on, redirects are not followed. The proxies of the environment (`HTTPS_PROXY`,
/// `HTTP_PROXY`, `ALL_PROXY`) are used, except for requests to this machine by plain HTTP: a proxy could read their
/// credentials.
pub struct HttpTransport {
    clients: Clients,
    origins: Mutex<Vec<OriginClient>>,
    max_response_bytes: usize,
}

enum Clients {
    /// Clients that are created when the first request needs them. Certificates are expensive to load.
    Default {
        connect_timeout: Duration,
        /// For plain HTTP to this machine: without proxies and certificates.
        local: OnceLock<Client>,
        remote: OnceLock<Client>,
    },
    Custom(Client),
}

/// The most servers that are remembered; most programs use one or two.
const MAX_ORIGINS: usize = 16;

/// A server to which requests were sent.
#[derive(Clone)]
struct OriginClient {
    scheme: Scheme,
    authority: Authority,
    /// Its URL, parsed once; requests add the path and the query.
    base: Url,
    /// Its `Host` header, which reqwest would format for each request. `None` if the settings of the program may have one.
    host: Option<HeaderValue>,
    client: Client,
}

impl OriginClient {
    fn is(&self, scheme: &Scheme, authority: &Authority) -> bool {
        self.authority.as_str() == authority.as_str() && self.scheme == *scheme
    }
}

impl HttpTransport {
    /// A transport with its own connection pool, which accepts replies of up to
    /// `max_response_bytes`. TLS is set up by the first request that needs it.
    ///
    /// # Errors
    /// The feature `rustls-no-provider` is on, and the program has installed no provider.
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
        let (local, remote) = (OnceLock::new(), OnceLock::new());
        let clients = Clients::Default { connect_timeout: timeout, local, remote };
        Ok(Self::with_clients(clients, max_response_bytes))
    }

    /// A transport with the settings of `builder`: proxies, certificates, connection pool; see
    /// [`http_client`](crate::TableServiceClientBuilder::http_client).
    ///
    /// The proxies of `builder` are used for all requests, those of the environment for none: they could read the
    /// credentials of plain HTTP to this machine. To use a proxy, set it by [`ClientBuilder::proxy`].
    ///
    /// # Errors
    /// The settings are invalid, or the TLS backend cannot be set up.
    pub fn with_client(
        builder: ClientBuilder,
        max_response_bytes: usize,
    ) -> Result<Self, TransportError> {
        Self::with_environment_proxies(without_environment_proxies(builder), max_response_bytes)
    }

    /// The same, with the proxies of the environment unless `builder` has its own. No request may go to this machine by
    /// plain HTTP.
    pub(crate) fn with_environment_proxies(
        builder: ClientBuilder,
        max_response_bytes: usize,
    ) -> Result<Self, TransportError> {
        check_provider()?;
        Ok(Self::with_clients(Clients::Custom(build(builder)?), max_response_bytes))
    }

    fn with_clients(clients: Clients, max_response_bytes: usize) -> Self {
        Self { clients, origins: Mutex::default(), max_response_bytes }
    }

    /// Sets up what requests to such an endpoint need, so that an error is reported before the first request.
    pub(crate) fn prepare(&self, is_https: bool) -> Result<(), TransportError> {
        match &self.clients {
            Clients::Default { connect_timeout, remote, .. } if is_https => {
                initialized(remote, || remote_client(*connect_timeout)).map(|_| ())
            }
            _ => Ok(()),
        }
    }

    fn client(&self, url: &Url) -> Result<&Client, TransportError> {
        match &self.clients {
            Clients::Custom(client) => Ok(client),
            Clients::Default { connect_timeout, local, .. } if is_local(url) => {
                initialized(local, || local_client(*connect_timeout))
            }
            Clients::Default { connect_timeout, remote, .. } => {
                initialized(remote, || remote_client(*connect_timeout))
            }
        }
    }

    fn origin(&self, uri: &Uri) -> Result<OriginClient, TransportError> {
        let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
            return Err(TransportError::new(
                TransportErrorKind::Invalid,
                "the URL is not absolute",
            ));
        };
        let known = lock(&self.origins).iter().find(|it| it.is(scheme, authority)).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let base = Url::parse(&format!("{scheme}://{authority}"))
            .map_err(|error| TransportError::new(TransportErrorKind::Invalid, error))?;
        let client = self.client(&base)?.clone();
        let host = match self.clients {
            Clients::Default { .. } => {
                let uri = Uri::try_from(base.as_str())
                    .map_err(|error| TransportError::new(TransportErrorKind::Invalid, error))?;
                Some(host_header(&uri)?)
            }
            Clients::Custom(_) => None,
        };
        let (scheme, authority) = (scheme.clone(), authority.clone());
        let origin = OriginClient { scheme, authority, base, host, client };
        self.remember(&origin);
        Ok(origin)
    }

    fn remember(&self, origin: &OriginClient) {
        let mut origins = lock(&self.origins);
        // A concurrent request may have added it.
        let is_known = origins.iter().any(|it| it.is(&origin.scheme, &origin.authority));
        if !is_known && origins.len() < MAX_ORIGINS {
            origins.push(origin.clone());
        }
    }

    async fn send_once(&self, request: HttpRequest) -> Result<HttpResponse, TransportError> {
        let OriginClient { base: mut url, host, client, .. } = self.origin(&request.uri)?;
        url.set_path(request.uri.path());
        url.set_query(request.uri.query());
        let mut outgoing = reqwest::Request::new(request.method, url);
        *outgoing.headers_mut() = request.headers;
        if let Some(host) = host {
            outgoing.headers_mut().entry(header::HOST).or_insert(host);
        }
        if !request.body.is_empty() {
            *outgoing.body_mut() = Some(request.body.into());
        } else if matches!(*outgoing.method(), Method::POST | Method::PUT) {
            // Hyper omits the header of an empty body, which some servers refuse with 411.
            outgoing.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        let mut reply = client.execute(outgoing).await.map_err(of_reqwest)?;
        let body = self.read_body(&mut reply).await?;
        Ok(HttpResponse {
            status: reply.status(),
            headers: std::mem::replace(reply.headers_mut(), HeaderMap::new()),
            body,
        })
    }

    async fn read_body(&self, reply: &mut reqwest::Response) -> Result<Bytes, TransportError> {
        let mut body = BoundedBody::new(reply.content_length(), self.max_response_bytes)?;
        while let Some(chunk) = reply.chunk().await.map_err(of_reqwest)? {
            body.push(chunk)?;
            // A time limit takes effect between many small chunks too.
            consume_budget().await;
        }
        Ok(body.finish())
    }
}

/// Whether a request goes to this machine without encryption.
fn is_local(url: &Url) -> bool {
    url.scheme() == "http" && url.host().is_some_and(|host| is_this_machine(&host))
}

/// Returns the client, and creates it if it is the first request that needs it.
fn initialized(
    client: &OnceLock<Client>,
    create: impl FnOnce() -> Result<Client, TransportError>,
) -> Result<&Client, TransportError> {
    if let Some(client) = client.get() {
        return Ok(client);
    }
    let created = create()?;
    Ok(client.get_or_init(|| created))
}

fn local_client(connect_timeout: Duration) -> Result<Client, TransportError> {
    let builder = default_settings(connect_timeout).no_proxy().dns_resolver(LocalResolver);
    // Without this, the certificates of the system would be loaded, for TLS that is not used.
    #[cfg(any(feature = "rustls-no-provider", feature = "native-tls"))]
    let builder = builder.tls_certs_only([]);
    build(builder)
}

/// Looks up the names of this machine.
struct LocalResolver;

impl Resolve for LocalResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let addresses = look_up_this_machine(name.as_str().to_owned()).await?;
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

fn remote_client(connect_timeout: Duration) -> Result<Client, TransportError> {
    build(default_settings(connect_timeout))
}

fn default_settings(connect_timeout: Duration) -> ClientBuilder {
    Client::builder()
        .connect_timeout(connect_timeout)
        .pool_idle_timeout(IDLE_TIMEOUT)
        .tcp_nodelay(true)
}

/// Builds a client that sends a request once, and to its own address only.
fn build(builder: ClientBuilder) -> Result<Client, TransportError> {
    builder
        // Attempts are counted, dated and signed by the pipeline.
        // Reqwest copies a request that it could retry, even if it never does.
        .retry(reqwest::retry::never().max_retries_per_request(0))
        // A redirect would carry the credential elsewhere, and a referer the signature in the URL.
        .redirect(Policy::none())
        .referer(false)
        .build()
        .map_err(|error| TransportError::new(TransportErrorKind::Invalid, error.without_url()))
}

/// Returns the builder without the proxies of the environment. Its own proxies stay.
fn without_environment_proxies(builder: ClientBuilder) -> ClientBuilder {
    // A builder with a proxy ignores the environment; this proxy is not used for any URL.
    builder.proxy(Proxy::custom(|_| None::<Url>))
}

/// Without a provider, reqwest would panic.
#[cfg(all(feature = "rustls-no-provider", not(any(feature = "rustls", feature = "native-tls"))))]
fn check_provider() -> Result<(), TransportError> {
    if rustls::crypto::CryptoProvider::get_default().is_some() {
        return Ok(());
    }
    Err(TransportError::new(TransportErrorKind::Invalid, super::NO_PROVIDER))
}

#[cfg(not(all(
    feature = "rustls-no-provider",
    not(any(feature = "rustls", feature = "native-tls"))
)))]
#[expect(clippy::unnecessary_wraps, reason = "has the signature of the check above")]
const fn check_provider() -> Result<(), TransportError> {
    Ok(())
}

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

#[cfg(all(
    test,
    any(feature = "rustls", feature = "native-tls", not(feature = "rustls-no-provider"))
))]
mod origin_tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn concurrent_first_requests_are_remembered_once() {
        let transport = HttpTransport::new(1 << 20).unwrap();
        let origin = transport.origin(&"http://127.0.0.1:1/a".parse().unwrap()).unwrap();
        transport.remember(&origin);
        transport.origin(&"http://127.0.0.1:1/b".parse().unwrap()).unwrap();
        assert_eq!(lock(&transport.origins).len(), 1);
        for port in 2..100 {
            transport.origin(&format!("http://127.0.0.1:{port}/").parse().unwrap()).unwrap();
        }
        assert_eq!(lock(&transport.origins).len(), MAX_ORIGINS);
    }
}
