//! Many tasks, shared rows and a fault in about a third of the requests: afterwards the store must
//! agree with every outcome that the client reported.
//!
//! The environment variables of `azure_table_tests::chaos` set the size of a run; `.ci/long` runs 1,000,000 operations. A
//! violation names the seed of its round: that seed with one seed and one operation repeats the round alone.

mod bulk_runs;
mod contests;
mod contexts;
mod ledger;
mod mix_ups;
mod registers;
mod requests;
mod transfers;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use azure_table_client::mock::MockTableService;
use azure_table_tests::chaos::{faults, first_seed, seeds, setting};
use azure_table_tests::sized;
use fastrand::Rng;

use ledger::{Api, Kind, Known, Violation};
use requests::Outcomes;
use world::{Caller, Setup, World};

/// The minimum number of operations and the number of seeds, unless the environment sets them.
const OPERATIONS: usize = 1_200;
const SEEDS: usize = 1;
/// From this number of operations on, every fault must occur.
const MANY_OPERATIONS: usize = 20_000;
const TASKS: u8 = 16;
const STEPS: usize = 25;

/// The results of the rounds of a seed.
#[derive(Default, Clone)]
struct Run {
    operations: usize,
    requests: usize,
    requests_with_fault: usize,
    known: BTreeMap<Known, usize>,
    faults: BTreeMap<String, usize>,
    /// The hash of the log of the requests and responses. Only of a single round.
    log: u64,
    /// The calls and transactions that met each fault.
    outcomes: Outcomes,
    undetectable: usize,
    /// The seed of the round, and the violation.
    violations: Vec<(u64, Violation)>,
}

impl Run {
    /// The percentage of requests that met a fault.
    #[expect(clippy::cast_precision_loss, reason = "a figure to print")]
    fn share(&self) -> f64 {
        100.0 * self.requests_with_fault as f64 / self.requests.max(1) as f64
    }

    fn add(&mut self, other: Self) {
        self.operations += other.operations;
        self.requests += other.requests;
        self.requests_with_fault += other.requests_with_fault;
        self.undetectable += other.undetectable;
        self.violations.extend(other.violations);
        for (known, count) in other.known {
            *self.known.entry(known).or_default() += count;
        }
        for (fault, count) in other.faults {
            *self.faults.entry(fault).or_default() += count;
        }
        for (fault, outcomes) in other.outcomes {
            for (known, count) in outcomes {
                *self.outcomes.entry(fault.clone()).or_default().entry(known).or_default() += count;
            }
        }
    }

    fn print(&self, seed: u64) {
        println!(
            "seed {seed}: {} operations, {} requests, {:.1} % with a fault, {} violations, {} undetectable, \
             faults {:?}",
            self.operations,
            self.requests,
            self.share(),
            self.violations.len(),
            self.undetectable,
            self.faults,
        );
    }

    #[expect(clippy::cast_precision_loss, reason = "a figure to print")]
    fn print_fault(&self, fault: &str, requests: usize) {
        let outcomes = self.outcomes.get(fault).cloned().unwrap_or_default();
        let calls: usize = outcomes.values().sum();
        let share = |known: Known| {
            let count = outcomes.get(&known).copied().unwrap_or_default();
            format!("{:.1} %", 100.0 * count as f64 / calls.max(1) as f64)
        };
        let [applied, not_applied, unknown] =
            [Known::Applied, Known::NotApplied, Known::Unknown].map(share);
        println!("| {fault} | {requests} | {calls} | {applied} | {not_applied} | {unknown} |");
    }

    fn print_row(&self, name: &str) {
        let known = |known: Known| self.known.get(&known).copied().unwrap_or_default();
        println!(
            "| {name} | {} | {} | {} | {} | {} | {:.1} % | {} | {} |",
            self.operations,
            known(Known::Applied),
            known(Known::NotApplied),
            known(Known::Unknown),
            self.requests,
            self.share(),
            self.violations.len(),
            self.undetectable,
        );
    }
}

/// Prints the results of each seed, and the faults and the violations of all of them.
fn print_summary(runs: &[(u64, Run)], all: &Run) {
    println!(
        "\n| seed | operations | applied | not applied | unknown | requests | with a fault | violations \
         | undetectable |\n|---|---|---|---|---|---|---|---|---|"
    );
    for (seed, run) in runs {
        run.print_row(&seed.to_string());
    }
    all.print_row("all");
    println!(
        "\n| fault | requests | calls and transactions that met it | applied | not applied | unknown |\n\
         |---|---|---|---|---|---|"
    );
    for (fault, count) in &all.faults {
        all.print_fault(fault, *count);
    }
    println!("\n| violation | reported by | violations | first seed |\n|---|---|---|---|");
    let mut kinds: BTreeMap<(Kind, Option<Api>), (usize, u64)> = BTreeMap::new();
    for (seed, violation) in &all.violations {
        kinds.entry((violation.kind, violation.api)).or_insert((0, *seed)).0 += 1;
    }
    for ((kind, api), (count, seed)) in kinds {
        let api = api.map(|api| format!("{api:?}")).unwrap_or_default();
        println!("| {kind:?} | {api} | {count} | {seed} |");
    }
}

/// The rounds differ in retries, write ids and whether the table is deleted and created again.
fn setup(seed: u64) -> Setup {
    let round = seed / u64::from(TASKS);
    let retries = if (round / 2).is_multiple_of(2) { 0 } else { 3 };
    Setup {
        caller: Caller::Careful { retries },
        has_write_ids: round % 2 == 1,
        deletes_table: (round / 4).is_multiple_of(2),
    }
}

fn credulous(_: u64) -> Setup {
    Setup { caller: Caller::Credulous, has_write_ids: false, deletes_table: false }
}

/// Runs rounds with new tables until the number of operations is reached.
async fn run(seed: u64, operations: usize, setup: fn(u64) -> Setup) -> Run {
    let mut run = Run::default();
    for seed in (seed..).step_by(usize::from(TASKS)) {
        if run.operations >= operations {
            break;
        }
        run.add(round(seed, setup(seed)).await);
    }
    run
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

async fn round(seed: u64, setup: Setup) -> Run {
    let mock = MockTableService::with_random_seed(seed);
    let world = World::new(&mock, setup).await;
    world.requests().watch(faults::add(&mock), seed);
    let tasks = (0..TASKS).map(|task| {
        let world = world.of_task(task);
        let chance = Rng::with_seed(seed + u64::from(task));
        tokio::spawn(async move { world.work(chance, STEPS).await })
    });
    let mut tasks: Vec<_> = tasks.collect();
    let disturbing = world.clone();
    let chance = Rng::with_seed(!seed);
    tasks.push(tokio::spawn(async move { disturbing.disturb(chance).await }));
    for task in tasks {
        task.await.unwrap();
    }
    let mut run = Run { log: hash(&mock.log()), ..Run::default() };
    for fault in world.requests().faults() {
        *run.faults.entry(fault.name.clone()).or_default() += fault.added.struck();
    }
    for (name, struck) in world.requests().mixed_up() {
        *run.faults.entry(name.to_owned()).or_default() += struck;
    }
    (run.requests, run.requests_with_fault) = world.requests().counts();
    run.outcomes = world.requests().outcomes();
    mock.faults().clear();
    world.requests().end_mix_ups();
    // Delayed requests arrive.
    tokio::time::sleep(Duration::from_secs(2 * 60)).await;
    let history = world.history_and_rows().await;
    run.operations = history.operations();
    for known in history.known() {
        *run.known.entry(known).or_default() += 1;
    }
    let found = history.check();
    run.undetectable = found.undetectable;
    run.violations = found.violations.into_iter().map(|violation| (seed, violation)).collect();
    run
}

#[tokio::test(start_paused = true)]
async fn the_store_agrees_with_the_reported_outcomes() {
    let operations = setting("OPERATIONS").unwrap_or(OPERATIONS);
    let count = setting("SEEDS").unwrap_or(SEEDS);
    let (start, virtual_start) = (Instant::now(), tokio::time::Instant::now());
    let (mut runs, mut all) = (Vec::new(), Run::default());
    for seed in seeds(first_seed(), count) {
        let run = run(seed, operations.div_ceil(count), setup).await;
        run.print(seed);
        if run.operations >= OPERATIONS / SEEDS {
            assert!((20.0..50.0).contains(&run.share()), "{:.1} % with a fault", run.share());
        }
        all.add(run.clone());
        runs.push((seed, run));
    }
    print_summary(&runs, &all);
    println!(
        "\n{:.1} s ({:.0} s of virtual time)",
        start.elapsed().as_secs_f64(),
        virtual_start.elapsed().as_secs_f64(),
    );
    assert!(all.operations >= operations);
    if operations >= MANY_OPERATIONS {
        let missing: Vec<_> = all.faults.iter().filter(|(_, struck)| **struck == 0).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
    let shown = all.violations.iter().take(10);
    let shown: Vec<_> = shown.map(|(seed, text)| format!("seed {seed}: {text}")).collect();
    assert!(shown.is_empty(), "{} violations: {shown:#?}", all.violations.len());
}

/// A first attempt causes the 404, 409 or 412 of its retry, which is therefore not the outcome.
#[tokio::test(start_paused = true)]
async fn callers_who_believe_every_conflict_are_caught() {
    let expected = [Kind::FalselyNotApplied, Kind::Miscounted];
    let mut run = Run::default();
    for seed in (first_seed()..).step_by(usize::from(TASKS)).take(10) {
        run.add(round(seed, credulous(seed)).await);
        let found = |kind| run.violations.iter().any(|(_, violation)| violation.kind == kind);
        if expected.into_iter().all(found) {
            println!("{} operations, {} violations", run.operations, run.violations.len());
            return;
        }
    }
    panic!("{expected:?} are not found in {} operations", run.operations);
}

/// The hash of each round's log.
fn logs(rounds: usize) -> Vec<String> {
    let seeds = (setting("SEED").unwrap_or(7)..).step_by(usize::from(TASKS)).take(rounds);
    let log = |seed| {
        // Each round has a runtime of its own, like those of `explore`.
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build().unwrap();
        let run = runtime.block_on(round(seed, setup(seed)));
        let (operations, requests) = (run.operations, run.requests);
        format!("log {seed}: {operations} operations, {requests} requests, hash {:016x}", run.log)
    };
    seeds.map(log).collect()
}

/// The other process runs this test too, with [`IS_OTHER`].
#[test]
fn two_processes_have_equal_logs() {
    const IS_OTHER: &str = "AZURE_TABLE_CHAOS_PRINT_LOGS";
    let rounds = setting("ROUNDS").unwrap_or(sized(1, 20));
    if env::var_os(IS_OTHER).is_some() {
        for log in logs(rounds) {
            println!("{log}");
        }
        return;
    }
    let mut other = Command::new(env::current_exe().unwrap());
    other.args(["--exact", "chaos::two_processes_have_equal_logs", "--nocapture"]);
    let other = other.env(IS_OTHER, "1").stdout(Stdio::piped()).spawn().unwrap();
    let logs = logs(rounds);
    let output = other.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    // The name of the test precedes the first line.
    let of_other: Vec<_> =
        text.lines().filter_map(|line| line.find("log ").map(|at| &line[at..])).collect();
    assert_eq!(logs, of_other);
    // Rounds without requests would have equal hashes.
    let hashes: BTreeSet<_> = logs.iter().filter_map(|line| line.rsplit(' ').next()).collect();
    assert_eq!((logs.len(), hashes.len()), (rounds, rounds));
    println!("{rounds} rounds in two processes: equal logs");
}
