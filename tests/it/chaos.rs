//! Many tasks, shared rows and a fault in every fifth request: afterwards the store is what the client
//! said.
//!
//! The run is the same again for the same `AZURE_TABLE_CHAOS_SEED`. `AZURE_TABLE_CHAOS_OPERATIONS` says
//! how long it is; `.ci/run` does 200,000. A violation names the seed of its round, which is a run of 1
//! operation.

mod ledger;
mod registers;
mod world;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use azure_table_client::clock::TokioClock;
use azure_table_client::mock::{AddedFault, Fault, MockTableService};
use fastrand::Rng;

use world::{Caller, World};

/// What a run does at least, unless the environment says otherwise.
const OPERATIONS: usize = 40_000;
const TASKS: u8 = 16;
const STEPS: usize = 25;

/// What happened in a run.
#[derive(Default)]
struct Run {
    operations: usize,
    requests: usize,
    known: BTreeMap<String, usize>,
    faults: BTreeMap<&'static str, usize>,
    violations: Vec<String>,
}

/// Adds up to a fault in a fifth of the requests.
fn add_faults(mock: &MockTableService) -> Vec<(&'static str, AddedFault)> {
    let secs = Duration::from_secs;
    let faults = [
        ("connection refused", Fault::refuse_connection().probability(0.015)),
        ("request lost", Fault::lose_request().probability(0.02)),
        ("reply lost", Fault::lose_reply().probability(0.045)),
        ("hangs", Fault::hang().probability(0.005)),
        // Later than the client waits for: what it gave up is done behind its later attempts.
        ("done late", Fault::delay_request(secs(45)).probability(0.02)),
        ("done a little late", Fault::delay_request(Duration::from_millis(5)).probability(0.02)),
        ("answered late", Fault::delay_reply(secs(45)).probability(0.01)),
        ("busy", Fault::busy().retry_after(secs(1)).probability(0.02)),
        ("busy until a date", Fault::busy().retry_after_date(secs(2)).probability(0.01)),
        ("too many requests", Fault::too_many_requests().probability(0.005)),
        ("internal error", Fault::internal_error().probability(0.01)),
        ("internal error, done", Fault::internal_error().after_commit().probability(0.005)),
        ("timed out", Fault::timed_out().probability(0.01)),
        ("timed out, done", Fault::timed_out().after_commit().probability(0.01)),
        ("proxy's page", Fault::proxy_page(502).probability(0.005)),
        ("proxy's page, done", Fault::proxy_page(502).after_commit().probability(0.005)),
        ("proxy's 200, done", Fault::proxy_page(200).after_commit().probability(0.002)),
        ("body cut", Fault::truncate_reply().probability(0.005)),
        ("page split", Fault::split_page().probability(0.2)),
    ];
    faults.map(|(name, fault)| (name, mock.faults().add(fault))).into()
}

/// Clients that try a call once, and such that try it up to four times.
fn clients(seed: u64) -> Caller {
    let tries_once = (seed / u64::from(TASKS)).is_multiple_of(2);
    Caller::Careful { retries: if tries_once { 0 } else { 3 } }
}

/// Runs until there were so many operations, in rounds with new tables each.
async fn run(seed: u64, operations: usize, caller: fn(u64) -> Caller) -> Run {
    let mut run = Run::default();
    // A round is the first one of the run with its seed, so that it can be looked at alone.
    for seed in (seed..).step_by(usize::from(TASKS)) {
        let caller = caller(seed);
        if run.operations >= operations {
            break;
        }
        // Its own beginning of time, as the waits until a date depend on the fractions of a second.
        let clock = TokioClock::starting_at(SystemTime::UNIX_EPOCH + Duration::from_hours(500_000));
        let mock = MockTableService::builder().clock(Arc::new(clock)).build();
        let world = World::new(&mock, caller).await;
        let faults = {
            mock.faults().seed(seed);
            add_faults(&mock)
        };
        let tasks = (0..TASKS).map(|task| {
            let world = world.clone();
            let chance = Rng::with_seed(seed + u64::from(task));
            tokio::spawn(async move { world.work(chance, STEPS).await })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
        for (name, fault) in faults {
            *run.faults.entry(name).or_default() += fault.struck();
        }
        mock.faults().clear();
        // What is still on its way arrives.
        tokio::time::sleep(Duration::from_mins(2)).await;
        let history = world.history_and_rows().await;
        run.operations += history.operations();
        run.requests += mock.requests().total();
        for known in history.known() {
            *run.known.entry(format!("{known:?}")).or_default() += 1;
        }
        let violations = history.violations();
        run.violations.extend(violations.into_iter().map(|text| format!("seed {seed}: {text}")));
    }
    run
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

fn seed() -> u64 {
    let seed = setting("AZURE_TABLE_CHAOS_SEED").unwrap_or_else(|| u64::from(fastrand::u32(..)));
    println!("AZURE_TABLE_CHAOS_SEED={seed}");
    seed
}

#[tokio::test(start_paused = true)]
async fn the_store_is_what_the_client_said() {
    let operations = setting("AZURE_TABLE_CHAOS_OPERATIONS")
        .map_or(OPERATIONS, |number| usize::try_from(number).unwrap());
    let (start, virtually) = (Instant::now(), tokio::time::Instant::now());
    let run = run(seed(), operations, clients).await;
    println!(
        "{} operations, {} answered requests in {:.1} s ({:.0} s of virtual time)",
        run.operations,
        run.requests,
        start.elapsed().as_secs_f64(),
        virtually.elapsed().as_secs_f64(),
    );
    println!("results: {:?}", run.known);
    println!("faults: {}, {:?}", run.faults.values().sum::<usize>(), run.faults);
    assert!(run.operations >= operations);
    if operations >= OPERATIONS {
        assert!(run.faults.values().all(|struck| *struck > 0));
    }
    let shown: Vec<_> = run.violations.iter().take(10).collect();
    assert!(shown.is_empty(), "{} violations: {shown:#?}", run.violations.len());
}

/// The 404, 409 or 412 that a write's own first attempt caused does not pass for an answer.
#[tokio::test(start_paused = true)]
async fn who_believes_every_conflict_is_found_out() {
    let run = run(seed(), 4_000, |_| Caller::Credulous).await;
    println!("{} violations, the first one: {:?}", run.violations.len(), run.violations.first());
    for what in ["\"not applied\"", "was counted up"] {
        assert!(run.violations.iter().any(|violation| violation.contains(what)), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_is_the_same_run() {
    let first = run(7, 1_000, clients).await;
    let second = run(7, 1_000, clients).await;
    assert_eq!((first.known, first.faults), (second.known, second.faults));
}
