//! Every decision about another attempt, in one table: the outcome of each attempt, and the time
//! and place of the next one. All tests use virtual time.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use azure_table_client::auth::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY, SharedKey};
use azure_table_client::client::{Replication, TableServiceClientBuilder};
use azure_table_client::clock::TokioClock;
use azure_table_client::mock::MockTableService;
use azure_table_client::transport::{
    HttpRequest, HttpResponse, ResponseFuture, Transport, TransportError, TransportErrorKind,
};
use azure_table_client::{
    DynamicEntity, Error, ErrorKind, IfMatch, Location, LocationMode, Outcome, RetryPolicy,
    TableClient, TableServiceClient,
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
        let place = if request.url.starts_with("https://copy") { "secondary" } else { "primary" };
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

const P: &str = "primary";
const S: &str = "secondary";

#[tokio::test(start_paused = true)]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn every_decision() {
    use Call::{Delete, Get, Insert};
    use End::{Done, Failed, ReadAt, Refused};
    use Location::{Primary, Secondary};
    use LocationMode::{PrimaryOnly, PrimaryThenSecondary, SecondaryOnly, SecondaryThenPrimary};
    use Outcome::{NotApplied, Unknown};
    let each = |n| RetryPolicy::fixed(n, Duration::from_secs(10));
    let own = RetryPolicy::own(|failed| {
        let again = failed.status == Some(503) && failed.number < 3;
        again.then(|| Duration::from_secs(u64::from(failed.number) * 7))
    });
    for (what, mode, policy, sends, meets, at, end) in [
        ("all is well", PrimaryOnly, each(3), Get, vec![], vec![(0, P)], ReadAt(Primary)),
        ("busy", PrimaryOnly, each(3), Insert, vec![BUSY], vec![(0, P), (10, P)], Done),
        (
            "busy to the end",
            PrimaryOnly,
            each(2),
            Insert,
            vec![BUSY; 9],
            vec![(0, P), (10, P), (20, P)],
            Refused(503, NotApplied),
        ),
        (
            "a Retry-After in seconds",
            PrimaryOnly,
            each(3),
            Insert,
            vec![Answer(503, "ServerBusy", ("retry-after", "25"))],
            vec![(0, P), (25, P)],
            Done,
        ),
        (
            "a Retry-After date",
            PrimaryOnly,
            each(3),
            Insert,
            vec![Answer(429, "Busy", ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"))],
            vec![(0, P), (30, P)],
            Done,
        ),
        (
            "no connection: the first time at once",
            PrimaryOnly,
            each(3),
            Insert,
            vec![UNREACHABLE, UNREACHABLE],
            vec![(0, P), (0, P), (10, P)],
            Done,
        ),
        (
            "no connection after another failure",
            PrimaryOnly,
            each(3),
            Insert,
            vec![BUSY, UNREACHABLE],
            vec![(0, P), (10, P), (20, P)],
            Done,
        ),
        (
            "a connection that breaks",
            PrimaryOnly,
            each(3),
            Insert,
            vec![LOST],
            vec![(0, P), (10, P)],
            Done,
        ),
        (
            "a connection that breaks under a read: the first time at once",
            PrimaryOnly,
            each(3),
            Get,
            vec![LOST, LOST],
            vec![(0, P), (0, P), (10, P)],
            ReadAt(Primary),
        ),
        (
            "a connection that breaks, and then a refusal",
            PrimaryOnly,
            each(3),
            Insert,
            vec![LOST, Answer(409, "EntityAlreadyExists", NO)],
            vec![(0, P), (10, P)],
            Refused(409, Unknown),
        ),
        (
            "no answer",
            PrimaryOnly,
            each(1),
            Delete,
            vec![Hangs; 9],
            vec![(0, P), (40, P)],
            Failed(ErrorKind::Timeout, Unknown),
        ),
        (
            "no policy",
            PrimaryOnly,
            RetryPolicy::none(),
            Get,
            vec![BUSY],
            vec![(0, P)],
            Refused(503, NotApplied),
        ),
        (
            "a policy of one's own",
            PrimaryOnly,
            own.clone(),
            Insert,
            vec![BUSY; 9],
            vec![(0, P), (7, P), (21, P)],
            Refused(503, NotApplied),
        ),
        (
            "a policy of one's own that does not want this",
            PrimaryOnly,
            own,
            Insert,
            vec![Answer(500, "InternalError", NO)],
            vec![(0, P)],
            Refused(500, Unknown),
        ),
        (
            "a signature that is refused",
            PrimaryOnly,
            each(3),
            Get,
            vec![Answer(403, "AuthenticationFailed", NO)],
            vec![(0, P)],
            Refused(403, NotApplied),
        ),
        (
            "a clock that is off: once, by the service's date",
            PrimaryOnly,
            each(0),
            Get,
            vec![Answer(403, "AuthenticationFailed", ("date", "Sun, 06 Nov 1994 12:00:00 GMT"))],
            vec![(0, P), (0, P)],
            ReadAt(Primary),
        ),
        (
            "a clock that is off, and refused again",
            PrimaryOnly,
            each(3),
            Get,
            vec![Answer(403, "AuthenticationFailed", ("date", "Sun, 06 Nov 1994 12:00:00 GMT")); 2],
            vec![(0, P), (0, P)],
            Refused(403, NotApplied),
        ),
        (
            "a clock that is right",
            PrimaryOnly,
            each(3),
            Get,
            vec![Answer(403, "AuthenticationFailed", ("date", "Sun, 06 Nov 1994 08:49:37 GMT"))],
            vec![(0, P)],
            Refused(403, NotApplied),
        ),
        (
            "the primary, then the secondary at once",
            PrimaryThenSecondary,
            each(3),
            Get,
            vec![BUSY],
            vec![(0, P), (0, S)],
            ReadAt(Secondary),
        ),
        (
            "each place with its own waits",
            PrimaryThenSecondary,
            each(4),
            Get,
            vec![BUSY, Late(4, 503), BUSY, BUSY],
            vec![(0, P), (0, S), (10, P), (14, S), (20, P)],
            ReadAt(Primary),
        ),
        (
            "the one whose wait ends first",
            PrimaryThenSecondary,
            each(4),
            Get,
            vec![Answer(503, "ServerBusy", ("retry-after", "3600")), BUSY, BUSY],
            vec![(0, P), (0, S), (10, S), (20, S)],
            ReadAt(Secondary),
        ),
        (
            "writes go to the primary",
            PrimaryThenSecondary,
            each(3),
            Insert,
            vec![BUSY, BUSY],
            vec![(0, P), (10, P), (20, P)],
            Done,
        ),
        (
            "a row that the secondary lacks yet",
            SecondaryThenPrimary,
            each(0),
            Get,
            vec![MISSING],
            vec![(0, S), (0, P)],
            ReadAt(Primary),
        ),
        (
            "what neither has",
            SecondaryThenPrimary,
            each(3),
            Get,
            vec![MISSING, BUSY, MISSING],
            vec![(0, S), (0, P), (10, P)],
            Refused(404, NotApplied),
        ),
        (
            "a row that the primary lacks",
            PrimaryThenSecondary,
            each(3),
            Get,
            vec![MISSING],
            vec![(0, P)],
            Refused(404, NotApplied),
        ),
        (
            "busy at the primary, and missing at the secondary",
            PrimaryThenSecondary,
            each(3),
            Get,
            vec![BUSY, MISSING],
            vec![(0, P), (0, S), (0, P)],
            ReadAt(Primary),
        ),
        (
            "the secondary, then the primary",
            SecondaryThenPrimary,
            each(3),
            Get,
            vec![LOST],
            vec![(0, S), (0, P)],
            ReadAt(Primary),
        ),
        (
            "the secondary only",
            SecondaryOnly,
            each(1),
            Get,
            vec![BUSY, MISSING],
            vec![(0, S), (10, S)],
            Refused(404, NotApplied),
        ),
        (
            "no write at the secondary",
            SecondaryOnly,
            each(3),
            Insert,
            vec![],
            vec![],
            Failed(ErrorKind::InvalidInput, NotApplied),
        ),
    ] {
        let script = script(&meets);
        let table = builder(&script).locations(mode).retry(policy).build().unwrap();
        let result = call(&table.table_named("Blogs"), sends).await;
        assert_eq!(result, end, "{what}");
        let method = match sends {
            Get => "GET",
            Insert => "POST",
            Delete => "DELETE",
        };
        let expected: Vec<_> =
            at.into_iter().map(|(at, place)| (at, format!("{method} {place}"))).collect();
        assert_eq!(*script.sent.lock().unwrap(), expected, "{what}");
    }
}

/// A permanent refusal is not retried, at either endpoint.
#[tokio::test(start_paused = true)]
async fn permanent_refusals_are_not_retried() {
    for status in [400, 401, 403, 404, 405, 409, 412, 413, 415, 416, 501, 505] {
        for mode in [LocationMode::PrimaryOnly, LocationMode::PrimaryThenSecondary] {
            let script = script(&[Answer(status, "Refused", NO)]);
            let table = builder(&script).locations(mode).build().unwrap().table_named("Blogs");
            assert_eq!(call(&table, Call::Get).await, End::Refused(status, Outcome::NotApplied));
            assert_eq!(script.sent.lock().unwrap().len(), 1, "{status}");
        }
    }
}

/// Once a clock skew is known, later calls sign with the service's time too.
#[tokio::test(start_paused = true)]
async fn the_clock_skew_is_remembered() {
    let off = Answer(403, "AuthenticationFailed", ("date", "Sun, 06 Nov 1994 06:00:00 GMT"));
    let script = script(&[off]);
    let table = builder(&script).build().unwrap().table_named("Blogs");
    assert_eq!(call(&table, Call::Insert).await, End::Done);
    assert_eq!(call(&table, Call::Insert).await, End::Done);
    assert_eq!(script.sent.lock().unwrap().len(), 3);
}

/// Calls in flight when the skew is learned are signed again with the corrected date.
#[tokio::test(start_paused = true)]
async fn all_calls_use_a_learned_clock_skew() {
    let mock = MockTableService::new();
    let table = mock.client().table_named::<DynamicEntity>("Blogs");
    table.create().await.unwrap();
    table.insert(&row()).await.unwrap();
    mock.faults().clock_ahead(Duration::from_secs(60 * 60));
    let table = mock.client().table_named::<DynamicEntity>("Blogs");
    let calls = (0..20).map(|_| tokio::spawn(table.get(("p", "r")).into_future()));
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap().unwrap();
    }
}

/// Calls that are dropped while they wait use no retry token.
#[tokio::test(start_paused = true)]
async fn dropped_calls_use_no_retry_token() {
    let script = script(&[BUSY; 100]);
    let client = builder(&script).retry(RetryPolicy::fixed(3, Duration::from_secs(60)));
    let table = client.retry_budget(Some(20)).build().unwrap().table_named("Blogs");
    for _ in 0..100 {
        let call = call(&table, Call::Get);
        assert!(tokio::time::timeout(Duration::from_secs(1), call).await.is_err());
    }
    script.meets.lock().unwrap().push_back(BUSY);
    assert_eq!(call(&table, Call::Get).await, End::ReadAt(Location::Primary));
}

/// With a deadline of zero, no request is sent.
#[tokio::test(start_paused = true)]
async fn a_deadline_of_zero_sends_nothing() {
    let script = script(&[]);
    let table = builder(&script).build().unwrap().table_named::<DynamicEntity>("Blogs");
    let error = table.insert(&row()).deadline(Duration::ZERO).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::Timeout, Outcome::NotApplied));
    assert!(script.sent.lock().unwrap().is_empty());
}

/// In an outage, retries stop for all calls of a client, and resume with the service.
#[tokio::test(start_paused = true)]
async fn an_outage_is_not_multiplied() {
    let script = script(&[BUSY; 100]);
    let client = builder(&script).retry(RetryPolicy::fixed(3, Duration::ZERO));
    let client = client.retry_budget(Some(50)).build().unwrap();
    let table = client.table_named("Blogs");
    for _ in 0..90 {
        let result = call(&table, Call::Get).await;
        assert_eq!(result, End::Refused(503, Outcome::NotApplied));
    }
    assert_eq!(script.sent.lock().unwrap().len(), 100, "90 calls, and 10 retries for 50 tokens");
    for _ in 0..15 {
        assert_eq!(call(&table, Call::Get).await, End::ReadAt(Location::Primary));
    }
    script.meets.lock().unwrap().extend([BUSY; 3]);
    assert_eq!(call(&table, Call::Get).await, End::ReadAt(Location::Primary), "with 15 tokens");
}

/// `max_in_flight` bounds the requests in flight, and a call that waits too long for a permit fails
/// with an error.
#[tokio::test(start_paused = true)]
async fn requests_wait_for_a_permit() {
    let script = script(&[Late(10, 204); 7]);
    let client = builder(&script).max_in_flight(3).try_timeout(Duration::from_secs(60));
    let table = client.build().unwrap().table_named::<DynamicEntity>("Blogs");
    let calls = (0..7).map(|_| tokio::spawn(table.insert(&row()).into_future()));
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap().unwrap();
    }
    let times: Vec<u64> = script.sent.lock().unwrap().iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [0, 0, 0, 10, 10, 10, 20]);

    script.meets.lock().unwrap().extend([Late(10, 204); 3]);
    let calls: Vec<_> = (0..3).map(|_| tokio::spawn(table.insert(&row()).into_future())).collect();
    tokio::task::yield_now().await;
    let late = table.insert(&row()).deadline(Duration::from_secs(5)).await.unwrap_err();
    assert_eq!((late.kind(), late.outcome()), (ErrorKind::Timeout, Outcome::NotApplied));
    assert_eq!((late.attempts(), script.sent.lock().unwrap().len()), (0, 10), "nothing was sent");
    for call in calls {
        call.await.unwrap().unwrap();
    }
}

/// The request states a timeout to the service if it is shorter than the service's own limit.
#[tokio::test(start_paused = true)]
async fn the_remaining_time_is_sent_to_the_service() {
    #[derive(Debug, Default)]
    struct Urls(Mutex<Vec<String>>);
    impl Transport for Urls {
        fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
            self.0.lock().unwrap().push(request.url);
            Box::pin(async {
                sleep(Duration::from_secs(7)).await;
                Ok(answer(503, "ServerBusy", NO))
            })
        }
    }
    let urls = Arc::new(Urls::default());
    let key = SharedKey::new(DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY).unwrap();
    let client = TableServiceClient::builder("https://me.example.com", key)
        .transport(urls.clone())
        .retry(RetryPolicy::fixed(9, Duration::ZERO))
        .resolve_outcomes(false)
        .build()
        .unwrap();
    let table = client.table_named::<DynamicEntity>("Blogs");
    let call = table.get(("p", "r")).deadline(Duration::from_secs(40));
    call.await.unwrap_err();
    let urls = urls.0.lock().unwrap();
    let timeouts: Vec<_> =
        urls.iter().map(|url| url.split_once("timeout=").map(|(_, t)| t)).collect();
    assert_eq!(timeouts, [None, None, Some("26"), Some("19"), Some("12"), Some("5")], "{urls:?}");
}

/// Reads that prepare a write go to the primary.
#[tokio::test(start_paused = true)]
async fn reads_before_writes_go_to_the_primary() {
    let script = script(&[LOST, Answer(409, "EntityAlreadyExists", NO), BUSY]);
    let client = builder(&script).locations(LocationMode::SecondaryThenPrimary);
    let client = client.resolve_outcomes(true).retry(RetryPolicy::fixed(3, Duration::ZERO));
    let table = client.build().unwrap().table_named::<DynamicEntity>("Blogs");
    assert!(
        table.insert(&row()).await.unwrap().confirmation
            != azure_table_client::client::Confirmation::Response
    );
    let change = |row: &mut DynamicEntity| {
        row.set("A", 1);
    };
    table.update_with(("p", "r"), change).await.unwrap();
    let sent = script.sent.lock().unwrap();
    assert!(sent.iter().all(|(_, what)| what.ends_with("primary")), "{sent:?}");
    assert_eq!(sent.len(), 6);
}

/// The replication lag is read from the secondary, in every location mode.
#[tokio::test(start_paused = true)]
async fn the_replication_lag_is_read_from_the_secondary() {
    #[derive(Debug)]
    struct Stats(Mutex<Vec<String>>, &'static str);
    impl Transport for Stats {
        fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
            self.0.lock().unwrap().push(request.url);
            let body = self.1.into();
            Box::pin(async move { Ok(HttpResponse { body, ..answer(200, "", NO) }) })
        }
    }
    let told = async |body: &'static str| {
        let stats = Arc::new(Stats(Mutex::new(Vec::new()), body));
        let key = SharedKey::new(DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY).unwrap();
        let client = TableServiceClient::builder("https://me.example.com", key)
            .secondary_endpoint("https://me-secondary.example.com")
            .transport(stats.clone());
        let told = client.build().unwrap().stats().await;
        let url = "https://me-secondary.example.com/?restype=service&comp=stats";
        assert_eq!(*stats.0.lock().unwrap(), [url]);
        told
    };
    let stats = told(
        "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceStats><GeoReplication>\
         <Status>live</Status><LastSyncTime>Sun, 06 Nov 1994 08:49:37 GMT</LastSyncTime>\
         </GeoReplication></StorageServiceStats>",
    );
    let stats = stats.await.unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
    assert_eq!((stats.replication, stats.last_sync), (Replication::Live, Some(time)));
    let stats = told(
        "<StorageServiceStats><GeoReplication><Status>bootstrap</Status><LastSyncTime></LastSyncTime>\
         </GeoReplication></StorageServiceStats>",
    );
    let stats = stats.await.unwrap();
    assert_eq!((stats.replication, stats.last_sync), (Replication::Bootstrap, None));
    let error = told("<StorageServiceStats/>").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedReply);
    let key = SharedKey::new(DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY).unwrap();
    let client = TableServiceClient::builder("https://me.example.com", key).build().unwrap();
    let error = client.stats().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

/// The address of the secondary, and endpoints without a known secondary.
#[tokio::test(start_paused = true)]
async fn a_secondary_must_be_known() {
    let key = || SharedKey::new(DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY).unwrap();
    let client = TableServiceClient::builder("https://me.example.com", key());
    let error = client.locations(LocationMode::SecondaryOnly).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    let client = TableServiceClient::builder("https://me.example.com", key());
    let client = client.secondary_endpoint("http://copy.example.com");
    let error = client.locations(LocationMode::SecondaryOnly).build().unwrap_err();
    assert!(error.to_string().contains("plain HTTP"), "{error}");

    let script = script(&[]);
    let table = builder(&script).locations(LocationMode::SecondaryThenPrimary).build().unwrap();
    let results = table.table_named::<DynamicEntity>("Blogs").query().matching(
        &azure_table_client::filter::Filter::parse("PartitionKey eq 'p' and RowKey eq 'r'")
            .unwrap(),
    );
    assert_eq!(results.await.unwrap().cost.secondary_pages, 1);
}
