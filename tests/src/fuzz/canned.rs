//! A service that always returns the same response.

use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use azure_table_client::auth::Credential;
use azure_table_client::transport::{
    HttpRequest, HttpResponse, ResponseFuture, Transport, TransportError, TransportErrorKind,
};
use azure_table_client::{DynamicEntity, RetryPolicy, TableClient, TableServiceClient};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::entities::{Item, Lenient, Strict};

/// The number of responses: a continuation that leads to itself must not be followed without end.
const ANSWERS: usize = 12;

#[derive(Debug)]
struct Canned {
    reply: Mutex<HttpResponse>,
    left: AtomicUsize,
}

impl Transport for Canned {
    fn send(&self, _: HttpRequest) -> ResponseFuture<'_> {
        let order = Ordering::Relaxed;
        let left = self.left.fetch_update(order, order, |left| left.checked_sub(1));
        let reply = match left {
            Ok(_) => Ok(self.reply.lock().expect("the reply").clone()),
            Err(_) => Err(TransportError::new(TransportErrorKind::Connect, "no more answers")),
        };
        Box::pin(std::future::ready(reply))
    }
}

/// A transport that returns this reply.
pub(super) fn transport(reply: HttpResponse) -> Arc<dyn Transport> {
    Arc::new(Canned { reply: Mutex::new(reply), left: AtomicUsize::new(ANSWERS) })
}

/// Clients of a service whose reply can be changed.
pub(super) struct Tables {
    canned: Arc<Canned>,
    pub(super) service: TableServiceClient,
    pub(super) dynamic: TableClient<DynamicEntity>,
    pub(super) strict: TableClient<Strict>,
    pub(super) lenient: TableClient<Lenient>,
    pub(super) items: TableClient<Item>,
}

/// Clients whose next calls get this reply. They are created once, since that takes longer than
/// their calls.
pub(super) fn answering(reply: &HttpResponse) -> Rc<Tables> {
    thread_local! {
        static TABLES: Rc<Tables> = Rc::new(Tables::new());
    }
    let tables = TABLES.with(Rc::clone);
    *tables.canned.reply.lock().expect("the reply") = reply.clone();
    tables.canned.left.store(ANSWERS, Ordering::Relaxed);
    tables
}

impl Tables {
    fn new() -> Self {
        let nothing = response(200, HeaderValue::from_static("text/plain"), b"");
        let canned = Arc::new(Canned { reply: Mutex::new(nothing), left: AtomicUsize::new(0) });
        let service =
            TableServiceClient::builder("https://account.example.com", Credential::Anonymous)
                .transport(canned.clone())
                .retry(RetryPolicy::none())
                .build()
                .expect("a client");
        Self {
            canned,
            dynamic: service.table_named("Blogs"),
            strict: service.table(),
            lenient: service.table_named("Blogs"),
            items: service.table_named("Blogs"),
            service,
        }
    }
}

/// A reply of this status, media type and body, with an ETag.
pub(super) fn response(status: u16, media_type: HeaderValue, body: &[u8]) -> HttpResponse {
    let mut headers = HeaderMap::new();
    headers.insert(http::header::CONTENT_TYPE, media_type);
    headers.insert(http::header::ETAG, HeaderValue::from_static("W/\"1\""));
    let status = StatusCode::from_u16(status).expect("a status");
    HttpResponse { status, headers, body: Bytes::copy_from_slice(body) }
}

/// Reads `Name: value` lines up to an empty one, and the rest; lines end with a line feed.
pub(super) fn head_and_body(data: &[u8]) -> Option<(HeaderMap, &[u8])> {
    let mut headers = HeaderMap::new();
    let mut rest = data;
    loop {
        let (line, next) = split_line(rest);
        rest = next;
        if line.is_empty() {
            return Some((headers, rest));
        }
        let colon = line.iter().position(|byte| *byte == b':')?;
        let name = HeaderName::from_bytes(&line[..colon]).ok()?;
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?;
        headers.append(name, value);
    }
}

/// The first line, and the rest.
pub(super) fn split_line(data: &[u8]) -> (&[u8], &[u8]) {
    match data.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&data[..end], &data[end + 1..]),
        None => (data, &[]),
    }
}

/// Runs a future under paused time.
pub(super) fn block_on<F: IntoFuture>(future: F) -> F::Output {
    use tokio::runtime::{Builder, Runtime};
    thread_local! {
        static RUNTIME: Runtime = {
            let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
            runtime.expect("a runtime")
        };
    }
    RUNTIME.with(|runtime| runtime.block_on(future.into_future()))
}
