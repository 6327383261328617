//! A bulk run: reads the input, sends its rows, and records their outcomes.

mod outcome;
mod response;

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_core::Stream;
use futures_util::stream::FuturesUnordered;

use super::concurrency::Concurrency;
use super::monitor::BulkMonitor;
use super::operation::{InvalidRow, Row};
use super::report::{Cause, Progress};
use super::window::Window;
use crate::client_core::ClientCore;
use crate::clock::Sleep;
use crate::error::{Error, OpenWrite};
use crate::operation::{Proof, WriteOutcome, WriteResult};
use crate::pipeline::{CallOptions, RetryPolicy};
use response::Response;

/// The number of rows that are read before other tasks run.
const READ_AT_ONCE: u32 = 64;

type OnRow = Box<dyn FnMut(&WriteResult) + Send>;
type OnProgress = Box<dyn FnMut(&Progress) + Send>;

/// The callbacks of the program.
#[derive(Default)]
pub(super) struct Callbacks {
    pub(super) row: Option<OnRow>,
    pub(super) progress: Option<OnProgress>,
}

/// The state of a run, regardless of the type of the entities.
pub(super) struct Run {
    pub(super) core: Arc<ClientCore>,
    pub(super) window: Window,
    pub(super) concurrency: Concurrency,
    pub(super) monitor: BulkMonitor,
    pub(super) callbacks: Callbacks,
    pub(super) retry: RetryPolicy,
    /// The accepted proof of the outcomes of rows, in place of the client's.
    pub(super) proof: Option<Proof>,
    /// The time after which a chunk is given up, and a partition without any success.
    pub(super) give_up_after: Duration,
    pub(super) health: Health,
    pub(super) in_flight: FuturesUnordered<Pin<Box<dyn Future<Output = Response> + Send>>>,
    pub(super) timer: Option<(Instant, Sleep)>,
    /// The start of the run, if an earlier run may have applied each of the rows.
    pub(super) earlier: Option<Instant>,
    /// The error after which nothing more is sent.
    pub(super) fatal: Option<Arc<Error>>,
}

/// The failures of the run as a whole.
#[derive(Debug, Default)]
pub(super) struct Health {
    /// The time since which no partition had a success.
    failing_since: Option<Instant>,
    /// The number of partitions that were given up since then.
    closed: u32,
    /// The number of rows that ended without being resolved.
    unresolved: usize,
}

enum Event<I> {
    Input(Option<Result<I, Cause>>),
    Response(Response),
    /// The input is slow, and there are rows to send.
    Idle,
    /// The wait of a partition has ended.
    Wake,
}

/// Sends the rows of the input, until it ends or nothing more can be sent.
pub(super) async fn drive<I>(
    mut run: Run,
    input: impl Stream<Item = Result<I, Cause>>,
    prepare: impl Fn(u64, I) -> Result<Row, Box<InvalidRow>>,
) -> BulkMonitor {
    let mut input = pin!(input);
    let (mut index, mut is_over, mut flush) = (0, false, false);
    let mut read_at_once = 0;
    loop {
        run.dispatch(flush || is_over || run.window.is_full());
        flush = false;
        if run.fatal.is_some() {
            is_over = true;
        }
        if is_over && run.window.is_empty() && run.in_flight.is_empty() {
            run.report_progress();
            return run.monitor;
        }
        let reads = !is_over && !run.window.is_full();
        match poll_fn(|cx| run.poll_event(cx, reads.then_some(input.as_mut()), &mut read_at_once))
            .await
        {
            Event::Input(Some(Ok(item))) => {
                if run.monitor.read(index) {
                    run.push(index, prepare(index, item));
                }
                index += 1;
            }
            Event::Input(Some(Err(cause))) => {
                run.monitor.stop(cause);
                is_over = true;
            }
            Event::Input(None) => is_over = true,
            Event::Response(response) => run.receive(response),
            Event::Idle => flush = true,
            Event::Wake => {}
        }
    }
}

impl Run {
    fn poll_event<I, S: Stream<Item = Result<I, Cause>>>(
        &mut self,
        context: &mut Context<'_>,
        input: Option<Pin<&mut S>>,
        read_at_once: &mut u32,
    ) -> Poll<Event<I>> {
        if let Poll::Ready(Some(response)) = Pin::new(&mut self.in_flight).poll_next(context) {
            return Poll::Ready(Event::Response(response));
        }
        let has_input = input.is_some();
        if let Some(input) = input {
            if *read_at_once == READ_AT_ONCE {
                *read_at_once = 0;
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            if let Poll::Ready(item) = input.poll_next(context) {
                *read_at_once += 1;
                return Poll::Ready(Event::Input(item));
            }
        }
        *read_at_once = 0;
        if self.in_flight.len() >= self.concurrency.limit() || self.fatal.is_some() {
            return Poll::Pending;
        }
        if has_input && self.window.has_part() {
            return Poll::Ready(Event::Idle);
        }
        let Some(at) = self.window.wakes_at() else { return Poll::Pending };
        let timer = match &mut self.timer {
            Some((due, timer)) if *due == at => timer,
            _ => {
                let clock = &self.core.clock;
                &mut self.timer.insert((at, clock.sleep(clock.until(at)))).1
            }
        };
        timer.as_mut().poll(context).map(|()| Event::Wake)
    }

    /// The settings of the calls of the run.
    fn options(&self) -> CallOptions {
        CallOptions { proof: self.proof, ..CallOptions::default() }
    }

    /// Sends as many chunks as may be in flight.
    fn dispatch(&mut self, flush: bool) {
        while self.fatal.is_none() && self.in_flight.len() < self.concurrency.limit() {
            let now = self.core.clock.instant();
            let Some(mut chunk) = self.window.take(now, flush) else { return };
            chunk.since.get_or_insert(now);
            chunk.is_regrouped |= self.earlier.is_some();
            // The time at which an earlier run sent a row first is unknown.
            let earlier = OpenWrite { last_sent: self.earlier, ..OpenWrite::default() };
            chunk.open = chunk.open.or(self.earlier.map(|_| earlier));
            chunk.attempts += 1;
            self.monitor.update(|progress| progress.in_flight += 1);
            let (core, options) = (Arc::clone(&self.core), self.options());
            let sent = response::send(core, chunk, options, now);
            self.in_flight.push(Box::pin(sent));
        }
    }

    /// Keeps a row that was read, if it can be sent.
    fn push(&mut self, index: u64, row: Result<Row, Box<InvalidRow>>) {
        match row {
            Ok(row) => {
                if let Err((row, error)) = self.window.push(row, self.core.clock.instant()) {
                    self.not_attempted(vec![row], &error);
                }
            }
            Err(invalid) => {
                let InvalidRow { operation, key, error } = *invalid;
                let error = Arc::new(error);
                let outcome = WriteOutcome::Failed(Arc::clone(&error));
                self.count_unresolved(usize::from(!outcome.is_resolved()), &error);
                let table = Arc::clone(&self.window.target.table);
                self.publish(&[WriteResult { index, table, operation, key, outcome }]);
            }
        }
    }
}
