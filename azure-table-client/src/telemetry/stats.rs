//! Counters of the calls of a client.

use std::ops::AddAssign;
use std::sync::Mutex;
use std::time::Duration;

use super::histogram::Histogram;
use super::observer::{AttemptOutcome, CallOutcome, Finished, Observer, Received};
use crate::error::Outcome;
use crate::lock::lock;
use crate::wire::Operation;

/// Counts what a client does, for each operation.
///
/// ```
/// # use azure_table_client::mock::MockTableService;
/// # use azure_table_client::{DynamicEntity, TableServiceClient};
/// use azure_table_client::telemetry::ClientStats;
/// # use std::sync::Arc;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), azure_table_client::Error> {
/// # let mock = MockTableService::new();
/// # let builder = TableServiceClient::builder_from_connection_string(&mock.connection_string())?
/// #     .transport(mock.transport())
/// #     .clock(mock.clock());
/// let stats = Arc::new(ClientStats::default());
/// let service = builder.observer(stats.clone()).build()?;
/// service.create_table("Blogs").await?;
/// let counts = stats.total();
/// assert_eq!((counts.calls, counts.requests, counts.retries), (1, 1, 0));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct ClientStats {
    /// One for each operation, so that calls of different operations do not wait for each other.
    counts: [Mutex<Option<Counts>>; Operation::ALL.len()],
}

/// The counts so far. All numbers only grow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Calls that ended, including failed and dropped ones.
    pub calls: u64,
    /// Calls that ended with an unexpected error.
    pub failed: u64,
    /// Calls whose future was dropped.
    pub dropped: u64,
    /// Calls that ended with an error of [unknown](crate::Outcome::Unknown) outcome. Dropped calls are
    /// only in `dropped`.
    pub unknown: u64,
    /// Calls for which an earlier attempt, whose response was lost, was found to be applied.
    pub resolved: u64,
    /// Calls that ended with the service's own 409 or 412, including expected ones. A 409 that
    /// `create_if_not_exists` turns into a result is not counted.
    pub conflicts: u64,
    /// Requests that were sent.
    pub requests: u64,
    /// Requests that repeated an earlier one.
    pub retries: u64,
    /// Responses that request less load (429 and 503).
    pub throttled: u64,
    /// The bytes of the bodies that were sent.
    pub bytes_out: u64,
    /// The bytes of the bodies that were received.
    pub bytes_in: u64,
    /// Pages that were read.
    pub pages: u64,
    /// Rows that were read.
    pub rows: u64,
    /// The total of the waits between attempts.
    pub waited: Duration,
    /// The total time of all calls.
    pub time: Duration,
    /// The durations of all calls.
    pub durations: Histogram,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.failed += other.failed;
        self.dropped += other.dropped;
        self.unknown += other.unknown;
        self.resolved += other.resolved;
        self.conflicts += other.conflicts;
        self.requests += other.requests;
        self.retries += other.retries;
        self.throttled += other.throttled;
        self.bytes_out += other.bytes_out;
        self.bytes_in += other.bytes_in;
        self.pages += other.pages;
        self.rows += other.rows;
        self.waited += other.waited;
        self.time += other.time;
        self.durations += other.durations;
    }
}

impl ClientStats {
    /// All operations together.
    pub fn total(&self) -> Counts {
        let mut total = Counts::default();
        for (_, counts) in self.by_operation() {
            total += counts;
        }
        total
    }

    /// One operation.
    pub fn of(&self, operation: Operation) -> Counts {
        self.counts.get(operation as usize).and_then(|counts| *lock(counts)).unwrap_or_default()
    }

    /// Each operation that was ever used.
    pub fn by_operation(&self) -> Vec<(Operation, Counts)> {
        let used =
            |(operation, counts): (&Operation, &Mutex<_>)| Some((*operation, (*lock(counts))?));
        Operation::ALL.iter().zip(&self.counts).filter_map(used).collect()
    }

    fn count(&self, operation: Operation, change: impl FnOnce(&mut Counts)) {
        if let Some(counts) = self.counts.get(operation as usize) {
            change(lock(counts).get_or_insert_default());
        }
    }
}

impl Observer for ClientStats {
    fn after_receive(&self, received: &Received<'_>) {
        self.count(received.operation, |counts| {
            counts.requests += 1;
            counts.retries += u64::from(received.attempt > 1);
            counts.throttled += u64::from(AttemptOutcome::is_throttled(received.outcome));
            counts.bytes_out += received.sent_bytes as u64;
            counts.bytes_in += received.received_bytes as u64;
            counts.waited = counts.waited.saturating_add(received.waited);
        });
    }

    fn call_finished(&self, finished: &Finished<'_>) {
        self.count(finished.operation, |counts| {
            counts.calls += 1;
            counts.failed += u64::from(matches!(finished.outcome, CallOutcome::Failed(_)));
            counts.dropped += u64::from(matches!(finished.outcome, CallOutcome::Dropped));
            if let CallOutcome::Expected(error) | CallOutcome::Failed(error) = finished.outcome {
                let is_conflict = error.is_conflict() || error.is_precondition_failed();
                counts.unknown += u64::from(error.outcome() == Outcome::Unknown);
                counts.conflicts += u64::from(is_conflict);
            }
            counts.resolved += u64::from(finished.by_earlier_attempt);
            counts.pages += finished.pages;
            counts.rows += finished.rows;
            counts.time = counts.time.saturating_add(finished.duration);
            counts.durations.record(finished.duration);
        });
    }
}
