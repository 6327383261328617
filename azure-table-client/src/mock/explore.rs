//! Tests that run with many random seeds.

use std::env;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use serde_json::Value;

use super::MockTableService;

/// The variable that selects one seed.
const SEED: &str = "AZURE_TABLE_RANDOM_SEED";
/// The share of requests that fail.
const SHARE: f64 = 0.3;
/// The virtual time after which a run hangs.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Runs a test once with each of these seeds, each time on a runtime of its own with paused time, with a
/// [mock](MockTableService::with_random_seed) on which about 30 % of the requests [fail](azure_table_mock::Faults::random).
/// Requests and responses take random times.
///
/// At the first run that panics, it prints the seed, the faults and all requests, and passes the panic on. With the
/// variable `AZURE_TABLE_RANDOM_SEED`, only that seed runs: `AZURE_TABLE_RANDOM_SEED=17 cargo test NAME` repeats it.
///
/// A test prepares its rows with [`seed`](azure_table_mock::TableService::seed) or with
/// [`direct_client`](MockTableService::direct_client), which no fault strikes, and looks at the result in the same way. It
/// can [clear](azure_table_mock::Faults::clear) the faults, and add [others](azure_table_mock::Faults::random).
///
/// ```
/// use azure_table_client::DynamicEntity;
/// use azure_table_client::mock::explore;
///
/// explore(0..100, async |mock| {
///     mock.direct_client().create_table("Blogs").await.unwrap();
///     let blogs = mock.client().table_named::<DynamicEntity>("Blogs");
///     // The client retries, and finds out whether an insert without a response was applied.
///     if blogs.insert(&DynamicEntity::new("Channel9", "1")).await.is_ok() {
///         assert_eq!(mock.row_count("Blogs"), Some(1));
///     }
/// });
/// ```
///
/// # Panics
/// The test panics, or does not end within a day of virtual time; or the variable is not a number.
pub fn explore(seeds: Range<u64>, test: impl AsyncFn(MockTableService)) {
    for seed in selected().map_or(seeds, |seed| seed..seed.saturating_add(1)) {
        run(seed, &test);
    }
}

#[expect(clippy::panic, reason = "it ends a test")]
fn selected() -> Option<u64> {
    let text = env::var(SEED).ok()?;
    Some(text.parse().unwrap_or_else(|error| panic!("{SEED} is {text:?}: {error}")))
}

#[expect(clippy::expect_used, clippy::print_stderr, reason = "it ends a test")]
fn run(seed: u64, test: &impl AsyncFn(MockTableService)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O");
    let guard = runtime.enter();
    let mock = MockTableService::with_random_seed(seed);
    mock.faults().random(SHARE);
    drop(guard);
    let limited = async {
        let test = tokio::time::timeout(LONGEST, test(mock.clone()));
        test.await.expect("the test ends within a day of virtual time");
    };
    let result = catch_unwind(AssertUnwindSafe(|| runtime.block_on(limited)));
    if let Err(panic) = result {
        eprintln!(
            "the test fails with {SEED}={seed}\n\nfaults: {}\n\n{}",
            faults_that_struck(&mock),
            mock.log(),
        );
        resume_unwind(panic);
    }
}

fn faults_that_struck(mock: &MockTableService) -> Value {
    let plan: Value = serde_json::from_str(&mock.faults().to_json()).unwrap_or_default();
    let faults = plan["faults"].as_array().into_iter().flatten().cloned();
    let mut struck: Vec<_> = faults.filter(|fault| fault["struck"] != 0).collect();
    for fault in struck.iter_mut().filter_map(Value::as_object_mut) {
        fault.remove("on");
    }
    struck.into()
}
