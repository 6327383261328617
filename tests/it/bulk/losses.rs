//! Failures in the middle of a run: no row is lost and none is reported falsely.

use azure_table_client::bulk::BulkReport;
use azure_table_client::{Error, ErrorKind, Outcome};

use super::*;

type Blogs = TableClient<DynamicEntity>;

fn unreachable() -> Step {
    Step::fail(TransportErrorKind::Connect)
}

fn refused(status: u16, code: &str) -> Step {
    response(status, &[], json_error(code, "no")).into()
}

/// Another program deletes this row first.
fn deleted(other: &Blogs, n: u32) -> Step {
    let other = other.clone();
    Step::pass().after(async move {
        other.delete(row("", n).key().clone(), IfMatch::Any).await.unwrap();
    })
}

/// Another program changes this row first.
fn changed(other: &Blogs, n: u32) -> Step {
    let other = other.clone();
    Step::pass().after(async move {
        other.insert_or_replace(&versioned(n, 100)).await.unwrap();
    })
}

/// A table whose requests follow `script`, which receives their numbers, and the table as another program sees it.
async fn scripted(
    mut script: impl FnMut(usize, &HttpRequest, &Blogs) -> Step + Send + 'static,
) -> (MockTableService, Blogs) {
    let mock = MockTableService::new();
    let other = mock.client().table_named("Blogs");
    let mut numbers = 0..;
    let of_rows = on(
        |request| !request.uri.path().ends_with("/Tables"),
        move |request| script(numbers.next().unwrap(), request, &other),
    );
    let table = client(&mock, Scripted::new(mock.transport(), of_rows)).table_named("Blogs");
    table.create().await.unwrap();
    (mock, table)
}

fn is_of(request: &HttpRequest, partition: &str) -> bool {
    String::from_utf8_lossy(&request.body).contains(&format!("{partition:?}"))
}

fn versioned(n: u32, version: i32) -> DynamicEntity {
    let mut row = row("", n);
    row.set("Version", version);
    row
}

async fn version(table: &TableClient<DynamicEntity>, n: u32) -> Option<i32> {
    let key = row("", n).key().clone();
    let entity = table.get_if_exists(key).await.unwrap()?;
    Some(entity.get::<i32>("Version").unwrap().unwrap())
}

fn errors(report: &BulkReport) -> impl Iterator<Item = (&'static str, &Error)> {
    report.failures().map(|result| match &result.outcome {
        WriteOutcome::Failed(error) => ("failed", &**error),
        WriteOutcome::NotAttempted(error) => ("not attempted", &**error),
        WriteOutcome::Unknown(error) => ("unknown", &**error),
        other => panic!("{other:?}"),
    })
}

/// An operation that follows an unresolved one on the same key waits for the run that resolves it.
#[tokio::test(start_paused = true)]
async fn a_resumed_run_keeps_the_order_of_a_key() {
    use BulkOperation::{Insert, InsertOrReplace, Merge};
    let inputs: [fn() -> Vec<BulkOperation<DynamicEntity>>; 2] = [
        || vec![InsertOrReplace(versioned(0, 1)), InsertOrReplace(versioned(0, 2))],
        || vec![Insert(versioned(0, 1)), Merge(versioned(0, 2), IfMatch::Any)],
    ];
    for operations in inputs {
        // With a window of 1, the second operation is read after the first one has ended.
        for window in [1, 100] {
            let (_, table) = scripted(|n, _, _| match n {
                0 => unreachable(),
                _ => Step::pass(),
            })
            .await;
            let bulk = table.bulk().retry(RetryPolicy::none()).window(window);
            let report = bulk.run(operations()).await.unwrap_err().into_report();
            assert_eq!((report.progress.failed, report.progress.not_attempted), (1, 1));
            assert_eq!(report.checkpoint.resolved(), 0);
            let report = table.bulk().resume(report.checkpoint).run(operations()).await.unwrap();
            assert_eq!((report.progress.applied, version(&table, 0).await), (2, Some(2)));
        }
    }
}

/// A firewall refuses the account, not the rows, so a resumed run must send them again.
#[tokio::test(start_paused = true)]
async fn a_refusal_of_the_account_resolves_no_row() {
    for code in [
        "AccountIsDisabled",
        "AuthorizationFailure",
        "AuthorizationSourceIPMismatch",
        "AuthorizationServiceMismatch",
        "AuthorizationResourceTypeMismatch",
        "AuthorizationProtocolMismatch",
        "AuthorizationPermissionMismatch",
        "InsufficientAccountPermissions",
    ] {
        let (_, table) = scripted(move |_, _, _| refused(403, code)).await;
        let rows = (0..1_000).map(|n| BulkOperation::InsertOrReplace(row("", n)));
        let report = table.bulk().run(rows).await.unwrap_err().into_report();
        assert_eq!(report.checkpoint.resolved(), 0, "{code}: {report}");
        assert!(report.progress.requests <= 8, "{code}: {report}");
        assert_eq!(report.stopped_by().unwrap().code().unwrap().as_str(), code);
        // A shared access signature may exclude a single row.
        let one = [BulkOperation::InsertOrReplace(row("", 1))];
        let report = table.bulk().run(one).await.unwrap_err().into_report();
        assert_eq!((report.progress.failed, report.checkpoint.resolved()), (1, 0), "{code}");
    }
}

/// A batch with a lost reply stays unresolved when a row is removed from it.
#[tokio::test(start_paused = true)]
async fn applied_rows_are_not_reported_as_failed() {
    let (mock, table) = scripted(|n, _, _| match n {
        0 => Step::lose_reply(),
        1 => Step::pass(),
        _ => refused(503, "ServerBusy"),
    })
    .await;
    let mixed = (0..10).map(|n| match n {
        0 => BulkOperation::Insert(row("", n)),
        _ => BulkOperation::InsertOrReplace(row("", n)),
    });
    let bulk = table.bulk().give_up_after(Duration::from_secs(10));
    let report = bulk.run(mixed).await.unwrap_err().into_report();
    assert_eq!(mock.row_count("Blogs"), Some(10));
    assert_eq!((report.progress.unknown, report.checkpoint.resolved()), (10, 0), "{report}");
    assert!(errors(&report).all(|(_, error)| error.outcome() == Outcome::Unknown));
}

/// The merge was applied, and another program deleted the row: the 404 does not prove that the
/// merge was not applied.
#[tokio::test(start_paused = true)]
async fn a_merge_of_a_row_deleted_meanwhile() {
    let (_, table) = scripted(|n, _, other| match n {
        1 => Step::lose_reply(),
        2 => deleted(other, 0),
        _ => Step::pass(),
    })
    .await;
    table.insert(&versioned(0, 1)).await.unwrap();
    let merge = [BulkOperation::Merge(versioned(0, 2), IfMatch::Any)];
    let report = table.bulk().run(merge).await.unwrap_err().into_report();
    assert_eq!((report.progress.unknown, report.checkpoint.resolved()), (1, 0), "{report}");
}

/// An earlier attempt would have been refused as well, so no row of it was applied.
#[tokio::test(start_paused = true)]
async fn a_bad_row_proves_that_the_lost_attempt_was_refused() {
    let (mock, table) = scripted(|n, _, _| match n {
        0 => Step::fail(TransportErrorKind::Interrupted),
        1 => refused(400, "PropertyNameInvalid"),
        _ => Step::pass(),
    })
    .await;
    let report = table.bulk().run([BulkOperation::InsertOrReplace(row("", 0))]).await;
    let report = report.unwrap_err().into_report();
    assert_eq!((report.progress.failed, report.checkpoint.refused()), (1, 1));
    drop(mock);
}

/// After another program's write, duplicate attempts stay unknown, and idempotent operations are
/// sent again.
#[tokio::test(start_paused = true)]
async fn foreign_writes_after_a_lost_reply() {
    let (_, table) = scripted(|n, _, other| match n {
        0 => Step::lose_reply(),
        1 => changed(other, 0),
        _ => Step::pass(),
    })
    .await;
    let mixed = [
        BulkOperation::Insert(row("", 0)),
        BulkOperation::InsertOrReplace(row("", 1)),
        BulkOperation::Merge(row("", 1), IfMatch::Any),
    ];
    let report = table.bulk().run(mixed).await.unwrap_err().into_report();
    assert_eq!((report.progress.unknown, report.progress.applied), (1, 2), "{report}");
    assert_eq!(report.checkpoint.resolved(), 2, "an unknown outcome is not resolved");
    assert_eq!(version(&table, 0).await, Some(100));
}

/// A delete that meets its own earlier attempt is applied, also with an ETag.
#[tokio::test(start_paused = true)]
async fn a_conditional_delete_meets_its_own_attempt() {
    // The first transaction inserts, the second one deletes.
    let (mock, table) = failing([Step::pass(), Step::lose_reply()]).await;
    table.bulk().run((0..20).map(|n| BulkOperation::Insert(row("", n)))).await.unwrap();
    let query = table.query().allow_scan();
    let report = table.bulk().delete_found(query).await.unwrap();
    assert_eq!((report.progress.applied, mock.row_count("Blogs")), (20, Some(0)));
}

/// No wait exceeds the give-up timeout.
#[tokio::test(start_paused = true)]
async fn waits_end_at_the_give_up_timeout() {
    let patience = Duration::from_secs(60);
    let rows = || (0..100).map(|n| BulkOperation::Insert(row("", n)));
    let tomorrow = [("retry-after", "86400")];
    let busy = move || response(503, &tomorrow, json_error("ServerBusy", "no"));
    let (_, table) = scripted(move |_, _, _| busy().into()).await;
    let start = Instant::now();
    table.bulk().give_up_after(patience).run(rows()).await.unwrap_err();
    assert!(start.elapsed() < patience, "{:?}", start.elapsed());
    let (_, table) = scripted(|_, _, _| refused(500, "InternalError")).await;
    let slow = RetryPolicy::fixed(5, Duration::from_secs(2 * 60 * 60));
    let start = Instant::now();
    table.bulk().give_up_after(patience).retry(slow).run(rows()).await.unwrap_err();
    assert!(start.elapsed() < patience, "{:?}", start.elapsed());
}

/// The run gives up a partition that is always busy and continues with the others.
#[tokio::test(start_paused = true)]
async fn a_dead_partition_is_given_up() {
    let (mock, table) = scripted(|_, request, _| match request {
        hot if is_of(hot, "phot") => refused(503, "ServerBusy"),
        _ => Step::pass(),
    })
    .await;
    let start = Instant::now();
    let hot = (0..25_000).map(|n| ("hot", n));
    let cold = (0..1_000).map(|n| ("cold", n));
    let rows = hot.chain(cold).map(|(p, n)| BulkOperation::Insert(row(p, n)));
    let report = table.bulk().run(rows).await.unwrap_err().into_report();
    assert!(start.elapsed() < Duration::from_secs(6 * 60), "{:?}", start.elapsed());
    assert_eq!((report.progress.applied, mock.row_count("Blogs")), (1_000, Some(1_000)));
    assert_eq!(report.checkpoint.resolved(), 1_000);
    assert!(report.stopped.is_none() && report.progress.held() == 0, "{report}");
}

/// In an outage, the run ends, and reads few more rows than its window holds.
#[tokio::test(start_paused = true)]
async fn an_outage_ends_the_run() {
    for reply in [Err(TransportErrorKind::Connect), Ok(busy())] {
        let always = reply.clone();
        let (_, table) = scripted(move |_, _, _| always.clone().into()).await;
        let start = Instant::now();
        let rows = (0..20_000).map(|n| BulkOperation::Insert(row(n % 50, n)));
        let retries = RetryPolicy::fixed(10, Duration::from_secs(60));
        let error = table.bulk().window(2_000).retry(retries).run(rows).await.unwrap_err();
        assert!(start.elapsed() < Duration::from_secs(20 * 60), "{reply:?}: {:?}", start.elapsed());
        let report = error.into_report();
        assert!(report.stopped_by().is_some() && report.progress.held() == 0, "{report}");
        assert!(report.progress.read < 4_000, "{report}");
        assert_eq!(report.checkpoint.resolved(), 0);
        println!("{reply:?}: ended after {:?}; {report}", start.elapsed());
    }
}

/// A run with very many unresolved rows ends, since its checkpoint may have a gap for each of them.
#[tokio::test(start_paused = true)]
async fn a_checkpoint_is_bounded() {
    let (_, table) = scripted(|_, request, _| match request.uri.path() {
        bad if bad.contains("pbad") => unreachable(),
        _ => Step::pass(),
    })
    .await;
    // The first row of this key is sent, and the others are not attempted.
    let bad = row("bad", 0).key().clone();
    let rows = (0..120_000).map(|n| match n % 20 {
        0 => BulkOperation::InsertOrReplace(row("good", n)),
        _ => BulkOperation::Delete(bad.clone(), IfMatch::Any),
    });
    let bulk = table.bulk().retry(RetryPolicy::none());
    let report = bulk.run(rows).await.unwrap_err().into_report();
    assert!(report.stopped_by().is_some(), "{report}");
    let unresolved = report.progress.failed + report.progress.not_attempted;
    assert!((100_000..=101_000).contains(&unresolved), "{report}");
    let gaps = report.checkpoint.to_string().matches(',').count();
    assert!((4_000..10_000).contains(&gaps), "{gaps}");
}

/// The checkpoint of a resumed run is available before its first request.
#[tokio::test(start_paused = true)]
async fn a_resumed_run_that_never_started() {
    let (_, table) = scripted(|_, _, _| Step::pass()).await;
    let checkpoint: Checkpoint = "1.0-1000000".parse().unwrap();
    let bulk = table.bulk().resume(checkpoint.clone());
    let monitor = bulk.monitor();
    drop(bulk.run([BulkOperation::Insert(row("", 0))]));
    let text = monitor.checkpoint().to_string();
    assert!(text.starts_with("1.0-1000000;0;"), "the same rows, and an id: {text}");
}

/// A refused operation stays refused in every resumed run.
#[tokio::test(start_paused = true)]
async fn a_refused_row_is_not_forgotten() {
    let (_, table) = scripted(|_, _, _| Step::pass()).await;
    table.insert(&row("", 0)).await.unwrap();
    let rows = || (0..2).map(|n| BulkOperation::Insert(row("", n)));
    let report = table.bulk().run(rows()).await.unwrap_err().into_report();
    assert!(report.checkpoint.to_string().starts_with("1.0-2;1;"), "{}", report.checkpoint);
    let error = table.bulk().resume(report.checkpoint).run(rows()).await.unwrap_err();
    let text = "2 rows: 0 applied, 2 resolved before; 0 requests; 1 refused before";
    assert_eq!(error.to_string(), text);
}

/// A 404 may be about the account.
#[tokio::test(start_paused = true)]
async fn only_a_missing_entity_counts_as_deleted() {
    let (mock, table) = scripted(|_, request, _| match request.method.as_str() {
        "DELETE" => refused(404, "AccountNotFound"),
        _ => Step::pass(),
    })
    .await;
    table.insert(&row("", 0)).await.unwrap();
    let delete = BulkOperation::DeleteIfExists(row("", 0).key().clone(), IfMatch::Any);
    table.bulk().run([delete]).await.unwrap_err();
    assert_eq!(mock.row_count("Blogs"), Some(1));
}

/// A row that another program changed after the query may no longer match.
#[tokio::test(start_paused = true)]
async fn a_row_that_was_changed_is_not_deleted() {
    for any_version in [false, true] {
        let (mock, table) = scripted(|_, request, other| match request {
            delete if is_batch(delete) => changed(other, 1),
            _ => Step::pass(),
        })
        .await;
        for n in 0..2 {
            table.insert(&versioned(n, 0)).await.unwrap();
        }
        let found = table.query().filter_text("Version lt 3").allow_scan();
        let bulk = if any_version { table.bulk().any_version() } else { table.bulk() };
        let result = bulk.delete_found(found).await;
        let left = mock.row_count("Blogs");
        if any_version {
            assert_eq!((result.unwrap().progress.applied, left), (2, Some(0)));
        } else {
            let report = result.unwrap_err().into_report();
            let (what, error) = errors(&report).next().unwrap();
            assert!(what == "failed" && error.is_precondition_failed(), "{report}");
            assert_eq!((report.progress.applied, left), (1, Some(1)));
        }
    }
}

/// A row with an unreadable property fails alone; the copy continues.
#[tokio::test(start_paused = true)]
async fn a_copy_continues_after_an_unreadable_row() {
    let mock = MockTableService::new();
    let copy = mock.client().table_named::<DynamicEntity>("Copy");
    copy.create().await.unwrap();
    let lone_surrogate =
        Scripted::new(mock.transport(), |_| Step::pass().replace("XYZ", r"\ud800"));
    let source = client(&mock, lone_surrogate);
    let source = source.table_named::<DynamicEntity>("Blogs");
    source.create().await.unwrap();
    for n in 0..10 {
        let mut row = row("", n);
        row.set("Text", if n == 5 { "XYZ" } else { "ok" });
        source.insert(&row).await.unwrap();
    }
    let report = copy.bulk().copy_from(&source).await.unwrap_err().into_report();
    assert_eq!((report.progress.applied, mock.row_count("Copy")), (9, Some(9)));
    let failed = report.failures().next().unwrap();
    assert_eq!((failed.index, failed.key.as_ref()), (5, Some(row("", 5).key())));
    assert_eq!(report.checkpoint.resolved(), 9, "a later run tries it again");
}

/// The keys that a query finds in one account delete nothing in another one.
#[tokio::test]
async fn a_query_of_another_table_or_client_is_refused() {
    let mocks = [MockTableService::new(), MockTableService::new()];
    for mock in &mocks {
        mock.seed("Blogs", &[row("", 0), row("", 1)]).unwrap();
        mock.requests().clear();
    }
    let service = mocks[0].client();
    let blogs = service.table_named::<DynamicEntity>("Blogs");
    let table = |service: &TableServiceClient, name: &str| {
        service.table_named::<DynamicEntity>(name).query().allow_scan()
    };
    for (query, expected) in [
        (table(&service, "Other"), "reads another table"),
        (table(&mocks[1].client(), "Blogs"), "created by another client"),
        (table(&mocks[0].client(), "Blogs"), "created by another client"),
    ] {
        let report =
            blogs.bulk().any_version().delete_found(query).await.unwrap_err().into_report();
        let error = report.stopped_by().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(expected), "{error}");
    }
    for mock in &mocks {
        assert_eq!((mock.requests().total(), mock.row_count("Blogs")), (0, Some(2)));
    }
    let own = table(&service, "blogs");
    assert_eq!(blogs.bulk().delete_found(own).await.unwrap().progress.applied, 2, "the same table");
}

/// The error of a row names the row.
#[tokio::test(start_paused = true)]
async fn errors_name_their_rows() {
    let (_, table) = scripted(|n, _, other| match n {
        0 => Step::lose_reply(),
        1 => changed(other, 0),
        _ => Step::pass(),
    })
    .await;
    let report = table.bulk().run([BulkOperation::Insert(row("", 0))]).await;
    let report = report.unwrap_err().into_report();
    let (what, error) = errors(&report).next().unwrap();
    assert_eq!((what, error.outcome()), ("unknown", Outcome::Unknown));

    let (_, table) = scripted(|_, _, _| unreachable()).await;
    let report = table.bulk().run([BulkOperation::Insert(row("", 0))]).await;
    let report = report.unwrap_err().into_report();
    let (what, error) = errors(&report).next().unwrap();
    assert_eq!((what, error.outcome()), ("failed", Outcome::NotApplied));
    assert_eq!(u64::from(error.attempts()), report.progress.requests);

    let (_, table) = scripted(|_, _, _| Step::pass()).await;
    table.insert(&row("", 150)).await.unwrap();
    let report = table.bulk().run((0..200).map(|n| BulkOperation::Insert(row("", n)))).await;
    let report = report.unwrap_err().into_report();
    let (what, error) = errors(&report).next().unwrap();
    assert_eq!((what, error.batch_index()), ("failed", None));
    assert_eq!(error.entity_key(), Some(row("", 150).key()));
}

/// A row whose batch is not full is sent in time, next to partitions with full batches.
#[tokio::test(start_paused = true)]
async fn a_cold_row_does_not_wait_for_the_hot_ones() {
    let (_, _, table) = limited(None).await;
    let start = Instant::now();
    let read = Arc::new(Mutex::new(HashMap::new()));
    let longest = Arc::new(Mutex::new(Duration::ZERO));
    let (reading, waited) = (Arc::clone(&read), Arc::clone(&longest));
    let (count, distance) = sized((10_000, 1_000), (100_000, 100));
    let rows = (0..count).map(move |n| match n % distance {
        7 => {
            reading.lock().unwrap().insert(u64::from(n), Instant::now());
            BulkOperation::Insert(row(format!("cold{n}"), n))
        }
        _ => BulkOperation::Insert(row(format!("hot{}", n % 4), n)),
    });
    let bulk = table.bulk().concurrency(sized(1, 8)).on_row(move |result| {
        if let Some(at) = read.lock().unwrap().get(&result.index) {
            let mut longest = waited.lock().unwrap();
            *longest = (*longest).max(at.elapsed());
        }
    });
    bulk.run(rows).await.unwrap();
    let longest = *longest.lock().unwrap();
    assert!(longest < Duration::from_secs(2), "{longest:?} of {:?}", start.elapsed());
}
