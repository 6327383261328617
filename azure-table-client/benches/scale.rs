//! The cost of a query in a table of 10,000, 100,000 and 1,000,000 entities: a range of 1,000 rows of one
//! partition, and all rows as a stream.
//!
//! `cargo bench --bench scale --features mock`
#![allow(missing_docs, clippy::print_stdout, clippy::expect_used, reason = "benches")]

use std::time::{Duration, Instant};

use azure_table_client::mock::MockTableService;
use azure_table_client::{TableClient, TableEntity};
use futures_util::TryStreamExt as _;

#[derive(Debug, TableEntity)]
#[table(name = "Readings", rename_all = "PascalCase")]
struct Reading {
    #[table(partition_key)]
    device: String,
    #[table(row_key)]
    id: u32,
    value: f64,
    unit: String,
}

/// Rows of one partition.
const PARTITION: u32 = 10_000;
const ROUNDS: u32 = 20;

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    // `cargo test --benches` shows that it works.
    let sizes: &[u32] = if is_bench { &[10_000, 100_000, 1_000_000] } else { &[10_000] };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(measure(sizes));
}

async fn measure(sizes: &[u32]) {
    let mock = MockTableService::new();
    let readings = mock.client().table::<Reading>();
    readings.create().await.expect("a table");
    let mut rows = 0;
    for &size in sizes {
        while rows < size {
            insert(&readings, rows).await;
            rows += 1;
        }
        let (scanned, time) = range(&mock, &readings, size).await;
        println!(
            "{size:>9} entities: 1,000 rows of one partition in {time:?}, {scanned} rows looked at"
        );
    }
    let before = peak();
    mock.requests().clear();
    let start = Instant::now();
    let mut all = std::pin::pin!(readings.query().stream());
    let (mut count, mut sum) = (0_u32, 0.0);
    while let Some(reading) = all.try_next().await.expect("a row") {
        count += 1;
        sum += reading.value;
    }
    let took = start.elapsed();
    assert!(count == rows && sum > 0.0 && mock.requests().scanned_rows() == rows as usize);
    println!(
        "all {count} as a stream of {} in {took:?}; peak RSS {} MiB before, {} MiB after",
        all.cost(),
        before / 1024,
        peak() / 1024
    );
}

async fn insert(readings: &TableClient<Reading>, n: u32) {
    let reading = Reading {
        device: format!("device-{:05}", n / PARTITION),
        id: n % PARTITION,
        value: f64::from(n) / 3.0,
        unit: "°C".to_owned(),
    };
    readings.insert(&reading).await.expect("an insert");
}

/// Measures a range in the middle: the rows scanned, and the shortest time.
async fn range(
    mock: &MockTableService,
    readings: &TableClient<Reading>,
    size: u32,
) -> (usize, Duration) {
    let device = format!("device-{:05}", size / PARTITION / 2);
    let mut best = Duration::MAX;
    let mut scanned = 0;
    for _ in 0..ROUNDS {
        mock.requests().clear();
        let query = readings.query();
        let query = query.filter(|r| r.device.eq(device.as_str()) & r.id.between(4000, 4999));
        let start = Instant::now();
        let found = query.await.expect("rows");
        best = best.min(start.elapsed());
        assert_eq!(found.len(), 1000);
        scanned = mock.requests().scanned_rows();
    }
    (scanned, best)
}

/// The most memory that this process had, in KiB.
#[cfg(unix)]
fn peak() -> i64 {
    use nix::sys::resource::{UsageWho, getrusage};

    let most = getrusage(UsageWho::RUSAGE_SELF).expect("the usage").max_rss();
    // macOS counts bytes.
    if cfg!(target_vendor = "apple") { most / 1024 } else { most }
}

/// Not measured on Windows.
#[cfg(not(unix))]
fn peak() -> i64 {
    0
}
