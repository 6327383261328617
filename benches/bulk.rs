//! 100,000 entities over 100 partitions through the mock behind HTTP: a bulk run compared with one request per
//! entity, in entities per second and CPU per entity.
//!
//! The server is another process, so that only the client's CPU is counted.
//! `cargo bench -p azure-table-benches --bench bulk`
#![allow(missing_docs, clippy::print_stdout, clippy::expect_used, reason = "benches")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use azure_table_client::bulk::BulkOperation;
use azure_table_client::mock::MockTableServer;
use azure_table_client::{TableClient, TableEntity, TableServiceClient};
use futures_util::stream::{self, StreamExt as _};

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

const ENTITIES: u32 = 100_000;
const PARTITIONS: u32 = 100;
/// Requests at the same time, either way.
const CONCURRENCY: usize = 8;
/// The share of the entities that are sent one by one.
const SINGLE_SHARE: u32 = 10;

fn reading(n: u32) -> Reading {
    Reading {
        device: format!("device-{:03}", n % PARTITIONS),
        id: n,
        value: f64::from(n) / 3.0,
        unit: "°C".to_owned(),
    }
}

fn main() {
    if std::env::args().any(|argument| argument == "--serve") {
        serve();
        return;
    }
    // `cargo test --benches` shows that it works.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let entities = if is_bench { ENTITIES } else { 2_000 };
    let mut server = start_server();
    let mut line = String::new();
    let stdout = server.stdout.take().expect("the server's output");
    BufReader::new(stdout).read_line(&mut line).expect("the connection string");
    runtime().block_on(measure(line.trim(), entities));
    // The server ends with its input.
    drop(server.stdin.take());
    server.wait().expect("the end of the server");
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn start_server() -> Child {
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new(program);
    command.arg("--serve").stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().expect("the server")
}

/// The mock on a port, until the input ends.
fn serve() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let server = runtime.block_on(MockTableServer::start());
    println!("{}", server.connection_string());
    std::io::stdout().flush().expect("the output");
    let mut rest = Vec::new();
    std::io::stdin().read_to_end(&mut rest).expect("the end of the input");
}

async fn measure(connection_string: &str, entities: u32) {
    let service = TableServiceClient::from_connection_string(connection_string);
    let readings = service.expect("a client").table::<Reading>();
    readings.create().await.expect("a table");

    let singles = entities / SINGLE_SHARE;
    let single = cost(singles, one_by_one(&readings, singles)).await;
    println!("one request an entity: {singles:>6} entities, {single}");
    readings.bulk().truncate().await.expect("an empty table");

    let rows = || (0..entities).map(|n| BulkOperation::Insert(reading(n)));
    let run = async {
        let report = readings.bulk().concurrency(CONCURRENCY).run(rows()).await.expect("a report");
        assert_eq!(report.progress.applied, u64::from(entities));
    };
    let in_turn = cost(entities, run).await;
    println!("bulk, 100 partitions in turn: {entities:>6} entities, {in_turn}");
    println!(
        "ratio: {:.1} times the entities/s, {:.1} % of the CPU",
        in_turn.rate / single.rate,
        100.0 * in_turn.cpu_us / single.cpu_us
    );
}

async fn one_by_one(readings: &TableClient<Reading>, entities: u32) {
    let inserts = stream::iter(0..entities).map(async |n| readings.insert(&reading(n)).await);
    let mut inserts = std::pin::pin!(inserts.buffer_unordered(CONCURRENCY));
    while let Some(inserted) = inserts.next().await {
        inserted.expect("an insert");
    }
}

struct Cost {
    rate: f64,
    cpu_us: f64,
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.0} entities/s, {:.1} us of CPU an entity", self.rate, self.cpu_us)
    }
}

async fn cost(entities: u32, work: impl Future<Output = ()>) -> Cost {
    let (start, before) = (Instant::now(), cpu());
    work.await;
    let (took, used) = (start.elapsed(), cpu().saturating_sub(before));
    let entities = f64::from(entities);
    Cost { rate: entities / took.as_secs_f64(), cpu_us: used.as_secs_f64() * 1e6 / entities }
}

#[cfg(unix)]
fn cpu() -> Duration {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike as _;

    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("the usage");
    let micros = (usage.user_time() + usage.system_time()).num_microseconds();
    Duration::from_micros(micros.try_into().expect("a positive time"))
}

/// Not measured on Windows: all figures of CPU are 0.
#[cfg(not(unix))]
fn cpu() -> Duration {
    Duration::ZERO
}
