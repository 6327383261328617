//! Counters of the calls of a client.

use std::ops::AddAssign;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::histogram::{Histogram, HistogramCell};
use super::observer::{AttemptOutcome, CallOutcome, Finished, Observer, Received};
use crate::error::Outcome;
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
    cells: [Cell; CELLS],
}

const CELLS: usize = Operation::ALL.len();

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

/// The counters of one operation.
#[derive(Debug, Default)]
struct Cell {
    /// Set once there is something to count.
    operation: OnceLock<Operation>,
    calls: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
    unknown: AtomicU64,
    resolved: AtomicU64,
    conflicts: AtomicU64,
    requests: AtomicU64,
    retries: AtomicU64,
    throttled: AtomicU64,
    bytes_out: AtomicU64,
    bytes_in: AtomicU64,
    pages: AtomicU64,
    rows: AtomicU64,
    waited_nanos: AtomicU64,
    time_nanos: AtomicU64,
    durations: HistogramCell,
}

impl Cell {
    fn counts(&self) -> Counts {
        Counts {
            calls: self.calls.load(Relaxed),
            failed: self.failed.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
            unknown: self.unknown.load(Relaxed),
            resolved: self.resolved.load(Relaxed),
            conflicts: self.conflicts.load(Relaxed),
            requests: self.requests.load(Relaxed),
            retries: self.retries.load(Relaxed),
            throttled: self.throttled.load(Relaxed),
            bytes_out: self.bytes_out.load(Relaxed),
            bytes_in: self.bytes_in.load(Relaxed),
            pages: self.pages.load(Relaxed),
            rows: self.rows.load(Relaxed),
            waited: Duration::from_nanos(self.waited_nanos.load(Relaxed)),
            time: Duration::from_nanos(self.time_nanos.load(Relaxed)),
            durations: self.durations.load(),
        }
    }
}

impl ClientStats {
    /// All operations together.
    pub fn total(&self) -> Counts {
        let mut total = Counts::default();
        for cell in &self.cells {
            total += cell.counts();
        }
        total
    }

    /// One operation.
    pub fn of(&self, operation: Operation) -> Counts {
        self.cells.get(operation as usize).map(Cell::counts).unwrap_or_default()
    }

    /// Each operation that was ever used.
    pub fn by_operation(&self) -> Vec<(Operation, Counts)> {
        let used = |cell: &Cell| Some((*cell.operation.get()?, cell.counts()));
        self.cells.iter().filter_map(used).collect()
    }

    fn cell(&self, operation: Operation) -> Option<&Cell> {
        let cell = self.cells.get(operation as usize)?;
        cell.operation.get_or_init(|| operation);
        Some(cell)
    }
}

impl Observer for ClientStats {
    fn after_receive(&self, received: &Received<'_>) {
        let Some(cell) = self.cell(received.operation) else { return };
        add(&cell.requests, 1);
        add(&cell.retries, u64::from(received.attempt > 1));
        add(&cell.throttled, u64::from(AttemptOutcome::is_throttled(received.outcome)));
        add(&cell.bytes_out, received.sent_bytes as u64);
        add(&cell.bytes_in, received.received_bytes as u64);
        add(&cell.waited_nanos, nanos(received.waited));
    }

    fn call_finished(&self, finished: &Finished<'_>) {
        let Some(cell) = self.cell(finished.operation) else { return };
        add(&cell.calls, 1);
        add(&cell.failed, u64::from(matches!(finished.outcome, CallOutcome::Failed(_))));
        add(&cell.dropped, u64::from(matches!(finished.outcome, CallOutcome::Dropped)));
        if let CallOutcome::Expected(error) | CallOutcome::Failed(error) = finished.outcome {
            let is_conflict = error.is_conflict() || error.is_precondition_failed();
            add(&cell.unknown, u64::from(error.outcome() == Outcome::Unknown));
            add(&cell.conflicts, u64::from(is_conflict));
        }
        add(&cell.resolved, u64::from(finished.by_earlier_attempt));
        add(&cell.pages, finished.pages);
        add(&cell.rows, finished.rows);
        add(&cell.time_nanos, nanos(finished.duration));
        cell.durations.record(finished.duration);
    }
}

fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Relaxed);
}

/// 584 years are more than any client runs.
fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
