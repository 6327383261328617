//! Spans, events and observers, on the mock in virtual time.

#![allow(clippy::unwrap_used, reason = "tests")]

mod observers;
mod outcomes;
mod recorder;
#[cfg(feature = "entra")]
mod user_delegation;

use std::future::ready;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{HeaderName, HeaderValue, StatusCode, header};
use tracing::Level;

use super::*;
use crate::TableServiceClientBuilder;
use crate::auth::{SasToken, SharedKey};
use crate::bulk::BulkOperation;
use crate::context::TableContext;
use crate::mock::{Fault, MockTableService};
use crate::transport::recording::Recording;
use crate::transport::{HttpRequest, HttpResponse, ResponseFuture, Transport};
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
    check!("GetTable", "GetTable Cities", "GET", "200", table.table_exists());
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

/// A service that refuses the first transaction with this error, in a part of the batch.
#[derive(Debug)]
struct RefusesOnce(Arc<dyn Transport>, Mutex<Option<(&'static str, &'static str)>>);

impl Transport for RefusesOnce {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        let is_batch = request.uri.path().ends_with("/$batch");
        let refusal = self.1.lock().unwrap().take_if(|_| is_batch);
        let Some((status, code)) = refusal else { return self.0.send(request) };
        let error =
            format!(r#"{{"odata.error":{{"code":"{code}","message":{{"value":"0:no"}}}}}}"#);
        let body = format!(
            "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nContent-Type: application/http\r\n\r\n\
             HTTP/1.1 {status}\r\nContent-Type: application/json\r\n\r\n{error}\r\n--c--\r\n--b--\r\n"
        );
        let headers = [("content-type", "multipart/mixed; boundary=b"), ("x-ms-request-id", "id")];
        let headers = headers
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let (status, headers) = (StatusCode::ACCEPTED, headers.into_iter().collect());
        Box::pin(ready(Ok(HttpResponse { status, headers, body: body.into() })))
    }
}

#[tokio::test(start_paused = true)]
async fn an_expected_refusal_inside_a_transaction_is_no_error() {
    for (status, code) in
        [("412 Precondition Failed", "UpdateConditionNotSatisfied"), ("503 Busy", "ServerBusy")]
    {
        let mock = mock_with(2).await;
        let refusal = Mutex::new(Some((status, code)));
        let transport = Arc::new(RefusesOnce(mock.transport(), refusal));
        let table = cities(&builder(&mock).transport(transport).build().unwrap());
        let keys = ["1", "2"].map(|row_key| (KEY.0, row_key));
        for key in keys {
            table.insert_or_merge(&DynamicEntity::new(key.0, key.1)).await.unwrap();
        }
        Recorder::start();
        if code == "ServerBusy" {
            let rows = keys.map(|key| DynamicEntity::new(key.0, key.1));
            table.bulk().run(rows.map(BulkOperation::InsertOrMerge)).await.unwrap();
        } else {
            let changed = table.update_rows_with(keys, |rows| {
                for row in rows.iter_mut() {
                    row.set("City", "Tombouctou");
                }
            });
            changed.await.unwrap();
        }
        let recorded = Recorder::take();
        let attempts = recorded.spans.iter().filter(|span| span.name == "azure_table.attempt");
        let shown: Vec<_> = attempts.map(|span| span.fields.get("otel.status_code")).collect();
        assert!(shown.len() > 1 && shown.iter().all(|it| it.is_empty()), "{code}: {shown:?}");
    }
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
