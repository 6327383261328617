//! Responses that belong to another request, as from a proxy that mixes up its connections: nothing in them is used.

use std::time::Duration;

use azure_table_client::bulk::BulkOperation;
use azure_table_client::client::WriteOutcome;
use azure_table_client::context::TableContext;
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{
    Confirmation, DynamicEntity, ETag, Error, ErrorKind, IfMatch, Operation, Outcome, RetryPolicy,
    TableClient, TableServiceClient,
};
use futures_util::stream;

const KEY: (&str, &str) = ("p", "r");

fn service(mock: &MockTableService, retries: u32) -> TableServiceClient {
    mock.client_builder()
        .retry(RetryPolicy::fixed(retries, Duration::from_millis(100)))
        .build()
        .unwrap()
}

fn row(count: i32) -> DynamicEntity {
    let mut row = DynamicEntity::new(KEY.0, KEY.1);
    row.set("Count", count);
    row
}

/// A table with the row, and the row's ETag.
async fn table(retries: u32) -> (MockTableService, TableClient<DynamicEntity>, ETag) {
    let mock = MockTableService::new();
    let table = service(&mock, retries).table_named::<DynamicEntity>("Rows");
    table.create().await.unwrap();
    let etag = table.insert(&row(0)).await.unwrap().etag;
    (mock, table, etag)
}

/// The next request of another program is refused with this status. Its response goes to the request of the operation
/// that follows.
async fn mix_up(mock: &MockTableService, status: u16, next: Operation) {
    let other = service(mock, 0).table_named::<DynamicEntity>("Rows");
    let missing = DynamicEntity::new("p", "missing");
    let (refused, operation) = match status {
        404 => (other.get(missing.key()).await.map(drop), Operation::Get),
        409 => (other.insert(&row(9)).await.map(drop), Operation::Insert),
        412 => {
            let stale = ETag::from("W/\"datetime'2000-01-01T00%3A00%3A00Z'\"");
            (other.merge(&row(9), stale).await.map(drop), Operation::Merge)
        }
        other => panic!("{other}"),
    };
    assert_eq!(refused.unwrap_err().status(), Some(status));
    mock.faults().add(Fault::swap_reply().on(operation).times(1));
    let lost = match operation {
        Operation::Get => other.get(missing.key()).await.map(drop),
        Operation::Insert => other.insert(&row(9)).await.map(drop),
        _ => {
            let stale = ETag::from("W/\"datetime'2000-01-01T00%3A00%3A00Z'\"");
            other.merge(&row(9), stale).await.map(drop)
        }
    };
    assert_eq!(lost.unwrap_err().kind(), ErrorKind::UnexpectedReply);
    mock.faults().add(Fault::swap_reply().on(next).times(1));
}

fn is_matching(error: &Error) -> bool {
    error.outcome() == Outcome::Unknown && error.state_matches()
}

#[tokio::test(start_paused = true)]
async fn the_refusal_of_another_write_does_not_refuse_this_one() {
    for (status, retries) in [(409, 0), (412, 0), (404, 0), (409, 3), (412, 3), (404, 3)] {
        let what = format!("{status}, {retries} retries");
        let (mock, table, etag) = table(retries).await;
        mix_up(&mock, status, Operation::Merge).await;
        let error = table.merge(&row(1), etag).await.unwrap_err();
        assert!(is_matching(&error), "{what}: {error}");

        mix_up(&mock, status, Operation::InsertOrMerge).await;
        assert!(table.insert_or_merge(&row(2)).await.is_ok(), "{what}");

        mix_up(&mock, status, Operation::Delete).await;
        let deleted = table.delete(KEY, IfMatch::Any).await.unwrap();
        assert_eq!(deleted.confirmation, Confirmation::Comparison, "{what}");

        mix_up(&mock, 404, Operation::Insert).await;
        let inserted = table.insert(&row(3)).await.unwrap();
        assert_eq!(inserted.confirmation, Confirmation::Comparison, "{what}");

        mix_up(&mock, status, Operation::Transaction).await;
        let error = table.transaction().merge(&row(4), inserted.etag).await.unwrap_err();
        assert!(is_matching(&error), "{what}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn contexts_and_bulk_runs_do_not_believe_it_either() {
    let (mock, table, _) = table(0).await;
    let mut context = TableContext::new(&service(&mock, 0));
    let rows = context.service().table_named::<DynamicEntity>("Rows");
    let mut found = context.load(rows.query()).await.unwrap().remove(0);
    found.set("Count", 1);
    context.table_named::<DynamicEntity>("Rows").update(&found).unwrap();
    mix_up(&mock, 412, Operation::Merge).await;
    let error = context.save_changes().await.unwrap_err();
    let outcome = &error.report.results[0].outcome;
    assert!(matches!(outcome, WriteOutcome::Unknown(_)), "{outcome:?}");

    mix_up(&mock, 409, Operation::Insert).await;
    let row = DynamicEntity::new("p", "bulk");
    let report =
        table.bulk().keep_results().run_stream(stream::iter([BulkOperation::Insert(row)])).await;
    let report = report.unwrap();
    assert!(matches!(report.results[0].outcome, WriteOutcome::Applied { .. }), "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn an_update_is_not_done_again() {
    let (mock, table, _) = table(3).await;
    mix_up(&mock, 412, Operation::Merge).await;
    let update = table
        .update_with(KEY, |row| {
            let count = row.get::<i32>("Count").unwrap().unwrap();
            row.set("Count", count + 1);
        })
        .await;
    assert_eq!(update.unwrap_err().outcome(), Outcome::Unknown);
    let count = table.get(KEY).await.unwrap().entity.get::<i32>("Count");
    assert_eq!(count, Some(Ok(1)));
}

#[tokio::test(start_paused = true)]
async fn a_read_is_repeated() {
    let (mock, table, _) = table(3).await;
    mix_up(&mock, 404, Operation::Get).await;
    assert!(table.get_if_exists(KEY).await.unwrap().is_some());
    assert_eq!(mock.requests().last().unwrap().attempt, 2);
}

#[tokio::test(start_paused = true)]
async fn a_read_back_is_no_evidence() {
    let (mock, table, _) = table(0).await;
    // The delete is lost, and the response to its read-back reports another row as missing.
    mix_up(&mock, 404, Operation::Get).await;
    mock.faults().add(Fault::lose_request().on(Operation::Delete).times(1));
    let error = table.delete(KEY, IfMatch::Any).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown);
    assert!(!error.state_matches(), "{error}");
    assert_eq!(mock.row_count("Rows"), Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_proxy_that_changes_every_id_makes_every_call_fail() {
    let (mock, table, etag) = table(0).await;
    mock.faults().add(Fault::swap_reply());
    let mut errors = vec![table.get(KEY).await.map(drop).unwrap_err()];
    errors.push(table.query().await.map(drop).unwrap_err());
    errors.push(table.merge(&row(1), etag).await.map(drop).unwrap_err());
    for error in errors {
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::UnexpectedReply, 1));
        let text = error.to_string();
        assert!(text.contains("the response belongs to another request"), "{text}");
        assert!(text.contains("A proxy between this program and the service"), "{text}");
        assert_eq!((error.status(), error.code(), error.request_id()), (None, None, None));
    }
}

#[tokio::test(start_paused = true)]
async fn a_program_that_reuses_an_id_loses_the_check() {
    let (mock, table, etag) = table(0).await;
    mock.faults().add(Fault::swap_reply().on(Operation::Merge).times(2));
    let stale = ETag::from("W/\"datetime'2000-01-01T00%3A00%3A00Z'\"");
    let _ = table.merge(&row(9), stale).client_request_id("nightly").await;
    let error = table.merge(&row(1), etag).client_request_id("nightly").await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::NotApplied, "false: the merge was applied");
    assert_eq!(table.get(KEY).await.unwrap().entity.get::<i32>("Count"), Some(Ok(1)));
}

#[tokio::test(start_paused = true)]
async fn white_space_around_an_id_is_not_another_id() {
    let (_mock, table, _) = table(0).await;
    table.get(KEY).client_request_id(" nightly ").await.unwrap();
}

/// 408 and statuses that no page documents: the service stopped waiting, and may apply the write later.
#[tokio::test(start_paused = true)]
async fn a_timeout_of_the_service_leaves_the_write_open() {
    for status in [408, 410, 449, 500, 504] {
        let (mock, table, etag) = table(0).await;
        let timeout = || Fault::error(status, "RequestTimeout").after_commit().times(1);
        mock.faults().add(timeout().on(Operation::Merge));
        let error = table.merge(&row(1), etag).await.unwrap_err();
        assert!(is_matching(&error), "{status}: {error}");
        mock.faults().add(timeout().on(Operation::Transaction));
        let other = DynamicEntity::new("p", "other");
        let committed = table.transaction().insert(&other).await.unwrap();
        assert_eq!(committed.confirmation, Confirmation::Comparison, "{status}");
        mock.faults().add(timeout().on(Operation::Insert));
        let another = DynamicEntity::new("p", "another");
        let inserted = table.insert(&another).await.unwrap();
        assert_eq!(inserted.confirmation, Confirmation::Comparison, "{status}");
    }
}
