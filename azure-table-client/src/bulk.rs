//! Writes of many rows, grouped by partition into transactions. Several transactions are in flight at a time.
//!
//! [`TableClient::bulk`](crate::TableClient::bulk) begins a [`Bulk`] run; see the
//! [guide](crate::guide::batches). The guarantees of a run:
//!
//! - **Batches**: the rows of one partition are sent in transactions of at most 100 operations and 4 MiB
//!   (2 MiB for Cosmos DB), counted byte by byte. An invalid row, for example one with a bad key or of more
//!   than 1 MiB, fails alone and is never sent.
//! - **Order**: operations on one key are applied in the order of the input, each after the outcome of the
//!   one before it is resolved. If that outcome stays unresolved, the later operations on the key are not
//!   attempted, so that a resumed run applies them in order. Different keys have no order. (The service may
//!   still apply a request after its client gave up; only an ETag prevents that.)
//! - **Outcomes**: each row has one outcome. If the service refuses one row of a batch, the run sends the
//!   others again. A request whose response was lost is sent again; if the service refuses a row then, and
//!   reading back does not prove its outcome, that row is [`Unknown`](crate::client::WriteOutcome::Unknown). A refusal of the account,
//!   such as by a firewall, ends the run and resolves no row.
//! - **Rate limit**: a partition that the service throttles is slowed down to just below the rate at which
//!   that happened, and speeds up again slowly. Other partitions are not affected, unless the run applies
//!   about the 20,000 entities per second of an account: throttling of a partition far below its own limit then
//!   points to the account, and slows down the whole run, at most to 19,000. If many are throttled, fewer
//!   requests are in flight. [`max_rate`](Bulk::max_rate) limits the run from its beginning. A partition without any success for [`give_up_after`](Bulk::give_up_after) is given up.
//! - **Memory**: rows are read when they are needed; the run holds at most [`window`](Bulk::window) rows and
//!   about 64 MiB, plus the same amount in flight. A single larger row is accepted. The keys of unresolved
//!   rows are kept; the run ends at 100,000 of them.
//! - **Cancelling**: dropping the future of a run stops it. The [`checkpoint`](BulkMonitor::checkpoint) of
//!   its [`monitor`](Bulk::monitor) lists the rows whose responses came; the requests in flight may be
//!   applied or not, and are not in it. [`resume`](Bulk::resume) repeats them with the same input. Repeating
//!   upserts and [`DeleteIfExists`](BulkOperation::DeleteIfExists) has no further effect; a repeated insert
//!   fails if the first one was applied.

mod checkpoint;
mod chunk;
mod concurrency;
mod failure;
mod monitor;
mod operation;
mod rate_limit;
mod report;
mod run;
mod tables;
mod window;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;
use futures_util::stream::{self, FuturesUnordered, StreamExt as _, TryStreamExt as _};

pub use checkpoint::Checkpoint;
pub use monitor::BulkMonitor;
pub use operation::BulkOperation;
pub use report::{BulkError, BulkReport, Cause, Progress};

use crate::client::TableClient;
use crate::entity::TableEntity;
use crate::error::Error;
use crate::max_rate::MaxRate;
use crate::operation::{Proof, WriteResult};
use crate::pipeline::RetryPolicy;
use concurrency::Concurrency;
use operation::{InvalidRow, Job, Row};
use run::{Callbacks, Health, Run};
use window::Window;

/// The maximum number of rows without success that a report lists; it counts all of them.
pub const KEPT_RESULTS: usize = 10_000;
const CONCURRENCY: usize = 8;
const MAX_CONCURRENCY: usize = 1024;
const WINDOW_ROWS: usize = 20_000;
const WINDOW_BYTES: usize = 64 * 1024 * 1024;
const GIVE_UP_AFTER: Duration = Duration::from_secs(5 * 60);

/// A bulk run over one table: configure it, then call [`run`](Self::run); see the [module](self).
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
/// // A row that already exists fails alone.
/// let rows = ["0001", "new"].map(|n| DynamicEntity::new("Channel9", n));
/// let error = blogs.bulk().run(rows.map(BulkOperation::Insert)).await.unwrap_err();
/// let failed = error.report().failures().next().unwrap();
/// assert_eq!((failed.index, error.report().progress.applied), (0, 1));
/// # Ok(())
/// # }
/// ```
///
/// REST: [Performing entity group transactions](https://learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions),
/// `POST`; a single row of a partition is sent like by [`TableClient`].
/// Retries: by the run itself, until [`give_up_after`](Self::give_up_after).
#[doc(alias("import", "batch_writer", "load"))]
#[must_use = "a bulk run sends nothing until it is run"]
pub struct Bulk<T> {
    table: TableClient<T>,
    concurrency: usize,
    window: usize,
    max_rate: Option<MaxRate>,
    give_up_after: Duration,
    retry: Option<RetryPolicy>,
    proof: Option<Proof>,
    keeps_all: bool,
    any_version: bool,
    may_repeat: bool,
    monitor: BulkMonitor,
    callbacks: Callbacks,
}

impl<T: TableEntity> TableClient<T> {
    /// Writes many rows; see [`Bulk`].
    #[doc(alias(
        "insert_many",
        "insert_or_merge_many",
        "insert_or_replace_many",
        "upsert_many",
        "delete_many"
    ))]
    pub fn bulk(&self) -> Bulk<T> {
        Bulk::new(self.clone())
    }
}

impl<T: TableEntity> Bulk<T> {
    fn new(table: TableClient<T>) -> Self {
        let clock = Arc::clone(&table.core().clock);
        Self {
            table,
            concurrency: CONCURRENCY,
            window: WINDOW_ROWS,
            max_rate: None,
            give_up_after: GIVE_UP_AFTER,
            retry: None,
            proof: None,
            keeps_all: false,
            any_version: false,
            may_repeat: false,
            monitor: BulkMonitor::new(clock),
            callbacks: Callbacks::default(),
        }
    }

    /// Sets the maximum number of requests in flight, 1 to 1,024; the default is 8. Fewer are in flight while the
    /// service throttles.
    pub fn concurrency(mut self, requests: usize) -> Self {
        self.concurrency = requests.clamp(1, MAX_CONCURRENCY);
        self
    }

    /// Sets the maximum number of rows that were read and have no outcome yet; the default is 20,000. A larger
    /// window makes fuller batches from an input that changes partition often.
    pub fn window(mut self, rows: usize) -> Self {
        self.window = rows.max(1);
        self
    }

    /// Sets the give-up timeout of a row that the service throttles, and of a partition without any success; the
    /// default is 5 min.
    ///
    /// The run sends no more rows of such a partition. It ends when it gives up a second partition and no row of
    /// any partition was applied in that time.
    pub fn give_up_after(mut self, time: Duration) -> Self {
        self.give_up_after = time;
        self
    }

    /// Sets the retry policy of requests that were not throttled, in place of the client's policy.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = Some(policy);
        self
    }

    /// Sets the proof that the program accepts for the outcome of a row, in place of the client's
    /// [proof](crate::TableServiceClientBuilder::proof).
    pub fn proof(mut self, proof: Proof) -> Self {
        self.proof = Some(proof);
        self
    }

    /// Deletes the rows that a query finds even if another program changed them since.
    pub fn any_version(mut self) -> Self {
        self.any_version = true;
        self
    }

    /// Lists every row in the report.
    ///
    /// ```
    /// use azure_table_client::bulk::{BulkError, BulkOperation};
    /// use azure_table_client::client::WriteOutcome;
    /// use azure_table_client::TableEntity;
    /// use azure_table_client::mock::MockTableService;
    ///
    /// #[derive(TableEntity)]
    /// #[table(name = "Stock", rename_all = "PascalCase")]
    /// struct Item {
    ///     #[table(partition_key)]
    ///     shop: String,
    ///     #[table(row_key)]
    ///     article: String,
    ///     left: i32,
    /// }
    ///
    /// fn parse(line: &str) -> Option<Item> {
    ///     let [shop, article, left] = line.split(',').collect::<Vec<_>>().try_into().ok()?;
    ///     Some(Item { shop: shop.into(), article: article.into(), left: left.parse().ok()? })
    /// }
    ///
    /// #[tokio::main(flavor = "current_thread")]
    /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     let stock = MockTableService::new().client().table::<Item>();
    ///     stock.create().await?;
    ///     let file = "Oslo,chair,3\nOslo,table,many\nOslo,a/b,1\nRome,chair,2";
    ///
    ///     let (mut lines, mut unreadable) = (Vec::new(), Vec::new());
    ///     let operations = (1..).zip(file.lines()).filter_map(|(number, line)| match parse(line) {
    ///         Some(item) => {
    ///             lines.push(number);
    ///             Some(BulkOperation::InsertOrReplace(item))
    ///         }
    ///         None => {
    ///             unreadable.push(number);
    ///             None
    ///         }
    ///     });
    ///     let run = stock.bulk().keep_results().on_progress(|progress| println!("{progress}"));
    ///     // If rows failed, `run` returns an error, which holds the report.
    ///     let report = run.run(operations).await.unwrap_or_else(BulkError::into_report);
    ///     let mut outcomes = Vec::new();
    ///     for row in &report.results {
    ///         let outcome = match &row.outcome {
    ///             WriteOutcome::Applied { .. } => "applied".to_owned(),
    ///             WriteOutcome::Failed(error) => format!("refused: {error}"),
    ///             WriteOutcome::NotAttempted(error) => format!("not sent: {error}"),
    ///             other => format!("unknown, read the row: {other:?}"),
    ///         };
    ///         outcomes.push((lines[usize::try_from(row.index)?], outcome));
    ///     }
    ///     assert_eq!((unreadable, report.progress.applied, report.progress.failed), (vec![2], 2, 1));
    ///     assert_eq!((outcomes[0].0, &*outcomes[0].1), (1, "applied"));
    ///     assert!(outcomes[1].0 == 3 && outcomes[1].1.starts_with("refused"), "{outcomes:?}");
    ///     assert!(report.stopped.is_none(), "the run ended before the input");
    ///     Ok(())
    /// }
    /// ```
    pub fn keep_results(mut self) -> Self {
        self.keeps_all = true;
        self
    }

    /// Sets the maximum number of rows that the run sends per second, and the time within which it reaches this rate.
    ///
    /// A maximum of 0 counts as 1. The rate grows evenly from a tenth of the maximum, since the service moves busy
    /// partitions to other servers, which takes time. With [`Duration::ZERO`], the run begins at the maximum. Without a
    /// maximum, only throttling slows the run down. Rows that are sent again count again. Below 400 rows per second, a
    /// transaction has at most the rows of a quarter of a second.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use azure_table_client::{DynamicEntity, bulk::BulkOperation, mock::MockTableService};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let blogs = MockTableService::new().client().table_named::<DynamicEntity>("Blogs");
    /// # blogs.create().await?;
    /// let rows = (0..5_000).map(|n| DynamicEntity::new("Channel9", format!("{n:04}")));
    /// let begin = tokio::time::Instant::now();
    /// let bulk = blogs.bulk().max_rate(500, Duration::ZERO);
    /// bulk.run(rows.map(BulkOperation::Insert)).await?;
    /// let seconds = begin.elapsed().as_secs();
    /// assert!((9..=10).contains(&seconds), "{seconds}");
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias("throttle", "ramp", "rate_limit"))]
    pub fn max_rate(mut self, rows_per_second: u32, ramp: Duration) -> Self {
        self.max_rate = Some(MaxRate::new(rows_per_second, ramp));
        self
    }

    /// Calls `report` with each row once its outcome is known. It should be fast.
    pub fn on_row(mut self, report: impl FnMut(&WriteResult) + Send + 'static) -> Self {
        self.callbacks.row = Some(Box::new(report));
        self
    }

    /// Calls `report` after each request. It should be fast.
    pub fn on_progress(mut self, report: impl FnMut(&Progress) + Send + 'static) -> Self {
        self.callbacks.progress = Some(Box::new(report));
        self
    }

    /// Skips the rows that an earlier run of the same input, in the same order, resolved.
    ///
    /// The earlier run may have applied any other row. If such a row meets a conflict now (404, 409 or
    /// 412), the run reads it back, and reports it as failed only with proof that neither run applied it;
    /// otherwise it is applied or unknown. A row that this run reads and cannot send is unknown too. See the guide on
    /// [reports](crate::guide::outcomes).
    ///
    /// With [`Checkpoint::new`], the run is a fresh one.
    pub fn resume(self, checkpoint: Checkpoint) -> Self {
        self.monitor.resume(checkpoint);
        self
    }

    /// States that rows of this run may be applied already, although no [`Checkpoint`] lists those that are not.
    ///
    /// The run treats a conflict of any row as after [`resume`](Self::resume): it reads the row back, and reports it as
    /// failed only with proof. Use it to continue a run whose progress the program records itself, for example by the
    /// last key: the input is not that of the earlier run, so that a checkpoint's indices would mean other rows.
    ///
    /// ```
    /// # use azure_table_client::{DynamicEntity, bulk::BulkOperation, mock::MockTableService};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let blogs = MockTableService::new().client().table_named::<DynamicEntity>("Blogs");
    /// # blogs.create().await?;
    /// let rows = |from| (from..250).map(|n| DynamicEntity::new("Channel9", format!("{n:04}")));
    /// blogs.bulk().run(rows(0).map(BulkOperation::Insert)).await?;
    ///
    /// // The program recorded that rows 0 to 99 are stored, and ended before it recorded the others.
    /// let report = blogs.bulk().may_repeat().run(rows(100).map(BulkOperation::Insert)).await?;
    /// assert_eq!(report.progress.applied, 150);
    /// # Ok(())
    /// # }
    /// ```
    pub fn may_repeat(mut self) -> Self {
        self.may_repeat = true;
        self
    }

    /// Returns a monitor of this run, which outlives its future.
    pub fn monitor(&self) -> BulkMonitor {
        self.monitor.clone()
    }

    /// Applies these operations.
    ///
    /// # Errors
    /// Some rows were not applied: the error has the [report](BulkError::report). A missing table or a wrong
    /// account key ends the run early.
    pub async fn run(
        self,
        operations: impl IntoIterator<Item = BulkOperation<T>>,
    ) -> Result<BulkReport, BulkError> {
        self.run_stream(stream::iter(operations)).await
    }

    /// Applies the operations of a stream, which is read while they are sent. While the stream is pending, the run
    /// sends batches that are not full.
    ///
    /// # Errors
    /// Like [`run`](Self::run).
    pub async fn run_stream(
        self,
        operations: impl Stream<Item = BulkOperation<T>>,
    ) -> Result<BulkReport, BulkError> {
        self.apply(operations.map(Ok), Row::new).await
    }

    /// Applies the operations of a stream that may fail. After its first error, the run applies the operations that
    /// it has read, and reads no more.
    ///
    /// # Errors
    /// Like [`run`](Self::run); the report has the stream's error as [`stopped`](BulkReport::stopped).
    pub async fn try_run_stream<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
        self,
        operations: impl Stream<Item = Result<BulkOperation<T>, E>>,
    ) -> Result<BulkReport, BulkError> {
        self.apply(operations.map_err(|error| Cause::from(error.into())), Row::new).await
    }

    /// Applies the row that `prepare` returns for each item of the input.
    async fn apply<I>(
        self,
        input: impl Stream<Item = Result<I, Cause>>,
        prepare: impl Fn(&Job, u64, I) -> Result<Row, Box<InvalidRow>>,
    ) -> Result<BulkReport, BulkError> {
        let core = Arc::clone(self.table.core());
        let target = self.table.target().clone();
        let begun = T::check_columns().map_err(Error::from);
        let begun = begun.and_then(|()| self.monitor.begin(self.keeps_all));
        let run_id = match begun {
            Ok(run_id) => run_id,
            Err(error) => {
                self.monitor.stop(Arc::new(error));
                return self.monitor.into_report().into_result();
            }
        };
        let job = Job { target, run_id };
        let run = Run {
            retry: self.retry.unwrap_or_else(|| core.retry.clone()),
            proof: self.proof,
            earlier: (self.may_repeat || self.monitor.is_resumed()).then(|| core.clock.instant()),
            core,
            window: Window::new(job.target.clone(), self.max_rate, self.window, WINDOW_BYTES),
            concurrency: Concurrency::new(self.concurrency),
            monitor: self.monitor,
            callbacks: self.callbacks,
            give_up_after: self.give_up_after,
            health: Health::default(),
            in_flight: FuturesUnordered::new(),
            timer: None,
            fatal: None,
        };
        let prepare = |index, item| prepare(&job, index, item);
        run::drive(run, input, prepare).await.into_report().into_result()
    }
}

opaque_debug!(<T> Bulk<T>, |it| table: it.table, concurrency: it.concurrency, window: it.window);
