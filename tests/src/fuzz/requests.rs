//! The mock's handling of requests.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use azure_table_client::clock::Clock;
use azure_table_client::mock::MockTableService;
use azure_table_client::transport::{HttpRequest, HttpResponse};
use azure_table_client::{DynamicEntity, IfMatch, TableClient, measure};
use bytes::Bytes;
use futures_util::TryStreamExt as _;
use http::{HeaderValue, Method};

use super::canned::{answering, block_on, head_and_body, response, split_line};
use super::replies::{shown, transactions};

const ACCOUNT: &str = "http://127.0.0.1:10002/devstoreaccount1";

/// More requests in one input find no more bugs.
const MAX_REQUESTS: usize = 20;

/// A table with rows of all types: the path and the body of each insert.
const ROWS: &str = include_str!("rows.txt");

/// A fixed time, so that every run is the same, including signatures.
#[derive(Debug)]
pub(super) struct Standing;

impl Clock for Standing {
    fn now(&self) -> SystemTime {
        // 2009-08-19T17:00:00Z
        UNIX_EPOCH + Duration::from_secs(347_417 * 3600)
    }
}

/// A service that accepts unsigned requests, with the table `Blogs`.
pub(super) fn seeded() -> MockTableService {
    let mock = MockTableService::builder().loose(true).clock(Arc::new(Standing)).build();
    for row in ROWS.lines() {
        let (path, body) = row.split_once(' ').expect("a path and a body");
        let request = HttpRequest {
            body: body.as_bytes().into(),
            ..HttpRequest::new(Method::POST, format!("{ACCOUNT}{path}").parse().unwrap())
        };
        let reply = mock.respond(&request);
        assert_eq!(reply.status, 201, "{row}: {reply:?}");
    }
    mock
}

/// Requests to the mock: each `METHOD target`, headers, an empty line, the body; a line `###`
/// between two of them. Stored rows can be read.
pub fn mock_request(data: &[u8]) {
    on_seeded(|mock| {
        let mut is_changed = false;
        let mut strict = None;
        for request in requests(data).take(MAX_REQUESTS) {
            let reply = mock.respond(&request);
            answered(&request, &reply);
            is_changed |= request.method != Method::GET && reply.status.is_success();
            if is_signed(&request) {
                let builder = || MockTableService::builder().clock(Arc::new(Standing));
                let strict = strict.get_or_insert_with(|| builder().build());
                answered(&request, &strict.respond(&request));
            }
        }
        is_changed
    });
}

/// Calls `run` with a service in the state of [`seeded`]; `run` returns whether it changed the
/// service.
fn on_seeded(run: impl FnOnce(&MockTableService) -> bool) {
    struct Seeded {
        mock: MockTableService,
        rows: Vec<DynamicEntity>,
    }
    thread_local! {
        // Reused while it is unchanged, since creating one takes longer than most requests.
        static SEEDED: Cell<Option<Seeded>> = const { Cell::new(None) };
    }
    let seeded = SEEDED.take().unwrap_or_else(|| {
        let mock = seeded();
        let rows = block_on(mock.client().table_named("Blogs").query()).expect("the rows");
        Seeded { mock, rows: rows.to_vec() }
    });
    if run(&seeded.mock) {
        block_on(stored_is_readable(&seeded.mock, &seeded.rows));
    } else {
        SEEDED.set(Some(seeded));
    }
}

fn requests(data: &[u8]) -> impl Iterator<Item = HttpRequest> {
    const BETWEEN: &[u8] = b"\n###\n";
    let mut rest = Some(data);
    let texts = std::iter::from_fn(move || {
        let text = rest?;
        let at = text.windows(BETWEEN.len()).position(|window| window == BETWEEN);
        rest = at.map(|at| &text[at + BETWEEN.len()..]);
        Some(at.map_or(text, |at| &text[..at]))
    });
    texts.filter_map(request)
}

fn request(text: &[u8]) -> Option<HttpRequest> {
    let (line, rest) = split_line(text);
    let (method, target) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    let (headers, body) = head_and_body(rest)?;
    let url = match target {
        target if target.starts_with('/') => format!("{ACCOUNT}{target}"),
        target => target.to_owned(),
    };
    let method = Method::from_bytes(method.as_bytes()).ok()?;
    let body = Bytes::copy_from_slice(body);
    Some(HttpRequest { headers, body, ..HttpRequest::new(method, url.parse().ok()?) })
}

fn is_signed(request: &HttpRequest) -> bool {
    request.headers.contains_key(http::header::AUTHORIZATION)
        || request.uri.query().is_some_and(|query| query.contains("sig="))
}

/// Every response can be read.
fn answered(request: &HttpRequest, reply: &HttpResponse) {
    if request.method == Method::HEAD {
        assert!(reply.body.is_empty(), "{reply:?}");
        return;
    }
    if reply.status.is_client_error() || reply.status.is_server_error() {
        assert_ne!(reply.status, 500, "{reply:?}");
        let table = &answering(reply).dynamic;
        let error = block_on(table.get(("p", "r"))).expect_err("an error");
        assert!(error.code().is_some(), "{reply:?}");
        return;
    }
    let kind = reply.headers.get(http::header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    match kind {
        Some(kind) if kind.starts_with(b"application/json") => {
            let body: Result<serde_json::Value, _> = serde_json::from_slice(&reply.body);
            assert!(body.is_ok(), "{reply:?}");
        }
        Some(kind) if kind.starts_with(b"application/atom+xml") => atom_is_readable(&reply.body),
        Some(kind) if kind.starts_with(b"multipart/mixed") => block_on(batch_is_readable(reply)),
        Some(b"application/xml") => {
            let body = std::str::from_utf8(&reply.body).expect("UTF-8");
            let mut reader = quick_xml::Reader::from_str(body);
            while reader.read_event().expect("XML") != quick_xml::events::Event::Eof {}
        }
        _ => assert!(reply.body.is_empty(), "{reply:?}"),
    }
}

/// A feed or an entry; an entry of a table has no keys.
fn atom_is_readable(body: &[u8]) {
    let feed = measure::decode_feed::<DynamicEntity>(body).map(drop);
    let entry = measure::decode_entry::<DynamicEntity>(body).map(drop);
    let is_read = |read: &Result<(), String>| match read {
        Ok(()) => true,
        Err(error) => error.contains("\"PartitionKey\""),
    };
    assert!(is_read(&feed) || is_read(&entry), "{feed:?} {entry:?}");
}

/// The client accepts the response to a batch or reports the error in it.
async fn batch_is_readable(reply: &HttpResponse) {
    let table = &answering(reply).dynamic;
    if let Err(error) = table.transaction().delete(("p", "r"), IfMatch::Any).await {
        assert!(!error.to_string().contains("cannot be read"), "{error}: {reply:?}");
        shown(&error);
    }
}

/// Every row is returned by a query of its table, and a new one also by its keys and by a filter
/// with its keys.
async fn stored_is_readable(mock: &MockTableService, known: &[DynamicEntity]) {
    let service = mock.client();
    let names = service.list_tables().await.expect("the tables");
    assert_eq!(names, mock.table_names());
    for name in names {
        let table: TableClient<DynamicEntity> = service.table_named(&*name);
        let rows = table.query().page_size(3).stream().try_collect::<Vec<_>>().await;
        let rows = rows.expect("the rows");
        assert_eq!(Some(rows.len()), mock.row_count(&name));
        for row in rows.into_iter().filter(|row| !known.contains(row)) {
            let key = row.key();
            let fetched = table.get(key).await.expect("the row");
            assert_eq!(fetched.entity, row);
            let quoted = |key: &str| key.replace('\'', "''");
            let (partition_key, row_key) = (quoted(&key.partition_key), quoted(&key.row_key));
            let filter = format!("PartitionKey eq '{partition_key}' and RowKey eq '{row_key}'");
            let found = table.query().filter_text(&filter).await.expect("the row");
            assert_eq!(found, [row]);
        }
    }
}

/// A multipart body, as the reply to a transaction and as a batch that is sent to the mock: the
/// media type on its own line, then the body.
pub fn multipart(data: &[u8]) {
    let (media_type, body) = split_line(data);
    let Ok(media_type) = HeaderValue::from_bytes(media_type.trim_ascii()) else { return };
    let reply = response(202, media_type.clone(), body);
    block_on(transactions(&reply));

    let mut request = HttpRequest {
        body: reply.body,
        ..HttpRequest::new(Method::POST, format!("{ACCOUNT}/$batch").parse().unwrap())
    };
    request.headers.insert(http::header::CONTENT_TYPE, media_type);
    on_seeded(|mock| {
        let reply = mock.respond(&request);
        answered(&request, &reply);
        // A batch is accepted, regardless of its outcome.
        reply.body.windows(11).any(|window| window == b"HTTP/1.1 20")
    });
}
