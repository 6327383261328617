//! One request and its answer: between hyper and the service.

use std::net::{IpAddr, SocketAddr};

use azure_table_client::transport::{HttpRequest, HttpResponse, TransportError};
use bytes::{Bytes, BytesMut};
use http::request::Parts;
use http::uri::{Authority, PathAndQuery};
use http::{HeaderValue, Method, Request, Response, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use tokio::runtime::Handle;
use tokio::task::block_in_place;
use tokio::time::{Duration, timeout};

use crate::accounts::Accounts;
use crate::page;

/// The service takes 4 MiB and refuses a body with one byte more: no more has to reach it.
const PASSED_BYTES: usize = 4 * 1024 * 1024 + 1;
/// So much of a body that is too large is read and thrown away, since most clients read no answer
/// before they have sent all; then the connection is closed on them.
const DRAINED_BYTES: usize = 64 * 1024 * 1024;
/// No more room is taken for a body that is stated and did not come yet: stating costs a client nothing.
const STATED_BYTES: usize = 128 * 1024;
/// A body has to be there by then.
const BODY_TIMEOUT: Duration = Duration::from_mins(2);

const SERVER: HeaderValue =
    HeaderValue::from_static(concat!("azure-table-mock/", env!("CARGO_PKG_VERSION")));

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) accounts: Accounts,
    pub(crate) has_page: bool,
    /// Where the port is.
    pub(crate) address: SocketAddr,
}

/// Why a connection ends without an answer.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The body could not be read.
    Body(hyper::Error),
    /// The body did not come.
    TooSlow,
    /// The fault plan has it so.
    Plan(TransportError),
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Body(_) => "the body could not be read",
            Self::TooSlow => "the body did not come",
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

/// Answers a request, by the page or by the account that its path names.
pub(crate) async fn answer(
    shared: &Shared,
    from: IpAddr,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Broken> {
    let (parts, body) = request.into_parts();
    if page::is_asked(parts.uri.path()) {
        return Ok(page::answer(shared, &parts));
    }
    let service = shared.accounts.of_path(parts.uri.path());
    let (body, is_whole) =
        timeout(BODY_TIMEOUT, read(body)).await.map_err(|_| Broken::TooSlow)??;
    let takes_long = may_take_long(&parts);
    let request = asked(shared.address, parts, body);
    let asking = service.receive_from(request, from);
    let answer = if takes_long {
        // Other connections go on meanwhile, on another thread.
        block_in_place(|| Handle::current().block_on(asking))
    } else {
        asking.await
    };
    let mut response = answer.map_err(Broken::Plan)?;
    if !is_whole {
        response.headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(written(response))
}

/// Whether this is a query, which may go through many rows: a read that names no entity.
fn may_take_long(parts: &Parts) -> bool {
    parts.method == Method::GET && !parts.uri.path().contains("PartitionKey=")
}

fn asked(address: SocketAddr, parts: Parts, body: Bytes) -> HttpRequest {
    let url = url(&parts, address);
    let Parts { method, headers, .. } = parts;
    HttpRequest { method, url, headers, body }
}

/// The address as the client sees it, and path and query as it sent them.
fn url(parts: &Parts, address: SocketAddr) -> String {
    let named = parts
        .uri
        .authority()
        .map(Authority::as_str)
        .or_else(|| parts.headers.get(header::HOST).and_then(|host| host.to_str().ok()));
    let target = parts.uri.path_and_query().map_or("/", PathAndQuery::as_str);
    match named.filter(|name| is_host(name)) {
        Some(name) => ["http://", name, target].concat(),
        None => format!("http://{address}{target}"),
    }
}

/// Whether this is a host with or without a port, and nothing that could be taken for a path.
fn is_host(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
    !name.is_empty() && name.bytes().all(is_part)
}

/// The body, or as much of it as shows that it is too large, and whether the client has sent all.
/// A body that came in one piece is not copied.
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
    let stated = usize::try_from(body.size_hint().lower()).unwrap_or(PASSED_BYTES);
    let mut whole = BytesMut::with_capacity(read.len() + stated.min(STATED_BYTES));
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

/// The next piece of a body; `None` at its end.
async fn data(body: &mut Incoming) -> Result<Option<Bytes>, Broken> {
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(Broken::Body)?.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

fn written(response: HttpResponse) -> Response<Full<Bytes>> {
    let mut written = Response::new(Full::new(response.body));
    *written.status_mut() = response.status;
    *written.headers_mut() = response.headers;
    written.headers_mut().insert(header::SERVER, SERVER);
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_reaches_the_service_as_it_was_sent() {
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
            assert_eq!(url(&parts, address), expected, "{target}");
        }
    }
}
