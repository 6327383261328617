//! Sites that delete and create channels, and workers that stall, stop and fail, with late, lost and repeated requests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{Operation, Outcome, TableServiceClient};
use azure_table_patterns::Error;
use azure_table_patterns::outbox::{Item, Pass, Worker};
use azure_table_tests::chaos::{self, Report, Round};
use fastrand::Rng;
use futures_util::FutureExt as _;
use tokio::time::{sleep, timeout};

use super::world::{
    BLOGS, Deletion, NoPause, Pause, WORK, channel, check, create, has_run, outbox, request, steps,
};

const CHANNELS: [&str; 6] = ["c0", "c1", "c2", "c3", "c4", "c5"];
const WORKERS: u64 = 4;
const TURNS: i64 = 25;
const PASSES: usize = 25;

type Shared = Arc<Mutex<Report>>;
/// The channels and numbers of the requests that were reported as not applied.
type Refused = Vec<(&'static str, i64)>;

fn some_ms(chance: &mut Rng, most: u64) -> Duration {
    Duration::from_millis(chance.u64(..most))
}

/// Checks a channel from time to time, requests its deletion, and creates it again once it is deleted. Returns the requests
/// that were reported as not applied.
async fn site(
    mock: MockTableService,
    client: TableServiceClient,
    name: &'static str,
    mut chance: Rng,
    shared: Shared,
) -> Refused {
    let (mut generation, mut refused) = (1, Vec::new());
    for turn in 0..TURNS {
        sleep(some_ms(&mut chance, 20_000)).await;
        let before = channel(&mock, name);
        {
            let mut report = shared.lock().unwrap();
            check(&mut report, &mock, name);
            report.operations += 1;
            match before {
                None => report.count("channels deleted"),
                Some((_, true)) => report.count("looks at a pending item"),
                Some(_) => report.count("deletions requested"),
            }
        }
        match before {
            None => {
                generation += 1;
                create(&mock, name, generation);
            }
            Some(_) if chance.u8(..4) == 0 => {
                let limit = some_ms(&mut chance, 3_000);
                drop(timeout(limit, request(&client, name, turn)).await);
            }
            Some(_) => {
                let requested = request(&client, name, turn).await;
                let mut report = shared.lock().unwrap();
                let is_same = channel(&mock, name) == before;
                let is_open = before == Some((generation, false));
                // A request that succeeds was applied.
                report.check(requested.is_err() || !is_open || !is_same, || {
                    format!("{name}: the deletion of generation {generation} was confirmed")
                });
                match requested.map_err(|error| error.outcome()) {
                    Ok(()) => report.count("requests: ok"),
                    Err(Outcome::Unknown) => report.count("requests: unknown"),
                    Err(_) => {
                        report.count("requests: not applied");
                        refused.push((name, turn));
                    }
                }
            }
        }
    }
    refused
}

/// Steps that fail, or stall for longer than a lease.
struct Disturbed {
    chance: Rng,
    shared: Shared,
}

impl Disturbed {
    fn fork(&mut self) -> Self {
        Self { chance: self.chance.fork(), shared: self.shared.clone() }
    }
}

impl Pause for Disturbed {
    async fn pause(&mut self) -> Result<(), Error> {
        self.shared.lock().unwrap().operations += 1;
        match self.chance.u8(..12) {
            0 => return Err(Error::InvalidInput { reason: "a step fails".to_owned() }),
            1..=2 => sleep(some_ms(&mut self.chance, 60_000)).await,
            _ => {}
        }
        Ok(())
    }
}

async fn pass(
    worker: &mut Worker<Deletion>,
    client: &TableServiceClient,
    chance: &mut impl Pause,
) -> Result<(), Error> {
    while let Some(mut item) = worker.next().await? {
        let ended = steps(client, &mut item, chance).await;
        worker.end(item, ended).await;
    }
    Ok(())
}

/// Runs a worker for up to 30 seconds, and completes the steps of the last item.
async fn run(
    worker: &mut Worker<Deletion>,
    client: &TableServiceClient,
    disturbed: &mut Disturbed,
) -> Result<(), Error> {
    let stop = sleep(some_ms(&mut disturbed.chance, 30_000));
    let run_steps = |mut item: Item<Deletion>| {
        let (client, mut disturbed) = (client.clone(), disturbed.fork());
        async move { steps(&client, &mut item, &mut disturbed).await }
    };
    worker.run(run_steps, stop).await
}

/// Makes passes, by itself or by [`run`], and sometimes stops in the middle of one.
async fn work(client: TableServiceClient, mut chance: Rng, shared: Shared, runs: bool) {
    let ttl = Duration::from_secs(chance.u64(4..30));
    let new = || {
        let waits = (Duration::from_millis(500), Duration::from_secs(20));
        outbox(&client).worker("worker").ttl(ttl).unwrap().attempts(1_000).waits(waits.0, waits.1)
    };
    let mut worker = new();
    let mut disturbed = Disturbed { chance: chance.fork(), shared: shared.clone() };
    for _ in 0..PASSES {
        sleep(some_ms(&mut chance, 5_000)).await;
        let limit = if chance.u8(..6) == 0 { 30_000 } else { 100_000_000 };
        let limit = some_ms(&mut chance, limit);
        let result = if runs {
            timeout(limit, run(&mut worker, &client, &mut disturbed)).await
        } else {
            timeout(limit, pass(&mut worker, &client, &mut disturbed)).await
        };
        let mut report = shared.lock().unwrap();
        report.operations += 1;
        count(&mut report, worker.pass());
        match result {
            Ok(Ok(())) => report.count("passes"),
            Ok(Err(_)) => report.count("passes failed"),
            Err(_) => report.count("passes dropped"),
        }
        drop(report);
        if chance.u8(..6) == 0 {
            // Another program, which has seen nothing yet.
            worker = new();
        }
    }
}

fn count(report: &mut Report, pass: &Pass) {
    for (name, count) in [
        ("items done", pass.done),
        ("items lost", pass.lost),
        ("items failed", pass.failed.len()),
        ("items waiting", pass.waiting),
    ] {
        *report.counts.entry(name).or_default() += count;
    }
    report.check(pass.parked.is_empty(), || format!("parked: {pass:?}"));
}

async fn round(round: &mut Round) -> Report {
    let mock = round.mock().clone();
    for table in [WORK, BLOGS] {
        mock.client().create_table(table).await.unwrap();
    }
    for name in CHANNELS {
        create(&mock, name, 1);
    }
    round.start_faults();
    // More enqueued items that are delivered twice.
    mock.faults().add(Fault::deliver_twice().probability(0.1).on(Operation::Transaction));
    let shared = Shared::default();
    let mut tasks = Vec::new();
    for (name, task) in CHANNELS.into_iter().zip(100..) {
        let (client, chance) = (round.client(task), round.chance(task));
        tasks.push(site(mock.clone(), client, name, chance, shared.clone()).boxed());
    }
    for task in 0..WORKERS {
        let runs = task % 2 == 0;
        let work = work(round.client(task), round.chance(task), shared.clone(), runs);
        tasks.push(work.map(|()| Vec::new()).boxed());
    }
    let refused = round.run_programs(tasks).await.concat();
    drain(&mock, &shared).await;
    for (name, request) in refused {
        shared.lock().unwrap().check(!has_run(&mock, name, request), || {
            format!("{name}: request {request} was reported as not applied")
        });
    }
    std::mem::take(&mut *shared.lock().unwrap())
}

/// Without faults, a worker ends every item.
async fn drain(mock: &MockTableService, shared: &Shared) {
    let client = mock.client();
    let mut worker = outbox(&client).worker("last").attempts(1_000);
    let mut is_drained = false;
    for _ in 0..40 {
        pass(&mut worker, &client, &mut NoPause).await.unwrap();
        is_drained = worker.pass().is_drained();
        if is_drained {
            break;
        }
        sleep(Duration::from_secs(5)).await;
    }
    let mut report = shared.lock().unwrap();
    report.check(is_drained, || "an item is never done".to_owned());
    for name in CHANNELS {
        check(&mut report, mock, name);
        let state = channel(mock, name);
        report.check(!state.is_some_and(|(_, is_marked)| is_marked), || {
            format!("{name}: marked as deleted in the end: {state:?}")
        });
    }
}

#[tokio::test(start_paused = true)]
async fn items_are_done_once_and_stalled_workers_are_refused() {
    chaos::run("outbox", 200, round).await;
}
