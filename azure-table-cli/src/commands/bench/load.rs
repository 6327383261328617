//! Requests at a fixed rate.

use std::ops::Range;
use std::time::Duration;

use azure_table_client::client::Transaction;
use azure_table_client::{DynamicEntity, Error, ErrorCode, Outcome, RetryPolicy, TableClient};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::time::{Instant, sleep_until};

use super::partition::Partition;
use super::step::{Step, due, due_at};
use crate::args::Phase;
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;

/// The most requests in flight. Requests that are due beyond it are not sent.
pub(super) const MAX_IN_FLIGHT: usize = 512;
/// The rows that reads read.
const READ_ROWS: u64 = Phase::Transactions.rows();

/// The requests of a run, in one partition.
#[derive(Debug)]
pub(super) struct Load {
    pub(super) table: TableClient<DynamicEntity>,
    pub(super) partition: Partition,
    pub(super) interrupt: Interrupt,
    /// The rows that reads read, once they are written.
    read: Range<u64>,
}

/// A request that ended.
struct Done {
    /// The rows that it writes.
    rows: Range<u64>,
    latency: Duration,
    result: std::result::Result<(), Error>,
}

impl Load {
    pub(super) fn new(
        table: TableClient<DynamicEntity>,
        partition: Partition,
        interrupt: Interrupt,
    ) -> Self {
        Self { table, partition, interrupt, read: 0..0 }
    }

    /// Writes the rows that reads read.
    pub(super) async fn prepare(&mut self) -> Result<()> {
        self.read = self.partition.reserve(READ_ROWS);
        let result = self.upserts(self.read.clone()).await;
        self.record(self.read.clone(), result.as_ref().err());
        Ok(result.map(drop)?)
    }

    /// Sends requests for this time, or until an error other than throttling or a signal, and waits for their responses.
    pub(super) async fn run(&mut self, phase: Phase, rate: u64, time: Duration) -> Result<Step> {
        let begin = Instant::now();
        let mut step = Step { rate, rows: phase.rows(), time, ..Step::default() };
        let mut requests = FuturesUnordered::new();
        let (mut failure, interrupt) = (None, self.interrupt.clone());
        while failure.is_none() && interrupt.exit().is_none() {
            let elapsed = begin.elapsed().min(time);
            let due = due(rate, step.rows, elapsed);
            while step.due < due {
                step.due += 1;
                if requests.len() < MAX_IN_FLIGHT {
                    step.sent += 1;
                    requests.push(self.request(phase, step.sent));
                }
            }
            if elapsed == time {
                break;
            }
            tokio::select! {
                biased;
                _ = interrupt.wait() => {}
                Some(done) = requests.next() => failure = self.count(&mut step, done),
                () = sleep_until(begin + due_at(rate, step.rows, step.due).min(time)) => {}
            }
        }
        while let Some(done) = requests.next().await {
            failure = failure.or(self.count(&mut step, done));
        }
        failure.map_or(Ok(step), Err)
    }

    fn request(&mut self, phase: Phase, number: u64) -> BoxFuture<'static, Done> {
        let begin = Instant::now();
        let (rows, call) = match phase {
            Phase::Inserts => {
                let rows = self.partition.reserve(1);
                let call = self.table.insert(&self.partition.row(rows.start));
                (rows, call.retry(RetryPolicy::none()).into_future().map(|it| it.map(drop)).boxed())
            }
            Phase::Reads => {
                let row = self.read.start + number % READ_ROWS;
                let call = self.table.get(self.partition.key(row)).retry(RetryPolicy::none());
                (0..0, call.into_future().map(|it| it.map(drop)).boxed())
            }
            Phase::Transactions => {
                let rows = self.partition.reserve(phase.rows());
                let call = self.upserts(rows.clone()).retry(RetryPolicy::none());
                (rows, call.into_future().map(|it| it.map(drop)).boxed())
            }
        };
        Box::pin(async move {
            let result = call.await;
            Done { rows, latency: begin.elapsed(), result }
        })
    }

    fn upserts(&self, rows: Range<u64>) -> Transaction<DynamicEntity> {
        rows.fold(self.table.transaction(), |transaction, row| {
            transaction.insert_or_replace(&self.partition.row(row))
        })
    }

    /// Counts a response, and returns a failure other than throttling.
    fn count(&mut self, step: &mut Step, done: Done) -> Option<Failure> {
        self.record(done.rows, done.result.as_ref().err());
        match done.result {
            Ok(()) => step.latencies.push(done.latency),
            Err(error) if is_throttled(&error) => step.throttled += 1,
            Err(error) => return Some(error.into()),
        }
        None
    }

    /// Records the rows of a write that may be applied.
    fn record(&mut self, rows: Range<u64>, error: Option<&Error>) {
        if !rows.is_empty() && error.is_none_or(|error| error.outcome() != Outcome::NotApplied) {
            self.partition.add(rows);
        }
    }
}

/// Returns whether the service requests less load. Azure Storage also lets requests time out (500) instead of refusing them.
fn is_throttled(error: &Error) -> bool {
    error.is_throttled() || error.code() == Some(&ErrorCode::OperationTimedOut)
}
