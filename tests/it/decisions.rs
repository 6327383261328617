//! Every decision about another attempt, in one table: the outcome of each attempt, and the time
//! and place of the next one. All tests use virtual time.

mod calls;
mod table;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use azure_table_client::auth::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY, SharedKey};
use azure_table_client::client::Replication;
use azure_table_client::client::{Location, LocationMode};
use azure_table_client::clock::TokioClock;
use azure_table_client::mock::MockTableService;
use azure_table_client::transport::{HttpResponse, TransportErrorKind};
use azure_table_client::{
    DynamicEntity, Error, ErrorKind, IfMatch, Outcome, Proof, RetryPolicy, TableClient,
    TableServiceClient, TableServiceClientBuilder,
};
use azure_table_tests::scripted::{Scripted, Step, in_turn, is_write, json_error, response};
use tokio::time::sleep;

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

fn answer(status: u16, code: &str, header: (&'static str, &str)) -> HttpResponse {
    let body = match status {
        200 => r#"{"odata.etag":"W/\"1\"","PartitionKey":"p","RowKey":"r"}"#.to_owned(),
        _ if code.is_empty() => String::new(),
        _ => json_error(code, "no"),
    };
    let json = "application/json;odata=minimalmetadata";
    let always = [("etag", "W/\"1\""), ("x-ms-request-id", "id"), ("content-type", json)];
    response(status, &[&always[..], &[header]].concat(), body)
}

impl From<Meets> for Step {
    fn from(meets: Meets) -> Self {
        match meets {
            Answer(status, code, header) => answer(status, code, header).into(),
            Late(seconds, status) => Self::respond(answer(status, "ServerBusy", NO))
                .after(sleep(Duration::from_secs(seconds))),
            Fails(kind) => Self::fail(kind),
            Hangs => Self::hang(),
        }
    }
}

fn builder(script: &Arc<Scripted>) -> TableServiceClientBuilder {
    let key = SharedKey::new(DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY).unwrap();
    let start = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
    TableServiceClient::builder("https://me.example.com", key)
        .secondary_endpoint("https://copy.example.com")
        .transport(script.clone())
        .clock(Arc::new(TokioClock::starting_at(start)))
        .try_timeout(Duration::from_secs(30))
        .proof(Proof::Response)
}

/// A service whose first attempts meet these outcomes, and the others succeed.
fn script(meets: &[Meets]) -> Arc<Scripted> {
    let service =
        Scripted::alone(|request| answer(if is_write(request) { 204 } else { 200 }, "", NO).into());
    Scripted::new(service, in_turn(meets.to_vec()))
}

/// The seconds, the method and the place of each request.
fn sent(script: &Scripted) -> Vec<(u64, String)> {
    let sent = script.times().into_iter().zip(script.requests());
    sent.map(|(time, request)| {
        let is_copy = request.uri.host().is_some_and(|host| host.starts_with("copy"));
        let place = if is_copy { "secondary" } else { "primary" };
        (time.as_secs(), format!("{} {place}", request.method))
    })
    .collect()
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
