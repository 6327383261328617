//! Imports 20,000 rows with a progress bar, bad rows among them, and prints what became of them.
//!
//! `cargo run --example bulk_import` runs it on the embedded service. With
//! `AZURE_STORAGE_CONNECTION_STRING` set it runs on that account or emulator.

use std::error::Error;

use azure_table_client::TableEntity;
use azure_table_client::bulk::{BulkError, BulkOperation, BulkReport};
use indicatif::{ProgressBar, ProgressStyle};

#[derive(Debug, TableEntity)]
#[table(name = "ExampleReadings", rename_all = "PascalCase")]
struct Reading {
    #[table(partition_key)]
    device: String,
    #[table(row_key)]
    id: u32,
    celsius: f64,
}

const ROWS: u32 = 20_000;

/// A file would be read like this, row by row: no more than a window of rows is in memory.
fn rows() -> impl Iterator<Item = BulkOperation<Reading>> {
    (0..ROWS).map(|id| {
        // A key with a slash is one that the service does not take.
        let device = if id == 4711 { "a/b".to_owned() } else { format!("device-{:02}", id % 50) };
        let celsius = 20.0 + f64::from(id % 100) / 10.0;
        BulkOperation::InsertOrReplace(Reading { device, id, celsius })
    })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (service, mut steps) = azure_table_examples::connect()?;
    let readings = service.table::<Reading>();
    let is_new = readings.create_if_not_exists().await?;

    let bar = ProgressBar::new(ROWS.into());
    bar.set_style(ProgressStyle::with_template("{bar:40} {pos}/{len} rows, {per_sec}, {msg}")?);
    let shown = bar.clone();
    let bulk = readings.bulk().concurrency(8).on_progress(move |progress| {
        shown.set_position(progress.finished());
        shown.set_message(format!("{} requests on their way", progress.in_flight));
    });
    // After a Ctrl-C, the monitor's checkpoint would say where to go on: `.resume(checkpoint)`.
    let monitor = bulk.monitor();
    let report = bulk.run(rows()).await.or_else(partly)?;
    bar.finish_and_clear();
    assert_eq!((report.progress.applied, report.progress.failed), (u64::from(ROWS) - 1, 1));
    steps.done("import 20,000 rows", report.to_string());
    for failure in report.failures() {
        steps.done("a row that was not imported", failure.to_string());
    }
    steps.done("where a second run would go on", monitor.checkpoint().to_string());

    let report = readings.delete_partition("device-07").await?;
    assert_eq!(report.progress.applied, 400);
    steps.done("delete a partition", report.to_string());
    let report = readings.truncate().await?;
    steps.done("delete all rows", report.to_string());
    if is_new {
        readings.delete_table().await?;
        steps.done("delete the table that this run created", "");
    }
    steps.total();
    Ok(())
}

/// Rows that failed are no reason to end, but a run that ended early is.
fn partly(error: BulkError) -> Result<BulkReport, BulkError> {
    if error.report().stopped.is_some() { Err(error) } else { Ok(error.into_report()) }
}
