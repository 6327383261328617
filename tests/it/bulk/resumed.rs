//! Resumed runs: what they report of rows that the earlier run may have applied.

use azure_table_client::bulk::{Bulk, BulkError, BulkMonitor};
use azure_table_client::client::WriteResult;
use azure_table_client::mock::Fault;
use azure_table_client::{Confirmation, Operation, Outcome};

use super::*;

const ROWS: u32 = 200;
const WRITE_ID: &str = "WriteId";

fn table(mock: &MockTableService, write_id: Option<&str>) -> TableClient<DynamicEntity> {
    let builder = mock.client_builder();
    let builder = match write_id {
        Some(column) => builder.write_id_column(column),
        None => builder,
    };
    builder.build().unwrap().table_named("Blogs")
}

/// Runs the operations until the service has applied all of them, and drops the run before a response arrives.
async fn apply_and_drop(
    mock: &MockTableService,
    bulk: Bulk<DynamicEntity>,
    operations: Vec<BulkOperation<DynamicEntity>>,
) {
    mock.faults().add(Fault::delay_reply(Duration::from_secs(10)).on_writes());
    let run = bulk.run(operations);
    tokio::time::timeout(Duration::from_secs(1), run).await.unwrap_err();
    mock.faults().clear();
}

fn inserts() -> Vec<BulkOperation<DynamicEntity>> {
    (0..ROWS).map(|n| BulkOperation::Insert(row(n % 2, n))).collect()
}

/// A checkpoint that a program stored before the run began counts as that of an earlier run, with its id.
#[tokio::test(start_paused = true)]
async fn a_checkpoint_from_before_the_first_row() {
    type Stored = fn(&BulkMonitor) -> Checkpoint;
    let by_id: Stored = BulkMonitor::checkpoint;
    let by_text: Stored = |monitor| monitor.checkpoint().to_string().parse().unwrap();
    let by_report: Stored = |monitor| monitor.report().checkpoint;
    for (store, write_id) in
        [(by_id, None), (by_text, None), (by_text, Some(WRITE_ID)), (by_report, None)]
    {
        let mock = MockTableService::new();
        let table = table(&mock, write_id);
        table.create().await.unwrap();
        let bulk = table.bulk();
        let checkpoint = store(&bulk.monitor());
        assert_eq!(checkpoint.resolved(), 0);
        apply_and_drop(&mock, bulk, inserts()).await;
        let report = table.bulk().resume(checkpoint).keep_results().run(inserts()).await.unwrap();
        assert_eq!(report.progress.applied, u64::from(ROWS), "{report}");
        if write_id.is_some() {
            let by_id = |result: &WriteResult| match &result.outcome {
                WriteOutcome::Applied { confirmation, .. } => {
                    *confirmation == Confirmation::WriteId
                }
                _ => false,
            };
            assert!(report.results.iter().all(by_id), "{report}");
        }
    }
}

/// The same for a text without an id.
#[tokio::test(start_paused = true)]
async fn a_stored_checkpoint_without_an_id() {
    let mock = MockTableService::new();
    let table = table(&mock, None);
    table.create().await.unwrap();
    table.bulk().run(inserts()).await.unwrap();
    let resumed = |text: &str| table.bulk().resume(text.parse().unwrap()).run(inserts());
    assert_eq!(resumed("1.").await.unwrap().progress.applied, u64::from(ROWS));
    assert_eq!(resumed("1.0-1").await.unwrap().progress.applied, u64::from(ROWS) - 1);
    let fresh = table.bulk().resume(Checkpoint::new()).run(inserts()).await.unwrap_err();
    assert_eq!(fresh.report().progress.failed, u64::from(ROWS), "{fresh}");
}

/// The program knows some of the stored rows by itself, and runs the others without a checkpoint.
#[tokio::test(start_paused = true)]
async fn a_run_whose_rows_may_be_applied_already() {
    let mock = MockTableService::new();
    let table = table(&mock, None);
    table.create().await.unwrap();
    table.bulk().run(inserts()).await.unwrap();
    let rest = || inserts().into_iter().skip(1);
    let denied = table.bulk().run(rest()).await.unwrap_err();
    assert_eq!(denied.report().progress.failed, u64::from(ROWS) - 1, "{denied}");
    let report = table.bulk().may_repeat().run(rest()).await.unwrap();
    assert_eq!(report.progress.applied, u64::from(ROWS) - 1, "{report}");

    // A row with other values is not one that an earlier run stored.
    table.insert_or_replace(&row(1, 1).with("Other", true)).await.unwrap();
    let denied = table.bulk().may_repeat().run(rest()).await.unwrap_err();
    let failed: Vec<_> = denied.report().failures().map(|result| result.index).collect();
    assert_eq!(failed, [0], "{denied}");
    assert_eq!(denied.report().progress.applied, u64::from(ROWS) - 2, "{denied}");
}

/// A resumed run that the service refuses, or that gives up, does not deny the rows that it did not send.
#[tokio::test(start_paused = true)]
async fn rows_that_a_resumed_run_did_not_send() {
    use BulkOperation::{Delete, DeleteIfExists, Insert, InsertOrMerge, Merge, Replace};
    type Operate = fn(DynamicEntity, IfMatch) -> BulkOperation<DynamicEntity>;
    let kinds: [(bool, Operate); 6] = [
        (false, |row, _| Insert(row)),
        (true, |row, _| InsertOrMerge(row)),
        (true, Merge),
        (true, Replace),
        (true, |row, tag| Delete(row.key().clone(), tag)),
        (true, |row, tag| DeleteIfExists(row.key().clone(), tag)),
    ];
    let endings = [
        Fault::error(403, "AccountIsDisabled"),
        Fault::error(404, "TableNotFound"),
        Fault::busy().retry_after(Duration::from_secs(600)),
        Fault::refuse_connection(),
    ];
    for (number, (exists, operate)) in kinds.into_iter().enumerate() {
        for ending in &endings {
            let what = format!("{number}: {ending:?}");
            let mock = MockTableService::new();
            let table = table(&mock, Some(WRITE_ID));
            table.create().await.unwrap();
            let mut operations = Vec::new();
            for n in 0..ROWS {
                let row = row(n % 2, n);
                let tag = if exists {
                    table.insert(&row).await.unwrap().etag.into()
                } else {
                    IfMatch::Any
                };
                operations.push(operate(row, tag));
            }
            let bulk = table.bulk();
            let monitor = bulk.monitor();
            apply_and_drop(&mock, bulk, operations.clone()).await;
            mock.faults().add(ending.clone());
            let bulk = table.bulk().concurrency(1).resume(monitor.checkpoint());
            let bulk = bulk.give_up_after(Duration::from_secs(10)).retry(RetryPolicy::none());
            let report = bulk.run(operations).await.unwrap_err().into_report();
            let progress = report.progress;
            assert_eq!((progress.failed, progress.not_attempted), (0, 0), "{what}: {report}");
            assert_eq!((progress.unknown, progress.held()), (progress.read, 0), "{what}: {report}");
            assert_eq!(report.checkpoint.resolved(), 0, "{what}");
            for result in report.unknown() {
                let WriteOutcome::Unknown(error) = &result.outcome else { panic!("{result}") };
                assert_eq!(error.outcome(), Outcome::Unknown, "{what}: {result}");
            }
        }
    }
}

/// The rows of a chunk that the earlier run sent in another one do not prove the others, if the refusal cannot be read.
#[tokio::test(start_paused = true)]
async fn a_cut_refusal_is_resolved_row_by_row() {
    let mock = MockTableService::new();
    let table = table(&mock, Some(WRITE_ID));
    table.create().await.unwrap();
    let operations = |rows: u32| (0..rows).map(|n| BulkOperation::Insert(row(0, n)));
    let bulk = table.bulk();
    let checkpoint = bulk.monitor().checkpoint();
    bulk.run(operations(3)).await.unwrap();
    mock.faults().add(Fault::truncate_reply().on(Operation::Transaction).times(1));
    let run = table.bulk().resume(checkpoint).keep_results().run(operations(6)).await;
    let report = run.unwrap_or_else(BulkError::into_report);
    for result in &report.results {
        let is_stored =
            result.index < 3 || mock.row("Blogs", "p0", &format!("{:08}", result.index)).is_some();
        assert!(is_stored || !result.is_applied(), "{result:?}");
        assert!(result.index >= 3 || result.is_applied(), "{result:?}");
    }
}
