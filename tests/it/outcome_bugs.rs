//! False reports that were found in contexts and in bulk runs, each with the shortest way to it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use azure_table_client::auth::SasToken;
use azure_table_client::bulk::{BulkOperation, BulkReport};
use azure_table_client::client::WriteOutcome;
use azure_table_client::clock::TokioClock;
use azure_table_client::context::{SaveOptions, TableContext};
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::transport::{HttpResponse, Transport, TransportErrorKind};
use azure_table_client::{
    DynamicEntity, Operation, Outcome, Proof, RetryPolicy, TableClient, TableServiceClient,
};
use azure_table_tests::scripted::{
    Scripted, Step, in_turn, is_batch, is_write, json_error, on, response,
};
use futures_util::{StreamExt as _, stream};
use tokio::time::{sleep, timeout};

const KEY: (&str, &str) = ("p", "counter");

fn service(mock: &MockTableService, transport: Arc<dyn Transport>) -> TableServiceClient {
    mock.client_builder()
        .transport(transport)
        .try_timeout(Duration::from_secs(5))
        .retry(RetryPolicy::none())
        .build()
        .unwrap()
}

/// The service names the missing table in its response to the only attempt, so that no row has to be read.
#[tokio::test]
async fn a_transaction_without_its_table_is_not_applied() {
    let mock = MockTableService::new();
    let builder = mock.client_builder().write_id_column("WriteId");
    let rows = builder.build().unwrap().table_named::<DynamicEntity>("Missing");
    let (one, two) = (DynamicEntity::new("p", "1"), DynamicEntity::new("p", "2"));
    let error = rows.transaction().insert(&one).insert(&two).await.unwrap_err();
    assert_eq!((error.outcome(), error.is_not_found()), (Outcome::NotApplied, true));
    assert_eq!(mock.requests().total(), 1);
}

/// A row whose count is 0, and a context that has read it and counted it up.
async fn counted_up(mock: &MockTableService) -> (TableContext, TableClient<DynamicEntity>) {
    let other = mock.client().table_named::<DynamicEntity>("Counters");
    other.create().await.unwrap();
    let mut row = DynamicEntity::new(KEY.0, KEY.1);
    row.set("Count", 0);
    other.insert(&row).await.unwrap();
    let mut context = TableContext::new(&service(mock, mock.transport()));
    let rows = context.service().table_named::<DynamicEntity>("Counters");
    let rows = rows.query().filter_text("PartitionKey eq 'p'");
    let mut row = context.load(rows).await.unwrap().remove(0);
    row.set("Count", 1);
    context.table_named::<DynamicEntity>("Counters").update(&row).unwrap();
    (context, other)
}

/// Another program counts the row up too.
async fn count_up(other: &TableClient<DynamicEntity>) {
    let mut row = other.get(KEY).await.unwrap().entity;
    assert_eq!(row.get::<i32>("Count"), Some(Ok(1)), "the context's save was applied");
    let etag = row.etag().unwrap().clone();
    row.set("Count", 2);
    other.merge(&row, etag).await.unwrap();
}

/// Saves again: the earlier attempt was applied and another program wrote the row since, so that
/// the outcome stays unknown.
async fn save_again(context: &mut TableContext, options: &SaveOptions, what: &str) {
    let error = context.save_changes_with(options.clone()).await.unwrap_err();
    assert_eq!(error.report.results.len(), 1, "{what}");
    match &error.report.results[0].outcome {
        WriteOutcome::Unknown(error) => {
            assert_eq!(error.outcome(), Outcome::Unknown, "{what}: {error:?}");
        }
        outcome => panic!("{what}: the change was applied, but is reported as {outcome:?}"),
    }
    assert_eq!(error.error.status(), Some(412), "{what}: {:?}", error.error);
    // Another save does not resolve the outcome.
    let error = context.save_changes_with(options.clone()).await.unwrap_err();
    assert_eq!(error.report.unknown().count(), 1, "{what}: {}", error.report);
}

#[tokio::test(start_paused = true)]
async fn a_context_does_not_deny_a_save_whose_response_was_lost() {
    for options in [SaveOptions::each(), SaveOptions::atomic(), SaveOptions::per_partition()] {
        let what = format!("{options:?}");
        let mock = MockTableService::new();
        let (mut context, other) = counted_up(&mock).await;
        // The response and all of the reads that could resolve the outcome are lost.
        mock.faults().add(Fault::lose_reply());
        let error = context.save_changes_with(options.clone()).await.unwrap_err();
        assert_eq!(error.report.unknown().count(), 1, "{what}");
        mock.faults().clear();
        count_up(&other).await;
        save_again(&mut context, &options, &what).await;
        let row = other.get(KEY).await.unwrap();
        assert_eq!(row.get::<i32>("Count"), Some(Ok(2)), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_context_does_not_deny_a_save_that_was_dropped_and_applied_late() {
    for options in [SaveOptions::each(), SaveOptions::atomic()] {
        let what = format!("{options:?}");
        let mock = MockTableService::new();
        let (mut context, other) = counted_up(&mock).await;
        let late = Fault::delay_request(Duration::from_secs(10)).on_writes().times(1);
        mock.faults().add(late);
        let save = context.save_changes_with(options.clone());
        timeout(Duration::from_secs(1), save).await.unwrap_err();
        assert_eq!(context.last_report().unknown().count(), 1, "{what}");
        sleep(Duration::from_secs(20)).await;
        count_up(&other).await;
        save_again(&mut context, &options, &what).await;
        let row = other.get(KEY).await.unwrap();
        assert_eq!(row.get::<i32>("Count"), Some(Ok(2)), "{what}");
    }
}

/// Applies the first batch and loses its response; the second batch, which is in flight at the same
/// time, gets this response, and so does everything that follows.
fn lost_and_refused(mock: &MockTableService, refusal: Refusal) -> Arc<Scripted> {
    let lost = Step::lose_reply().then(sleep(Duration::from_millis(5)));
    let refused = std::iter::repeat_with(move || {
        Step::respond(refusal_of(refusal)).after(sleep(Duration::from_millis(10)))
    });
    let script = on(is_batch, in_turn(std::iter::once(lost).chain(refused)));
    Scripted::new(mock.transport(), script)
}

/// The status, the code and the value of `Retry-After`.
type Refusal = (u16, &'static str, Option<&'static str>);

fn refusal_of((status, code, retry_after): Refusal) -> HttpResponse {
    let mut headers = vec![("x-ms-request-id", "1"), ("x-ms-version", "2019-02-02")];
    headers.extend(retry_after.map(|seconds| ("retry-after", seconds)));
    response(status, &headers, json_error(code, "no"))
}

/// Checks that every row that exists is reported as applied or unknown.
fn assert_rows(mock: &MockTableService, report: &BulkReport, what: &str) {
    let rows = mock.rows("Blogs").unwrap();
    let stored: BTreeSet<_> = rows.iter().map(|row| row.key().row_key.clone()).collect();
    assert!(!stored.is_empty(), "{what}: the first batch was applied");
    for result in &report.results {
        let key = &result.key.as_ref().unwrap().row_key;
        if stored.contains(key) {
            let is_true =
                matches!(result.outcome, WriteOutcome::Applied { .. } | WriteOutcome::Unknown(_));
            assert!(is_true, "{what}: row {key} exists, but is reported as {:?}", result.outcome);
            assert!(
                result.is_applied() || !report.checkpoint.is_resolved(result.index),
                "{what}: a resumed run has to send row {key} again"
            );
        } else {
            assert!(!result.is_applied(), "{what}: row {key} does not exist");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_bulk_run_does_not_deny_a_batch_whose_response_was_lost() {
    for refusal in [
        (503, "ServerBusy", Some("600")),
        (403, "AccountIsDisabled", None),
        (403, "AuthenticationFailed", None),
        (404, "TableNotFound", None),
        (409, "TableBeingDeleted", None),
    ] {
        for give_up_after in [Duration::from_secs(5), Duration::from_secs(5 * 60)] {
            let what = format!("{refusal:?}, {give_up_after:?}");
            let mock = MockTableService::new();
            mock.client().table_named::<DynamicEntity>("Blogs").create().await.unwrap();
            let service = service(&mock, lost_and_refused(&mock, refusal));
            let table = service.table_named::<DynamicEntity>("Blogs");
            let rows = (0..200).map(|n| DynamicEntity::new("p", format!("{n:03}")));
            let bulk = table
                .bulk()
                .concurrency(2)
                .give_up_after(give_up_after)
                .retry(RetryPolicy::fixed(3, Duration::from_secs(1)))
                .keep_results();
            let error = bulk.run(rows.map(BulkOperation::Insert)).await.unwrap_err();
            let report = error.into_report();
            assert_eq!(report.results.len(), 200, "{what}");
            assert_rows(&mock, &report, &what);
        }
    }
}

/// The same where the two batches belong to different partitions, and the refusal ends the run.
#[tokio::test(start_paused = true)]
async fn a_bulk_run_does_not_deny_a_batch_of_another_partition() {
    for refusal in [(403, "AccountIsDisabled", None), (404, "TableNotFound", None)] {
        let what = format!("{refusal:?}");
        let mock = MockTableService::new();
        mock.client().table_named::<DynamicEntity>("Blogs").create().await.unwrap();
        let service = service(&mock, lost_and_refused(&mock, refusal));
        let table = service.table_named::<DynamicEntity>("Blogs");
        let rows = ["p", "q"].into_iter().flat_map(|partition| {
            (0..10).map(move |n| DynamicEntity::new(partition, format!("{partition}{n}")))
        });
        let rows = stream::iter(rows).map(BulkOperation::Insert);
        let bulk = table.bulk().retry(RetryPolicy::fixed(3, Duration::from_secs(1)));
        let report = bulk.keep_results().run_stream(rows).await.unwrap_err().into_report();
        assert_rows(&mock, &report, &what);
        assert!(mock.requests().count(Operation::Transaction) >= 1, "{what}");
    }
}

/// A run is dropped, its rows are applied, and a resumed run writes them again.
#[tokio::test(start_paused = true)]
async fn a_resumed_bulk_run_does_not_deny_rows_of_the_earlier_run() {
    let proofs = [Proof::Response, Proof::WriteId, Proof::MatchingState];
    for (number, proof) in [1, 3].into_iter().flat_map(|number| proofs.map(|it| (number, it))) {
        let what = format!("{number} rows, {proof:?}");
        let mock = MockTableService::new();
        let other = mock.client().table_named::<DynamicEntity>("Blogs");
        other.create().await.unwrap();
        let mut updates = Vec::new();
        for n in 0..number {
            let mut row = DynamicEntity::new("p", n.to_string());
            row.set("Count", 0);
            let etag = other.insert(&row).await.unwrap().etag;
            row.set("Count", 1);
            updates.push(BulkOperation::Merge(row, etag.into()));
        }
        let service = mock.client_builder().proof(proof).build().unwrap();
        let table = service.table_named::<DynamicEntity>("Blogs");
        mock.faults().add(Fault::delay_request(Duration::from_secs(10)).on_writes().times(1));
        let bulk = table.bulk();
        let monitor = bulk.monitor();
        timeout(Duration::from_secs(1), bulk.run(updates.clone())).await.unwrap_err();
        sleep(Duration::from_secs(20)).await;
        let checkpoint = monitor.checkpoint().to_string().parse().unwrap();
        let resumed = table.bulk().resume(checkpoint).run(updates).await;
        let report = resumed.unwrap_err().into_report();
        assert_eq!((report.progress.failed, report.progress.unknown), (0, number), "{what}");
        assert_eq!(report.checkpoint.resolved(), 0, "{what}");
    }
}

/// An upsert without a condition stays open after an earlier one was found to be applied. It lands before the update
/// that follows, which is then refused.
#[tokio::test(start_paused = true)]
async fn a_context_reads_back_a_refusal_while_an_earlier_upsert_is_open() {
    let mock = MockTableService::new();
    let other = mock.client().table_named::<DynamicEntity>("Counters");
    other.create().await.unwrap();
    let mut context = TableContext::new(&service(&mock, mock.transport()));
    let mut row = DynamicEntity::new(KEY.0, KEY.1);
    row.set("Count", 1);
    context.table_named::<DynamicEntity>("Counters").add_or_replace(&row).unwrap();
    mock.faults().add(Fault::lose_reply());
    context.save_changes().await.unwrap_err();
    mock.faults().clear();

    row.set("Count", 2);
    context.table_named::<DynamicEntity>("Counters").update(&row).unwrap();
    let delayed = |seconds| Fault::delay_request(Duration::from_secs(seconds)).on_writes().times(1);
    mock.faults().add(delayed(7));
    mock.faults().add(delayed(4).skip(1));
    let _ = context.save_changes().await;
    sleep(Duration::from_secs(20)).await;
    assert_eq!(other.get(KEY).await.unwrap().get::<i32>("Count"), Some(Ok(2)));
    let results = &context.last_report().results;
    assert!(!results.iter().any(|it| matches!(it.outcome, WriteOutcome::Failed(_))), "{results:?}");
}

/// A service whose clock shows a time at which an older row can be written.
fn old_service() -> MockTableService {
    let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let clock = TokioClock::starting_at(start);
    MockTableService::builder().clock(Arc::new(clock)).build()
}

fn item(row_key: &str, text: &str) -> DynamicEntity {
    DynamicEntity::new("p", row_key).with("Text", text)
}

#[tokio::test(start_paused = true)]
async fn an_old_row_does_not_prove_a_refused_transaction_with_a_cut_response() {
    let mock = old_service();
    let table = mock.client().table_named::<DynamicEntity>("Blogs");
    table.create().await.unwrap();
    table.insert(&item("a", "same")).await.unwrap();
    tokio::time::advance(Duration::from_secs(600)).await;
    mock.faults().add(Fault::truncate_reply().on(Operation::Transaction).times(1));
    let result = table.transaction().insert(&item("a", "same")).await;
    assert_eq!(result.unwrap_err().outcome(), Outcome::Unknown);
}

#[tokio::test(start_paused = true)]
async fn an_error_while_preparing_a_retry_keeps_the_write_open() {
    let mock = MockTableService::new();
    let table = mock.client().table_named::<DynamicEntity>("Blogs");
    table.create().await.unwrap();
    let cell: Arc<Mutex<Option<TableServiceClient>>> = Arc::default();
    let inner = Arc::clone(&cell);
    let transport = Scripted::new(mock.transport(), move |request| {
        if !is_write(request) {
            return Step::pass();
        }
        let service = inner.lock().unwrap().clone().unwrap();
        let sas = format!("sv=2019-02-02&sp=raud&sig={}", "A".repeat(70_000));
        service.set_credential(SasToken::new(&sas).unwrap()).unwrap();
        Step::lose_reply()
    });
    let service = mock
        .client_builder()
        .transport(transport)
        .retry(RetryPolicy::fixed(3, Duration::from_millis(10)))
        .build()
        .unwrap();
    *cell.lock().unwrap() = Some(service.clone());
    let result = service.table_named::<DynamicEntity>("Blogs").insert(&item("a", "x")).await;
    let rows = mock.row_count("Blogs");
    let error = result.unwrap_err();
    assert_eq!(rows, Some(1));
    assert_eq!(error.outcome(), Outcome::Unknown);
}

/// The rows exist with the values of the run, and are older than the run.
#[tokio::test(start_paused = true)]
async fn a_bulk_run_does_not_take_an_old_row_for_its_own() {
    for (row_keys, loses_all) in [(&["b", "c"][..], true), (&["a", "b", "c"], false)] {
        let mock = old_service();
        let other = mock.client().table_named::<DynamicEntity>("Blogs");
        other.create().await.unwrap();
        for (row_key, text) in [("a", "other"), ("b", "same"), ("c", "same")] {
            other.insert(&item(row_key, text)).await.unwrap();
        }
        tokio::time::advance(Duration::from_secs(600)).await;
        let lost = || Step::fail(TransportErrorKind::Interrupted);
        // A batch is lost; the next one is refused because of its first row; the response to that of the others is cut.
        let cut = || Step::pass().edit(|response| response.body.truncate(response.body.len() / 2));
        let others = if loses_all { vec![lost()] } else { vec![Step::pass(), cut()] };
        let script = std::iter::once(lost()).chain(others);
        let transport = Scripted::new(mock.transport(), on(is_batch, in_turn(script)));
        let table = service(&mock, transport).table_named::<DynamicEntity>("Blogs");
        let retries = RetryPolicy::fixed(if loses_all { 1 } else { 3 }, Duration::from_secs(1));
        let bulk = table.bulk().retry(retries).keep_results();
        let rows = row_keys.iter().map(|row_key| BulkOperation::Insert(item(row_key, "same")));
        let report = bulk.run(rows).await.unwrap_err().into_report();
        let unknown = row_keys.len() as u64;
        assert_eq!((report.progress.applied, report.progress.unknown), (0, unknown), "{report}");
    }
}

/// Two batches of one partition: the first one times out 40 minutes after it was sent, and ends the partition. The second
/// one was sent 20 minutes later: its request was lost for the client, and arrives after all.
#[tokio::test(start_paused = true)]
async fn a_bulk_run_does_not_deny_a_batch_since_an_older_one_has_expired() {
    let minutes = |count: u64| Duration::from_secs(60 * count);
    let mock = MockTableService::new();
    // The dates of the client's signatures are accepted for longer.
    mock.faults().clock_behind(minutes(14));
    let other = mock.client().table_named::<DynamicEntity>("Blogs");
    other.create().await.unwrap();
    let mut updates = Vec::new();
    for row_key in ["a", "b"] {
        let etag = other.insert(&item(row_key, "old")).await.unwrap().etag;
        updates.push(BulkOperation::Merge(item(row_key, "new"), etag.into()));
    }
    let (service, mut writes) = (mock.transport(), 0);
    let late = Arc::clone(&service);
    let transport = Scripted::new(service, move |request| {
        if !is_write(request) {
            return Step::pass();
        }
        writes += 1;
        if writes == 1 {
            return Step::hang();
        }
        let (request, late) = (request.clone(), Arc::clone(&late));
        tokio::spawn(async move {
            sleep(minutes(25)).await;
            drop(late.send(request).await);
        });
        Step::fail(TransportErrorKind::Interrupted)
    });
    let builder = mock.client_builder().transport(transport).try_timeout(minutes(40));
    let service = builder.deadline(minutes(200)).build().unwrap();
    let table = service.table_named::<DynamicEntity>("Blogs");
    let bulk = table.bulk().retry(RetryPolicy::fixed(3, minutes(30))).give_up_after(minutes(40));
    let updates = stream::iter(updates).enumerate().then(|(at, update)| async move {
        sleep(minutes(20 * at as u64)).await;
        update
    });
    let report = bulk.keep_results().run_stream(updates).await.unwrap_err().into_report();
    sleep(minutes(30)).await;
    let text = other.get(("p", "b")).await.unwrap().entity.get::<String>("Text");
    assert_eq!(text, Some(Ok("new".to_owned())));
    // The first request never arrives, and is too old by the time at which the rows are read.
    let unknown: Vec<_> = report.unknown().map(|result| result.index).collect();
    assert_eq!((report.progress.failed, unknown), (1, vec![1]), "{report}");
}
