//! The conversion of requests and responses between hyper and the service.

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use azure_table_client::mock::MockTableService;
use azure_table_client::transport::{HttpRequest, HttpResponse, TransportError};
use bytes::Bytes;
use http::request::Parts;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use http_body_util::{Either, Full};
use hyper::body::{Body as _, Incoming};

use crate::body::{self, BodyError, ReadBody};
use crate::control::{self, Reply};
use crate::gate::{Target, text};
use crate::limits::{Budget, Share};
use crate::page;
use crate::shared::{BUSY, Shared};
use crate::socket::Client;

/// The part of a body that the service receives. It refuses more than 4 MiB.
const PASSED_BYTES: usize = 4 * 1024 * 1024 + 1;

const SERVER: HeaderValue =
    HeaderValue::from_static(concat!("azure-table-emulator/", env!("CARGO_PKG_VERSION")));

/// The reason why a connection ends without a response.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The fault plan breaks the connection.
    Fault(TransportError),
    /// The client has left.
    Left,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Fault(_) => "the fault plan breaks this connection",
            Self::Left => "the client has left",
        })
    }
}

impl std::error::Error for Broken {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Fault(error) => Some(error),
            Self::Left => None,
        }
    }
}

/// Responds to a request, which stops at its next wait or step once the client has left. A change is then applied as a
/// whole or not at all, as after a broken connection.
pub(crate) async fn respond(
    shared: &Shared,
    sender: IpAddr,
    client: &Client,
    request: Request<Incoming>,
) -> Result<Reply, Broken> {
    tokio::select! {
        biased;
        response = dispatch(shared, sender, request) => response,
        () = client.has_left() => Err(Broken::Left),
    }
}

/// Responds with the control API, the page, or the service of the account in the path.
async fn dispatch(
    shared: &Shared,
    sender: IpAddr,
    request: Request<Incoming>,
) -> Result<Reply, Broken> {
    let (parts, body) = request.into_parts();
    if control::is_for(&parts) {
        return Ok(control::respond(shared, &parts, body).await);
    }
    let response = respond_to(shared, sender, parts, body).await?;
    Ok(response.map(Either::Left))
}

/// Responds with the page or a service.
async fn respond_to(
    shared: &Shared,
    sender: IpAddr,
    parts: Parts,
    body: Incoming,
) -> Result<Response<Full<Bytes>>, Broken> {
    let is_page = page::has_path(parts.uri.path());
    let account = shared.accounts.of(host(&parts).unwrap_or_default(), parts.uri.path());
    let target = if is_page { Target::Page } else { Target::Account(&account) };
    if let Some(refusal) = shared.gate.refuse(&parts, target) {
        return Ok(closing(refusal));
    }
    if is_page {
        return Ok(page::respond(shared, &parts, body).await);
    }
    let is_read = is_read(&parts.method);
    let mut request = to_service(shared, parts);
    let share = shared.budget.share();
    let mut reading = Reading { shared, body, read: ReadBody::default(), share };
    if let Err(reason) = reading.read(&account.service, &request, sender).await {
        return Ok(refuse(reason));
    }
    let Reading { read, share: held, .. } = reading;
    request.body = read.bytes;
    let mut share = shared.budget.share();
    let has_room = |bytes| share.try_grow(bytes);
    let received = account.service.receive_from(request, sender, &has_room).await;
    let mut response = received.map_err(Broken::Fault)?;
    drop(held);
    // A write was applied, so its response does not wait.
    if is_read && share.grow(response.body.len()).await.is_err() {
        return Ok(refuse(BodyError::NoRoom));
    }
    response.body = share.hold(response.body);
    let response = to_hyper(response);
    Ok(if read.is_whole { response } else { closing(response) })
}

/// Adds the header that ends the connection after this response.
fn closing(mut response: Response<Full<Bytes>>) -> Response<Full<Bytes>> {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// The response to a request that is refused before the service receives it.
fn refuse(reason: BodyError) -> Response<Full<Bytes>> {
    closing(match reason {
        BodyError::NoRoom => {
            let mut response = text(StatusCode::SERVICE_UNAVAILABLE, BUSY);
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            response
        }
        BodyError::Late => {
            let reason = "The body of the request did not arrive in time.\n";
            text(StatusCode::REQUEST_TIMEOUT, reason)
        }
        BodyError::Malformed => {
            let reason = "The body of the request is malformed or incomplete.\n";
            text(StatusCode::BAD_REQUEST, reason)
        }
    })
}

fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// The request without its body.
fn to_service(shared: &Shared, mut parts: Parts) -> HttpRequest {
    let uri = uri(&mut parts, &shared.scheme, shared.address);
    let Parts { method, headers, .. } = parts;
    HttpRequest { headers, ..HttpRequest::new(method, uri) }
}

/// The URI with the host as the client names it, and with the path and query as sent.
fn uri(parts: &mut Parts, scheme: &Scheme, address: SocketAddr) -> Uri {
    let named = host(parts).and_then(|host| host.parse::<Authority>().ok());
    let mut uri = std::mem::take(&mut parts.uri).into_parts();
    uri.scheme = Some(scheme.clone());
    uri.authority = named.or_else(|| address.to_string().parse().ok());
    uri.path_and_query.get_or_insert_with(|| PathAndQuery::from_static("/"));
    Uri::from_parts(uri).unwrap_or_default()
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

/// A body that is being read.
struct Reading<'s> {
    shared: &'s Shared,
    body: Incoming,
    read: ReadBody,
    /// The share of the bytes that have arrived.
    share: Share,
}

impl Reading<'_> {
    /// Reads the body if the response depends on it. Only a body that arrived with its head is read before
    /// the request is authorized, and only a small one is kept. A body in one piece is not copied.
    ///
    /// # Errors
    /// The body is malformed or late, or there is no room for it.
    async fn read(
        &mut self,
        service: &MockTableService,
        head: &HttpRequest,
        sender: IpAddr,
    ) -> Result<(), BodyError> {
        // Reading the body tells a client that waits for `100 Continue` to send it.
        if !head.headers.contains_key(header::EXPECT) && self.arrived()? {
            if self.read.bytes.len() <= Budget::SMALL {
                return Ok(());
            }
            if service.needs_body(head, sender) {
                return Ok(self.share.grow(self.read.bytes.len()).await?);
            }
            self.read.bytes = Bytes::new();
            return Ok(());
        }
        if self.body.is_end_stream() {
            self.read.is_whole = true;
            return Ok(());
        }
        if !service.needs_body(head, sender) {
            self.read.bytes = Bytes::new();
            return Ok(());
        }
        if self.body.size_hint().lower() > (PASSED_BYTES - self.read.bytes.len()) as u64 {
            // The service refuses a body of this size without reading it.
            self.read.bytes = vec![0; PASSED_BYTES].into();
            return Ok(());
        }
        let first = std::mem::take(&mut self.read.bytes);
        let Self { shared, body, share, .. } = self;
        self.read = body::read(body, first, PASSED_BYTES, share, &shared.limits).await?;
        Ok(())
    }

    /// Reads the part of the body that arrived with the head. Returns `true` if this is all of it.
    fn arrived(&mut self) -> Result<bool, BodyError> {
        let mut context = Context::from_waker(Waker::noop());
        match Pin::new(&mut self.body).poll_frame(&mut context) {
            Poll::Pending => return Ok(false),
            Poll::Ready(None) => {}
            Poll::Ready(Some(frame)) => {
                self.read.bytes = frame?.into_data().unwrap_or_default();
            }
        }
        self.read.is_whole = self.body.is_end_stream();
        Ok(self.read.is_whole)
    }
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
            let (mut parts, ()) = request.body(()).unwrap().into_parts();
            assert_eq!(uri(&mut parts, &Scheme::HTTP, address), expected, "{target}");
        }
    }
}
