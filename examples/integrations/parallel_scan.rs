//! Reads a whole table into a file of JSON lines, in several ranges of keys at the same time.
//!
//! One query reads one page after the other, because each page names the start of the next one: its speed is
//! limited by the round trip. `parallel` determines the distribution of the keys, splits them into ranges, and
//! requests a page of each at the same time. The rows are written to the file as they arrive, so that the
//! memory does not grow with the table.
//!
//! For a service on this machine, the example adds a round trip of 20 ms, since otherwise there is nothing to gain.
//!
//! `cargo run -p azure-table-integrations --example parallel_scan [FILE]` runs it on the mock; without a file it writes a
//! temporary one, and deletes it. With `AZURE_STORAGE_CONNECTION_STRING` set it runs on that account or
//! emulator.

use std::collections::HashSet;
use std::error::Error;
use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use azure_table_client::bulk::BulkOperation;
use azure_table_client::client::EntityStream;
use azure_table_client::transport::{HttpRequest, ResponseFuture, Transport};
use azure_table_client::{TableClient, TableEntity};
use azure_table_examples::Steps;
use futures_util::TryStreamExt as _;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, TableEntity, Serialize, Deserialize)]
#[table(rename_all = "PascalCase")]
struct Reading {
    #[table(partition_key)]
    device: String,
    #[table(row_key)]
    id: u32,
    celsius: f64,
}

const ROWS: u32 = 20_000;
const RANGES: usize = 8;
/// The size of a page, instead of 1,000 rows: a small table then has as many pages as a larger one.
const PAGE: u32 = 100;
const ROUND_TRIP: Duration = Duration::from_millis(20);

/// The transport to a distant service.
#[derive(Debug)]
struct Distant(Arc<dyn Transport>);

impl Transport for Distant {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        let is_here = request.uri.scheme_str() == Some("http");
        Box::pin(async move {
            if is_here {
                tokio::time::sleep(ROUND_TRIP).await;
            }
            self.0.send(request).await
        })
    }
}

fn rows() -> impl Iterator<Item = BulkOperation<Reading>> {
    (0..ROWS).map(|id| {
        let device = format!("device-{:03}", id % 100);
        BulkOperation::Insert(Reading { device, id, celsius: 20.0 + f64::from(id % 100) / 10.0 })
    })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (service, mut steps) =
        azure_table_examples::connect_through(|transport| Arc::new(Distant(transport)))?;
    let table: TableClient<Reading> =
        service.table_named(azure_table_examples::unique("ExampleScan"));
    table.create().await?;
    let report = table.bulk().run(rows()).await?;
    steps.done("a table to read", report.to_string());

    let given = std::env::args_os().nth(1).map(PathBuf::from);
    let path = given.clone().unwrap_or_else(|| {
        std::env::temp_dir().join(azure_table_examples::unique("readings-") + ".jsonl")
    });

    let query = || table.query().page_size(PAGE);
    let one_by_one = scan(query().stream(), &path, "page after page", &mut steps).await?;
    let ranges = query().parallel(RANGES).unordered().stream();
    let at_once = scan(ranges, &path, &format!("in {RANGES} ranges at once"), &mut steps).await?;
    steps.done("both", format!("{:.1} times as many rows a second", at_once / one_by_one));

    let mut seen = HashSet::new();
    for line in BufReader::new(File::open(&path)?).lines() {
        let reading: Reading = serde_json::from_str(&line?)?;
        assert_eq!(reading.device, format!("device-{:03}", reading.id % 100));
        assert!(seen.insert(reading.id), "a row that was read twice");
    }
    assert_eq!(seen.len(), usize::try_from(ROWS)?);
    let bytes = std::fs::metadata(&path)?.len();
    steps.done("the file has every row once", format!("{ROWS} lines, {bytes} bytes"));

    if given.is_none() {
        std::fs::remove_file(&path)?;
    }
    table.delete_table().await?;
    steps.done("delete the table", "");
    steps.total();
    Ok(())
}

/// Writes the rows into the file as they arrive. Returns the number of rows a second.
async fn scan(
    mut rows: EntityStream<Reading>,
    path: &Path,
    how: &str,
    steps: &mut Steps,
) -> Result<f64, Box<dyn Error>> {
    let mut file = BufWriter::new(File::create(path)?);
    let start = Instant::now();
    let mut count = 0_u32;
    while let Some(reading) = rows.try_next().await? {
        serde_json::to_writer(&mut file, &reading)?;
        file.write_all(b"\n")?;
        count += 1;
    }
    file.flush()?;
    assert_eq!(count, ROWS);
    let per_second = f64::from(count) / start.elapsed().as_secs_f64();
    steps.done(how, format!("{}; {per_second:.0} rows/s", rows.cost()));
    Ok(per_second)
}
