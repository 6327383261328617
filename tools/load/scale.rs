//! How the emulator and the client grow with the number of rows: `load scale PROGRAM [ROWS [SECONDS]]`.
//!
//! Each size is ten times the one before it, up to `ROWS`. The program is the emulator, measured in memory and with its
//! tables on disk. The client of this crate is on one thread of this process.

use std::cell::Cell;
use std::fmt::Display;
use std::io::{Error, Result};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use azure_table_client::auth::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};
use azure_table_client::bulk::BulkOperation;
use azure_table_client::edm::EdmDateTime;
use azure_table_client::transport::HyperTransport;
use azure_table_client::{TableClient, TableEntity, TableServiceClient, TableServiceClientBuilder};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tokio::time::sleep;
use uuid::Uuid;

use super::server::{Server, memory_of};

const SMALLEST: u32 = 10_000;
/// The rows of a partition.
const PARTITION: u32 = 10_000;
/// The rows of a transaction.
const BATCH: u32 = 100;
const RANGE: u32 = 1000;
/// The most rows that a scan reads.
const SCAN: u32 = 100_000;
/// The rows of which one matches the filter of a scan.
const ROWS_A_HIT: u32 = 100;
const IN_FLIGHT: usize = 16;
/// The rows for each table in the measurement of many tables.
const ROWS_A_TABLE: u32 = 1000;

/// An entity of ten properties.
#[derive(Debug, TableEntity)]
#[table(name = "Entries", rename_all = "PascalCase")]
pub(crate) struct Entry {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    number: u32,
    title: String,
    author: String,
    text: String,
    rating: i32,
    words: i32,
    views: i64,
    score: f64,
    is_public: bool,
    published: EdmDateTime,
    id: Uuid,
}

/// The order of rows in partitions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows {
    pub(crate) count: u32,
    pub(crate) partitions: u32,
}

/// The names of figures, each with its value for each size.
#[derive(Debug, Default)]
struct Figures(Vec<(String, Vec<String>)>);

pub(crate) async fn run(arguments: &[String]) -> Result<()> {
    let usage = || Error::other("load scale PROGRAM [ROWS [SECONDS]], with at least 10000 rows");
    let program = arguments.first().ok_or_else(usage)?;
    let rows = arguments.get(1).map_or(Ok(10_000_000), |text| text.parse()).map_err(|_| usage())?;
    if rows < SMALLEST {
        return Err(usage());
    }
    let seconds = arguments.get(2).map_or(Ok(3.0), |text| text.parse()).map_err(|_| usage())?;
    let time = Duration::from_secs_f64(seconds);
    let sizes: Vec<u32> = std::iter::successors(Some(SMALLEST), |size| size.checked_mul(10))
        .take_while(|size| *size <= rows)
        .collect();
    let mut figures = Figures::default();
    for rows in sizes.iter().map(|size| Rows::of(*size)) {
        in_memory(&format!("{program} --port {{port}}"), rows, time, &mut figures).await?;
        let on_disk = format!("{program} --port {{port}} --data {{data}}");
        with_data(&on_disk, rows, &mut figures).await?;
    }
    let head = std::iter::once("rows".to_owned()).chain(sizes.iter().map(u32::to_string));
    figures.print(&head.collect::<Vec<_>>());
    let mut figures = Figures::default();
    let program = format!("{program} --port {{port}}");
    many_tables(&program, rows / ROWS_A_TABLE, &mut figures).await?;
    one_partition(&program, rows / 2, time, &mut figures).await?;
    figures.print(&["others".to_owned(), "ours".to_owned()]);
    Ok(())
}

async fn in_memory(program: &str, rows: Rows, time: Duration, figures: &mut Figures) -> Result<()> {
    let server = Server::start(program).await?;
    let table = table(&server)?;
    table.create().await.map_err(Error::other)?;
    let mut add = |name: &str, value: &dyn Display| figures.add(rows.count, name, value);
    let before = server.memory()?;
    add("load, rows/s", &rate(rows.count, load(&table, rows).await?));
    let loading = peak()?;
    add("bytes a row", &((server.memory()? - before) / u64::from(rows.count)));
    add("gets/s", &gets(&table, rows, time).await?);
    add("ranges of 1,000/s", &ranges(&table, rows, time).await?);
    let (scan, inserts) = scan(&table, rows).await?;
    add("scan of up to 100,000, ms", &scan.as_millis());
    println!("{}: {inserts} inserts/s meanwhile", rows.count);
    reset_peak()?;
    let begun = Instant::now();
    let mut stream = pin!(table.query().stream());
    let mut count = 0;
    while let Some(entry) = stream.try_next().await.map_err(Error::other)? {
        count += u32::from(entry.partition.starts_with("entries"));
    }
    expect(count, rows.count)?;
    add("stream, rows/s", &rate(rows.count, begun.elapsed()));
    add("peak of the client, MiB", &loading.max(peak()?));
    Ok(())
}

async fn with_data(program: &str, rows: Rows, figures: &mut Figures) -> Result<()> {
    let mut server = Server::start(program).await?;
    let table = table(&server)?;
    table.create().await.map_err(Error::other)?;
    let is_loaded = Cell::new(false);
    let folder = server.data().ok_or_else(|| Error::other("no folder"))?.to_owned();
    let loaded = async {
        let loaded = load(&table, rows).await;
        is_loaded.set(true);
        loaded
    };
    let (loaded, compaction, longest) = tokio::join!(
        loaded,
        watch_compactions(&folder, &is_loaded),
        longest_insert(&table, &is_loaded)
    );
    let mut add = |name: &str, value: &dyn Display| figures.add(rows.count, name, value);
    add("load with `--data`, rows/s", &rate(rows.count, loaded?));
    add("longest insert, ms", &longest?.as_millis());
    add("compaction, MB/s", &compaction?);
    server.restart().await?;
    add("start, ms", &server.start.as_millis());
    Ok(())
}

async fn many_tables(program: &str, tables: u32, figures: &mut Figures) -> Result<()> {
    let server = Server::start(program).await?;
    let service = service(&server)?;
    let begun = Instant::now();
    stream::iter(0..tables)
        .map(|n| service.create_table(&format!("Table{n}")).into_future())
        .buffer_unordered(IN_FLIGHT)
        .try_for_each(async |_| Ok(()))
        .await
        .map_err(Error::other)?;
    let created = begun.elapsed().as_millis();
    let begun = Instant::now();
    let listed = service.list_tables().await.map_err(Error::other)?;
    expect(u32::try_from(listed.len()).unwrap_or(u32::MAX), tables)?;
    let times = format!("{created}, {}", begun.elapsed().as_millis());
    figures.add(tables, &format!("{tables} tables: created, listed, ms"), &times);
    Ok(())
}

async fn one_partition(
    program: &str,
    count: u32,
    time: Duration,
    figures: &mut Figures,
) -> Result<()> {
    let server = Server::start(program).await?;
    let table = table(&server)?;
    table.create().await.map_err(Error::other)?;
    let rows = Rows { count, partitions: 1 };
    let loaded = rate(count, load(&table, rows).await?);
    let gets = gets(&table, rows, time).await?;
    let ranges = ranges(&table, rows, time).await?;
    let begun = Instant::now();
    let (partition, from) = (rows.partition(0), count - RANGE);
    let tail = table.query().filter(|e| e.partition.eq(&partition) & e.number.ge(from));
    expect(u32::try_from(tail.await.map_err(Error::other)?.len()).unwrap_or(u32::MAX), RANGE)?;
    let tail = begun.elapsed().as_micros();
    let name = format!("{count} in one partition: loaded/s, gets/s, ranges/s, last 1,000 in us");
    figures.add(count, &name, &format!("{loaded}, {gets}, {ranges}, {tail}"));
    Ok(())
}

impl Rows {
    const fn of(count: u32) -> Self {
        Self { count, partitions: count / PARTITION }
    }

    /// The partition of a row. Successive transactions write to different partitions.
    fn partition(self, row: u32) -> String {
        format!("entries-{:05}", row / BATCH % self.partitions)
    }

    /// The number of a row in its partition.
    const fn number(self, row: u32) -> u32 {
        row / (BATCH * self.partitions) * BATCH + row % BATCH
    }

    pub(crate) fn inserts(self) -> impl Iterator<Item = BulkOperation<Entry>> {
        (0..self.count).map(move |row| {
            BulkOperation::Insert(entry(self.partition(row), self.number(row), row))
        })
    }
}

fn entry(partition: String, number: u32, row: u32) -> Entry {
    let signed = row.cast_signed();
    Entry {
        partition,
        number,
        title: format!("The title of entry {row}"),
        author: "somebody@example.org".to_owned(),
        text: "A sentence of typical length.".to_owned(),
        rating: signed % ROWS_A_HIT.cast_signed(),
        words: signed,
        views: i64::from(row) << 32,
        score: f64::from(row) / 3.0,
        is_public: true,
        published: EdmDateTime::from_ticks(600_000_000_000_000_000 + i64::from(row))
            .unwrap_or(EdmDateTime::MIN),
        id: Uuid::from_u128(row.into()),
    }
}

pub(crate) fn builder(server: &Server) -> Result<TableServiceClientBuilder> {
    let account = format!(
        "AccountName={DEVELOPMENT_ACCOUNT};AccountKey={DEVELOPMENT_KEY};TableEndpoint=http://127.0.0.1:{}/{DEVELOPMENT_ACCOUNT}",
        server.port
    );
    let builder = TableServiceClient::builder_from_connection_string(&account);
    let builder = builder.map_err(Error::other)?;
    Ok(builder.transport(Arc::new(HyperTransport::new())))
}

fn service(server: &Server) -> Result<TableServiceClient> {
    builder(server)?.build().map_err(Error::other)
}

fn table(server: &Server) -> Result<TableClient<Entry>> {
    Ok(service(server)?.table())
}

async fn load(table: &TableClient<Entry>, rows: Rows) -> Result<Duration> {
    reset_peak()?;
    let begun = Instant::now();
    table.bulk().concurrency(IN_FLIGHT).run(rows.inserts()).await.map_err(Error::other)?;
    Ok(begun.elapsed())
}

async fn gets(table: &TableClient<Entry>, rows: Rows, time: Duration) -> Result<u64> {
    per_second(time, IN_FLIGHT, async |at| {
        let row = spread(at, rows.count);
        let key = Entry::key(rows.partition(row), rows.number(row)).map_err(Error::other)?;
        let entry = table.get(key).await.map_err(Error::other)?;
        expect(entry.words.cast_unsigned(), row)
    })
    .await
}

async fn ranges(table: &TableClient<Entry>, rows: Rows, time: Duration) -> Result<u64> {
    per_second(time, 4, async |at| {
        let row = spread(at, rows.count);
        let partition = rows.partition(row);
        let from = rows.number(row).min(rows.count / rows.partitions - RANGE);
        let query = table.query();
        let query =
            query.filter(|e| e.partition.eq(&partition) & e.number.between(from, from + RANGE - 1));
        let found = query.await.map_err(Error::other)?;
        expect(u32::try_from(found.len()).unwrap_or(u32::MAX), RANGE)
    })
    .await
}

/// The time of a scan, and the inserts per second meanwhile.
async fn scan(table: &TableClient<Entry>, rows: Rows) -> Result<(Duration, u64)> {
    let scanned = rows.count.min(SCAN);
    let last = format!("entries-{:05}", scanned / PARTITION - 1);
    let is_over = Cell::new(false);
    let scanning = async {
        let begun = Instant::now();
        let query = table.query();
        let query = query.filter(|e| e.partition.between("entries-00000", &last) & e.rating.eq(7));
        let found = query.await;
        is_over.set(true);
        let found = u32::try_from(found.map_err(Error::other)?.len()).unwrap_or(u32::MAX);
        expect(found, scanned / ROWS_A_HIT)?;
        Ok::<_, Error>(begun.elapsed())
    };
    let writing = async {
        let begun = Instant::now();
        let mut inserts = pin!(
            stream::iter(0..)
                .take_while(|_| std::future::ready(!is_over.get()))
                .map(|n| async move { table.insert(&entry("other".to_owned(), n, n)).await })
                .buffer_unordered(IN_FLIGHT)
        );
        let mut count = 0;
        while inserts.try_next().await.map_err(Error::other)?.is_some() {
            count += 1;
        }
        Ok::<_, Error>(rate(count, begun.elapsed()))
    };
    let (scan, writes) = tokio::join!(scanning, writing);
    Ok((scan?, writes?))
}

/// The longest of inserts that follow each other until the load is over.
async fn longest_insert(table: &TableClient<Entry>, is_loaded: &Cell<bool>) -> Result<Duration> {
    let mut longest = Duration::ZERO;
    let mut number = 0;
    while !is_loaded.get() {
        let begun = Instant::now();
        table.insert(&entry("probe".to_owned(), number, number)).await.map_err(Error::other)?;
        longest = longest.max(begun.elapsed());
        number += 1;
        sleep(Duration::from_millis(5)).await;
    }
    Ok(longest)
}

/// The rate of the latest compaction during a load. The new file of a compaction ends with `.new`.
async fn watch_compactions(folder: &Path, is_loaded: &Cell<bool>) -> Result<String> {
    let mut latest = "-".to_owned();
    let mut running: Option<(Instant, u64)> = None;
    loop {
        let new = std::fs::read_dir(folder)?
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .find(|path| path.extension().is_some_and(|end| end == "new"));
        let bytes = new.and_then(|new| std::fs::metadata(new).ok()).map(|new| new.len());
        match (bytes, running) {
            (Some(bytes), None) => running = Some((Instant::now(), bytes)),
            (Some(bytes), Some((begun, _))) => running = Some((begun, bytes)),
            (None, Some((begun, bytes))) => {
                running = None;
                let megabytes = u32::try_from(bytes / 1_000_000).unwrap_or(u32::MAX);
                latest = rate(megabytes, begun.elapsed()).to_string();
            }
            (None, None) if is_loaded.get() => return Ok(latest),
            (None, None) => {}
        }
        sleep(Duration::from_millis(2)).await;
    }
}

/// Repeats calls for this time, and returns their number per second.
async fn per_second(
    time: Duration,
    in_flight: usize,
    call: impl AsyncFn(u32) -> Result<()>,
) -> Result<u64> {
    let begun = Instant::now();
    let calls = stream::iter(0_u32..)
        .take_while(|_| std::future::ready(begun.elapsed() < time))
        .map(|at| call(at))
        .buffer_unordered(in_flight);
    let count = calls.try_fold(0, async |count, ()| Ok(count + 1)).await?;
    Ok(rate(count, begun.elapsed()))
}

/// Successive rows are far from each other.
fn spread(at: u32, rows: u32) -> u32 {
    u32::try_from(u64::from(at) * 7_919_003 % u64::from(rows)).unwrap_or_default()
}

fn expect(found: u32, expected: u32) -> Result<()> {
    let wrong = || Error::other(format!("found {found} instead of {expected}"));
    if found == expected { Ok(()) } else { Err(wrong()) }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive rate")]
fn rate(count: u32, time: Duration) -> u64 {
    (f64::from(count) / time.as_secs_f64()) as u64
}

/// The most memory of this process since the latest [`reset_peak`], in MiB.
fn peak() -> Result<u64> {
    Ok(memory_of("self", "VmHWM:")? >> 20)
}

fn reset_peak() -> Result<()> {
    std::fs::write("/proc/self/clear_refs", "5")
}

impl Figures {
    fn add(&mut self, size: u32, name: &str, value: &dyn Display) {
        println!("{size}: {name}: {value}");
        let value = value.to_string();
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, values)) => values.push(value),
            None => self.0.push((name.to_owned(), vec![value])),
        }
    }

    /// Prints a Markdown table with this head.
    fn print(&self, head: &[String]) {
        println!("\n| {} |\n|{}", head.join(" | "), " --- |".repeat(head.len()));
        for (name, values) in &self.0 {
            println!("| {name} | {} |", values.join(" | "));
        }
        println!();
    }
}
