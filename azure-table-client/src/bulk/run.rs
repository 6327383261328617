//! A run: reads, sends, and takes down what became of each row.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use futures_util::stream::FuturesUnordered;
use tokio::time::{Instant, Sleep, sleep_until};

use super::group::{Window, count};
use super::monitor::BulkMonitor;
use super::operation::{Row, Unfit};
use super::pace::Width;
use super::report::{Cause, Progress, RowOutcome, RowResult};
use super::slice::{Rest, Slice};
use super::verdict::Verdict;
use crate::entity::EntityKey;
use crate::error::{Error, Outcome};
use crate::etag::ETag;
use crate::pipeline::{CallOptions, Pipeline, RetryPolicy, server_wait};

/// Rows that are read before other tasks have their turn.
const READ_AT_ONCE: u32 = 64;

type OnRow = Box<dyn FnMut(&RowResult) + Send>;
type OnProgress = Box<dyn FnMut(&Progress) + Send>;

/// Who is told what.
#[derive(Default)]
pub(super) struct Callbacks {
    pub(super) row: Option<OnRow>,
    pub(super) progress: Option<OnProgress>,
}

impl fmt::Debug for Callbacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callbacks").finish_non_exhaustive()
    }
}

/// What runs, whatever the entities are.
pub(super) struct Run {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) window: Window,
    pub(super) width: Width,
    pub(super) monitor: BulkMonitor,
    pub(super) callbacks: Callbacks,
    pub(super) retry: RetryPolicy,
    /// How long a slice is tried for.
    pub(super) patience: Duration,
    pub(super) in_flight: FuturesUnordered<Pin<Box<dyn Future<Output = Answer> + Send>>>,
    pub(super) timer: Option<Pin<Box<Sleep>>>,
    /// Why nothing more is sent.
    pub(super) fatal: Option<Cause>,
}

/// What came of a slice.
pub(super) struct Answer {
    slice: Slice,
    sent_at: Instant,
    result: Result<Vec<Option<ETag>>, Error>,
    /// How long the service asks to wait.
    wait: Option<Duration>,
}

enum Event<I> {
    Input(Option<Result<I, Cause>>),
    Answer(Answer),
    /// Input comes slowly, and there is something to send.
    Idle,
    /// A partition may go on.
    Wake,
}

/// Sends what the input gives, until it is over or nothing can be sent any more.
pub(super) async fn drive<I>(
    mut run: Run,
    input: impl Stream<Item = Result<I, Cause>>,
    prepare: impl Fn(u64, I) -> Result<Row, Unfit>,
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
            return run.monitor;
        }
        let reads = !is_over && !run.window.is_full();
        match poll_fn(|cx| run.poll_event(cx, reads.then_some(input.as_mut()), &mut read_at_once))
            .await
        {
            Event::Input(Some(Ok(item))) => {
                if run.monitor.read(index) {
                    match prepare(index, item) {
                        Ok(row) => run.window.push(row, Instant::now()),
                        Err(unfit) => run.refuse(index, *unfit),
                    }
                }
                index += 1;
            }
            Event::Input(Some(Err(cause))) => {
                run.monitor.stop(cause);
                is_over = true;
            }
            Event::Input(None) => is_over = true,
            Event::Answer(answer) => run.answered(answer),
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
        if let Poll::Ready(Some(answer)) = Pin::new(&mut self.in_flight).poll_next(context) {
            return Poll::Ready(Event::Answer(answer));
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
        if self.in_flight.len() >= self.width.limit() || self.fatal.is_some() {
            return Poll::Pending;
        }
        if has_input && self.window.has_part() {
            return Poll::Ready(Event::Idle);
        }
        let Some(at) = self.window.wakes_at() else { return Poll::Pending };
        let timer = match &mut self.timer {
            Some(timer) => {
                if timer.deadline() != at {
                    timer.as_mut().reset(at);
                }
                timer
            }
            None => self.timer.insert(Box::pin(sleep_until(at))),
        };
        timer.as_mut().poll(context).map(|()| Event::Wake)
    }

    /// Sends as many slices as may be on their way.
    fn dispatch(&mut self, flush: bool) {
        while self.fatal.is_none() && self.in_flight.len() < self.width.limit() {
            let now = Instant::now();
            let Some(mut slice) = self.window.take(now, flush) else { return };
            slice.since.get_or_insert(now);
            self.monitor.update(|progress| progress.in_flight += 1);
            self.in_flight.push(Box::pin(send(Arc::clone(&self.pipeline), slice, now)));
        }
    }

    /// A row that is not fit to be sent.
    fn refuse(&mut self, index: u64, (key, error): (Option<EntityKey>, Error)) {
        let outcome = RowOutcome::Failed(Arc::new(error));
        self.finish(&[(RowResult { index, key, outcome }, true)]);
    }

    fn answered(&mut self, answer: Answer) {
        let Answer { mut slice, sent_at, result, wait } = answer;
        let (now, rows) = (Instant::now(), count(&slice));
        let name = Arc::clone(&slice.partition);
        let verdict = result.as_ref().err().map(Verdict::of);
        let is_overload =
            matches!(verdict, Some(Verdict::Throttled | Verdict::Transient { is_overload: true }));
        let mut is_news = false;
        if let Some(pace) = self.window.pace(&name) {
            if is_overload {
                is_news = pace.throttled(now, sent_at, rows);
            } else if verdict.is_none() {
                pace.done(now, rows);
            }
            if let Some(wait) = wait {
                pace.pause_until(later(now, wait));
            }
        }
        self.width.answered(is_news);
        self.monitor.update(|progress| {
            progress.in_flight -= 1;
            progress.requests += 1;
            progress.bytes += slice.bytes() as u64;
            progress.throttled += u64::from(verdict == Some(Verdict::Throttled));
        });
        let mut again = Vec::new();
        match (result, verdict) {
            (Ok(etags), _) => self.settle(
                slice
                    .rows
                    .into_iter()
                    .zip(etags)
                    .map(|(row, etag)| (row, RowOutcome::Applied(etag), true)),
            ),
            (Err(error), Some(Verdict::Refused(index))) => {
                again = self.refused(slice, index, error);
            }
            (Err(error), Some(verdict)) => {
                slice.is_open |= error.outcome() == Outcome::Unknown;
                if self.is_tried_again(&mut slice, verdict, now) {
                    again.push(slice);
                } else {
                    self.give_up(slice, error, verdict == Verdict::Fatal);
                }
            }
            (Err(error), None) => self.give_up(slice, error, false),
        }
        self.window.put_back(&name, again);
        if let Some(cause) = self.fatal.clone() {
            let left = self.window.drain();
            self.settle(
                left.into_iter()
                    .map(|row| (row, RowOutcome::NotAttempted(Arc::clone(&cause)), false)),
            );
        }
        self.tell_progress();
    }

    /// Whether a slice that failed is sent again, and makes its partition wait until then.
    fn is_tried_again(&mut self, slice: &mut Slice, verdict: Verdict, now: Instant) -> bool {
        if self.fatal.is_some() {
            return false;
        }
        let waited = slice.since.map_or(Duration::ZERO, |since| now - since);
        match verdict {
            Verdict::Throttled => waited < self.patience,
            Verdict::Transient { .. } => {
                slice.failures += 1;
                let wait = self.retry.wait(slice.failures, None);
                if let Some(pace) = self.window.pace(&slice.partition) {
                    pace.pause_until(later(now, wait));
                }
                slice.failures <= self.retry.max_retries() && waited < self.patience
            }
            Verdict::Refused(_) | Verdict::Failed | Verdict::Fatal => false,
        }
    }

    fn give_up(&mut self, slice: Slice, error: Error, is_fatal: bool) {
        let is_unknown = slice.is_open || error.outcome() != Outcome::NotApplied;
        let error = Arc::new(error);
        if is_fatal {
            let cause: Cause = Arc::clone(&error) as Cause;
            self.fatal.get_or_insert_with(|| Arc::clone(&cause));
            self.monitor.stop(cause);
        }
        self.settle(slice.rows.into_iter().map(|row| {
            let outcome = if is_unknown { RowOutcome::Unknown } else { RowOutcome::Failed };
            (row, outcome(Arc::clone(&error)), false)
        }));
    }

    /// The service refused one of the rows, and did none. What is left is to be sent again.
    fn refused(&mut self, slice: Slice, index: Option<usize>, error: Error) -> Vec<Slice> {
        let bad = if slice.rows.len() == 1 { Some(0) } else { index };
        let bad = bad.filter(|bad| *bad < slice.rows.len());
        let is_open = slice.is_open;
        let is_missing = error.is_not_found();
        let error = Arc::new(error);
        let mut rest = Vec::with_capacity(slice.rows.len());
        let mut settled = Vec::new();
        for (at, row) in slice.rows.into_iter().enumerate() {
            let is_bad = Some(at) == bad;
            if is_bad && is_missing && row.missing_is_ok {
                settled.push((row, RowOutcome::Applied(None), true));
            } else if is_open && !row.is_repeatable {
                // An earlier attempt whose answer was lost may be why it was refused.
                settled.push((row, RowOutcome::Unknown(Arc::clone(&error)), false));
            } else if is_bad {
                settled.push((row, RowOutcome::Failed(Arc::clone(&error)), true));
            } else {
                rest.push(row);
            }
        }
        self.settle(settled);
        if let Some(cause) = &self.fatal {
            let cause = Arc::clone(cause);
            self.settle(
                rest.into_iter()
                    .map(|row| (row, RowOutcome::NotAttempted(Arc::clone(&cause)), false)),
            );
            return Vec::new();
        }
        let in_halves = slice.refusals > 0 || bad.is_none();
        let refusals = slice.refusals + 1;
        let rest = Rest { rows: rest, refusals, since: slice.since, in_halves };
        Slice::cut(&self.window.target, &slice.partition, rest)
    }

    /// Rows have their outcomes; of each, whether that is for good.
    fn settle(&mut self, rows: impl IntoIterator<Item = (Row, RowOutcome, bool)>) {
        let results: Vec<_> = rows
            .into_iter()
            .map(|(row, outcome, settles)| {
                self.window.settle(&row);
                (RowResult { index: row.index, key: Some(row.key), outcome }, settles)
            })
            .collect();
        self.finish(&results);
    }

    fn finish(&mut self, results: &[(RowResult, bool)]) {
        self.monitor.finish(results);
        if let Some(on_row) = &mut self.callbacks.row {
            for (result, _) in results {
                on_row(result);
            }
        }
    }

    fn tell_progress(&mut self) {
        if let Some(on_progress) = &mut self.callbacks.progress {
            on_progress(&self.monitor.progress());
        }
    }
}

async fn send(pipeline: Arc<Pipeline>, slice: Slice, sent_at: Instant) -> Answer {
    // The run must see each failure, so as to slow down.
    let options = CallOptions { retry: Some(RetryPolicy::none()), ..CallOptions::default() };
    let mut wait = None;
    let result = match pipeline.send(slice.request(), &options).await {
        Ok(reply) => {
            wait = server_wait(&reply.headers, pipeline.clock.now());
            slice.read(reply)
        }
        Err(error) => Err(error),
    };
    Answer { slice, sent_at, result, wait }
}

/// No wait is too long to be reckoned with; a day is as good as any.
fn later(now: Instant, wait: Duration) -> Instant {
    const LONGEST: Duration = Duration::from_hours(24);
    now + wait.min(LONGEST)
}
