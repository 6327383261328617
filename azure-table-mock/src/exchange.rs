//! The conversion of requests and responses between hyper and the service.

use std::net::{IpAddr, SocketAddr};

use azure_table_client::transport::{HttpRequest, HttpResponse, TransportError};
use bytes::{Bytes, BytesMut};
use http::request::Parts;
use http::uri::{Authority, PathAndQuery};
use http::{HeaderValue, Request, Response, Uri, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use tokio::time::{Duration, timeout};

use crate::accounts::Accounts;
use crate::page;

/// The part of a body that the service receives. It refuses more than 4 MiB.
const PASSED_BYTES: usize = 4 * 1024 * 1024 + 1;
/// The part of a too large body that is read and dropped, since most clients read the response only after
/// they have sent the whole body. After this many bytes the connection is closed.
const DRAINED_BYTES: usize = 64 * 1024 * 1024;
/// The largest buffer that is reserved for a declared content length, which may be false.
const RESERVED_BYTES: usize = 128 * 1024;
/// The longest wait for a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(2 * 60);

const SERVER: HeaderValue =
    HeaderValue::from_static(concat!("azure-table-mock/", env!("CARGO_PKG_VERSION")));

/// The state that all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) accounts: Accounts,
    pub(crate) has_page: bool,
    /// How long a connection may be idle.
    pub(crate) keep_alive: Duration,
    /// `http` or `https`.
    pub(crate) scheme: &'static str,
    /// The address of the listener.
    pub(crate) address: SocketAddr,
}

/// An error that ends a connection without a response.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The body could not be read.
    Body(hyper::Error),
    /// The body did not arrive in time.
    TooSlow,
    /// The fault plan breaks the connection.
    Plan(TransportError),
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Body(_) => "the body could not be read",
            Self::TooSlow => "the body did not arrive in time",
            Self::Plan(_) => "the fault plan breaks this connection",
        })
    }
}

impl std::error::Error for Broken {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Body(error) => Some(error),
            Self::TooSlow => None,
            Self::Plan(error) => Some(error),
        }
    }
}

/// Responds with the page, or with the service of the account in the path.
pub(crate) async fn respond(
    shared: &Shared,
    sender: IpAddr,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Broken> {
    let (parts, body) = request.into_parts();
    if page::has_path(parts.uri.path()) {
        return Ok(page::respond(shared, &parts));
    }
    let service = shared.accounts.of(host(&parts).unwrap_or_default(), parts.uri.path());
    let (body, is_whole) =
        timeout(BODY_TIMEOUT, read(body)).await.map_err(|_| Broken::TooSlow)??;
    let request = to_service(shared, parts, body);
    let received = service.receive_from(request, sender).await;
    let mut response = received.map_err(Broken::Plan)?;
    if !is_whole {
        response.headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(to_hyper(response))
}

fn to_service(shared: &Shared, parts: Parts, body: Bytes) -> HttpRequest {
    let uri = uri(&parts, shared.scheme, shared.address);
    let Parts { method, headers, .. } = parts;
    HttpRequest { headers, body, ..HttpRequest::new(method, uri) }
}

/// The URI with the host as the client names it, and with the path and query as sent.
fn uri(parts: &Parts, scheme: &str, address: SocketAddr) -> Uri {
    let target = parts.uri.path_and_query().map_or("/", PathAndQuery::as_str);
    let at = |authority: &str| {
        let uri = Uri::builder().scheme(scheme).authority(authority).path_and_query(target);
        uri.build().ok()
    };
    host(parts).and_then(at).or_else(|| at(&address.to_string())).unwrap_or_default()
}

/// The host and the port as the client names them.
fn host(parts: &Parts) -> Option<&str> {
    let named = parts
        .uri
        .authority()
        .map(Authority::as_str)
        .or_else(|| parts.headers.get(header::HOST).and_then(|host| host.to_str().ok()));
    named.filter(|name| is_host(name))
}

/// Returns `true` if the text is a host with an optional port. It must not look like a path.
fn is_host(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
    !name.is_empty() && name.bytes().all(is_part)
}

/// Reads the body, or its start if it is too large. Returns `true` if the client has sent all of it. A body
/// in one piece is not copied.
async fn read(mut body: Incoming) -> Result<(Bytes, bool), Broken> {
    let mut read = Bytes::new();
    while read.is_empty() {
        match data(&mut body).await? {
            Some(piece) => read = piece,
            None => return Ok((read, true)),
        }
    }
    if body.is_end_stream() {
        read.truncate(PASSED_BYTES);
        return Ok((read, true));
    }
    let declared = usize::try_from(body.size_hint().lower()).unwrap_or(PASSED_BYTES);
    let mut whole = BytesMut::with_capacity(read.len() + declared.min(RESERVED_BYTES));
    whole.extend_from_slice(&read);
    let mut total = read.len();
    while let Some(piece) = data(&mut body).await? {
        total += piece.len();
        let room = PASSED_BYTES.saturating_sub(whole.len());
        whole.extend_from_slice(&piece[..piece.len().min(room)]);
        if total > DRAINED_BYTES {
            return Ok((whole.freeze(), false));
        }
    }
    Ok((whole.freeze(), true))
}

/// The next piece of a body, or `None` at its end.
async fn data(body: &mut Incoming) -> Result<Option<Bytes>, Broken> {
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(Broken::Body)?.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

fn to_hyper(response: HttpResponse) -> Response<Full<Bytes>> {
    let mut converted = Response::new(Full::new(response.body));
    *converted.status_mut() = response.status;
    *converted.headers_mut() = response.headers;
    converted.headers_mut().insert(header::SERVER, SERVER);
    converted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_receives_the_target_as_sent() {
        let address = SocketAddr::from(([127, 0, 0, 1], 10002));
        for (target, host, expected) in [
            ("/a/T?x=%2f%20'", Some("localhost:1"), "http://localhost:1/a/T?x=%2f%20'"),
            ("/a//T/", Some("[::1]:1"), "http://[::1]:1/a//T/"),
            ("http://other:2/a%2FT", Some("localhost:1"), "http://other:2/a%2FT"),
            ("http://user@other/a", None, "http://127.0.0.1:10002/a"),
            ("/a", Some("b/c?d"), "http://127.0.0.1:10002/a"),
            ("/a", Some(""), "http://127.0.0.1:10002/a"),
            ("*", None, "http://127.0.0.1:10002*"),
            ("host:1", None, "http://host:1/"),
        ] {
            let mut request = Request::builder().uri(target);
            if let Some(host) = host {
                request = request.header("host", host);
            }
            let (parts, ()) = request.body(()).unwrap().into_parts();
            assert_eq!(uri(&parts, "http", address), expected, "{target}");
        }
    }
}
