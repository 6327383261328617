//! Rows of another request, as from a cache or a proxy that mixes up responses and does not echo the id of the request.
//! They are no evidence, no result, and nothing is done to them; the read is repeated.

use std::sync::Arc;
use std::time::Duration;

use azure_table_client::bulk::BulkOperation;
use azure_table_client::client::WriteOutcome;
use azure_table_client::context::TableContext;
use azure_table_client::mock::MockTableService;
use azure_table_client::transport::{HttpResponse, TransportErrorKind};
use azure_table_client::{
    DynamicEntity, Error, ErrorKind, IfMatch, Outcome, RetryPolicy, TableClient, TableServiceClient,
};
use azure_table_tests::scripted::{Scripted, Step, is_write, response};
use futures_util::stream;

const KEY: (&str, &str) = ("p", "r");

/// A response of the service to a read of another row, without the id of its request.
fn foreign(path: &str, etag: &str) -> HttpResponse {
    let quoted = serde_json::to_string(etag).unwrap();
    let row = format!(r#"{{"odata.etag":{quoted},"PartitionKey":"q","RowKey":"x"}}"#);
    let body = if path.ends_with("()") { format!(r#"{{"value":[{row}]}}"#) } else { row };
    let json = "application/json;odata=minimalmetadata";
    response(200, &[("content-type", json), ("etag", etag)], body)
}

/// Two rows of one partition, and one of another. Each write is lost if `loses_writes`. The first `reads` reads receive the response to a read
/// of another row.
async fn service(
    loses_writes: bool,
    reads: usize,
    retries: u32,
) -> (MockTableService, Arc<Scripted>, TableServiceClient) {
    let mock = MockTableService::new();
    let table = mock.client().table_named::<DynamicEntity>("Rows");
    table.create().await.unwrap();
    for row_key in ["r", "s"] {
        table.insert(&DynamicEntity::new("p", row_key)).await.unwrap();
    }
    let etag = table.insert(&DynamicEntity::new("q", "x")).await.unwrap().etag;
    let mut left = reads;
    let transport = Scripted::new(mock.transport(), move |request| {
        if is_write(request) {
            return if loses_writes {
                Step::fail(TransportErrorKind::Interrupted)
            } else {
                Step::pass()
            };
        }
        if left == 0 {
            return Step::pass();
        }
        left -= 1;
        Step::respond(foreign(request.uri.path(), etag.as_str()))
    });
    let builder = mock.client_builder().transport(Arc::clone(&transport) as _);
    let retry = RetryPolicy::fixed(retries, Duration::from_millis(100));
    (mock, transport, builder.retry(retry).build().unwrap())
}

fn rows(service: &TableServiceClient) -> TableClient<DynamicEntity> {
    service.table_named("Rows")
}

#[track_caller]
fn assert_foreign(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::UnexpectedReply, "{error}");
    assert!(error.to_string().contains("it holds an entity with other keys"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_lost_delete_is_not_done_since_another_row_was_found() {
    for (reads, retries) in [(usize::MAX, 0), (usize::MAX, 3), (1, 3)] {
        let (mock, transport, service) = service(true, reads, retries).await;
        let table = rows(&service);
        let etag = mock.client().table_named::<DynamicEntity>("Rows").get(KEY).await.unwrap().etag;
        for condition in [IfMatch::Any, IfMatch::Tag(etag.clone())] {
            let error = table.delete(KEY, condition).await.unwrap_err();
            assert_eq!(
                (error.outcome(), error.state_matches()),
                (Outcome::Unknown, false),
                "{error}"
            );
        }
        let both = table.transaction().delete(KEY, &etag).delete(("p", "s"), IfMatch::Any);
        let error = both.await.unwrap_err();
        assert_eq!((error.outcome(), error.state_matches()), (Outcome::Unknown, false), "{error}");
        assert_eq!(mock.row_count("Rows"), Some(3));
        drop(transport);
    }
}

#[tokio::test(start_paused = true)]
async fn bulk_runs_and_contexts_do_not_delete_by_another_row() {
    let (mock, _, service) = service(true, usize::MAX, 0).await;
    let deletes = ["r", "s"].map(|key| BulkOperation::Delete(("p", key).into(), IfMatch::Any));
    let run = rows(&service).bulk().give_up_after(Duration::from_secs(10)).keep_results();
    let error = run.run_stream(stream::iter(deletes)).await.unwrap_err();
    for result in &error.report().results {
        assert!(matches!(result.outcome, WriteOutcome::Unknown(_)), "{:?}", result.outcome);
    }
    let mut context = TableContext::new(&service);
    let plain = mock.client();
    let found = plain.table_named::<DynamicEntity>("Rows").get(KEY).await.unwrap();
    let mut table = context.table_named::<DynamicEntity>("Rows");
    table.attach(&found.entity, &found.etag).unwrap();
    table.delete(&found.entity).unwrap();
    let error = context.save_changes().await.unwrap_err();
    let outcome = &error.report.results[0].outcome;
    assert!(matches!(outcome, WriteOutcome::Unknown(_)), "{outcome:?}");
    assert_eq!(mock.row_count("Rows"), Some(3));
}

/// The filters of queries that name keys, with no or one of the rows that the service returns for another request.
const FILTERS: [&str; 7] = [
    "PartitionKey eq 'p' and RowKey eq 'r'",
    "PartitionKey eq 'p'",
    "PartitionKey ge 'a' and PartitionKey lt 'q'",
    "PartitionKey eq 'p' and RowKey ge 'q' and RowKey lt 's'",
    "PartitionKey eq 'p' and (RowKey eq 'r' or RowKey eq 's')",
    "RowKey eq 'r'",
    "PartitionKey eq 'p' and RowKey eq 'r' and not (A eq 1)",
];

#[tokio::test(start_paused = true)]
async fn a_query_does_not_return_the_rows_of_another_one() {
    for filter in FILTERS {
        let (_, _, service) = service(false, usize::MAX, 0).await;
        let error = rows(&service).query().filter_text(filter).await.unwrap_err();
        assert_foreign(&error);
    }
    let (_, _, service) = service(false, usize::MAX, 0).await;
    let prefix = "PartitionKey ge 'p' and PartitionKey lt 'q'";
    assert_foreign(&rows(&service).query().filter_text(prefix).count().await.unwrap_err());
    assert_foreign(&rows(&service).get(KEY).await.unwrap_err());
    assert_foreign(&rows(&service).get_if_exists(KEY).await.unwrap_err());
    assert_foreign(&rows(&service).contains(KEY).await.unwrap_err());
    assert_foreign(&rows(&service).get_many([KEY]).await.unwrap_err());
}

#[tokio::test(start_paused = true)]
async fn a_read_is_repeated_for_its_own_rows() {
    for filter in FILTERS {
        let (_, transport, service) = service(false, 1, 3).await;
        let found = rows(&service).query().filter_text(filter).await.unwrap();
        assert!(found.iter().all(|row| row.key().partition_key == "p") && !found.is_empty());
        assert!(transport.requests().iter().any(|request| request.attempt == 2), "{filter}");
    }
    let (_, transport, service) = service(false, 1, 3).await;
    rows(&service)
        .update_with(KEY, |row| {
            row.set("A", 1);
        })
        .await
        .unwrap();
    let attempts = transport.requests().into_iter().map(|request| request.attempt);
    assert_eq!(attempts.collect::<Vec<_>>(), [1, 2, 1]);
}

/// The rows that a command such as `azure-table delete --filter` deletes are those of its filter.
#[tokio::test(start_paused = true)]
async fn a_delete_by_a_filter_deletes_no_other_row() {
    let (mock, _, service) = service(false, usize::MAX, 0).await;
    let table = rows(&service);
    let found = table.query().filter_text("PartitionKey eq 'p'");
    let error = table.bulk().delete_found(found).await.unwrap_err();
    assert_eq!(error.report().progress.applied, 0);
    assert_eq!(mock.row_count("Rows"), Some(3));
}

/// Columns without keys and conditions on other columns leave nothing to compare.
#[tokio::test(start_paused = true)]
async fn rows_without_keys_are_not_compared() {
    let (_, _, service) = service(false, usize::MAX, 0).await;
    let found = rows(&service).query().filter_text("A eq 1").await.unwrap();
    assert_eq!(found[0].key().partition_key, "q");
}

/// A table with three rows, whose first read receives this body and no id.
async fn answered_once(body: &'static str, retries: u32) -> TableClient<DynamicEntity> {
    let mock = MockTableService::new();
    let table = mock.client().table_named::<DynamicEntity>("Rows");
    table.create().await.unwrap();
    for row_key in ["r", "s", "t"] {
        table.insert(&DynamicEntity::new("p", row_key)).await.unwrap();
    }
    let mut left = 1;
    let transport = Scripted::new(mock.transport(), move |request| {
        let is_first_page =
            request.uri.query().is_some_and(|it| it.contains("$top") && !it.contains("NextRowKey"));
        if left == 0 || is_first_page {
            return Step::pass();
        }
        left -= 1;
        let json = "application/json;odata=minimalmetadata";
        Step::respond(response(200, &[("content-type", json), ("etag", "W/\"1\"")], body))
    });
    let retry = RetryPolicy::fixed(retries, Duration::from_millis(100));
    rows(&mock.client_builder().transport(transport).retry(retry).build().unwrap())
}

/// The rows have the keys of the request, and the body names their table.
#[tokio::test(start_paused = true)]
async fn a_row_of_another_table_is_found_by_its_metadata() {
    let row = r#"{"odata.metadata":"http://h/a/$metadata#Others/@Element","odata.etag":"W/\"1\"","PartitionKey":"p","RowKey":"r"}"#;
    let page = r#"{"odata.metadata":"http://h/a/$metadata#Others","value":[{"odata.etag":"W/\"1\"","PartitionKey":"p","RowKey":"r"}]}"#;
    assert_foreign(&answered_once(row, 0).await.get(KEY).await.unwrap_err());
    assert_foreign(&answered_once(page, 0).await.query().await.unwrap_err());
    assert!(answered_once(row, 3).await.get(KEY).await.unwrap().etag.as_str().len() > 5);
    assert_eq!(answered_once(page, 3).await.query().await.unwrap().len(), 3);
    // Azurite names the list of tables. Names have no case, and a selection follows the name.
    let azurite = r#"{"odata.metadata":"http://h/a/$metadata#Tables/@Element","value":[]}"#;
    assert_eq!(answered_once(azurite, 0).await.query().await.unwrap().len(), 0);
    let own = r#"{"odata.metadata":"http://h/a/$metadata#rows&$select=A","value":[{"odata.etag":"W/\"1\"","PartitionKey":"p","RowKey":"r"}]}"#;
    assert_eq!(answered_once(own, 0).await.query().await.unwrap().len(), 1);
}

/// The second of three pages is answered with an earlier page of the same query.
#[tokio::test(start_paused = true)]
async fn an_earlier_page_is_not_the_next_one() {
    let page = r#"{"value":[{"odata.etag":"W/\"1\"","PartitionKey":"p","RowKey":"r"}]}"#;
    let query = |table: TableClient<DynamicEntity>| table.query().page_size(1);
    assert_foreign(&query(answered_once(page, 0).await).await.unwrap_err());
    let found = query(answered_once(page, 3).await).await.unwrap();
    let keys: Vec<_> = found.iter().map(|row| row.key().row_key.as_str()).collect();
    assert_eq!(keys, ["r", "s", "t"]);
}
