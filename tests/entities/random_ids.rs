//! Ids that prove something: two programs with equal generators, as after a fork or two starts of one snapshot of a
//! virtual machine, draw different ones.

use std::io::BufRead as _;

use azure_table_client::bulk::BulkOperation;
use azure_table_client::client::WriteOutcome;
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, Operation, Outcome, Proof, TableClient};
use futures_util::stream;

const KEY: (&str, &str) = ("p", "r");

fn program(mock: &MockTableService) -> TableClient<DynamicEntity> {
    mock.client_builder()
        .write_id_column("WriteId")
        .proof(Proof::WriteId)
        .build()
        .unwrap()
        .table_named("Rows")
}

/// Two programs whose generators are in the same state before each write.
async fn twins() -> (MockTableService, [TableClient<DynamicEntity>; 2]) {
    let mock = MockTableService::new();
    let twins = [program(&mock), program(&mock)];
    twins[0].create().await.unwrap();
    (mock, twins)
}

fn start_from_snapshot() {
    fastrand::seed(7);
}

fn row(count: i32) -> DynamicEntity {
    let mut row = DynamicEntity::new(KEY.0, KEY.1);
    row.set("Count", count);
    row
}

#[tokio::test]
async fn only_one_of_two_equal_inserts_is_applied() {
    let (_mock, [first, second]) = twins().await;
    start_from_snapshot();
    first.insert(&row(1)).await.unwrap();
    start_from_snapshot();
    let error = second.insert(&row(1)).await.unwrap_err();
    assert!(error.is_conflict() && error.outcome() == Outcome::NotApplied, "{error}");
    start_from_snapshot();
    let error = second.transaction().insert(&row(1)).await.unwrap_err();
    assert!(error.is_conflict() && error.outcome() == Outcome::NotApplied, "{error}");
}

#[tokio::test]
async fn only_one_of_two_updates_under_one_etag_is_applied() {
    let (_mock, [first, second]) = twins().await;
    let etag = first.insert(&row(1)).await.unwrap().etag;
    start_from_snapshot();
    first.merge(&row(2), etag.clone()).await.unwrap();
    start_from_snapshot();
    let error = second.merge(&row(2), etag).await.unwrap_err();
    assert!(error.is_precondition_failed() && error.outcome() == Outcome::NotApplied, "{error}");
}

#[tokio::test]
async fn only_one_of_two_bulk_runs_inserts_a_row() {
    let (_mock, twins) = twins().await;
    let mut reports = Vec::new();
    for table in twins {
        start_from_snapshot();
        let run = table.bulk().run_stream(stream::iter([BulkOperation::Insert(row(1))])).await;
        reports.push(match run {
            Ok(report) => report,
            Err(error) => error.report().clone(),
        });
    }
    let [first, second] = &reports[..] else { panic!() };
    assert_eq!(first.progress.applied, 1);
    assert!(matches!(second.results[0].outcome, WriteOutcome::Failed(_)), "{second:?}");
}

#[tokio::test]
async fn requests_and_boundaries_do_not_repeat() {
    let (mock, twins) = twins().await;
    for (at, table) in twins.iter().enumerate() {
        start_from_snapshot();
        let row = DynamicEntity::new("p", at.to_string());
        table.transaction().insert(&row).await.unwrap();
    }
    let requests = mock.requests().of(Operation::Transaction);
    let [first, second] = &requests[..] else { panic!("two requests") };
    assert_ne!(
        first.payload.lines().next().unwrap().unwrap(),
        second.payload.lines().next().unwrap().unwrap()
    );
    // A request with the same client request id would count as a second attempt.
    assert_eq!([first.attempt, second.attempt], [1, 1]);
}
