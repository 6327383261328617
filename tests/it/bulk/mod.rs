//! Bulk runs against a service that throttles or fails, under virtual time.

mod account;
mod losses;
mod lost_refusals;
mod max_rate;
mod resumed;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table_client::bulk::{BulkOperation, Checkpoint};
use azure_table_client::client::WriteOutcome;
use azure_table_client::mock::MockTableService;
use azure_table_client::transport::{HttpRequest, HttpResponse, Transport, TransportErrorKind};
use azure_table_client::{
    DynamicEntity, ErrorCode, IfMatch, RetryPolicy, TableClient, TableServiceClient,
};
use azure_table_tests::scripted::{Scripted, Step, in_turn, is_batch, json_error, on, response};
use azure_table_tests::sized;
use futures_util::StreamExt as _;
use tokio::time::{Instant, sleep};

/// The unit of the limit.
#[derive(Debug, Clone, Copy)]
enum Limit {
    /// Entities per second of the clock.
    Seconds(f64),
    /// Entities per second, and a burst.
    Bucket(f64, f64),
}

#[derive(Debug, Default)]
struct Seen {
    requests: u32,
    throttled: u32,
    /// For each partition: the time of the last request, and the remaining budget.
    left: HashMap<String, (Instant, f64)>,
    in_flight: usize,
    most_in_flight: usize,
    /// The last query.
    query: String,
}

/// The time that a request needs to the service, and its response back.
const LATENCY: Duration = Duration::from_millis(15);

/// A limit of entities per second and partition.
struct Limited {
    limit: Option<Limit>,
    seen: Mutex<Seen>,
    start: Instant,
}

impl Limited {
    fn takes(&self, request: &HttpRequest) -> bool {
        let mut seen = self.seen.lock().unwrap();
        let (body, now) = (String::from_utf8_lossy(&request.body), Instant::now());
        let Some(limit) = self.limit.filter(|_| is_batch(request)) else { return true };
        let entities = f64::from(u32::try_from(body.matches(" HTTP/1.1\r\n").count()).unwrap());
        let partition =
            body.split("PartitionKey").nth(1).unwrap().trim_start_matches(['"', ':', '=', '\'']);
        let partition = partition.split(['"', '\'']).next().unwrap();
        seen.requests += 1;
        let most = match limit {
            Limit::Seconds(most) | Limit::Bucket(_, most) => most,
        };
        let start = self.start;
        let (at, left) = seen.left.entry(partition.to_owned()).or_insert((now, most));
        match limit {
            Limit::Seconds(_) => {
                if (now - start).as_secs() != (*at - start).as_secs() {
                    *left = most;
                }
            }
            Limit::Bucket(rate, _) => *left = (*left + (now - *at).as_secs_f64() * rate).min(most),
        }
        *at = now;
        let takes = *left >= entities;
        if takes {
            *left -= entities;
        } else {
            seen.throttled += 1;
        }
        takes
    }
}

/// A transport to `service` with a latency and this limit.
fn throttled(service: Arc<dyn Transport>, limited: &Arc<Limited>) -> Arc<Scripted> {
    let [sending, arriving] = [(); 2].map(|()| Arc::clone(limited));
    let is_beyond = move |request: &HttpRequest| !arriving.takes(request);
    let service = Scripted::new(service, on(is_beyond, |_| busy().into()));
    Scripted::new(service, move |request| {
        let mut seen = sending.seen.lock().unwrap();
        seen.in_flight += 1;
        if let Some(query) = request.uri.query() {
            query.clone_into(&mut seen.query);
        }
        seen.most_in_flight = seen.most_in_flight.max(seen.in_flight);
        let received = Arc::clone(&sending);
        Step::pass().after(sleep(LATENCY)).then(async move {
            sleep(LATENCY).await;
            received.seen.lock().unwrap().in_flight -= 1;
        })
    })
}

fn busy() -> HttpResponse {
    response(503, &[], json_error("ServerBusy", "Busy."))
}

fn client(mock: &MockTableService, transport: Arc<dyn Transport>) -> TableServiceClient {
    mock.client_builder().transport(transport).build().unwrap()
}

async fn limited(
    limit: Option<Limit>,
) -> (MockTableService, Arc<Limited>, TableClient<DynamicEntity>) {
    let mock = MockTableService::new();
    let limited = Arc::new(Limited { limit, seen: Mutex::default(), start: Instant::now() });
    let table = client(&mock, throttled(mock.transport(), &limited)).table_named("Blogs");
    table.create().await.unwrap();
    (mock, limited, table)
}

fn row(partition: impl fmt::Display, n: u32) -> DynamicEntity {
    let mut row = DynamicEntity::new(format!("p{partition}"), format!("{n:08}"));
    row.set("N", i32::try_from(n).unwrap());
    row
}

/// At a limit of 2,000 entities a second, a run reaches 90 % of it with less than 5 % of 503s.
#[tokio::test(start_paused = true)]
async fn a_throttled_partition_is_used_to_its_limit() {
    for limit in
        [Limit::Seconds(2000.0), Limit::Bucket(2000.0, 2000.0), Limit::Bucket(2000.0, 300.0)]
    {
        let (mock, transport, table) = limited(Some(limit)).await;
        let start = Instant::now();
        let rows = sized(12_000, 60_000);
        let report =
            table.bulk().run((0..rows).map(|n| BulkOperation::Insert(row("", n)))).await.unwrap();
        let rate = f64::from(rows) / start.elapsed().as_secs_f64();
        let seen = transport.seen.lock().unwrap();
        let share = f64::from(seen.throttled) / f64::from(seen.requests);
        println!("{limit:?}: {rate:.0} entities/s, {:.1} % of 503s; {report}", share * 100.0);
        assert!(rate >= 1800.0, "{limit:?}: {rate}");
        assert!(share < 0.05, "{limit:?}: {share}");
        assert_eq!(mock.row_count("Blogs"), Some(rows as usize));
    }
}

/// One heavily throttled partition does not delay the others.
#[tokio::test(start_paused = true)]
async fn throttling_does_not_delay_other_partitions() {
    let (_, transport, table) = limited(Some(Limit::Seconds(300.0))).await;
    let hot = (0..3_000).map(|n| row("hot", n));
    let others = (0..8_000).map(|n| row(n % 40, n));
    let start = Instant::now();
    let last = Arc::new(Mutex::new(Duration::ZERO));
    let seen = Arc::clone(&last);
    let report = table
        .bulk()
        .on_row(move |result| {
            if result.key.as_ref().is_some_and(|key| key.partition_key != "phot") {
                *seen.lock().unwrap() = start.elapsed();
            }
        })
        .run(hot.chain(others).map(BulkOperation::Insert))
        .await
        .unwrap();
    assert_eq!(report.progress.applied, 11_000);
    let others = *last.lock().unwrap();
    assert!(others < Duration::from_secs(3), "{others:?}");
    let all = start.elapsed();
    assert!(all < Duration::from_secs(14), "{all:?}");
    assert!(transport.seen.lock().unwrap().most_in_flight <= 8);
}

/// A run that is dropped half way: its checkpoint has the rows with a response, and the second run
/// writes the rest.
#[tokio::test(start_paused = true)]
async fn a_dropped_run_is_resumed() {
    for stop in (0..400).step_by(sized(130, 23)) {
        let (mock, _, table) = limited(None).await;
        let operations = || (0..4_000).map(|n| BulkOperation::InsertOrReplace(row(n % 7, n)));
        let bulk = table.bulk().concurrency(3);
        let monitor = bulk.monitor();
        let run = bulk.run(operations());
        let stopped = tokio::time::timeout(Duration::from_millis(stop), run).await;
        assert!(stopped.is_err(), "{stop}");
        let checkpoint: Checkpoint = monitor.checkpoint().to_string().parse().unwrap();
        let progress = monitor.progress();
        assert_eq!(checkpoint.resolved(), progress.applied);
        let stored = mock.row_count("Blogs").unwrap() as u64;
        // Rows in flight may be stored without being resolved.
        assert!((progress.applied..=progress.applied + 300).contains(&stored), "{stored}");
        let report = table.bulk().resume(checkpoint.clone()).run(operations()).await.unwrap();
        assert_eq!(report.progress.skipped, checkpoint.resolved());
        assert_eq!(report.progress.applied, 4_000 - checkpoint.resolved());
        assert_eq!((report.checkpoint.next(), mock.row_count("Blogs")), (4_000, Some(4_000)));
    }
}

/// Dropped at each await point: every resolved row is stored, and a stored row that is not resolved
/// was in flight.
#[tokio::test(start_paused = true)]
async fn dropped_at_each_await_point() {
    let operations = || (0..600).map(|n| BulkOperation::InsertOrReplace(row(n % 3, n)));
    let (mut points, mut is_over) = (0, false);
    while !is_over {
        let mock = MockTableService::new();
        let table = mock.client().table_named::<DynamicEntity>("Blogs");
        table.create().await.unwrap();
        let bulk = table.bulk().concurrency(2);
        let monitor = bulk.monitor();
        {
            let mut run = std::pin::pin!(bulk.run(operations()));
            for _ in 0..=points {
                is_over = futures_util::poll!(run.as_mut()).is_ready();
            }
        }
        let (settled, stored) = (monitor.checkpoint(), mock.row_count("Blogs").unwrap() as u64);
        assert_eq!(settled.resolved(), monitor.report().progress.applied);
        let in_flight = monitor.progress().in_flight as u64;
        assert!((settled.resolved()..=settled.resolved() + in_flight * 100).contains(&stored));
        for n in (0..600).step_by(29).filter(|n| settled.is_resolved(u64::from(*n))) {
            let key = row(n % 3, n).key().clone();
            assert!(table.get_if_exists(key).await.unwrap().is_some(), "{n}");
        }
        let rest = tokio::spawn(table.bulk().resume(settled).run(operations()));
        let checkpoint = rest.await.unwrap().unwrap().checkpoint;
        assert_eq!((checkpoint.next(), checkpoint.resolved()), (600, 600));
        assert_eq!(mock.row_count("Blogs"), Some(600));
        points += 1;
    }
    println!("dropped at {points} points");
    assert!(points > 10, "{points}");
}

/// One bad row among thousands costs one extra request.
#[tokio::test(start_paused = true)]
async fn one_bad_row_among_thousands() {
    let (mock, _, table) = limited(None).await;
    table.insert(&row("", 1_321)).await.unwrap();
    let rows = (0..3_000).map(|n| BulkOperation::Insert(row("", n)));
    let error = table.bulk().run(rows).await.unwrap_err();
    let report = error.into_report();
    assert_eq!((report.progress.applied, report.progress.requests), (2_999, 31));
    let failed: Vec<u64> = report.failures().map(|result| result.index).collect();
    assert_eq!(failed, [1_321]);
    assert_eq!(mock.row_count("Blogs"), Some(3_000));
}

/// Operations on one key are applied in the order of the input, regardless of the other keys.
#[tokio::test(start_paused = true)]
async fn operations_on_one_key_keep_their_order() {
    for limit in [None, Some(Limit::Bucket(1_000.0, 200.0))] {
        let (mock, _, table) = limited(limit).await;
        let mut rng = fastrand::Rng::with_seed(7);
        // Each key is inserted, changed this many times with its previous value as condition, and
        // deleted: out of order, an operation fails.
        let mut left: Vec<(u32, u32)> = (0..60).map(|key| (key, rng.u32(0..12))).collect();
        let mut begun = HashSet::new();
        let mut operations = Vec::new();
        while !left.is_empty() {
            let at = rng.usize(..left.len());
            let (key, changes) = left[at];
            let entity = row(key % 3, key);
            if begun.insert(key) {
                operations.push(BulkOperation::Insert(entity));
            } else if changes > 0 {
                left[at].1 -= 1;
                operations.push(BulkOperation::Merge(entity, IfMatch::Any));
            } else {
                left.swap_remove(at);
                operations.push(BulkOperation::Delete(entity.key().clone(), IfMatch::Any));
                operations.push(BulkOperation::Insert(entity));
            }
        }
        let count = operations.len() as u64;
        let report = table.bulk().run(operations).await.unwrap();
        assert_eq!(report.progress.applied, count);
        assert_eq!(mock.row_count("Blogs"), Some(60));
    }
}

/// An input of any length is read while it is sent.
#[tokio::test(start_paused = true)]
async fn the_window_bounds_the_rows_in_memory() {
    let (_, _, table) = limited(Some(Limit::Bucket(20_000.0, 500.0))).await;
    let bulk = table.bulk().window(700);
    let monitor = bulk.monitor();
    let most = Arc::new(Mutex::new(0));
    let seen = Arc::clone(&most);
    let looks = monitor.clone();
    let rows = (0..sized(6_000, 30_000)).map(move |n| {
        let mut most = seen.lock().unwrap();
        *most = (*most).max(looks.progress().held() + 1);
        BulkOperation::Insert(row(n % 5, n))
    });
    bulk.run(rows).await.unwrap();
    assert_eq!(*most.lock().unwrap(), 700);
    assert_eq!(monitor.progress().held(), 0);
}

/// An input that pauses: the rows so far are sent before a batch is full.
#[tokio::test(start_paused = true)]
async fn a_slow_input_is_sent_in_time() {
    let (mock, _, table) = limited(None).await;
    let stored = mock.clone();
    let input = futures_util::stream::iter(0..20).then(move |n| {
        let stored = stored.clone();
        async move {
            sleep(Duration::from_secs(1)).await;
            assert_eq!(stored.row_count("Blogs"), Some(n as usize));
            BulkOperation::Insert(row("", n))
        }
    });
    let report = table.bulk().run_stream(input).await.unwrap();
    assert_eq!((report.progress.applied, report.progress.requests), (20, 20));
}

/// An input that fails: the rows before the failure are written.
#[tokio::test(start_paused = true)]
async fn an_input_that_fails_ends_the_run() {
    let (mock, _, table) = limited(None).await;
    let rows = (0..250).map(|n| Ok(BulkOperation::Insert(row("", n))));
    let input = rows.chain([Err(std::io::Error::other("the disk"))]);
    let error = table.bulk().try_run_stream(futures_util::stream::iter(input)).await.unwrap_err();
    assert_eq!(error.to_string(), "250 rows: 250 applied; 3 requests; stopped: the disk");
    assert_eq!(mock.row_count("Blogs"), Some(250));
    assert_eq!(error.report().checkpoint.next(), 250);
}

/// A table whose transactions follow these steps.
async fn failing<S: Into<Step> + 'static>(
    steps: impl IntoIterator<Item = S, IntoIter: Send> + 'static,
) -> (MockTableService, TableClient<DynamicEntity>) {
    let mock = MockTableService::new();
    let script = on(is_batch, in_turn(steps));
    let table = client(&mock, Scripted::new(mock.transport(), script)).table_named("Blogs");
    table.create().await.unwrap();
    (mock, table)
}

/// A lost reply: an idempotent operation is sent again, and a duplicate attempt is recognized as
/// applied.
#[tokio::test(start_paused = true)]
async fn a_lost_reply_is_not_a_conflict() {
    let (_, table) = failing([Step::lose_reply()]).await;
    let upserts = (0..50).map(|n| BulkOperation::InsertOrReplace(row("", n)));
    let report = table.bulk().run(upserts).await.unwrap();
    assert_eq!((report.progress.applied, report.progress.requests), (50, 2));

    let (mock, table) = failing([Step::lose_reply()]).await;
    let mixed = (0..50).map(|n| match n % 2 {
        0 => BulkOperation::Insert(row("", n)),
        _ => BulkOperation::InsertOrMerge(row("", n)),
    });
    let report = table.bulk().keep_results().run(mixed).await.unwrap();
    assert_eq!((report.progress.applied, report.progress.requests), (50, 2));
    for result in &report.results {
        let WriteOutcome::Applied { etag, .. } = &result.outcome else { panic!("{result}") };
        let key = result.key.clone().unwrap();
        assert_eq!(etag.as_ref(), Some(&table.get(key).await.unwrap().etag));
    }
    assert_eq!(mock.row_count("Blogs"), Some(50));
}

/// Transient failures are retried; a permanent failure is given up and can be resumed.
#[tokio::test(start_paused = true)]
async fn transient_failures_are_retried() {
    let unreachable = Err(TransportErrorKind::Connect);
    let refusal = |status| Ok(response(status, &[], json_error("ServerBusy", "Busy.")));
    let rows = || (0..100).map(|n| BulkOperation::InsertOrReplace(row("", n)));
    let (_, table) = failing([unreachable.clone(), refusal(503), refusal(500), refusal(504)]).await;
    let report = table.bulk().run(rows()).await.unwrap();
    assert_eq!((report.progress.requests, report.progress.throttled), (5, 1));

    let (mock, table) = failing(vec![unreachable; 5]).await;
    let bulk = table.bulk().retry(RetryPolicy::fixed(4, Duration::from_secs(1)));
    let start = Instant::now();
    let report = bulk.run(rows()).await.unwrap_err().into_report();
    assert_eq!((report.progress.failed, start.elapsed().as_secs()), (100, 4));
    let report = table.bulk().resume(report.checkpoint).run(rows()).await.unwrap();
    assert_eq!((report.progress.applied, mock.row_count("Blogs")), (100, Some(100)));

    let (_, table) = failing(vec![refusal(503); 1000]).await;
    let start = Instant::now();
    let bulk = table.bulk().give_up_after(Duration::from_secs(2 * 60));
    let report = bulk.run(rows()).await.unwrap_err().into_report();
    assert_eq!(report.progress.failed, 100);
    let (took, requests) = (start.elapsed().as_secs(), report.progress.requests);
    assert!((80..=120).contains(&took) && requests < 20, "{took} s, {requests} requests");
}

/// A delete reads keys only; a copy reads all columns.
#[tokio::test(start_paused = true)]
async fn deleting_reads_keys_only() {
    let (mock, transport, table) = limited(None).await;
    table.bulk().run((0..3_000).map(|n| BulkOperation::Insert(row(n % 2, n)))).await.unwrap();
    mock.requests().clear();
    table.bulk().delete_partition("p1").await.unwrap();
    let query = transport.seen.lock().unwrap().query.clone();
    assert!(query.contains("&$select=PartitionKey%2CRowKey&"), "{query}");
    assert_eq!(mock.requests().table_scans(), 0);
    assert_eq!(mock.row_count("Blogs"), Some(1_500));
    for begun in ["1.", "1.0-1"] {
        let error = table.bulk().resume(begun.parse().unwrap()).truncate().await.unwrap_err();
        assert!(error.to_string().contains("cannot be resumed"), "{error}");
    }
    table.delete_table().await.unwrap();
    let error = table.bulk().truncate().await.unwrap_err();
    let cause = error.report().stopped.as_ref().unwrap().to_string();
    assert!(cause.contains(ErrorCode::TableNotFound.as_str()), "{cause}");
}
