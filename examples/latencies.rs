//! A plot of how long requests take, as an SVG, from what the client tells its observers.
//!
//! A dot is a request that was done, a cross one that was refused or lost. On the embedded service
//! some replies are slow and some inserts are refused, and both can be seen.
//!
//! `cargo run --example latencies [FILE]` runs it on the embedded service. With
//! `AZURE_STORAGE_CONNECTION_STRING` set it runs on that account or emulator. Without a file it writes
//! one into the directory for temporary files.

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::telemetry::{AttemptOutcome, ClientStats, Observer, Received};
use azure_table_client::{Operation, RetryPolicy, TableEntity, TableServiceClient};
use futures_util::{TryStreamExt as _, stream};
use plotters::prelude::*;

#[derive(TableEntity)]
#[table(name = "ExampleLatencies", rename_all = "PascalCase")]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    number: u32,
    text: String,
}

/// A request: when it was over, and how long it took.
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
            is_done: matches!(received.outcome, AttemptOutcome::Answered(..400)),
        };
        self.points.lock().unwrap_or_else(PoisonError::into_inner).push(point);
    }
}

const BLOGS: u32 = 300;
const SLOW: Duration = Duration::from_millis(60);
const SLOW_GETS: usize = 12;
const REFUSED_INSERTS: usize = 8;

fn disturb(mock: &MockTableService) {
    let faults = mock.faults();
    // The further away the service, the longer each takes.
    faults.add(Fault::delay_reply(Duration::from_millis(2)));
    faults.add(Fault::delay_reply(SLOW).on(Operation::Get).skip(100).times(SLOW_GETS));
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
        .retry(RetryPolicy::fixed(3, Duration::from_millis(20)))
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
    println!(
        "{:<12} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "ms", "requests", "50 %", "90 %", "99 %", "all"
    );
    for operation in &operations {
        let mut took: Vec<Duration> =
            points.iter().filter(|p| p.operation == *operation).map(|p| p.took).collect();
        took.sort();
        print!("{:<12} {:>8}", operation.as_str(), took.len());
        for percent in [50, 90, 99, 100] {
            print!(" {:>8.2}", ms(percentile(&took, percent)));
        }
        println!();
    }
    plot(&points, &operations, &path)?;
    println!("\n{} requests, {refused} of them not done: {}", points.len(), path.display());

    // Nothing is missing in the plot.
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

/// So many percent of the requests took no longer.
fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// How long each request took by the time when it was over, on a scale that shows 1 ms and 1 s.
fn plot(points: &[Point], operations: &[Operation], path: &Path) -> Result<(), Box<dyn Error>> {
    let (mut least, mut most, mut end) = (f64::INFINITY, 0.0_f64, 0.0_f64);
    for point in points {
        (least, most) = (least.min(ms(point.took)), most.max(ms(point.took)));
        end = end.max(ms(point.at));
    }
    let area = SVGBackend::new(path, (960, 540)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .margin(12)
        .caption("Latencies of requests", ("sans-serif", 22))
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(0.0..end * 1.02, (least * 0.8..most * 9.0).log_scale())?;
    chart.configure_mesh().x_desc("ms since the start").y_desc("ms").draw()?;
    for (index, operation) in operations.iter().enumerate() {
        let color = Palette99::pick(index).to_rgba();
        let of_it = || points.iter().filter(|point| point.operation == *operation);
        let at = |point: &Point| (ms(point.at), ms(point.took));
        let done = of_it().filter(|point| point.is_done);
        chart
            .draw_series(done.map(|point| Circle::new(at(point), 2, color.filled())))?
            .label(operation.as_str())
            .legend(move |(x, y)| Rectangle::new([(x, y - 4), (x + 12, y + 4)], color.filled()));
        let refused = of_it().filter(|point| !point.is_done);
        chart.draw_series(refused.map(|point| Cross::new(at(point), 5, color)))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .border_style(BLACK)
        .draw()?;
    area.present()?;
    Ok(())
}
