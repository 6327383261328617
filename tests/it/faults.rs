//! Every fault of the mock's plan, from the client's view.

use std::time::Duration;

use azure_table_client::bulk::BulkOperation;
use azure_table_client::client::ScanPolicy;
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::transport::HttpRequest;
use azure_table_client::{
    DynamicEntity, Error, ErrorCode, ErrorKind, IfMatch, Metadata, Operation, Outcome, Proof,
    RetryPolicy, TableClient, TableServiceClientBuilder,
};
use tokio::time::{Instant, advance};

fn builder(mock: &MockTableService) -> TableServiceClientBuilder {
    mock.client_builder().try_timeout(Duration::from_secs(30)).proof(Proof::Response)
}

/// A table whose client sends each request once.
async fn once() -> (MockTableService, TableClient<DynamicEntity>) {
    let mock = MockTableService::new();
    let client = builder(&mock).retry(RetryPolicy::none()).build().unwrap();
    let table = client.table_named("Blogs");
    table.create().await.unwrap();
    (mock, table)
}

fn retrying(mock: &MockTableService) -> TableClient<DynamicEntity> {
    let policy = RetryPolicy::fixed(3, Duration::from_secs(1));
    builder(mock).retry(policy).build().unwrap().table_named("Blogs")
}

fn row(id: usize) -> DynamicEntity {
    written(id, "some text")
}

fn written(id: usize, text: &str) -> DynamicEntity {
    let mut row = DynamicEntity::new("p", format!("{id:03}"));
    row.set("Text", text);
    row
}

#[tokio::test(start_paused = true)]
async fn faults_of_a_write() {
    use ErrorKind::{Connect, Interrupted, Service, Timeout, UnexpectedReply};
    use Outcome::{NotApplied, Unknown};
    let timed_out = Some(ErrorCode::OperationTimedOut);
    let code = |text: &str| ErrorCode::from(text.to_owned());
    let long = Duration::from_secs(10 * 60);
    for (fault, kind, outcomes, code, is_done) in [
        (Fault::refuse_connection(), Connect, &[NotApplied][..], None, false),
        (Fault::lose_request(), Interrupted, &[Unknown], None, false),
        (Fault::lose_reply(), Interrupted, &[Unknown], None, true),
        (Fault::hang(), Timeout, &[Unknown], None, false),
        (Fault::delay_request(long), Timeout, &[Unknown], None, false),
        (Fault::delay_reply(long), Timeout, &[Unknown], None, true),
        (Fault::busy(), Service, &[NotApplied], Some(ErrorCode::ServerBusy), false),
        (Fault::too_many_requests(), Service, &[NotApplied], Some(code("TooManyRequests")), false),
        (Fault::throttle(0), Service, &[NotApplied], Some(ErrorCode::ServerBusy), false),
        (Fault::internal_error(), Service, &[Unknown], Some(ErrorCode::InternalError), false),
        (Fault::timed_out(), Service, &[Unknown], timed_out.clone(), false),
        (Fault::timed_out().after_commit(), Service, &[Unknown], timed_out, true),
        (Fault::error(403, "Own"), Service, &[NotApplied], Some(code("Own")), false),
        // No page documents this status for the service, so it proves nothing.
        (Fault::error(418, "Teapot"), Service, &[Unknown], Some(code("Teapot")), false),
        (Fault::error(7, "NoStatus"), Service, &[Unknown], Some(code("NoStatus")), false),
        (Fault::proxy_page(200), UnexpectedReply, &[Unknown], None, false),
        (Fault::proxy_page(502), UnexpectedReply, &[Unknown], None, false),
        (Fault::proxy_page(502).after_commit(), UnexpectedReply, &[Unknown], None, true),
    ] {
        let (mock, table) = once().await;
        let what = format!("{fault:?}");
        let added = mock.faults().add(fault);
        let error = table.insert(&row(1)).await.expect_err(&what);
        assert_eq!((error.kind(), error.code()), (kind, code.as_ref()), "{what}: {error}");
        assert!(outcomes.contains(&error.outcome()), "{what}: {error:?}");
        assert_eq!(mock.row_count("Blogs"), Some(usize::from(is_done)), "{what}");
        assert_eq!(added.struck(), 1, "{what}");

        mock.faults().clear();
        table.insert(&row(2)).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_truncated_body_without_notice() {
    let (mock, table) = once().await;
    table.insert(&row(1)).await.unwrap();
    mock.faults().add(Fault::truncate_reply());
    assert_eq!(table.get(("p", "001")).await.unwrap_err().kind(), ErrorKind::UnexpectedReply);
    assert_eq!(table.query().await.unwrap_err().kind(), ErrorKind::UnexpectedReply);
    table.delete(("p", "001"), IfMatch::Any).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn retry_after_in_seconds_and_as_a_date() {
    let (mock, _) = once().await;
    for (id, fault, seconds) in [
        (1, Fault::busy(), 1),
        (2, Fault::busy().retry_after(Duration::from_millis(6_500)), 7),
        (3, Fault::busy().retry_after_date(Duration::from_secs(9)), 9),
        (4, Fault::throttle(0).retry_after(Duration::from_secs(4)), 4),
        (5, Fault::proxy_page(503).retry_after(Duration::from_secs(5)), 5),
    ] {
        let start = Instant::now();
        mock.faults().add(fault.times(1));
        retrying(&mock).insert(&row(id)).await.unwrap();
        // A date has no milliseconds, and tokio's timer has no finer unit.
        let waited = start.elapsed().as_millis();
        assert!(waited.abs_diff(seconds * 1_000) <= 1_000, "{id}: {waited} ms");
    }
}

/// An attempt that its client gave up is applied late, after the next attempt and after another
/// program's write.
#[tokio::test(start_paused = true)]
async fn a_delayed_write_is_applied_without_its_caller() {
    let (mock, table) = once().await;
    let text = async || {
        let row = table.get(("p", "001")).await.unwrap().entity;
        row.get::<String>("Text").unwrap().unwrap()
    };
    let late = Fault::delay_request(Duration::from_secs(100)).on(Operation::InsertOrReplace);
    let late = mock.faults().add(late.times(1));
    retrying(&mock).insert_or_replace(&written(1, "mine")).await.unwrap();
    assert_eq!((late.struck(), text().await.as_str()), (1, "mine"), "the second attempt");
    table.insert_or_replace(&written(1, "theirs")).await.unwrap();
    advance(Duration::from_secs(60)).await;
    assert_eq!(text().await, "theirs");
    advance(Duration::from_secs(20)).await;
    assert_eq!(text().await, "mine", "the first attempt");

    // A request that is due to be refused is refused; a delayed one counts as applied.
    mock.faults().add(Fault::delay_request(Duration::from_secs(40 * 60)));
    let call = table.insert(&row(2)).retry(RetryPolicy::none());
    assert_eq!(call.await.unwrap_err().kind(), ErrorKind::Timeout);
    mock.faults().clear();
    assert_eq!(mock.row_count("Blogs"), Some(1));
    advance(Duration::from_secs(40 * 60)).await;
    assert_eq!(mock.row_count("Blogs"), Some(2), "signed when it arrived, 40 minutes ago");
}

#[tokio::test(start_paused = true)]
async fn delays_in_order() {
    let (mock, table) = once().await;
    for (id, ms) in [(1, 300), (2, 200), (3, 100)] {
        let delay = Fault::delay_request(Duration::from_millis(ms));
        mock.faults().add(delay.key("p", format!("{id:03}")));
    }
    mock.faults().add(Fault::delay_reply(Duration::from_millis(50)));
    mock.faults().add(Fault::delay_reply(Duration::from_millis(7)));
    let start = Instant::now();
    let insert = async |id| {
        table.insert(&row(id)).await.unwrap();
        start.elapsed().as_millis()
    };
    let times = tokio::join!(insert(1), insert(2), insert(3));
    assert_eq!(times, (357, 257, 157));
    let versions = async |id: usize| table.get(("p", format!("{id:03}"))).await.unwrap().etag;
    let (one, two, three) = (versions(1).await, versions(2).await, versions(3).await);
    assert!(three.as_str() < two.as_str() && two.as_str() < one.as_str());
}

#[tokio::test]
async fn short_pages_lose_no_row() {
    let mut page_lengths = Vec::new();
    for seed in 0..20 {
        let (mock, table) = once().await;
        for id in 0..10 {
            table.insert(&row(id)).await.unwrap();
        }
        mock.faults().seed(seed);
        for (fault, pages) in [
            (Fault::page_of(3), Some(4)),
            (Fault::page_of(0).times(2), Some(3)),
            (Fault::page_of(10), Some(1)),
            (Fault::split_page().probability(0.7), None),
        ] {
            let what = format!("{fault:?}");
            let added = mock.faults().add(fault);
            let before = mock.requests().total();
            let rows = table.query().await.unwrap();
            let ids: Vec<String> = rows.iter().map(|row| row.key().row_key.clone()).collect();
            let expected: Vec<_> = (0..10).map(|id| format!("{id:03}")).collect();
            assert_eq!(ids, expected, "{what}");
            let asked = mock.requests().total() - before;
            assert!(pages.is_none_or(|pages| pages == asked), "{what}: {asked} pages");
            if pages.is_none() {
                page_lengths.push(added.struck());
            }
            mock.faults().clear();
        }
    }
    page_lengths.sort_unstable();
    page_lengths.dedup();
    assert!(page_lengths.len() > 3, "{page_lengths:?}");
}

#[tokio::test]
async fn short_pages_of_tables() {
    let mock = MockTableService::new();
    let service = mock.client();
    for id in 0..5 {
        service.create_table(&format!("Table{id}")).await.unwrap();
    }
    for fault in
        [Fault::page_of(2), Fault::page_of(0).times(3), Fault::split_page().probability(0.5)]
    {
        mock.faults().add(fault);
        assert_eq!(service.list_tables().await.unwrap().len(), 5);
        mock.faults().clear();
    }
}

#[tokio::test(start_paused = true)]
async fn a_table_is_deleted_for_a_while() {
    let (mock, table) = once().await;
    mock.faults().add(Fault::table_being_deleted(Duration::from_secs(40)).table("blogs"));
    table.delete_table().await.unwrap();
    let going = ErrorCode::TableBeingDeleted;
    for _ in 0..2 {
        let error = table.create().await.unwrap_err();
        assert_eq!((error.status(), error.code()), (Some(409), Some(&going)));
        assert_eq!(table.insert(&row(1)).await.unwrap_err().code(), Some(&going));
        assert_eq!(table.query().await.unwrap_err().code(), Some(&going));
        let transaction = table.transaction().insert(&row(1)).insert(&row(2)).await;
        assert_eq!(transaction.unwrap_err().code(), Some(&going));
        assert!(mock.table_names().is_empty());
        mock.faults().clear();
        advance(Duration::from_secs(39)).await;
    }
    advance(Duration::from_secs(1)).await;
    assert_eq!(table.insert(&row(1)).await.unwrap_err().code(), Some(&ErrorCode::TableNotFound));
    table.create().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_service_with_another_clock() {
    let (mock, table) = once().await;
    for (minutes, is_refused) in [(14, false), (16, true)] {
        for is_ahead in [true, false] {
            let by = Duration::from_secs(minutes * 60);
            let expected = if is_ahead {
                mock.faults().clock_ahead(by);
                mock.clock().now() + by
            } else {
                mock.faults().clock_behind(by);
                mock.clock().now() - by
            };
            // The retry uses the date in the refusal.
            mock.requests().clear();
            table.insert_or_replace(&row(1)).await.unwrap();
            assert_eq!(mock.requests().total(), if is_refused { 2 } else { 1 });
            let response = mock.respond(&HttpRequest::new(
                http::Method::GET,
                http::Uri::from_static("http://127.0.0.1/devstoreaccount1/Tables"),
            ));
            let date = response.headers["date"].to_str().unwrap();
            assert_eq!(date, httpdate::fmt_http_date(expected));
        }
    }
    mock.faults().clear();
    table.insert_or_replace(&row(1)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_partition_has_an_entity_limit_per_second() {
    let (mock, _) = once().await;
    let throttle = mock.faults().add(Fault::throttle(200).table("Blogs"));
    let delay = mock.faults().add(Fault::delay_reply(Duration::from_millis(20)));
    let table = builder(&mock).build().unwrap().table_named::<DynamicEntity>("Blogs");
    let start = Instant::now();
    let rows = (0..2_000).map(|id| BulkOperation::Insert(row(id)));
    let report = table.bulk().run(rows).await.unwrap();
    let took = start.elapsed().as_secs_f64();
    assert_eq!(report.progress.applied, 2_000);
    assert!((9.0..12.0).contains(&took), "1,800 entities behind the first second's: {took} s");
    assert!(throttle.struck() > 0 && delay.struck() > 0);
}

#[tokio::test(start_paused = true)]
async fn scopes() {
    let all = ["insert 1", "insert 2", "get 1", "transaction", "query", "other insert 1"];
    for (fault, expected) in [
        (Fault::busy(), &all[..]),
        (Fault::busy().on(Operation::Insert), &["insert 1", "insert 2", "other insert 1"]),
        (Fault::busy().on(Operation::Get).on(Operation::Query), &["get 1", "query"]),
        (Fault::busy().on_reads(), &["get 1", "query"]),
        (Fault::busy().on_writes().table("other"), &["other insert 1"]),
        (Fault::busy().table("BLOGS"), &all[..5]),
        (Fault::busy().key("p", "001").table("Blogs"), &["insert 1", "get 1", "transaction"]),
        (Fault::busy().key("p", "002"), &["insert 2", "transaction"]),
        (Fault::busy().partition("p").skip(1).times(2), &["insert 2", "get 1"]),
        (Fault::busy().partition("q"), &[]),
        (Fault::busy().probability(0.0), &[]),
        (Fault::busy().probability(f64::NAN), &[]),
    ] {
        let (mock, blogs) = once().await;
        let other = builder(&mock).retry(RetryPolicy::none()).build().unwrap();
        let other = other.table_named::<DynamicEntity>("Other");
        other.create().await.unwrap();
        let what = format!("{fault:?}");
        mock.faults().add(fault);
        let both = blogs.transaction().insert_or_merge(&row(1)).insert_or_merge(&row(2));
        let errors = [
            blogs.insert(&row(1)).await.err(),
            blogs.insert(&row(2)).await.err(),
            blogs.get(("p", "001")).await.err(),
            both.await.err(),
            blogs.query().await.err(),
            other.insert(&row(1)).await.err(),
        ];
        let is_busy = |error: &Option<Error>| error.as_ref().is_some_and(Error::is_throttled);
        let struck = all.iter().zip(&errors).filter(|(_, error)| is_busy(error));
        let struck: Vec<_> = struck.map(|(name, _)| *name).collect();
        assert_eq!(struck, expected, "{what}");
    }
}

/// The same seed and the same requests in the same order meet the same faults, regardless of the sender.
#[tokio::test(start_paused = true)]
async fn the_same_seed_repeats_the_faults() {
    async fn run(seed: u64) -> (Vec<bool>, usize) {
        let (mock, table) = once().await;
        mock.faults().seed(seed);
        let lost = mock.faults().add(Fault::lose_reply().probability(0.3));
        mock.faults().add(Fault::delay_request(Duration::from_millis(5)).probability(0.5));
        let tasks = (0..10).map(|task| {
            let table = table.clone();
            tokio::spawn(async move {
                let mut results = Vec::new();
                for id in 0..20 {
                    results.push(table.insert(&row(task * 20 + id)).await.is_ok());
                }
                results
            })
        });
        let tasks: Vec<_> = tasks.collect();
        let mut results = Vec::new();
        for task in tasks {
            results.extend(task.await.unwrap());
        }
        (results, lost.struck())
    }
    let (first, struck) = run(1).await;
    assert_eq!(run(1).await, (first.clone(), struck));
    assert_ne!(run(2).await.0, first);
    assert_eq!(struck, first.iter().filter(|is_ok| !**is_ok).count());
    assert!((40..80).contains(&struck), "{struck} of 200");
}

#[tokio::test]
async fn a_request_meets_the_first_matching_fault() {
    let (mock, table) = once().await;
    let first = mock.faults().add(Fault::busy().times(1));
    let second = mock.faults().add(Fault::lose_reply().times(1));
    assert!(table.insert(&row(1)).await.unwrap_err().is_throttled());
    assert_eq!((first.struck(), second.struck()), (1, 0));
    assert_eq!(table.insert(&row(1)).await.unwrap_err().kind(), ErrorKind::Interrupted);
    table.insert(&row(2)).await.unwrap();
    assert_eq!(mock.row_count("Blogs"), Some(2));
    assert!(format!("{:?}", mock.faults()).contains("seed: 0"));
}

/// A host that only supports responses does not count other faults.
#[test]
fn a_host_that_supports_responses_only() {
    let mock = MockTableService::builder().loose(true).build();
    let lost = mock.faults().add(Fault::lose_reply());
    let busy = mock.faults().add(Fault::busy().skip(1));
    let status = || {
        let request = HttpRequest::new(
            http::Method::GET,
            http::Uri::from_static("http://127.0.0.1/devstoreaccount1/Tables"),
        );
        mock.respond(&request).status.as_u16()
    };
    assert_eq!([status(), status()], [200, 503]);
    assert_eq!((lost.struck(), busy.struck()), (0, 1));
}
#[tokio::test(start_paused = true)]
async fn names_of_deleted_tables_are_waited_for() {
    let mock = MockTableService::new();
    let service = mock.client();
    mock.faults().add(Fault::table_being_deleted(Duration::from_secs(40)));
    let deadline = Duration::from_secs(2 * 60);
    service.create_table("Blogs").await.unwrap();
    service.delete_table("Blogs").await.unwrap();
    let start = Instant::now();
    service.create_table_and_wait("Blogs", deadline).await.unwrap();
    assert!((40..46).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());

    let start = Instant::now();
    service.delete_table_and_wait("Blogs", deadline).await.unwrap();
    assert!((40..46).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    service.create_table("Blogs").await.unwrap();

    // The request is not applied before its time, and is recorded at that time.
    service.delete_table("Blogs").await.unwrap();
    let start = Instant::now();
    let error = service.create_table_and_wait("Blogs", Duration::from_secs(10)).await.unwrap_err();
    assert_eq!(error.code(), Some(&ErrorCode::TableBeingDeleted));
    assert!(start.elapsed() <= Duration::from_secs(10), "{:?}", start.elapsed());

    // Other errors end the wait.
    service.create_table_and_wait("Blogs", deadline).await.unwrap();
    let error = service.create_table_and_wait("Blogs", deadline).await.unwrap_err();
    assert_eq!(error.code(), Some(&ErrorCode::TableAlreadyExists));
    let error = service.delete_table_and_wait("Others", deadline).await.unwrap_err();
    assert_eq!(error.status(), Some(404));
}

/// Queries that the client itself refuses use up no fault.
#[tokio::test(start_paused = true)]
async fn names_are_waited_for_by_clients_of_all_sorts() {
    let deadline = Duration::from_secs(2 * 60);
    for (scans, metadata) in
        [(ScanPolicy::Refuse, Metadata::Minimal), (ScanPolicy::Allow, Metadata::None)]
    {
        let mock = MockTableService::new();
        let service = mock.client_builder().scans(scans).metadata(metadata).build().unwrap();
        mock.faults().add(Fault::table_being_deleted(Duration::from_secs(40)));
        service.create_table("Blogs").await.unwrap();
        let start = Instant::now();
        service.delete_table_and_wait("Blogs", deadline).await.unwrap();
        assert!((40..46).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());

        // The table is deleted, and its name is still reserved.
        service.create_table("Blogs").await.unwrap();
        let soon = Duration::from_secs(3);
        let error = service.delete_table_and_wait("Blogs", soon).await.unwrap_err();
        let going = ErrorCode::TableBeingDeleted;
        assert_eq!((error.code(), error.outcome()), (Some(&going), Outcome::Applied));
        // The wait for an unresponsive service ends too.
        mock.faults().add(Fault::delay_reply(Duration::from_secs(10 * 60)));
        let start = Instant::now();
        service.create_table_and_wait("Others", Duration::from_secs(10)).await.unwrap_err();
        assert!(start.elapsed() <= Duration::from_secs(10), "{:?}", start.elapsed());
    }
}
