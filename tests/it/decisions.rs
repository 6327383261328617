//! Every decision about another attempt, in one table: the outcome of each attempt, and the time
//! and place of the next one. All tests use virtual time.

mod calls;
mod table;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use azure_table_client::auth::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY, SharedKey};
use azure_table_client::client::Replication;
use azure_table_client::clock::TokioClock;
use azure_table_client::mock::MockTableService;
use azure_table_client::transport::{
    HttpRequest, HttpResponse, ResponseFuture, Transport, TransportError, TransportErrorKind,
};
use azure_table_client::{
    DynamicEntity, Error, ErrorKind, IfMatch, Location, LocationMode, Outcome, RetryPolicy,
    TableClient, TableServiceClient, TableServiceClientBuilder,
};
use tokio::time::{Instant, sleep};

/// The outcome of an attempt.
#[derive(Debug, Clone, Copy)]
enum Meets {
    /// Status, code, and a header.
    Answer(u16, &'static str, (&'static str, &'static str)),
    /// The same after some seconds.
    Late(u64, u16),
    Fails(TransportErrorKind),
    Hangs,
}

use Meets::{Answer, Fails, Hangs, Late};

const NO: (&str, &str) = ("x-other", "1");
const BUSY: Meets = Answer(503, "ServerBusy", NO);
const LOST: Meets = Fails(TransportErrorKind::Interrupted);
const UNREACHABLE: Meets = Fails(TransportErrorKind::Connect);
const MISSING: Meets = Answer(404, "ResourceNotFound", NO);

#[derive(Debug)]
struct Script {
    meets: Mutex<VecDeque<Meets>>,
    sent: Mutex<Vec<(u64, String)>>,
    start: Instant,
}

fn answer(status: u16, code: &str, (name, value): (&'static str, &str)) -> HttpResponse {
    let body = match status {
        200 => r#"{"odata.etag":"W/\"1\"","PartitionKey":"p","RowKey":"r"}"#.to_owned(),
        _ if code.is_empty() => String::new(),
        _ => format!(r#"{{"odata.error":{{"code":"{code}","message":{{"value":"no"}}}}}}"#),
    };
    let mut headers = http::HeaderMap::new();
    headers.insert("etag", "W/\"1\"".parse().unwrap());
    headers.insert("x-ms-request-id", "id".parse().unwrap());
    headers.insert("content-type", "application/json;odata=minimalmetadata".parse().unwrap());
    headers.insert(name, value.parse().unwrap());
    HttpResponse { status: status.try_into().unwrap(), headers, body: body.into() }
}

impl Transport for Script {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        let place = if request.uri.host().is_some_and(|host| host.starts_with("copy")) {
            "secondary"
        } else {
            "primary"
        };
        let what = format!("{} {place}", request.method);
        self.sent.lock().unwrap().push((self.start.elapsed().as_secs(), what));
        let is_read = request.method == "GET";
        let meets = self.meets.lock().unwrap().pop_front();
        let done = if is_read { (200, "", NO) } else { (204, "", NO) };
        Box::pin(async move {
            match meets {
                None => Ok(answer(done.0, done.1, done.2)),
                Some(Answer(status, code, header)) => Ok(answer(status, code, header)),
                Some(Late(seconds, status)) => {
                    sleep(Duration::from_secs(seconds)).await;
                    Ok(answer(status, "ServerBusy", NO))
                }
                Some(Fails(kind)) => Err(TransportError::new(kind, "scripted")),
                Some(Hangs) => std::future::pending().await,
            }
        })
    }
}

fn builder(script: &Arc<Script>) -> TableServiceClientBuilder {
    let key = SharedKey::new(DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY).unwrap();
    let start = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
    TableServiceClient::builder("https://me.example.com", key)
        .secondary_endpoint("https://copy.example.com")
        .transport(script.clone())
        .clock(Arc::new(TokioClock::starting_at(start)))
        .try_timeout(Duration::from_secs(30))
        .resolve_outcomes(false)
}

fn script(meets: &[Meets]) -> Arc<Script> {
    Arc::new(Script {
        meets: Mutex::new(meets.iter().copied().collect()),
        sent: Mutex::new(Vec::new()),
        start: Instant::now(),
    })
}

fn row() -> DynamicEntity {
    DynamicEntity::new("p", "r")
}

#[derive(Debug, Clone, Copy)]
enum Call {
    Get,
    Insert,
    Delete,
}

/// The final result: success at the primary or the secondary, or the status or the kind of the
/// error.
#[derive(Debug, PartialEq)]
enum End {
    Done,
    ReadAt(Location),
    Refused(u16, Outcome),
    Failed(ErrorKind, Outcome),
}

async fn call(table: &TableClient<DynamicEntity>, call: Call) -> End {
    let result: Result<End, Error> = async {
        match call {
            Call::Get => Ok(End::ReadAt(table.get(("p", "r")).await?.location())),
            Call::Insert => table.insert(&row()).await.map(|_| End::Done),
            Call::Delete => table.delete(("p", "r"), IfMatch::Any).await.map(|_| End::Done),
        }
    }
    .await;
    result.unwrap_or_else(|error| match error.status() {
        Some(status) => End::Refused(status, error.outcome()),
        None => End::Failed(error.kind(), error.outcome()),
    })
}
