//! Imports a CSV with a progress bar: rows, rate, throttled requests and the estimated time of arrival.
//!
//! Ctrl-C, a crash or an outage leaves a checkpoint next to the file, from which the next run continues. Rows that
//! cannot be imported end up in a CSV of their own, with line and reason; all others are imported.
//!
//! `cargo run -p azure-table-integrations --example bulk_import` writes a file of 20,000 lines and imports it into the
//! mock, which throttles each partition; it stops halfway and continues. With `AZURE_STORAGE_CONNECTION_STRING` set it
//! runs on that account or emulator, and `--example bulk_import -- FILE.csv` imports a file of yours with the columns
//! `device`, `id` and `celsius` into it. `cargo test -p azure-table-integrations` runs its tests.

#![expect(clippy::print_stdout, reason = "an example prints")]

#[path = "bulk_import/import.rs"]
mod import;
#[cfg(test)]
#[path = "bulk_import/tests.rs"]
mod tests;

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Duration;

use azure_table_client::mock::Fault;
use azure_table_client::{Operation, TableServiceClient};
use azure_table_examples::{Style, plural};
use import::{Ended, Import};
use indicatif::{ProgressBar, ProgressState, ProgressStyle};

type AnyError = Box<dyn Error + Send + Sync>;

const LINES: u32 = 20_000;
const UNREADABLE: u32 = 1234;
const BAD_KEY: u32 = 4711;
const STOP_AT: u64 = 8000;

/// Returns the progress bar. It is drawn on standard error, if that is a terminal.
fn bar(rows: u64) -> Result<ProgressBar, AnyError> {
    let style = ProgressStyle::with_template(
        "{wide_bar:.cyan/dim} {percent:>3}%  {human_pos:>7}/{human_len} rows  {rate:>9}  ETA {eta:>3}  {msg:.yellow}",
    )?;
    let rate = |state: &ProgressState, text: &mut dyn std::fmt::Write| {
        // The text is a String, which does not fail.
        let _ = write!(text, "{:.0}/s", state.per_sec());
    };
    Ok(ProgressBar::new(rows).with_style(style.with_key("rate", rate)))
}

/// Imports a file until it is complete or Ctrl-C is pressed.
async fn import_file(path: &Path, service: &TableServiceClient) -> Result<(), AnyError> {
    let import = Import::new(service, path);
    import.table.create_if_not_exists().await?;
    let bar = bar(import::count(path)?)?;
    let ctrl_c = async {
        if tokio::signal::ctrl_c().await.is_err() {
            // Without a handler, Ctrl-C ends the program; the checkpoint is at most a second old.
            std::future::pending::<()>().await;
        }
    };
    let Ended { progress, refused, is_complete } = import.run(&bar, ctrl_c).await?;
    bar.abandon();
    println!("{progress}");
    if let Some(refused) = refused {
        println!("{} {}", Style::Yellow.of("Not imported:"), refused.display());
    }
    if is_complete {
        println!("{}", Style::Green.of("The import is complete."));
        Ok(())
    } else {
        Err("the import is not complete; run the same command again to continue".into())
    }
}

/// The file to import.
fn write_csv(path: &Path, lines: u32) -> Result<(), AnyError> {
    let mut file = csv::Writer::from_path(path)?;
    file.write_record(["device", "id", "celsius"])?;
    for id in 0..lines {
        let device =
            if id == BAD_KEY { "a/b".to_owned() } else { format!("device-{:02}", id % 50) };
        let celsius = if id == UNREADABLE { "warm".to_owned() } else { format!("20.{}", id % 10) };
        file.write_record([device, id.to_string(), celsius])?;
    }
    Ok(file.flush()?)
}

#[tokio::main]
async fn main() -> Result<(), AnyError> {
    let (service, mock, mut steps) =
        azure_table_examples::connect_with_mock().map_err(|error| error.to_string())?;
    if let Some(path) = std::env::args_os().nth(1) {
        return match mock {
            Some(_) => Err("set AZURE_STORAGE_CONNECTION_STRING: the mock ends with the program, and its rows with it".into()),
            None => import_file(path.as_ref(), &service).await,
        };
    }
    if let Some(mock) = &mock {
        // 150 rows a second for each of the 50 partitions.
        mock.faults().add(Fault::throttle(150).on(Operation::Transaction));
    }
    let directory = std::env::temp_dir().join(azure_table_examples::unique("bulk-import-"));
    let csv = directory.join("readings.csv");
    let import = Import::new(&service, &csv);
    let readings = &import.table;
    let is_new = readings.create_if_not_exists().await?;
    readings.bulk().truncate().await?;
    fs::create_dir_all(&directory)?;
    write_csv(&csv, LINES)?;
    let rows = import::count(&csv)?;
    steps.done(&format!("write a CSV of {rows} lines, and an empty table"), "");

    let first_bar = bar(rows)?;
    let stop = async {
        while first_bar.position() < STOP_AT {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let first = import.run(&first_bar, stop).await?;
    first_bar.finish_and_clear();
    assert!(!first.is_complete && first.progress.applied < rows);
    let checkpoint = import.checkpoint();
    let name = checkpoint.file_name().unwrap_or_default().display();
    steps.done("import it, and stop halfway", format!("{}; see {name}", first.progress));

    let last_bar = bar(rows)?;
    let last = import.run(&last_bar, std::future::pending()).await?;
    last_bar.finish_and_clear();
    assert!(last.is_complete && !checkpoint.exists());
    // The second run skips the rows of the first, and 2 rows are not imported.
    assert_eq!(last.progress.skipped, first.progress.applied + first.progress.failed);
    assert_eq!(first.progress.applied + last.progress.applied, rows - 2);
    steps.done("import the rest", last.progress.to_string());

    let refused = fs::read_to_string(last.refused.ok_or("no file of refused rows")?)?;
    let lines = |id: u32| format!(",{},", id + 2);
    assert!(refused.contains(&lines(UNREADABLE)) && refused.contains(&lines(BAD_KEY)));
    let what = format!("{} not imported", plural(refused.lines().count() - 1, "row"));
    steps.done(&format!("{what}: see readings.csv.refused.csv"), refused);

    let stored = readings.query().count().await?;
    assert_eq!(stored, rows - 2);
    steps.done("count the rows of the table", stored.to_string());
    let report = readings.bulk().truncate().await?;
    steps.done("delete all rows", report.to_string());
    fs::remove_dir_all(directory)?;
    if is_new {
        readings.delete_table().await?;
        steps.done("delete the table that this run created", "");
    }
    steps.total();
    Ok(())
}
