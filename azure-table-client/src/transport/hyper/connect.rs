//! Opening a connection: directly or through a proxy, with TLS where the scheme is `https`.

use std::future::{Ready, ready};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;
use std::vec;

use ::http::Uri;
use ::http::uri::Scheme;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use tower_service::Service;
use url::Host;

use super::stream::Stream;
use super::tls::Tls;
use super::{invalid, not_connected};
use crate::clock::{Clock, SystemClock};
use crate::transport::{TransportError, is_this_machine, look_up_this_machine};

const KEEPALIVE: Duration = Duration::from_secs(15);

/// The route to a host: its address, and the proxy if there is one.
pub(super) struct ProxyRoute {
    /// Scheme, host and port of the host; the path is `/`.
    host: Uri,
    proxy: Option<Intercept>,
}

impl ProxyRoute {
    /// Returns whether requests to `uri` use this route.
    pub(super) fn leads_to(&self, uri: &Uri) -> bool {
        self.host.authority() == uri.authority() && self.host.scheme() == uri.scheme()
    }

    fn needs_tls(&self) -> bool {
        is_https(&self.host) || self.proxy.as_ref().is_some_and(|proxy| is_https(proxy.uri()))
    }

    /// Returns the proxy that forwards each request, which then has an absolute URI. A tunnel does not.
    pub(super) fn forwarding_proxy(&self) -> Option<&Intercept> {
        self.proxy.as_ref().filter(|_| !is_https(&self.host))
    }
}

fn is_https(uri: &Uri) -> bool {
    uri.scheme() == Some(&Scheme::HTTPS)
}

pub(super) struct Connector {
    tcp: HttpConnector,
    /// For plain HTTP to this machine.
    local: HttpConnector<LocalNames>,
    timeout: Duration,
    proxies: Matcher,
    pub(super) tls: Tls,
}

impl Connector {
    /// A connector with the proxies of the environment.
    pub(super) fn new(timeout: Duration) -> Self {
        Self::with_proxies(timeout, Matcher::from_env())
    }

    pub(super) fn with_proxies(timeout: Duration, proxies: Matcher) -> Self {
        let tcp = with_settings(HttpConnector::new());
        let local = with_settings(HttpConnector::new_with_resolver(LocalNames));
        let mut connector = Self { tcp, local, timeout, proxies, tls: Tls::default() };
        connector.set_timeout(timeout);
        connector
    }

    pub(super) fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
        // Divided among the addresses of a name, so that one that does not respond leaves time for the others.
        self.tcp.set_connect_timeout(Some(timeout));
        self.local.set_connect_timeout(Some(timeout));
    }

    /// Returns the route to the host of `uri`.
    pub(super) fn route(&self, uri: &Uri) -> Result<ProxyRoute, TransportError> {
        let invalid = |why: &str| Err(invalid(why));
        match (uri.scheme_str(), uri.authority()) {
            (Some("http" | "https"), Some(authority)) if authority.as_str().contains('@') => {
                invalid("the URL has a user name")
            }
            (Some("http" | "https"), Some(authority)) => {
                // Reads addresses as resolvers do, which accept other spellings: `127.1`, `0x7f000001`.
                let Ok(name) = Host::parse(authority.host()) else {
                    return invalid("the URL has an invalid host");
                };
                let proxy = self.proxies.intercept(uri).filter(|_| !is_this_machine(&name));
                let proxy_scheme = proxy.as_ref().and_then(|proxy| proxy.uri().scheme_str());
                if !matches!(proxy_scheme, None | Some("http" | "https")) {
                    return invalid("the proxy of the environment is neither http nor https");
                }
                let mut parts = uri.clone().into_parts();
                parts.path_and_query = Some(::http::uri::PathAndQuery::from_static("/"));
                match Uri::from_parts(parts) {
                    Ok(host) => Ok(ProxyRoute { host, proxy }),
                    Err(_) => invalid("the URL has no host"),
                }
            }
            _ => invalid("the URL is not absolute, or its scheme is neither http nor https"),
        }
    }

    pub(super) async fn connect(&self, route: &ProxyRoute) -> Result<Stream, TransportError> {
        if route.needs_tls() {
            self.tls.set_up()?;
        }
        let clock: &dyn Clock = &SystemClock;
        let opened = clock.timeout(self.timeout, pin!(self.open(route))).await;
        opened.unwrap_or_else(|| Err(not_connected(io::Error::from(io::ErrorKind::TimedOut))))
    }

    async fn open(&self, route: &ProxyRoute) -> Result<Stream, TransportError> {
        let Some(proxy) = &route.proxy else { return self.open_directly(&route.host).await };
        let to_proxy = self.open_directly(proxy.uri()).await?;
        if !is_https(&route.host) {
            return Ok(to_proxy);
        }
        let mut tunnel = Tunnel::new(proxy.uri().clone(), OpenedStream(Some(to_proxy)));
        if let Some(authorization) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(authorization.clone());
        }
        let tunneled = tunnel.call(route.host.clone()).await.map_err(not_connected)?;
        self.tls.secure(&route.host, tunneled.into_inner()).await
    }

    async fn open_directly(&self, to: &Uri) -> Result<Stream, TransportError> {
        let is_local = !is_https(to)
            && to
                .host()
                .and_then(|host| Host::parse(host).ok())
                .is_some_and(|it| is_this_machine(&it));
        let tcp = if is_local {
            self.local.clone().call(to.clone()).await
        } else {
            self.tcp.clone().call(to.clone()).await
        };
        let tcp = tcp.map_err(not_connected)?.into_inner();
        if is_https(to) {
            return self.tls.secure(to, tcp).await;
        }
        Ok(TokioIo::new(Box::new(tcp)))
    }
}

fn with_settings<R>(mut tcp: HttpConnector<R>) -> HttpConnector<R> {
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    // The keepalive settings of reqwest, which detect a vanished peer within a minute.
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.set_keepalive_interval(Some(KEEPALIVE));
    tcp.set_keepalive_retries(Some(3));
    #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
    tcp.set_tcp_user_timeout(Some(2 * KEEPALIVE));
    tcp
}

/// Looks up the names of this machine.
#[derive(Clone)]
struct LocalNames;

impl Service<Name> for LocalNames {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        Box::pin(look_up_this_machine(name.as_str().to_owned()))
    }
}

/// An open connection to a proxy, as `Tunnel` requires it.
struct OpenedStream(Option<Stream>);

impl Service<Uri> for OpenedStream {
    type Response = Stream;
    type Error = io::Error;
    type Future = Ready<io::Result<Stream>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        ready(self.0.take().ok_or_else(|| io::ErrorKind::NotConnected.into()))
    }
}
