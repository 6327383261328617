//! Many rows at once: grouped by partition into transactions, several of them on their way at a time.
//!
//! [`TableClient::bulk`](crate::TableClient::bulk) begins a [`Bulk`] run; see the
//! [guide](crate::guide::batches). What a run promises:
//!
//! - **Slices**: rows of one partition travel in transactions of at most 100 operations and 4 MiB
//!   (2 MiB for Cosmos DB), counted byte by byte. A row that cannot be sent, for example with a bad key
//!   or of more than 1 MiB, fails by itself, before anything of it is sent.
//! - **Order**: operations on one key are done in the order of the input, each after the one before
//!   it is settled. Where one is not, because it was given up or nobody knows, those that follow it on
//!   its key are not attempted, so that a resumed run does them in order. Between keys there is no
//!   order. (The service may still do a request after its client gave it up; only an ETag fences that.)
//! - **Outcomes**: each row has one. Where the service refuses one row of a slice, the others are sent
//!   again without it. A request whose answer was lost is sent again; if that is then refused, the
//!   rows that cannot be done twice are [`Unknown`](RowOutcome::Unknown). A refusal of the account, such
//!   as a firewall's, ends the run and settles no row.
//! - **Pace**: a partition that the service throttles is slowed down to just below the rate at which it
//!   was throttled, and tries more from time to time. The other partitions go on. Where many are
//!   throttled, fewer requests are on their way. A partition of which nothing is done for
//!   [`give_up_after`](Bulk::give_up_after) is given up.
//! - **Memory**: rows are read as they are needed; up to [`window`](Bulk::window) of them are kept, and
//!   no more than about 64 MiB, if no single row is larger; those on their way take as much again. The
//!   keys of rows that are not settled are remembered; the run ends once they are 100,000.
//! - **Cancelling**: dropping the future of a run stops it. What was answered is in the
//!   [`checkpoint`](BulkMonitor::checkpoint) of its [`monitor`](Bulk::monitor); the requests that were
//!   on their way may be done or not, and are not in it. [`resume`](Bulk::resume) goes on with the same
//!   input and does those again, which is the same as doing them once for upserts and
//!   [`DeleteIfExists`](BulkOperation::DeleteIfExists); an insert that was done meets itself.

mod checkpoint;
mod group;
mod monitor;
mod operation;
mod pace;
mod report;
mod run;
mod slice;
mod tables;
mod verdict;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;
use futures_util::stream::{self, FuturesUnordered, StreamExt as _, TryStreamExt as _};

pub use checkpoint::Checkpoint;
pub use monitor::BulkMonitor;
pub use operation::BulkOperation;
pub use report::{BulkError, BulkReport, Cause, Progress, RowOutcome, RowResult};

use crate::client::TableClient;
use crate::entity::TableEntity;
use crate::error::Error;
use crate::pipeline::RetryPolicy;
use group::Window;
use operation::{Job, Row, Unfit};
use pace::Width;
use run::{Callbacks, Health, Run};

/// Rows that were not applied that a report keeps; more are counted.
pub const KEPT_RESULTS: usize = 10_000;
const CONCURRENCY: usize = 8;
const MAX_CONCURRENCY: usize = 1024;
const WINDOW_ROWS: usize = 20_000;
const WINDOW_BYTES: usize = 64 * 1024 * 1024;
const PATIENCE: Duration = Duration::from_mins(5);

/// A bulk run over one table: set it up, then [`run`](Self::run) it; see the [module](self).
///
/// ```
/// use azure_table_client::bulk::BulkOperation;
/// # use azure_table_client::{DynamicEntity, mock::MockTableService};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let blogs = MockTableService::new().client().table_named::<DynamicEntity>("Blogs");
/// # blogs.create().await?;
/// let rows = (0..250).map(|n| DynamicEntity::new("Channel9", format!("{n:04}")));
/// let report = blogs.bulk().concurrency(4).run(rows.map(BulkOperation::Insert)).await?;
/// assert_eq!((report.progress.applied, report.progress.requests), (250, 3));
///
/// // One that is there already fails alone.
/// let rows = ["0001", "new"].map(|n| DynamicEntity::new("Channel9", n));
/// let error = blogs.bulk().run(rows.map(BulkOperation::Insert)).await.unwrap_err();
/// let failed = error.report().failures().next().unwrap();
/// assert_eq!((failed.index, error.report().progress.applied), (0, 1));
/// # Ok(())
/// # }
/// ```
///
/// REST: [Performing entity group transactions](https://learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions),
/// `POST`; a row that is alone in its slice, as the call of [`TableClient`] that does the same.
/// Retries: by the run itself, until [`give_up_after`](Self::give_up_after).
#[must_use = "a bulk run sends nothing until it is run"]
pub struct Bulk<T> {
    table: TableClient<T>,
    concurrency: usize,
    window: usize,
    patience: Duration,
    retry: Option<RetryPolicy>,
    keeps_all: bool,
    any_version: bool,
    monitor: BulkMonitor,
    callbacks: Callbacks,
}

impl<T: TableEntity> Bulk<T> {
    fn new(table: TableClient<T>) -> Self {
        Self {
            table,
            concurrency: CONCURRENCY,
            window: WINDOW_ROWS,
            patience: PATIENCE,
            retry: None,
            keeps_all: false,
            any_version: false,
            monitor: BulkMonitor::new(),
            callbacks: Callbacks::default(),
        }
    }

    /// How many requests are on their way at most, 1 to 1,024; 8 unless it is set. Fewer are while the
    /// service throttles.
    pub fn concurrency(mut self, requests: usize) -> Self {
        self.concurrency = requests.clamp(1, MAX_CONCURRENCY);
        self
    }

    /// How many rows are kept at most, from being read to having their outcome; 20,000 unless it is
    /// set. The more, the fuller are the slices of an input that changes partition often.
    pub fn window(mut self, rows: usize) -> Self {
        self.window = rows.max(1);
        self
    }

    /// How long a row that the service throttles is tried for, and a partition of which nothing is
    /// done; 5 min unless it is set.
    ///
    /// The rows of such a partition, those still to be read included, are not sent any more. Once
    /// that is so of a second one and nothing at all was done in that time, the run ends.
    pub fn give_up_after(mut self, time: Duration) -> Self {
        self.patience = time;
        self
    }

    /// When and how often a request that failed otherwise is sent again, instead of the client's policy.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = Some(policy);
        self
    }

    /// Deletes what a query finds also where somebody changed it since.
    pub fn any_version(mut self) -> Self {
        self.any_version = true;
        self
    }

    /// Keeps the outcome of every row in the report.
    pub fn keep_results(mut self) -> Self {
        self.keeps_all = true;
        self
    }

    /// Calls `tell` with each row as it has its outcome. It should not take long.
    pub fn on_row(mut self, tell: impl FnMut(&RowResult) + Send + 'static) -> Self {
        self.callbacks.row = Some(Box::new(tell));
        self
    }

    /// Calls `tell` after each request. It should not take long.
    pub fn on_progress(mut self, tell: impl FnMut(&Progress) + Send + 'static) -> Self {
        self.callbacks.progress = Some(Box::new(tell));
        self
    }

    /// Leaves out what an earlier run of the same input, in the same order, settled.
    ///
    /// The earlier run may have applied any other row. If such a row meets a conflict now (404, 409 or
    /// 412), the run reads it back, and reports it as failed only with proof that neither run applied it;
    /// else it is applied or unknown. See the guide on [reports](crate::guide::outcomes).
    pub fn resume(self, checkpoint: Checkpoint) -> Self {
        self.monitor.resume(checkpoint);
        self
    }

    /// Looks at this run from outside, also after its future was dropped.
    pub fn monitor(&self) -> BulkMonitor {
        self.monitor.clone()
    }

    /// Does these operations.
    ///
    /// # Errors
    /// Not all was applied: the error has the [report](BulkError::report). A missing table or a wrong
    /// key ends the run early, since no other row would fare better.
    pub async fn run(
        self,
        operations: impl IntoIterator<Item = BulkOperation<T>>,
    ) -> Result<BulkReport, BulkError> {
        self.run_stream(stream::iter(operations)).await
    }

    /// Does the operations of a stream, which is read as they are sent. While it makes wait, rows are
    /// sent that do not fill a slice.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn run_stream(
        self,
        operations: impl Stream<Item = BulkOperation<T>>,
    ) -> Result<BulkReport, BulkError> {
        self.drive(operations.map(Ok), Row::new).await
    }

    /// Does the operations of a stream that may fail. After its first error, what was read is done and
    /// nothing more is read.
    ///
    /// # Errors
    /// As [`run`](Self::run); the stream's error is in the report as
    /// [`stopped`](BulkReport::stopped).
    pub async fn try_run_stream<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
        self,
        operations: impl Stream<Item = Result<BulkOperation<T>, E>>,
    ) -> Result<BulkReport, BulkError> {
        self.drive(operations.map_err(|error| Cause::from(error.into())), Row::new).await
    }

    /// Does what `prepare` makes of each item of the input.
    async fn drive<I>(
        self,
        input: impl Stream<Item = Result<I, Cause>>,
        prepare: impl Fn(&Job, u64, I) -> Result<Row, Unfit>,
    ) -> Result<BulkReport, BulkError> {
        let pipeline = Arc::clone(self.table.pipeline());
        let target = self.table.target().clone();
        let (run_id, is_resumed) = self.monitor.begin(self.keeps_all, &pipeline.clock);
        let job = Job { target, run_id };
        if let Err(fault) = T::check_columns() {
            self.monitor.stop(Arc::new(Error::from(fault)));
            return self.monitor.into_report().into_result();
        }
        let run = Run {
            retry: self.retry.unwrap_or_else(|| pipeline.retry.clone()),
            earlier: is_resumed.then(|| pipeline.clock.instant()),
            pipeline,
            window: Window::new(job.target.clone(), self.window, WINDOW_BYTES),
            width: Width::new(self.concurrency),
            monitor: self.monitor,
            callbacks: self.callbacks,
            patience: self.patience,
            health: Health::default(),
            in_flight: FuturesUnordered::new(),
            timer: None,
            fatal: None,
        };
        let prepare = |index, item| prepare(&job, index, item);
        run::drive(run, input, prepare).await.into_report().into_result()
    }
}

impl<T> fmt::Debug for Bulk<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bulk")
            .field("table", &self.table)
            .field("concurrency", &self.concurrency)
            .field("window", &self.window)
            .finish_non_exhaustive()
    }
}
