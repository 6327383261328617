//! Rounds of chaos for what is built on the client: faults in about a third of the requests, a proxy that delivers writes
//! twice, machines whose clocks are off, and virtual time.
//!
//! | variable | meaning |
//! |---|---|
//! | `AZURE_TABLE_CHAOS_SEED` | the first seed; a run with the same seed repeats itself |
//! | `AZURE_TABLE_CHAOS_SEEDS` | the number of seeds |
//! | `AZURE_TABLE_CHAOS_OPERATIONS` | the minimum number of operations, over all seeds |
//! | `AZURE_TABLE_CHAOS_LOG` | 1 prints the hash of the requests and responses |

mod clock;
pub mod faults;
mod proxy;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use azure_table_client::clock::TokioClock;
use azure_table_client::mock::MockTableService;
use azure_table_client::transport::{HttpRequest, ResponseFuture, Transport};
use azure_table_client::{RetryPolicy, TableServiceClient};
use fastrand::Rng;
use tokio::task::yield_now;

pub use clock::MachineClock;
use faults::ActiveFault;
use proxy::Proxy;

/// The seeds reserved for the rounds of one seed of a run.
const SEEDS_OF_A_RUN: usize = 1 << 24;
/// The longest delay of a request by a fault, and some more.
const SETTLING: Duration = Duration::from_secs(2 * 60);

/// Creates a mock whose requests take no time, and which keeps none. Its clock shows a full hour, since a wait until a date
/// depends on the fraction of the second.
pub fn mock() -> MockTableService {
    let start = SystemTime::UNIX_EPOCH + Duration::from_secs(500_000 * 3600);
    let clock = Arc::new(TokioClock::starting_at(start));
    MockTableService::builder().clock(clock).kept_requests(0).build()
}

/// The number of requests that mocks keep: none, unless the hash of their logs is printed.
fn kept_requests() -> usize {
    usize::from(setting::<u8>("LOG").is_some())
}

fn mock_with(seed: u64) -> MockTableService {
    MockTableService::builder().random_seed(seed).kept_requests(kept_requests()).build()
}

/// One mock with faults, and the machines whose programs use it.
#[derive(Debug)]
pub struct Round {
    /// The seed of this round alone.
    pub seed: u64,
    mock: MockTableService,
    faults: Vec<ActiveFault>,
    proxy: Arc<Proxy>,
    requests: Arc<AtomicUsize>,
}

/// The results of a round, or of several.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The operations of the pattern that were called.
    pub operations: usize,
    /// A description of each broken promise.
    pub violations: Vec<String>,
    /// Other figures to print, such as the number of operations with each result.
    pub counts: BTreeMap<&'static str, usize>,
}

impl Report {
    /// Records a violation unless `holds`.
    pub fn check(&mut self, holds: bool, violation: impl FnOnce() -> String) {
        if !holds {
            self.violations.push(violation());
        }
    }

    /// Adds one to a figure.
    pub fn count(&mut self, name: &'static str) {
        *self.counts.entry(name).or_default() += 1;
    }

    /// Adds the results of another task or round.
    pub fn add(&mut self, other: Self) {
        self.operations += other.operations;
        self.violations.extend(other.violations);
        for (name, count) in other.counts {
            *self.counts.entry(name).or_default() += count;
        }
    }
}

impl Round {
    fn new(seed: u64) -> Self {
        let mock = mock_with(seed);
        let proxy = Arc::new(Proxy::new(&mock, seed));
        Self { seed, mock, faults: Vec::new(), proxy, requests: Arc::default() }
    }

    /// The service. A round begins without faults.
    pub const fn mock(&self) -> &MockTableService {
        &self.mock
    }

    /// Returns the random numbers of a task.
    pub fn chance(&self, task: u64) -> Rng {
        Rng::with_seed(self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ task)
    }

    /// Creates the client of a task, on a machine of its own: the time of day of three of four machines is off by up to
    /// five hours, and their monotonic clocks run up to 1 % fast or slow. Half of the clients retry, half have write ids.
    pub fn client(&self, task: u64) -> TableServiceClient {
        self.client_with(task, |builder| builder)
    }

    /// Creates the client of a task with further settings.
    pub fn client_with(
        &self,
        task: u64,
        set: impl FnOnce(
            azure_table_client::TableServiceClientBuilder,
        ) -> azure_table_client::TableServiceClientBuilder,
    ) -> TableServiceClient {
        let chance = &mut self.chance(!task);
        let retries = if chance.bool() { 0 } else { 3 };
        let builder = self
            .mock
            .client_builder()
            .transport(self.transport())
            .clock(Arc::new(MachineClock::random(self.mock.clock(), chance)))
            .retry(RetryPolicy::fixed(retries, Duration::from_millis(100)))
            .try_timeout(Duration::from_secs(30))
            .deadline(Duration::from_secs(2 * 60));
        let builder = if chance.bool() { builder.write_id_column("WriteId") } else { builder };
        set(builder).build().unwrap()
    }

    /// The transport of the clients, for a transport around it.
    pub fn transport(&self) -> Arc<dyn Transport> {
        let (proxy, sent) = (self.proxy.clone(), self.requests.clone());
        Arc::new(Counted { proxy, sent })
    }

    /// From here on, about a third of the requests on entities meet a fault, and a proxy delivers some writes twice.
    pub fn start_faults(&mut self) {
        self.faults = faults::add(&self.mock);
        self.proxy.set_active(true);
    }

    /// Runs programs at the same time, then ends the faults. Returns the results of the programs in their order.
    pub async fn run_programs<P>(&self, programs: impl IntoIterator<Item = P>) -> Vec<P::Output>
    where
        P: Future<Output: Send> + Send + 'static,
    {
        let tasks: Vec<_> = programs.into_iter().map(tokio::spawn).collect();
        let mut results = Vec::with_capacity(tasks.len());
        for task in tasks {
            results.push(task.await.unwrap());
        }
        self.end_faults().await;
        results
    }

    /// From here on, no request meets a fault; waits until the delayed requests have arrived.
    async fn end_faults(&self) {
        self.mock.faults().clear();
        self.proxy.set_active(false);
        tokio::time::sleep(SETTLING).await;
    }

    /// The number of requests so far, and of those that met a fault.
    pub fn requests(&self) -> (usize, usize) {
        let failures = self.faults.iter().filter(|fault| fault.is_failure);
        let struck: usize = failures.map(|fault| fault.added.struck()).sum();
        (self.requests.load(Ordering::Relaxed), struck + self.proxy.struck())
    }
}

/// Repeats rounds with new seeds until the number of operations is reached, prints the results, and fails with the first
/// violations. Without a setting in the environment, one seed runs `operations`.
///
/// Needs paused time: `#[tokio::test(start_paused = true)]`.
pub async fn run(name: &str, operations: usize, round: impl AsyncFn(&mut Round) -> Report) {
    let count = setting("SEEDS").unwrap_or(1);
    let share = setting("OPERATIONS").unwrap_or(operations).div_ceil(count);
    let start = Instant::now();
    let (mut all, mut requests, mut faults) = (Report::default(), 0, 0);
    let mut log = DefaultHasher::new();
    for first in seeds(first_seed(), count) {
        let mut of_seed = 0;
        for seed in first.. {
            if of_seed >= share {
                break;
            }
            let mut stage = Round::new(seed);
            let mut report = round(&mut stage).await;
            assert!(report.operations > 0, "seed {seed}: a round without operations");
            of_seed += report.operations;
            stage.mock.log().hash(&mut log);
            let (sent, struck) = stage.requests();
            (requests, faults) = (requests + sent, faults + struck);
            report.violations.iter_mut().for_each(|it| *it = format!("seed {seed}: {it}"));
            all.add(report);
        }
    }
    println!(
        "chaos: {name}: {} operations, {count} seeds, {requests} requests, {faults} faults, {} violations, {:.1} s, {:?}",
        all.operations,
        all.violations.len(),
        start.elapsed().as_secs_f64(),
        all.counts,
    );
    if kept_requests() > 0 {
        println!("log of {name}: {requests} requests, hash {:016x}", log.finish());
    }
    let shown = &all.violations[..all.violations.len().min(10)];
    assert!(shown.is_empty(), "{} violations: {shown:#?}", all.violations.len());
}

/// Returns the value of the environment variable `AZURE_TABLE_CHAOS_name`, which is a number.
pub fn setting<N: FromStr<Err: Debug>>(name: &str) -> Option<N> {
    let value = std::env::var(format!("AZURE_TABLE_CHAOS_{name}")).ok();
    value.map(|text| text.parse().expect("a number"))
}

/// Returns the first seed of the run, random unless the environment sets it, and prints it.
pub fn first_seed() -> u64 {
    let seed = setting("SEED").unwrap_or_else(|| u64::from(fastrand::u32(..)));
    println!("AZURE_TABLE_CHAOS_SEED={seed}");
    seed
}

/// Returns `count` seeds, each the first of those of its rounds.
pub fn seeds(first: u64, count: usize) -> impl Iterator<Item = u64> {
    (first..).step_by(SEEDS_OF_A_RUN).take(count)
}

/// Counts the requests of all machines, and lets other tasks run before and after each.
#[derive(Debug)]
struct Counted {
    proxy: Arc<Proxy>,
    sent: Arc<AtomicUsize>,
}

impl Transport for Counted {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        self.sent.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            yield_now().await;
            let response = self.proxy.receive(request).await;
            yield_now().await;
            yield_now().await;
            response
        })
    }
}
