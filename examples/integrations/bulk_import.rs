//! Imports a CSV of 20,000 lines with a progress bar, stops halfway, and resumes from a checkpoint.
//!
//! Two lines are invalid: one cannot be read, and one has a key that the service refuses. The example
//! reports them by their line numbers, and imports all others.
//!
//! `cargo run -p azure-table-integrations --example bulk_import` runs it on the mock. With
//! `AZURE_STORAGE_CONNECTION_STRING` set it runs on that account or emulator.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use azure_table_client::bulk::{BulkError, BulkOperation, BulkReport, Checkpoint};
use azure_table_client::{TableClient, TableEntity};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Deserialize;
use tokio::sync::Notify;

/// A line of the file and a row of the table.
#[derive(Debug, Deserialize, TableEntity)]
#[table(name = "ExampleReadings", rename_all = "PascalCase")]
struct Reading {
    #[table(partition_key)]
    device: String,
    #[table(row_key)]
    id: u32,
    celsius: f64,
}

const LINES: u32 = 20_000;
const UNREADABLE: u32 = 1234;
const BAD_KEY: u32 = 4711;

/// The file to import.
fn write_csv(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut file = csv::Writer::from_path(path)?;
    file.write_record(["device", "id", "celsius"])?;
    for id in 0..LINES {
        let device =
            if id == BAD_KEY { "a/b".to_owned() } else { format!("device-{:02}", id % 50) };
        let celsius = if id == UNREADABLE { "warm".to_owned() } else { format!("20.{}", id % 10) };
        file.write_record([device, id.to_string(), celsius])?;
    }
    Ok(file.flush()?)
}

struct Import {
    table: TableClient<Reading>,
    csv: PathBuf,
    /// The file of the checkpoint, from which another process can resume as well.
    checkpoint: PathBuf,
    bar: ProgressBar,
    /// The invalid lines: their number, and the reason.
    bad: Vec<(u64, String)>,
}

impl Import {
    /// Imports from the position of the last run to the end of the file, or until `stop_after` rows are done.
    async fn run(&mut self, stop_after: u64) -> Result<BulkReport, Box<dyn Error>> {
        let settled = match fs::read_to_string(&self.checkpoint) {
            Ok(text) => text.parse()?,
            Err(_) => Checkpoint::new(),
        };
        let (stop, bar) = (Arc::new(Notify::new()), self.bar.clone());
        let stopping = Arc::clone(&stop);
        let bulk = self.table.bulk().concurrency(8).resume(settled).on_progress(move |progress| {
            bar.set_position(progress.finished());
            bar.set_message(format!("{} requests in flight", progress.in_flight));
            if progress.applied >= stop_after {
                stopping.notify_one();
            }
        });
        let monitor = bulk.monitor();
        let mut unreadable = Vec::new();
        let mut file = csv::Reader::from_path(&self.csv)?;
        // Line by line: at most a window of rows is in memory.
        let rows = file.deserialize().filter_map(|line| match line {
            Ok(row) => Some(BulkOperation::InsertOrReplace(row)),
            Err(error) => {
                let line = error.position().map_or(0, csv::Position::line);
                unreadable.push((line, error.to_string()));
                None
            }
        });
        tokio::select! {
            biased;
            // A program would wait for `tokio::signal::ctrl_c()` here.
            () = stop.notified() => {}
            report = bulk.run(rows) => drop(report.or_else(accept_failed_rows)?),
        }
        // Rows with a response are resolved, even if the run was dropped.
        fs::write(&self.checkpoint, monitor.checkpoint().to_string())?;
        let report = monitor.report();
        for refused in report.failures() {
            // The first row is in line 2, and invalid lines have no index.
            let line = unreadable.iter().fold(refused.index + 2, |line, (unreadable, _)| {
                line + u64::from(*unreadable <= line)
            });
            self.bad.push((line, refused.to_string()));
        }
        self.bad.extend(unreadable);
        self.bad.sort();
        self.bad.dedup();
        Ok(report)
    }
}

/// Failed rows are acceptable; a run that ended early is an error.
fn accept_failed_rows(error: BulkError) -> Result<BulkReport, BulkError> {
    if error.report().stopped.is_some() { Err(error) } else { Ok(error.into_report()) }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (service, mut steps) = azure_table_examples::connect()?;
    let readings = service.table::<Reading>();
    let is_new = readings.create_if_not_exists().await?;
    readings.truncate().await?;
    let directory = std::env::temp_dir().join(format!("bulk-import-{}", std::process::id()));
    fs::create_dir_all(&directory)?;
    let bar = ProgressBar::new(LINES.into());
    bar.set_style(ProgressStyle::with_template("{bar:40} {pos}/{len} rows, {per_sec}, {msg}")?);
    let mut import = Import {
        table: readings.clone(),
        csv: directory.join("readings.csv"),
        checkpoint: directory.join("checkpoint"),
        bar,
        bad: Vec::new(),
    };
    write_csv(&import.csv)?;
    steps.done("write a CSV of 20,000 lines and an empty table", "");

    let first = import.run(8000).await?.progress;
    steps.done("import it until 8,000 rows are done, and stop", first.to_string());
    let last = import.run(u64::MAX).await?.progress;
    import.bar.finish_and_clear();
    steps.done("resume from the checkpoint", last.to_string());
    assert!(first.applied >= 8000 && first.applied < u64::from(LINES));
    // The second run skips the rows of the first.
    assert_eq!(last.skipped, first.applied + first.failed);
    assert_eq!(last.skipped + last.applied, u64::from(LINES) - 1);

    let bad: Vec<u64> = import.bad.iter().map(|(line, _)| *line).collect();
    assert_eq!(bad, [UNREADABLE + 2, BAD_KEY + 2].map(u64::from));
    for (line, why) in &import.bad {
        steps.done(&format!("line {line} was not imported"), why);
    }
    let stored = readings.query().count().await?;
    assert_eq!(stored, u64::from(LINES) - 2);
    steps.done("count the rows of the table", stored.to_string());

    let report = readings.delete_partition("device-07").await?;
    steps.done("delete a partition", report.to_string());
    let report = readings.truncate().await?;
    steps.done("delete all rows", report.to_string());
    fs::remove_dir_all(directory)?;
    if is_new {
        readings.delete_table().await?;
        steps.done("delete the table that this run created", "");
    }
    steps.total();
    Ok(())
}
