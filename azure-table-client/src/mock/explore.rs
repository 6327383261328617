//! Tests that run with many random seeds.

use std::env::{self, VarError};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::{ExitCode, Termination};
use std::time::Duration;

use tokio::runtime::{Builder, Handle};

use super::MockTableService;

/// The variable that selects one seed.
const SEED: &str = "AZURE_TABLE_RANDOM_SEED";
/// The share of transactions that meet a fault.
const SHARE: f64 = 0.3;
/// The virtual time after which a run hangs.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Runs a test once with each of these seeds, each time on a runtime of its own with paused time, with a
/// [mock](MockTableService::with_random_seed) on which up to 30 % of the requests meet a
/// [random fault](azure_table_mock::Faults::random). Requests and responses take random times.
///
/// At the first run that panics or returns an error, it prints the seed, the faults that struck and the
/// [log](azure_table_mock::TableService::log), and panics. With the variable `AZURE_TABLE_RANDOM_SEED`, only that seed
/// runs: `AZURE_TABLE_RANDOM_SEED=17 cargo test NAME` repeats it. A panic in a spawned task counts only if the test reads
/// its `JoinHandle`.
///
/// A test prepares its rows with [`seed`](azure_table_mock::TableService::seed) or with
/// [`direct_client`](MockTableService::direct_client), which no fault strikes, and looks at the result in the same way. It
/// can [clear](azure_table_mock::Faults::clear) the faults, and [add](azure_table_mock::Faults::random) others.
///
/// ```
/// use azure_table_client::mock::explore;
/// use azure_table_client::{DynamicEntity, Error};
///
/// explore(0..100, async |mock| {
///     mock.direct_client().create_table("Blogs").await?;
///     let blogs = mock.client().table_named::<DynamicEntity>("Blogs");
///     // The client retries, and finds out whether an insert without a response was applied.
///     if blogs.insert(&DynamicEntity::new("Channel9", "1")).await.is_ok() {
///         assert_eq!(mock.row_count("Blogs"), Some(1));
///     }
///     Ok::<(), Error>(())
/// });
/// ```
///
/// # Panics
/// The test fails, or does not end within a day of virtual time; there are no seeds; the variable is not a number; or
/// `explore` is called in a runtime, for example in a `#[tokio::test]`: it belongs into a `#[test]`.
pub fn explore<R: Termination>(
    seeds: impl IntoIterator<Item = u64>,
    test: impl AsyncFn(MockTableService) -> R,
) {
    assert!(
        Handle::try_current().is_err(),
        "explore has runtimes of its own: call it in a #[test]"
    );
    if let Some(seed) = selected() {
        return run(seed, &test);
    }
    let mut runs = 0;
    for seed in seeds {
        run(seed, &test);
        runs += 1;
    }
    assert!(runs > 0, "explore needs a seed");
}

#[expect(clippy::panic, reason = "it ends a test")]
fn selected() -> Option<u64> {
    let text = match env::var(SEED) {
        Err(VarError::NotPresent) => return None,
        text => text.unwrap_or_else(|error| panic!("{SEED}: {error}")),
    };
    Some(text.parse().unwrap_or_else(|error| panic!("{SEED} is {text:?}: {error}")))
}

#[expect(clippy::expect_used, clippy::print_stderr, reason = "it ends a test")]
fn run<R: Termination>(seed: u64, test: &impl AsyncFn(MockTableService) -> R) {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime without I/O");
    let mock = MockTableService::with_random_seed(seed);
    mock.faults().random(SHARE);
    let limited = async {
        let test = tokio::time::timeout(LONGEST, test(mock.clone()));
        let result = test.await.expect("the test ends within a day of virtual time");
        assert!(result.report() == ExitCode::SUCCESS, "the test returned an error");
    };
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| runtime.block_on(limited))) {
        eprintln!("the test fails with {SEED}={seed}\n\n{}", mock.log());
        resume_unwind(panic);
    }
}
