//! Spans, events and observers, on the mock in virtual time.

#![allow(clippy::unwrap_used, reason = "tests")]

mod recorder;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{HeaderName, HeaderValue, header};
use tracing::Level;

use super::*;
use crate::auth::{SasToken, SharedKey};
use crate::bulk::BulkOperation;
use crate::client::TableServiceClientBuilder;
use crate::context::TableContext;
use crate::mock::{Fault, MockTableService};
use crate::transport::{HttpRequest, ResponseFuture, Transport};
use crate::{DynamicEntity, IfMatch, Operation, RetryPolicy, TableClient, TableServiceClient};
use recorder::{AS_TEXT, Recorder};

const KEY: (&str, &str) = ("Zanzibar", "Samarkand");

fn entity() -> DynamicEntity {
    let mut entity = DynamicEntity::new(KEY.0, KEY.1);
    entity.set("City", "Ouagadougou");
    entity
}

fn builder(mock: &MockTableService) -> TableServiceClientBuilder {
    TableServiceClient::builder_from_connection_string(&mock.connection_string())
        .unwrap()
        .transport(mock.transport())
        .clock(mock.clock())
        .retry(RetryPolicy::fixed(2, Duration::from_secs(3)))
}

fn cities(service: &TableServiceClient) -> TableClient<DynamicEntity> {
    service.table_named("Cities")
}

async fn mock_with(rows: usize) -> MockTableService {
    let mock = MockTableService::new();
    let table = cities(&mock.client());
    table.create().await.unwrap();
    for n in 0..rows {
        table.insert(&DynamicEntity::new(KEY.0, format!("{n:04}"))).await.unwrap();
    }
    mock
}

#[tokio::test(start_paused = true)]
async fn each_operation_is_a_span_with_one_attempt() {
    let mock = MockTableService::new();
    let service = builder(&mock).build().unwrap();
    let table = cities(&service);
    macro_rules! check {
        ($operation:literal, $name:literal, $method:literal, $status:literal, $call:expr) => {{
            Recorder::start();
            $call.await.unwrap();
            let recorded = Recorder::take();
            let (call, attempts) = recorded.one_call();
            for (field, expected) in [
                ("otel.name", $name),
                ("otel.kind", "client"),
                ("otel.status_code", ""),
                ("db.system.name", "azure.table_storage"),
                ("db.namespace", "devstoreaccount1"),
                ("db.operation.name", $operation),
                ("db.collection.name", $name.strip_prefix($operation).unwrap().trim()),
                ("server.address", "127.0.0.1"),
                ("azure_table.attempts", "1"),
                ("azure_table.retries", "0"),
                ("error.type", ""),
            ] {
                assert_eq!(call.fields.get(field), expected, "{field} of {}", $operation);
            }
            assert_eq!(attempts.len(), 1);
            let attempt = &attempts[0].fields;
            assert_eq!(attempt.get("otel.name"), $method);
            assert_eq!(attempt.get("http.response.status_code"), $status);
            assert_eq!(attempt.get("http.request.resend_count"), "");
            for field in ["azure.service.request.id", "azure_table.client_request_id"] {
                assert_eq!(call.fields.get(field), attempt.get(field));
                assert!(!attempt.get(field).is_empty(), "{field} of {}", $operation);
            }
            assert!(attempt.get("url.full").starts_with("http://127.0.0.1:"));
            recorded
        }};
    }
    check!("CreateTable", "CreateTable Cities", "POST", "204", table.create());
    check!("GetTable", "GetTable Cities", "GET", "200", table.exists());
    check!("ListTables", "ListTables", "GET", "200", service.list_tables());
    check!("Insert", "Insert Cities", "POST", "204", table.insert(&entity()));
    let got = check!("Get", "Get Cities", "GET", "200", table.get(KEY));
    assert_eq!(got.one_call().0.fields.get("db.response.returned_rows"), "1");
    let merge = table.merge(&entity(), IfMatch::Any);
    let merged = check!("Merge", "Merge Cities", "HTTP", "204", merge);
    let attempt = &merged.one_call().1[0].fields;
    assert_eq!(attempt.get("http.request.method"), "_OTHER");
    assert_eq!(attempt.get("http.request.method_original"), "MERGE");
    let replace = table.replace(&entity(), IfMatch::Any);
    check!("Replace", "Replace Cities", "PUT", "204", replace);
    let upsert = table.insert_or_merge(&entity());
    check!("InsertOrMerge", "InsertOrMerge Cities", "HTTP", "204", upsert);
    let upsert = table.insert_or_replace(&entity());
    check!("InsertOrReplace", "InsertOrReplace Cities", "PUT", "204", upsert);
    let transaction = table.transaction();
    let transaction =
        transaction.insert(&DynamicEntity::new(KEY.0, "2")).insert(&DynamicEntity::new(KEY.0, "3"));
    let batch = check!("Transaction", "Transaction Cities", "POST", "202", transaction);
    assert_eq!(batch.one_call().0.fields.get("db.operation.batch.size"), "2");
    let query = check!("Query", "Query Cities", "GET", "200", table.query());
    assert_eq!(query.one_call().0.fields.get("db.response.returned_rows"), "3");
    check!("Delete", "Delete Cities", "DELETE", "204", table.delete(KEY, IfMatch::Any));
    let mut context = TableContext::new(&service);
    context.table_named::<DynamicEntity>("Cities").add(&entity()).unwrap();
    check!("Insert", "Insert Cities", "POST", "204", context.save_changes());
    check!("DeleteTable", "DeleteTable Cities", "DELETE", "204", table.delete_table());
}

#[tokio::test(start_paused = true)]
async fn expected_refusals_are_no_errors_and_others_are() {
    let mock = mock_with(0).await;
    let service = builder(&mock).build().unwrap();
    let table = cities(&service);
    macro_rules! check {
        ($status:literal, $call:expr) => {{
            Recorder::start();
            $call.await.unwrap();
            let recorded = Recorder::take();
            let (call, attempts) = recorded.one_call();
            assert_eq!(attempts[0].fields.get("http.response.status_code"), $status);
            for fields in [&call.fields, &attempts[0].fields] {
                assert_eq!(fields.get("otel.status_code"), "", "{fields:?}");
                assert_eq!(fields.get("error.type"), "", "{fields:?}");
            }
        }};
    }
    check!("409", table.create_if_not_exists());
    check!("409", service.create_table_if_not_exists("Cities"));
    check!("404", table.get_if_exists(KEY));
    check!("404", table.delete_if_exists(KEY, IfMatch::Any));
    check!("404", table.query().filter_text("PartitionKey eq 'a' and RowKey eq 'b'"));
    check!("404", service.table_exists("Towns"));
    check!("404", service.delete_table_if_exists("Towns"));

    Recorder::start();
    table.get(KEY).await.unwrap_err();
    let recorded = Recorder::take();
    let (call, attempts) = recorded.one_call();
    assert_eq!(call.fields.get("otel.status_code"), "ERROR");
    assert_eq!(call.fields.get("error.type"), "ResourceNotFound");
    assert_eq!(call.fields.get("db.response.status_code"), "404");
    assert_eq!(attempts[0].fields.get("otel.status_code"), "ERROR");
    assert_eq!(attempts[0].fields.get("error.type"), "404");
    // A missing table differs from a missing row.
    Recorder::start();
    let towns = service.table_named::<DynamicEntity>("Towns");
    towns.get_if_exists(KEY).await.unwrap_err();
    assert_eq!(Recorder::take().one_call().0.fields.get("error.type"), "TableNotFound");
}

#[tokio::test(start_paused = true)]
async fn a_retried_attempt_is_an_error_of_its_own_span_only() {
    let mock = mock_with(1).await;
    let table = cities(&builder(&mock).build().unwrap());
    mock.faults().add(Fault::busy().times(1));
    mock.faults().add(Fault::internal_error().skip(1).times(1));
    Recorder::start();
    table.insert_or_replace(&entity()).await.unwrap();
    let recorded = Recorder::take();
    let (call, attempts) = recorded.one_call();
    for (field, expected) in [
        ("otel.status_code", ""),
        ("error.type", ""),
        ("azure_table.attempts", "3"),
        ("azure_table.retries", "2"),
        ("azure_table.wait_ms", "6000"),
    ] {
        assert_eq!(call.fields.get(field), expected, "{field}");
    }
    let of = |name: &str| attempts.iter().map(|a| a.fields.get(name)).collect::<Vec<_>>();
    assert_eq!(of("http.request.resend_count"), ["", "1", "2"]);
    assert_eq!(of("error.type"), ["503", "500", ""]);
    assert_eq!(of("otel.status_code"), ["ERROR", "ERROR", ""]);
    // Covers spans and events.
    assert!(!recorded.text().contains(AS_TEXT), "{}", recorded.text());
    let warnings = recorded.events.iter().filter(|event| event.level == Level::WARN);
    assert_eq!(warnings.count(), 2);
    let retries = recorded.warnings("will retry");
    for (retry, (code, attempt)) in
        retries.iter().zip([("ServerBusy", attempts[0]), ("InternalError", attempts[1])])
    {
        assert_eq!(retry.fields.get("code"), code);
        let id = attempt.fields.get("azure.service.request.id");
        assert_eq!(retry.fields.get("request_id"), id);
        assert!(!id.is_empty());
    }
    assert_eq!(retries.len(), 2);

    mock.faults().clear();
    mock.faults().add(Fault::hang());
    Recorder::start();
    table.get(KEY).await.unwrap_err();
    let recorded = Recorder::take();
    let (call, attempts) = recorded.one_call();
    assert_eq!(call.fields.get("error.type"), "timeout");
    assert!(attempts.iter().all(|attempt| attempt.fields.get("error.type") == "timeout"));
    assert_eq!(attempts.len(), 3);
    // No attempt has a response.
    for retry in recorded.warnings("will retry") {
        assert_eq!(["code", "request_id"].map(|field| retry.fields.get(field)), ["", ""]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_retried_transaction_reports_the_code_of_its_failed_part() {
    let mock = mock_with(0).await;
    let table = cities(&builder(&mock).build().unwrap());
    for fault in [Fault::busy(), Fault::proxy_page(503)] {
        mock.faults().add(fault.times(1));
    }
    Recorder::start();
    table.transaction().insert_or_replace(&entity()).await.unwrap();
    let recorded = Recorder::take();
    let codes = recorded.warnings("will retry").into_iter().map(|e| e.fields.get("code"));
    assert_eq!(codes.collect::<Vec<_>>(), ["ServerBusy", ""]);
}

/// The only warning about a failed call, which is in the span of the call.
#[track_caller]
fn failure(recorded: &recorder::Recorded) -> &recorder::Fields {
    let failures = recorded.warnings("call failed");
    assert_eq!(failures.len(), 1, "{failures:?}");
    let call = recorded.calls().next().unwrap();
    assert_eq!(failures[0].parent, Some(call.0));
    let fields = &failures[0].fields;
    for (of_event, of_span) in [
        ("operation", "db.operation.name"),
        ("table", "db.collection.name"),
        ("code", "error.type"),
        ("request_id", "azure.service.request.id"),
        ("client_request_id", "azure_table.client_request_id"),
        ("attempts", "azure_table.attempts"),
        ("outcome", "azure_table.outcome"),
    ] {
        assert_eq!(fields.get(of_event), call.1.fields.get(of_span), "{of_event}");
    }
    fields
}

/// The outcome of the only write, and whether an earlier attempt was applied.
#[track_caller]
fn outcome(recorded: &recorder::Recorded) -> [&str; 2] {
    let (_, write) =
        recorded.calls().find(|c| c.1.fields.get("otel.name") != "Query Cities").unwrap();
    ["azure_table.outcome", "azure_table.by_earlier_attempt"].map(|field| write.fields.get(field))
}

#[tokio::test(start_paused = true)]
async fn a_failed_call_is_one_warning() {
    let mock = mock_with(0).await;
    let table = cities(&builder(&mock).build().unwrap());
    Recorder::start();
    table.insert(&entity()).await.unwrap();
    let recorded = Recorder::take();
    assert!(recorded.warnings("call failed").is_empty());
    assert_eq!(outcome(&recorded), ["applied", "false"]);

    Recorder::start();
    table.insert(&entity()).client_request_id("import-42").await.unwrap_err();
    let recorded = Recorder::take();
    let fields = failure(&recorded);
    for (field, expected) in [
        ("operation", "Insert"),
        ("table", "Cities"),
        ("code", "EntityAlreadyExists"),
        ("client_request_id", "import-42"),
        ("attempts", "1"),
        ("outcome", "not_applied"),
    ] {
        assert_eq!(fields.get(field), expected, "{field}");
    }
    assert!(!fields.get("request_id").is_empty());
    assert_eq!(outcome(&recorded), ["not_applied", "false"]);

    // Nothing is sent.
    Recorder::start();
    table.insert(&entity()).client_request_id("\n").await.unwrap_err();
    let recorded = Recorder::take();
    let fields = failure(&recorded);
    assert_eq!(["code", "attempts"].map(|f| fields.get(f)), ["invalid_input", "0"]);

    // A request of a context, and a transaction.
    Recorder::start();
    let mut context = TableContext::new(&builder(&mock).build().unwrap());
    context.table_named::<DynamicEntity>("Cities").add(&entity()).unwrap();
    context.save_changes().await.unwrap_err();
    assert_eq!(failure(&Recorder::take()).get("code"), "EntityAlreadyExists");
    Recorder::start();
    table.transaction().insert(&entity()).await.unwrap_err();
    let recorded = Recorder::take();
    assert_eq!(failure(&recorded).get("code"), "EntityAlreadyExists");
    assert_eq!(outcome(&recorded), ["not_applied", "false"]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_call_is_one_warning_without_spans_and_observers() {
    let mock = mock_with(0).await;
    let table = cities(&builder(&mock).build().unwrap());
    mock.faults().add(Fault::busy().times(1));
    Recorder::start_without_spans();
    let error = table.get(KEY).await.unwrap_err();
    let recorded = Recorder::take();
    assert!(recorded.spans.is_empty());
    let [retry] = recorded.warnings("will retry")[..] else { panic!("{recorded:?}") };
    assert_eq!(retry.fields.get("code"), "ServerBusy");
    let [failure] = recorded.warnings("call failed")[..] else { panic!("{recorded:?}") };
    for (field, expected) in [
        ("code", "ResourceNotFound"),
        ("request_id", error.request_id().unwrap()),
        ("client_request_id", error.client_request_id().unwrap()),
        ("attempts", "2"),
        ("outcome", "not_applied"),
    ] {
        assert_eq!(failure.fields.get(field), expected, "{field}");
    }

    let mut context = TableContext::new(&builder(&mock).build().unwrap());
    context.table_named::<DynamicEntity>("Towns").add(&entity()).unwrap();
    Recorder::start_without_spans();
    context.save_changes().await.unwrap_err();
    let recorded = Recorder::take();
    let [failure] = recorded.warnings("call failed")[..] else { panic!("{recorded:?}") };
    assert_eq!(failure.fields.get("code"), "TableNotFound");
}

#[tokio::test(start_paused = true)]
async fn a_write_of_unknown_outcome_is_one_warning() {
    let mock = mock_with(0).await;
    let stats = Arc::new(ClientStats::default());
    let service = builder(&mock).resolve_outcomes(false).observer(stats.clone()).build().unwrap();
    let table = cities(&service);
    mock.faults().add(Fault::lose_reply());
    Recorder::start();
    table.insert(&entity()).await.unwrap_err();
    let recorded = Recorder::take();
    let fields = ["attempts", "outcome"].map(|field| failure(&recorded).get(field));
    assert_eq!(fields, ["3", "unknown"]);
    mock.faults().clear();
    assert_eq!(outcome(&recorded), ["unknown", "false"]);
    let counts = stats.of(Operation::Insert);
    assert_eq!((counts.unknown, counts.resolved, counts.failed), (1, 0, 1));

    // A refusal of the service that may be the echo of the call's own write is not expected.
    mock.faults().add(Fault::lose_reply().on(Operation::Merge).times(1));
    Recorder::start();
    let change = |entity: &mut DynamicEntity| {
        entity.set("City", "Timbuktu");
    };
    let error = table.update_with(KEY, change).await.unwrap_err();
    assert_eq!(error.outcome(), crate::Outcome::Unknown);
    let recorded = Recorder::take();
    let failures = recorded.warnings("call failed");
    assert_eq!(failures.len(), 1);
    let fields = ["code", "outcome"].map(|field| failures[0].fields.get(field));
    assert_eq!(fields, ["UpdateConditionNotSatisfied", "unknown"]);
    let counts = stats.of(Operation::Merge);
    assert_eq!((counts.unknown, counts.conflicts), (1, 1));

    // So is the outcome of a write that is dropped in flight, which is not an event.
    mock.faults().add(Fault::hang());
    Recorder::start();
    let insert = table.insert(&entity()).into_future();
    tokio::time::timeout(Duration::from_secs(1), insert).await.unwrap_err();
    let recorded = Recorder::take();
    assert!(recorded.events.is_empty(), "{recorded:?}");
    assert_eq!(outcome(&recorded), ["unknown", "false"]);
    assert_eq!((stats.of(Operation::Insert).unknown, stats.of(Operation::Insert).dropped), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn an_expected_error_is_no_warning() {
    let mock = mock_with(0).await;
    let stats = Arc::new(ClientStats::default());
    let service = builder(&mock).observer(stats.clone()).build().unwrap();
    let table = cities(&service);
    let other = cities(&mock.client());
    other.insert(&entity()).await.unwrap();
    Recorder::start();
    table.create_if_not_exists().await.unwrap();
    let recorded = Recorder::take();
    assert!(recorded.warnings("call failed").is_empty());
    assert_eq!(outcome(&recorded), ["not_applied", "false"]);
    Recorder::start();
    table.get_if_exists(("no", "one")).await.unwrap();
    let recorded = Recorder::take();
    assert!(recorded.warnings("call failed").is_empty());
    assert_eq!(outcome(&recorded), ["", ""]);
    assert_eq!(stats.total().conflicts, 0);

    // A round that loses a race.
    mock.faults()
        .add(Fault::answer(412, "UpdateConditionNotSatisfied").on(Operation::Merge).times(1));
    Recorder::start();
    let change = |entity: &mut DynamicEntity| {
        entity.set("City", "Timbuktu");
    };
    assert_eq!(table.update_with(KEY, change).await.unwrap().rounds(), 2);
    assert!(Recorder::take().warnings("call failed").is_empty());
    let counts = stats.of(Operation::Merge);
    assert_eq!((counts.calls, counts.failed, counts.conflicts), (2, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_resolved_write_reports_its_earlier_attempt() {
    let mock = mock_with(0).await;
    let (stats, notes) = (Arc::new(ClientStats::default()), Arc::new(Notes::default()));
    let service = builder(&mock).observer(stats.clone()).observer(notes.clone()).build().unwrap();
    let table = cities(&service);
    let second = DynamicEntity::new(KEY.0, "2");
    macro_rules! check {
        ($operation:ident, $call:expr) => {{
            mock.faults().add(Fault::lose_reply().on(Operation::$operation).times(1));
            Recorder::start();
            notes.take();
            $call.await.unwrap();
            let recorded = Recorder::take();
            assert!(recorded.warnings("call failed").is_empty(), "{recorded:?}");
            let (_, call) = recorded.calls().next().unwrap();
            assert_eq!(outcome(&recorded), ["applied", "true"], "{}", call.fields.get("otel.name"));
            let counts = stats.of(Operation::$operation);
            assert_eq!((counts.resolved, counts.unknown), (1, 0));
            assert!(notes.take().iter().any(|note| note.ends_with("by an earlier attempt")));
            counts
        }};
    }
    let counts = check!(Insert, table.insert(&entity()));
    assert_eq!((counts.calls, counts.conflicts), (1, 0));
    check!(Transaction, table.transaction().insert(&second));
    check!(Delete, table.delete_if_exists(KEY, IfMatch::Any));
    check!(CreateTable, service.create_table("Towns"));

    // The run sends its request again, as a call of its own.
    mock.faults().add(Fault::lose_reply().on(Operation::Insert).times(1));
    let before = stats.of(Operation::Insert);
    Recorder::start();
    table.bulk().run([BulkOperation::Insert(entity())]).await.unwrap();
    assert_eq!(failure(&Recorder::take()).get("outcome"), "unknown");
    let counts = stats.of(Operation::Insert);
    assert_eq!((counts.calls, counts.resolved), (before.calls + 2, before.resolved + 1));
}

#[tokio::test(start_paused = true)]
async fn durations_are_counted_in_buckets() {
    let mock = mock_with(1).await;
    let stats = Arc::new(ClientStats::default());
    let service = builder(&mock).observer(stats.clone()).build().unwrap();
    let table = cities(&service);
    for _ in 0..9 {
        table.query().await.unwrap();
    }
    mock.faults().add(Fault::busy().times(1));
    table.query().await.unwrap();
    let durations = stats.of(Operation::Query).durations;
    assert_eq!((durations.count(), stats.total().durations), (10, durations));
    let quantiles = [0.5, 0.9, 0.99].map(|q| durations.quantile(q));
    let of = |millis| Some(Duration::from_millis(millis));
    assert_eq!(quantiles, [of(1), of(1), of(4096)]);
}

#[tokio::test(start_paused = true)]
async fn a_query_is_one_span_and_so_is_each_page_that_is_asked_for_by_itself() {
    let mock = mock_with(25).await;
    let table = cities(&builder(&mock).build().unwrap());
    Recorder::start();
    table.query().page_size(10).await.unwrap();
    let recorded = Recorder::take();
    let (call, attempts) = recorded.one_call();
    assert_eq!(attempts.len(), 3);
    let counts = ["azure_table.pages", "db.response.returned_rows"].map(|f| call.fields.get(f));
    assert_eq!(counts, ["3", "25"]);
    Recorder::start();
    let mut pages = table.query().page_size(10).pages();
    while let Some(page) = pages.next().await {
        page.unwrap();
    }
    let recorded = Recorder::take();
    let rows = |(_, call): (usize, &recorder::RecordedSpan)| {
        call.fields.get("db.response.returned_rows").to_owned()
    };
    assert_eq!(recorded.calls().map(rows).collect::<Vec<_>>(), ["10", "10", "5"]);
}

/// Keeps its events as text, and adds headers.
#[derive(Debug, Default)]
struct Notes(Mutex<Vec<String>>);

impl Notes {
    fn note(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Observer for Notes {
    fn before_send(&self, sending: &mut Sending<'_>) {
        for name in ["x-trace", "authorization", "x-ms-version", "content-type"] {
            let name = HeaderName::from_static(name);
            sending.insert_header(name, HeaderValue::from_static("mine"));
        }
        self.note(format!("{sending:?}"));
    }

    fn after_receive(&self, received: &Received<'_>) {
        let Received { attempt, waited, outcome, .. } = received;
        let names = ["location", "dataserviceid", "x-ms-continuation-nextpartitionkey"];
        let headers = names.map(|name| received.header(name));
        let id = received.header("x-ms-request-id");
        self.note(format!("{attempt} {waited:?} {outcome:?} {headers:?} {id:?} of {received:?}"));
    }

    fn call_finished(&self, finished: &Finished<'_>) {
        let outcome = match finished.outcome {
            CallOutcome::Succeeded => "succeeded",
            CallOutcome::Expected(_) => "expected",
            CallOutcome::Failed(_) => "failed",
            CallOutcome::Dropped => "dropped",
        };
        let Finished { operation, attempts, retries, pages, rows, .. } = finished;
        let by = if finished.by_earlier_attempt { " by an earlier attempt" } else { "" };
        self.note(format!("{operation} {outcome} {attempts} {retries} {pages} {rows}{by}"));
    }
}

/// Keeps the requests.
#[derive(Debug)]
struct Keep(Arc<dyn Transport>, Mutex<Vec<HttpRequest>>);

impl Transport for Keep {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        self.1.lock().unwrap().push(request.clone());
        self.0.send(request)
    }
}

#[tokio::test(start_paused = true)]
async fn a_header_of_an_observer_is_sent_and_those_of_the_client_stay() {
    let mock = mock_with(0).await;
    let keep = Arc::new(Keep(mock.transport(), Mutex::default()));
    let notes = Arc::new(Notes::default());
    let service = builder(&mock).transport(keep.clone()).observer(notes.clone()).build().unwrap();
    // The signature is checked.
    cities(&service).insert(&entity()).client_request_id("import-42").await.unwrap();
    cities(&service).get(KEY).await.unwrap();
    let sent = keep.1.lock().unwrap();
    for request in &*sent {
        assert_eq!(request.headers["x-trace"], "mine");
        assert_ne!(request.headers["x-ms-version"], "mine");
        assert_ne!(request.headers[header::AUTHORIZATION], "mine");
    }
    assert_eq!(sent[0].headers["x-ms-client-request-id"], "import-42");
    let told = notes.take();
    assert!(told[1].contains("import-42") && !told[1].contains("None of"), "{told:?}");
    assert!(!sent[1].headers.contains_key(header::CONTENT_TYPE));
}

#[tokio::test(start_paused = true)]
async fn observers_are_told_of_attempts_waits_and_ends() {
    let mock = mock_with(0).await;
    let (notes, stats) = (Arc::new(Notes::default()), Arc::new(ClientStats::default()));
    let service = builder(&mock).observer(notes.clone()).observer(stats.clone()).build().unwrap();
    let table = cities(&service);
    mock.faults().add(Fault::busy().times(1));
    table.insert(&entity()).await.unwrap();
    let told = notes.take();
    assert!(told[1].starts_with("1 0ns Answered(503)"), "{told:?}");
    assert!(told[3].starts_with("2 3s Answered(204)"), "{told:?}");
    assert_eq!(told[4], "Insert succeeded 2 1 0 0");
    let counts = stats.of(Operation::Insert);
    assert_eq!((counts.calls, counts.requests, counts.retries, counts.throttled), (1, 2, 1, 1));
    assert_eq!((counts.waited, counts.failed), (Duration::from_secs(3), 0));
    assert!(counts.bytes_out > 0 && counts.bytes_in > 0 && counts.time >= counts.waited);

    // The row exists.
    table.insert(&entity()).await.unwrap_err();
    assert_eq!(notes.take().pop().unwrap(), "Insert failed 1 0 0 0");
    assert_eq!(stats.of(Operation::Insert).failed, 1);
    table.get_if_exists(("no", "one")).await.unwrap();
    assert_eq!(notes.take().pop().unwrap(), "Get succeeded 1 0 0 0");
    table.query().await.unwrap();
    assert_eq!(notes.take().pop().unwrap(), "Query succeeded 1 0 1 1");

    // The future is dropped before its response comes.
    mock.faults().add(Fault::hang());
    let get = tokio::time::timeout(Duration::from_secs(1), table.get(KEY).into_future());
    get.await.unwrap_err();
    let told = notes.take();
    assert!(told[1].starts_with("1 0ns Dropped"), "{told:?}");
    assert_eq!(told[2], "Get dropped 1 0 0 0");
    assert_eq!(stats.of(Operation::Get).dropped, 1);
    let used: Vec<_> = stats.by_operation().into_iter().map(|(operation, _)| operation).collect();
    assert_eq!(used, [Operation::Insert, Operation::Get, Operation::Query]);
    assert_eq!(stats.total().calls, 5);
}

#[tokio::test(start_paused = true)]
async fn a_throttled_slice_of_a_bulk_run_is_reckoned_with() {
    let mock = mock_with(0).await;
    let stats = Arc::new(ClientStats::default());
    let notes = Arc::new(Notes::default());
    let service = builder(&mock).observer(stats.clone()).observer(notes.clone()).build().unwrap();
    mock.faults().add(Fault::busy().times(1));
    let rows = (0..150).map(|n| DynamicEntity::new("p", format!("{n:04}")));
    cities(&service).bulk().run(rows.map(BulkOperation::Insert)).await.unwrap();
    let counts = stats.total();
    assert_eq!((counts.failed, counts.throttled), (0, 1));
    assert!(counts.requests >= 3);
    assert!(notes.take().iter().any(|note| note.contains("expected")));
}

#[tokio::test(start_paused = true)]
async fn no_secret_no_key_and_no_value_is_told() {
    const SECRET: &str = "c2VjcmV0LXNlY3JldC1zZWNyZXQ=";
    let sas = "sv=2019-02-02&sp=r&sig=c2VjcmV0LXNlY3JldC1zZWNyZXQ%3D";
    let shared = MockTableService::builder().account("me", SECRET).unwrap().build();
    let loose = MockTableService::builder().loose(true).build();
    let endpoint = "http://127.0.0.1:10002/me";
    for (mock, credential) in [
        (shared, SharedKey::new("me", SECRET).unwrap().into()),
        (loose, crate::auth::Credential::from(SasToken::new(sas).unwrap())),
    ] {
        let endpoint = if mock.connection_string().contains("/me") {
            endpoint
        } else {
            "http://127.0.0.1:10002/devstoreaccount1"
        };
        let keep = Arc::new(Keep(mock.transport(), Mutex::default()));
        let notes = Arc::new(Notes::default());
        let service = TableServiceClient::builder(endpoint, credential)
            .transport(keep.clone())
            .clock(mock.clock())
            .observer(notes.clone())
            .retry(RetryPolicy::fixed(2, Duration::from_secs(3)))
            .build()
            .unwrap();
        Recorder::start();
        let table = cities(&service);
        table.create().await.unwrap();
        table.insert(&entity()).await.unwrap();
        table.insert(&entity()).await.unwrap_err();
        table.get(KEY).await.unwrap();
        table.get(("Zanzibar", "Zanzibar")).await.unwrap_err();
        table.query().filter_text("City eq 'Ouagadougou'").await.unwrap();
        table.query().filter_text("PartitionKey eq 'Zanzibar'").page_size(1).await.unwrap();
        table.transaction().merge(&entity(), IfMatch::Any).await.unwrap();
        // The response is lost, and the row is read back.
        mock.faults().add(Fault::lose_reply().times(1));
        table.merge(&entity(), IfMatch::Any).await.unwrap();
        table.delete(KEY, IfMatch::Any).await.unwrap();
        mock.faults().add(Fault::lose_reply().times(1));
        assert!(
            table.insert(&entity()).await.unwrap().confirmation
                != crate::client::Confirmation::Response
        );
        let told = format!("{} {}", Recorder::take().text(), notes.take().join(" "));
        assert!(told.contains("Cities") && told.contains("REDACTED"));
        let sent = keep.1.lock().unwrap();
        let signatures = sent.iter().filter_map(|request| {
            let value = request.headers.get(header::AUTHORIZATION)?.to_str().ok()?;
            Some(value.split(':').nth(1)?.to_owned())
        });
        let hidden = ["Zanzibar", "Samarkand", "Ouagadougou", "c2VjcmV0", "sig=", "SharedKey"];
        for secret in hidden.map(str::to_owned).into_iter().chain(signatures) {
            assert!(!told.contains(&secret), "{secret} in {told}");
        }
    }
}
