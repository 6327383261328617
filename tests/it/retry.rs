//! Attempts, waits, deadlines: every decision under virtual time.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use azure_table_client::auth::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY, SharedKey};
use azure_table_client::clock::TokioClock;
use azure_table_client::transport::TransportErrorKind;
use azure_table_client::{
    DynamicEntity, ErrorKind, Outcome, RetryPolicy, TableClient, TableServiceClient,
};
use azure_table_tests::scripted::{Scripted, Step, in_turn, json_error, response};
use tokio::time::Instant;

/// A response with the body of an error unless it is a success.
fn respond_with(status: u16, headers: &[(&'static str, &str)]) -> Step {
    let body = match status {
        200..300 => String::new(),
        409 => json_error("EntityAlreadyExists", "no"),
        503 => json_error("ServerBusy", "no"),
        _ => json_error("Code", "no"),
    };
    let headers = [&[("x-ms-request-id", "id")], headers].concat();
    response(status, &headers, body).into()
}

fn respond(status: u16) -> Step {
    respond_with(status, &[("etag", "W/\"1\"")])
}

fn busy_for(wait: &str) -> Step {
    respond_with(503, &[("retry-after", wait)])
}

/// An empty page; this header has its continuation.
fn page(next: &'static str, continuation: &str) -> Step {
    response(200, &[("x-ms-request-id", "id"), (next, continuation)], r#"{"value":[]}"#).into()
}

/// Plays these steps, then responds with 204.
fn playing(steps: impl IntoIterator<Item = Step, IntoIter: Send> + 'static) -> Arc<Scripted> {
    Scripted::new(Scripted::alone(|_| respond(204)), in_turn(steps))
}

fn seconds(script: &Scripted) -> Vec<u64> {
    script.times().iter().map(Duration::as_secs).collect()
}

fn header(script: &Scripted, name: &str) -> Vec<String> {
    let requests = script.requests();
    requests.iter().map(|request| request.headers[name].to_str().unwrap().to_owned()).collect()
}

/// Waits of 1 s, 2 s, 4 s … are random by the default policy, and fixed here.
fn table(script: &Arc<Scripted>, retry: RetryPolicy) -> TableClient<DynamicEntity> {
    service(script, retry).table_named("Blogs")
}

fn service(script: &Arc<Scripted>, retry: RetryPolicy) -> TableServiceClient {
    TableServiceClient::builder(
        "https://account.example.com",
        SharedKey::new(DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY).unwrap(),
    )
    .transport(script.clone())
    .clock(Arc::new(TokioClock::starting_at(
        SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777),
    )))
    .retry(retry)
    .try_timeout(Duration::from_secs(30))
    .deadline(Duration::from_secs(5 * 60))
    .build()
    .unwrap()
}

fn every_second(retries: u32) -> RetryPolicy {
    RetryPolicy::fixed(retries, Duration::from_secs(1))
}

fn row() -> DynamicEntity {
    DynamicEntity::new("p", "r")
}

#[tokio::test(start_paused = true)]
async fn each_status_is_retried_or_not() {
    let transient = [408, 429, 500, 502, 503, 504];
    for status in
        [400, 401, 403, 404, 405, 408, 409, 412, 413, 415, 429, 500, 501, 502, 503, 504, 505]
    {
        let script = playing([respond(status)]);
        let result = table(&script, every_second(3)).insert(&row()).await;
        if transient.contains(&status) {
            result.unwrap_or_else(|error| panic!("{status}: {error}"));
            assert_eq!(seconds(&script), [0, 1], "{status}");
        } else {
            let error = result.unwrap_err();
            assert_eq!(error.status(), Some(status));
            assert_eq!(error.attempts(), 1, "{status}");
            // A server error leaves the outcome open, and the row is read back.
            let times: &[u64] = if status >= 500 { &[0, 0] } else { &[0] };
            assert_eq!(seconds(&script), times, "{status}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_transport_failure_is_retried_or_not() {
    use TransportErrorKind::{Connect, Interrupted, Invalid, TooLarge};
    for (kind, again, as_kind, outcome) in [
        (Connect, true, ErrorKind::Connect, Outcome::NotApplied),
        (Interrupted, true, ErrorKind::Interrupted, Outcome::Unknown),
        (TooLarge, false, ErrorKind::UnexpectedReply, Outcome::Unknown),
        (Invalid, false, ErrorKind::InvalidInput, Outcome::NotApplied),
    ] {
        let script = playing([Step::fail(kind)]);
        let result = table(&script, every_second(3)).insert(&row()).await;
        assert_eq!(result.is_ok(), again, "{kind:?}");
        // Without a second attempt, the failure is the result.
        let script = playing([Step::fail(kind)]);
        let error = table(&script, RetryPolicy::none()).insert(&row()).await.unwrap_err();
        assert_eq!((error.kind(), error.outcome()), (as_kind, outcome), "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn retries_are_counted_and_the_last_response_is_the_error() {
    let script = playing([respond(503), respond(503), respond(500)]);
    let error = table(&script, every_second(2)).insert(&row()).await.unwrap_err();
    assert_eq!((error.status(), error.attempts()), (Some(500), 3));
    assert_eq!(error.outcome(), Outcome::Unknown, "a 500 proves nothing about the effect");
    assert_eq!(seconds(&script), [0, 1, 2, 2], "then the row is read once");
    assert_eq!(script.requests()[3].method, "GET");

    let script = playing([respond(503)]);
    let error = table(&script, RetryPolicy::none()).insert(&row()).await.unwrap_err();
    assert!(error.is_throttled());
    assert_eq!(error.outcome(), Outcome::NotApplied, "throttling comes before the work");
}

#[tokio::test(start_paused = true)]
async fn exponential_waits_stay_below_their_bounds() {
    let policy = RetryPolicy::exponential(4, Duration::from_secs(1), Duration::from_secs(4));
    for _ in 0..50 {
        let script = playing([503; 4].map(respond));
        table(&script, policy.clone()).insert(&row()).await.unwrap();
        let times = script.times();
        let waits: Vec<Duration> = times.windows(2).map(|pair| pair[1].abs_diff(pair[0])).collect();
        for (wait, bound) in waits.iter().zip([1, 2, 4, 4]) {
            // Tokio's timer counts in milliseconds.
            assert!(*wait <= Duration::from_millis(bound * 1000 + 1), "{waits:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_the_lower_bound_in_both_forms() {
    for (text, expected) in [("7", 7), ("Sun, 06 Nov 1994 08:49:46 GMT", 9), ("0", 1), ("x", 1)] {
        let script = playing([busy_for(text)]);
        table(&script, every_second(3)).insert(&row()).await.unwrap();
        assert_eq!(seconds(&script), [0, expected], "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hanging_attempt_times_out_and_is_retried() {
    let script = playing([Step::hang()]);
    table(&script, every_second(3)).insert(&row()).await.unwrap();
    assert_eq!(seconds(&script), [0, 31]);

    let script = playing([Step::hang()]);
    let error = table(&script, RetryPolicy::none()).insert(&row()).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::Timeout, Outcome::Unknown));

    let script = playing([Step::hang()]);
    let error = table(&script, RetryPolicy::none()).get(("p", "r")).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::NotApplied, "a read has no effect");
}

#[tokio::test(start_paused = true)]
async fn the_deadline_bounds_attempts_and_waits() {
    let script = playing((0..100).map(|_| Step::hang()));
    let start = Instant::now();
    let error = table(&script, every_second(100))
        .insert(&row())
        .deadline(Duration::from_secs(70))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(seconds(&script), [0, 31, 62]);
    assert_eq!(start.elapsed().as_secs(), 70);

    // A wait that would end after the deadline does not start.
    let script = playing([busy_for("400")]);
    let start = Instant::now();
    let error = table(&script, every_second(3)).insert(&row()).await.unwrap_err();
    assert_eq!((error.status(), error.attempts()), (Some(503), 1));
    assert_eq!(start.elapsed().as_secs(), 0);
}

#[tokio::test(start_paused = true)]
async fn each_attempt_is_signed_again_under_one_id() {
    let script = playing([respond(503), respond(503)]);
    table(&script, every_second(3)).insert(&row()).await.unwrap();
    assert_eq!(
        header(&script, "x-ms-date"),
        [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:38 GMT",
            "Sun, 06 Nov 1994 08:49:39 GMT"
        ]
    );
    let signatures = header(&script, "authorization");
    assert!(signatures[0] != signatures[1] && signatures[1] != signatures[2]);
    let ids = header(&script, "x-ms-client-request-id");
    assert!(ids[0] == ids[1] && ids[1] == ids[2]);

    table(&script, every_second(3)).insert(&row()).await.unwrap();
    assert_ne!(header(&script, "x-ms-client-request-id")[3], ids[0], "another call, another id");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_after_a_lost_reply_leaves_the_outcome_open() {
    let script = playing([Step::fail(TransportErrorKind::Interrupted), respond(409)]);
    let error = table(&script, every_second(3)).insert(&row()).await.unwrap_err();
    assert_eq!((error.status(), error.outcome()), (Some(409), Outcome::Unknown));

    let script = playing([Step::fail(TransportErrorKind::Connect), respond(409)]);
    let error = table(&script, every_second(3)).insert(&row()).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::NotApplied, "the first one was never sent");
}

#[tokio::test(start_paused = true)]
async fn extreme_durations_do_not_overflow() {
    let script = playing([busy_for("18446744073709551615")]);
    let error = table(&script, every_second(3)).insert(&row()).await.unwrap_err();
    assert_eq!((error.status(), error.attempts()), (Some(503), 1));
    let script = playing([respond(503), Step::hang()]);
    let call = table(&script, every_second(3)).insert(&row()).deadline(Duration::MAX);
    call.await.unwrap();
    assert_eq!(seconds(&script), [0, 1, 32]);
}

#[tokio::test(start_paused = true)]
async fn a_call_may_have_its_own_policy() {
    let script = playing([respond(503), respond(503)]);
    let client = table(&script, every_second(9));
    let error = client.insert(&row()).retry(RetryPolicy::none()).await.unwrap_err();
    assert_eq!(error.attempts(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_query_may_have_its_own_settings_for_each_of_its_pages() {
    let next = "x-ms-continuation-nextpartitionkey";
    let script =
        playing([page(next, "1"), Step::hang(), page(next, "2"), Step::hang(), Step::hang()]);
    let client = table(&script, RetryPolicy::none());
    let start = Instant::now();
    let error = client
        .query()
        .retry(every_second(3))
        .deadline(Duration::from_secs(35))
        .client_request_id("nightly")
        .await
        .unwrap_err();
    // The third page hangs for 30 s, and for 4 s more; the second page's time does not count.
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Timeout, 2));
    assert_eq!(seconds(&script), [0, 0, 31, 31, 62]);
    assert_eq!(start.elapsed().as_secs(), 66);
    assert_eq!(header(&script, "x-ms-client-request-id"), ["nightly"; 5]);

    let next = "x-ms-continuation-nexttablename";
    let script =
        playing([page(next, "1"), Step::hang(), page(next, "2"), Step::hang(), Step::hang()]);
    let list = service(&script, RetryPolicy::none()).list_tables();
    let list = list.retry(every_second(3)).deadline(Duration::from_secs(35));
    let error = list.client_request_id("nightly").await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Timeout, 2));
    assert_eq!(seconds(&script), [0, 0, 31, 31, 62]);
    assert_eq!(header(&script, "x-ms-client-request-id"), ["nightly"; 5]);
}

#[tokio::test(start_paused = true)]
async fn a_repeated_request_is_part_of_the_cost() {
    let script = playing([respond(503), respond(500), page("x-other", "1")]);
    let results = table(&script, every_second(3)).query().await.unwrap();
    assert_eq!(results.cost.to_string(), "0 rows in 1 page by 3 requests");
}

/// Rows out of order cannot be merged; treated as duplicates, they would be lost.
#[tokio::test]
async fn rows_out_of_order_are_an_error_in_a_merge() {
    let row = |n| format!(r#"{{"odata.etag":"W/\"1\"","PartitionKey":"p","RowKey":"{n}"}}"#);
    let body = format!(r#"{{"value":[{},{},{}]}}"#, row(2), row(1), row(3));
    let unsorted = Scripted::always(response(200, &[("x-ms-request-id", "id")], body));
    let key = SharedKey::new(DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY).unwrap();
    let client = TableServiceClient::builder("http://127.0.0.1:1/devstoreaccount1", key);
    let table = client.transport(unsorted).build().unwrap();
    let table = table.table_named::<DynamicEntity>("Rows");
    let list = |count| (0..count).map(|n| format!("A eq {n}")).collect::<Vec<_>>().join(" or ");
    assert_eq!(table.query().filter_text(&list(15)).await.unwrap().len(), 3);
    let error = table.query().filter_text(&list(16)).await.unwrap_err();
    assert!(error.to_string().contains("out of key order"), "{error}");
}
