//! A plot of request latencies as an SVG, from the data that the client passes to observers.
//!
//! A dot is a request that succeeded, a cross one that was refused or lost. On the mock,
//! some responses are slow and some inserts are refused; the plot shows both.
//!
//! `cargo run -p azure-table-integrations --example latencies [FILE]` runs it on the mock. With
//! `AZURE_STORAGE_CONNECTION_STRING` set it runs on that account or emulator. Without a file it writes
//! one into the directory for temporary files.

#![expect(clippy::print_stdout, reason = "an example prints")]

#[path = "latencies/plot.rs"]
mod plot;

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::telemetry::{AttemptOutcome, ClientStats, Observer, Received};
use azure_table_client::{Operation, RetryPolicy, TableEntity, TableServiceClient};
use azure_table_examples::Columns;
use futures_util::{TryStreamExt as _, stream};

#[derive(TableEntity)]
#[table(name = "ExampleLatencies", rename_all = "PascalCase")]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    number: u32,
    text: String,
}

/// A request: its end and its duration.
#[derive(Debug, Clone, Copy)]
struct Point {
    operation: Operation,
    at: Duration,
    took: Duration,
    is_done: bool,
}

#[derive(Debug)]
struct Latencies {
    start: Instant,
    points: Mutex<Vec<Point>>,
}

impl Observer for Latencies {
    fn after_receive(&self, received: &Received<'_>) {
        let point = Point {
            operation: received.operation,
            at: self.start.elapsed(),
            took: received.duration,
            is_done: matches!(received.outcome, AttemptOutcome::Responded(..400)),
        };
        self.points.lock().unwrap_or_else(PoisonError::into_inner).push(point);
    }
}

const BLOGS: u32 = 300;
const SLOW: Duration = Duration::from_millis(60);
const SLOW_GETS: usize = 12;
const REFUSED_INSERTS: usize = 8;
const RETRIES: u32 = 10;

fn disturb(mock: &MockTableService) {
    let faults = mock.faults();
    // Simulates the round trip to a distant service.
    faults.add(Fault::delay_reply(Duration::from_millis(2)));
    faults.add(Fault::delay_reply(SLOW).on(Operation::Get).skip(200).times(SLOW_GETS));
    faults.add(Fault::busy().on(Operation::Insert).skip(100).times(REFUSED_INSERTS));
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os()
        .nth(1)
        .map_or_else(|| std::env::temp_dir().join("azure-table-latencies.svg"), PathBuf::from);
    let (builder, mock) = azure_table_examples::builder()?;
    let latencies = Arc::new(Latencies { start: Instant::now(), points: Mutex::default() });
    let stats = Arc::new(ClientStats::default());
    let service = builder
        // Enough retries for an insert that receives all refusals.
        .retry(RetryPolicy::fixed(RETRIES, Duration::from_millis(20)))
        .observer(latencies.clone())
        .observer(stats.clone())
        .build()?;
    if let Some(mock) = &mock {
        disturb(mock);
    }
    work(&service).await?;

    let points = latencies.points.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let refused = points.iter().filter(|point| !point.is_done).count();
    let operations: Vec<Operation> = stats.by_operation().into_iter().map(|(o, _)| o).collect();
    let mut columns = Columns::new(["ms", "requests", "50 %", "90 %", "99 %", "all"]);
    for operation in &operations {
        let mut took: Vec<Duration> =
            points.iter().filter(|p| p.operation == *operation).map(|p| p.took).collect();
        took.sort();
        let [half, most, nearly_all, all] =
            [50, 90, 99, 100].map(|percent| format!("{:.2}", ms(percentile(&took, percent))));
        let (name, count) = (operation.as_str().to_owned(), took.len().to_string());
        columns.row([name, count, half, most, nearly_all, all]);
    }
    println!("{columns}");
    plot::write(&points, &operations, &path)?;
    println!("\n{} requests, {refused} of them failed: {}", points.len(), path.display());

    // The plot has every request.
    assert_eq!(points.len() as u64, stats.total().requests);
    assert_eq!(fs::read_to_string(&path)?.matches("<circle").count(), points.len() - refused);
    if mock.is_some() {
        let slow = points.iter().filter(|p| p.operation == Operation::Get && p.took >= SLOW);
        assert!(slow.count() >= SLOW_GETS);
        assert_eq!(refused, REFUSED_INSERTS);
    }
    Ok(())
}

/// Writes and reads, eight at a time.
async fn work(service: &TableServiceClient) -> Result<(), Box<dyn Error>> {
    let blogs = &service.table::<Blog>();
    blogs.create().await?;
    let one = async |number| {
        let channel = format!("channel-{}", number % 4);
        let blog = Blog { channel, number, text: "Hello".to_owned() };
        blogs.insert(&blog).await?;
        blogs.get(blog.entity_key()?).await?;
        if number % 10 == 0 {
            blogs.query().filter(|b| b.channel.eq(&blog.channel)).await?;
        }
        Ok(())
    };
    let numbers = stream::iter((0..BLOGS).map(Ok));
    let worked: Result<(), azure_table_client::Error> =
        numbers.try_for_each_concurrent(8, one).await;
    blogs.delete_table().await?;
    Ok(worked?)
}

/// Returns the duration that this percentage of the requests did not exceed.
fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
