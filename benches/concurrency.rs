//! Calls per second and CPU of a call with 1 to 128 calls in flight on two worker threads, and the CPU of a bulk run
//! that inserts 20,000 entities a second.
//!
//! The server is another process with canned responses, on one thread; it shares the machine's cores with the client.
//! `cargo bench -p azure-table-benches --bench concurrency`
#![allow(missing_docs, clippy::print_stdout, clippy::expect_used, reason = "benches")]

#[allow(dead_code, reason = "other benches use the rest")]
mod canned;

use std::sync::Arc;
use std::time::{Duration, Instant};

use azure_table_client::bulk::BulkOperation;
use futures_util::stream::{self, Stream, StreamExt as _};
use tokio::time::MissedTickBehavior;

use self::canned::columns::{self, Case, Client, Column};
use self::canned::requests::Ready;
use self::canned::{Blog, FIRST_ROW, Folder, OPERATIONS, Over, Server, cpu};

const IN_FLIGHT: [u32; 5] = [1, 2, 8, 32, 128];
const CALLS: u32 = 19_200;
/// The best round counts, because other programs on the machine make rounds slower.
const ROUNDS: u32 = 3;
/// Entities a second of the bulk run.
const RATE: u32 = 20_000;
/// The pause between the entities of the bulk run.
const TICK: Duration = Duration::from_millis(50);
const PARTITIONS: u32 = 10;
const SECONDS: u32 = 5;

fn main() {
    if std::env::args().any(|argument| argument == "--serve") {
        canned::runtime().block_on(canned::serve());
        return;
    }
    // `cargo test --benches` shows that it works.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let calls = if is_bench { CALLS } else { 256 };
    let ticks = if is_bench { SECONDS * 20 } else { 2 };
    let server = Server::start();

    let folder = Folder::new();
    canned::runtime().block_on(columns::record(&server.endpoint, &folder.0));
    let requests: Arc<[Ready]> = Ready::read(&Case::Get.requests_file(&folder.0)).into();
    let columns = || Column::all().filter(|column| *column != Column::SerdeJson);
    print!("| get, calls/s (CPU of a call, microseconds) |");
    columns().for_each(|column| print!(" {} |", column.title()));
    println!("\n|---|{}", "---:|".repeat(columns().count()));
    for in_flight in IN_FLIGHT {
        print!("| {in_flight} in flight |");
        for column in columns() {
            let client = Arc::new(Client::new(column, &server.endpoint));
            let cost = runtime().block_on(gets(&client, &requests, in_flight, calls));
            let (rate, cpu) = (f64::from(calls) / cost.elapsed, cost.cpu * 1e6 / f64::from(calls));
            print!(" {rate:.0} ({cpu:.1}) |");
        }
        println!();
    }

    println!(
        "\n| bulk inserts | transport | entities/s | CPU of an entity, microseconds | of one core |"
    );
    println!("|---|---|---:|---:|---:|");
    for over in Over::ALL {
        for (title, tick) in [("20,000 a second", TICK), ("unlimited", Duration::ZERO)] {
            let (cost, entities) = runtime().block_on(bulk(&server.endpoint, *over, ticks, tick));
            let (rate, cpu) = (entities / cost.elapsed, cost.cpu * 1e6 / entities);
            let share = 100.0 * cost.cpu / cost.elapsed;
            println!("| {title} | {} | {rate:.0} | {cpu:.2} | {share:.1} % |", over.name());
        }
    }
}

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().expect("a runtime")
}

/// Seconds of a piece of work, and of the CPU that it used.
#[derive(Debug, Clone, Copy)]
struct Cost {
    elapsed: f64,
    cpu: f64,
}

async fn cost(work: impl Future<Output = ()>) -> Cost {
    let (start, before) = (Instant::now(), cpu());
    work.await;
    let used = cpu().saturating_sub(before);
    Cost { elapsed: start.elapsed().as_secs_f64(), cpu: used.as_secs_f64() }
}

/// Runs the calls in as many tasks as are in flight, after some calls that open the connections. Returns the least
/// time and the least CPU of the rounds.
async fn gets(client: &Arc<Client>, requests: &Arc<[Ready]>, in_flight: u32, calls: u32) -> Cost {
    get_in_tasks(client, requests, in_flight, 10).await;
    let mut least = Cost { elapsed: f64::MAX, cpu: f64::MAX };
    for _ in 0..ROUNDS {
        let cost = cost(get_in_tasks(client, requests, in_flight, calls / in_flight)).await;
        least.elapsed = least.elapsed.min(cost.elapsed);
        least.cpu = least.cpu.min(cost.cpu);
    }
    least
}

async fn get_in_tasks(client: &Arc<Client>, requests: &Arc<[Ready]>, tasks: u32, calls: u32) {
    let task = |_| {
        let (client, requests) = (Arc::clone(client), Arc::clone(requests));
        tokio::spawn(async move { client.run(Case::Get, &requests, calls).await })
    };
    let tasks: Vec<_> = (0..tasks).map(task).collect();
    for task in tasks {
        task.await.expect("a task");
    }
}

/// Inserts entities, each second as many as [`RATE`] if there is a tick. Returns the cost and the number of entities.
async fn bulk(endpoint: &str, over: Over, ticks: u32, tick: Duration) -> (Cost, f64) {
    let table = canned::table(endpoint, over.transport());
    let entities = ticks * PARTITIONS * OPERATIONS;
    let cost = cost(async {
        let report = table.bulk().run_stream(entities_of(ticks, tick)).await.expect("a report");
        assert_eq!(report.progress.applied, u64::from(entities));
        let full = u64::from(entities / OPERATIONS);
        assert_eq!(report.progress.requests, full, "not all transactions are full");
    });
    (cost.await, f64::from(entities))
}

/// Returns a full transaction for each partition at each tick.
fn entities_of(ticks: u32, tick: Duration) -> impl Stream<Item = BulkOperation<Blog>> {
    assert_eq!(
        PARTITIONS * OPERATIONS * 1000,
        RATE * u32::try_from(TICK.as_millis()).expect("a number")
    );
    let clock = (!tick.is_zero()).then(|| {
        let mut clock = tokio::time::interval(tick);
        clock.set_missed_tick_behavior(MissedTickBehavior::Burst);
        clock
    });
    let batches = stream::unfold((clock, 0), move |(mut clock, at)| async move {
        if at == ticks {
            return None;
        }
        if let Some(clock) = &mut clock {
            clock.tick().await;
        }
        let entity = move |n: u32| {
            let row = (FIRST_ROW + u64::from(at * OPERATIONS + n % OPERATIONS)).to_string();
            let partition = format!("Channel{}", n / OPERATIONS);
            BulkOperation::Insert(Blog { partition, row, ..canned::blog(0) })
        };
        let batch = stream::iter((0..PARTITIONS * OPERATIONS).map(entity));
        Some((batch, (clock, at + 1)))
    });
    batches.flatten()
}
