//! A run: reads, sends, and takes down what became of each row.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_core::Stream;
use futures_util::stream::FuturesUnordered;

use super::group::{Window, count};
use super::monitor::BulkMonitor;
use super::operation::{Row, Unfit};
use super::pace::Width;
use super::report::{Cause, Progress, RowOutcome, RowResult};
use super::slice::{Rest, Slice};
use super::verdict::Verdict;
use crate::client_core::ClientCore;
use crate::clock::Sleep;
use crate::error::{Error, ErrorCode, Outcome};
use crate::operation::transaction::{self, Committed};
use crate::operation::{Confirmation, Reply, is_missing};
use crate::outcome;
use crate::pipeline::{CallOptions, FailedAttempt, RetryPolicy, is_transient, server_wait};

/// Rows that are read before other tasks have their turn.
const READ_AT_ONCE: u32 = 64;
/// Rows that may end without being settled before the run ends: their keys are remembered, and a
/// checkpoint tells each of them from those around it.
const OPEN_ROWS: usize = 100_000;

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
    pub(super) pipeline: Arc<ClientCore>,
    pub(super) window: Window,
    pub(super) width: Width,
    pub(super) monitor: BulkMonitor,
    pub(super) callbacks: Callbacks,
    pub(super) retry: RetryPolicy,
    /// How long a slice is tried for, and a partition of which nothing is done.
    pub(super) patience: Duration,
    pub(super) health: Health,
    pub(super) in_flight: FuturesUnordered<Pin<Box<dyn Future<Output = Answer> + Send>>>,
    pub(super) timer: Option<(Instant, Sleep)>,
    /// When the run began, if it resumes an earlier one, which may have applied each of its rows.
    pub(super) earlier: Option<Instant>,
    /// Why nothing more is sent.
    pub(super) fatal: Option<Arc<Error>>,
}

/// How the run fares on the whole.
#[derive(Debug, Default)]
pub(super) struct Health {
    /// Since when nothing was done in any partition.
    failing_since: Option<Instant>,
    /// Partitions that were given up since then.
    closed: u32,
    /// Rows that ended without being settled.
    open: usize,
}

/// What is to become of a slice that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Again,
    GiveUp,
    /// Its partition is given up.
    Close,
    /// The run ends.
    End,
}

/// What came of a slice.
pub(super) struct Answer {
    slice: Slice,
    sent_at: Instant,
    result: Result<Committed, Error>,
    /// How long the service asks to wait.
    wait: Option<Duration>,
    /// The slice was given up, and its rows were read back.
    is_final: bool,
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
            run.tell_progress();
            return run.monitor;
        }
        let reads = !is_over && !run.window.is_full();
        match poll_fn(|cx| run.poll_event(cx, reads.then_some(input.as_mut()), &mut read_at_once))
            .await
        {
            Event::Input(Some(Ok(item))) => {
                if run.monitor.read(index) {
                    run.take(index, prepare(index, item));
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
            Some((due, timer)) if *due == at => timer,
            _ => {
                let clock = &self.pipeline.clock;
                &mut self.timer.insert((at, clock.sleep(clock.until(at)))).1
            }
        };
        timer.as_mut().poll(context).map(|()| Event::Wake)
    }

    /// Sends as many slices as may be on their way.
    fn dispatch(&mut self, flush: bool) {
        while self.fatal.is_none() && self.in_flight.len() < self.width.limit() {
            let now = self.pipeline.clock.instant();
            let Some(mut slice) = self.window.take(now, flush) else { return };
            slice.since.get_or_insert(now);
            slice.is_regrouped |= self.earlier.is_some();
            slice.open = slice.open.or(self.earlier);
            slice.attempts += 1;
            self.monitor.update(|progress| progress.in_flight += 1);
            // It is not known when an earlier run sent a row.
            let first_sent = slice.since.filter(|_| self.earlier.is_none());
            let sent = send(Arc::clone(&self.pipeline), slice, now, first_sent);
            self.in_flight.push(Box::pin(sent));
        }
    }

    /// Keeps a row that was read, if it can be sent.
    fn take(&mut self, index: u64, row: Result<Row, Unfit>) {
        match row {
            Ok(row) => {
                if let Err((row, error)) = self.window.push(row, self.pipeline.clock.instant()) {
                    self.not_attempted(vec![row], &error);
                }
            }
            Err(unfit) => {
                let (key, error) = *unfit;
                let error = Arc::new(error);
                let outcome = RowOutcome::Failed(Arc::clone(&error));
                self.count_open(usize::from(!outcome.is_settled()), &error);
                self.finish(&[RowResult { index, key, outcome }]);
            }
        }
    }

    fn answered(&mut self, answer: Answer) {
        let Answer { mut slice, sent_at, result, wait, is_final } = answer;
        if is_final {
            self.concluded(slice, result);
            self.tell_progress();
            return;
        }
        let now = self.pipeline.clock.instant();
        let name = Arc::clone(&slice.partition);
        let verdict = result.as_ref().err().map(|error| Verdict::of(error, slice.rows.len()));
        self.take_down(&slice, verdict, sent_at, now);
        if let (Some(wait), Some(pace)) = (wait, self.window.pace(&name)) {
            pace.pause_until(later(now, wait));
        }
        let again = match (result, verdict) {
            (Ok(committed), _) => {
                self.applied(slice, committed);
                Vec::new()
            }
            (Err(_), Some(Verdict::Refused(_))) if slice.needs_proof_by_row() => {
                slice.into_single(&self.window.target)
            }
            (Err(error), Some(Verdict::Refused(index))) => {
                let is_open = error.outcome() == Outcome::Unknown;
                slice.open = is_open.then(|| slice.open.unwrap_or(sent_at));
                self.refused(slice, index, error)
            }
            (Err(error), verdict) => {
                if error.outcome() == Outcome::Unknown {
                    slice.open = Some(sent_at);
                }
                match self.next(&mut slice, verdict, now) {
                    Next::Again => vec![slice],
                    next => {
                        self.give_up(slice, error, next);
                        Vec::new()
                    }
                }
            }
        };
        match self.fatal.as_ref().or_else(|| self.window.closed(&name)).cloned() {
            None => self.window.put_back(&name, again, now),
            Some(error) => again.into_iter().for_each(|slice| self.leave(slice, &error)),
        }
        self.tell_progress();
    }

    /// What an answer says about how fast and how well it goes.
    fn take_down(
        &mut self,
        slice: &Slice,
        verdict: Option<Verdict>,
        sent_at: Instant,
        now: Instant,
    ) {
        let rows = count(slice);
        let is_overload =
            matches!(verdict, Some(Verdict::Throttled | Verdict::Transient { is_overload: true }));
        let mut is_news = false;
        if let Some(pace) = self.window.pace(&slice.partition) {
            if is_overload {
                is_news = pace.throttled(now, sent_at, rows);
            } else if verdict.is_none() {
                pace.done(now, rows);
            }
        }
        self.width.answered(is_news);
        if let Some(failing_since) = self.window.failing_since(&slice.partition) {
            if matches!(verdict, None | Some(Verdict::Refused(_))) {
                *failing_since = None;
                self.health = Health { open: self.health.open, ..Health::default() };
            } else {
                failing_since.get_or_insert(sent_at);
                self.health.failing_since.get_or_insert(sent_at);
            }
        }
        self.monitor.update(|progress| {
            progress.in_flight -= 1;
            progress.requests += 1;
            progress.bytes += slice.bytes() as u64;
            progress.throttled += u64::from(verdict == Some(Verdict::Throttled));
        });
    }

    /// What is to become of a slice that failed. If it is sent again, its partition waits until then.
    fn next(&mut self, slice: &mut Slice, verdict: Option<Verdict>, now: Instant) -> Next {
        let mut is_tried_enough = false;
        if self.fatal.is_some() || self.window.closed(&slice.partition).is_some() {
            return Next::GiveUp;
        }
        match verdict {
            Some(Verdict::Fatal) => return Next::End,
            Some(Verdict::Throttled) => {}
            Some(Verdict::Transient { .. }) => {
                slice.failures += 1;
                let wait = self.retry.wait(&FailedAttempt::new(slice.failures));
                let wait = wait.filter(|_| slice.failures <= self.retry.max_retries());
                is_tried_enough = wait.is_none();
                if let (Some(wait), Some(pace)) = (wait, self.window.pace(&slice.partition)) {
                    pace.pause_until(later(now, wait));
                }
            }
            _ => return Next::GiveUp,
        }
        let at = self.window.pace(&slice.partition).map_or(now, |pace| pace.next_at(now));
        let is_late = |since: Option<Instant>| {
            since.is_some_and(|since| at.saturating_duration_since(since) >= self.patience)
        };
        let failing_since = self.window.failing_since(&slice.partition).and_then(|since| *since);
        if is_late(failing_since) {
            // It is not only this partition if it was another one before.
            let is_all = self.health.closed > 0 && is_late(self.health.failing_since);
            if is_all { Next::End } else { Next::Close }
        } else if is_tried_enough || is_late(slice.since) {
            Next::GiveUp
        } else {
            Next::Again
        }
    }

    /// The run does not send a slice again. Its rows are read back if it may have been applied.
    fn give_up(&mut self, slice: Slice, error: Error, next: Next) {
        let id = error.client_request_id().unwrap_or_default().to_owned();
        let error = error.with_attempts(slice.attempts, &id);
        let name = Arc::clone(&slice.partition);
        let cause = Arc::new(error.clone());
        if error.outcome() == Outcome::Applied {
            // The service applied it, and its response lacks the ETags.
            let applied =
                || RowOutcome::Applied { etag: None, confirmation: Confirmation::Response };
            self.end(slice.rows.into_iter().map(|row| (row, applied())));
        } else if slice.open.is_some() {
            self.conclude(slice, &error);
        } else {
            let failed = || RowOutcome::Failed(Arc::clone(&cause));
            self.end(slice.rows.into_iter().map(|row| (row, failed())));
        }
        let error = cause;
        match next {
            Next::Close => {
                let (left, open) = self.window.close(&name, &error);
                self.health.closed += 1;
                self.not_attempted(left, &error);
                for slice in open {
                    self.conclude(slice, &error);
                }
            }
            Next::End => self.stop(&error),
            Next::Again | Next::GiveUp => {}
        }
    }

    fn applied(&mut self, slice: Slice, committed: Committed) {
        let Committed { operations, response } = committed;
        let rows = slice.rows.into_iter().zip(operations);
        self.end(rows.map(|(row, result)| {
            (row, RowOutcome::Applied { etag: result.etag, confirmation: response.confirmation })
        }));
    }

    /// Reads the rows of a slice that may have been applied, and that is not sent again.
    fn conclude(&mut self, slice: Slice, error: &Error) {
        let slices = if slice.needs_proof_by_row() {
            slice.into_single(&self.window.target)
        } else {
            vec![slice]
        };
        for slice in slices {
            let concluded = conclude(Arc::clone(&self.pipeline), slice, error.clone());
            self.in_flight.push(Box::pin(concluded));
        }
    }

    /// The rows of a slice that was not sent again have their outcomes.
    fn concluded(&mut self, slice: Slice, result: Result<Committed, Error>) {
        let error = match result {
            Ok(committed) => return self.applied(slice, committed),
            Err(error) => error,
        };
        let is_unknown = error.outcome() == Outcome::Unknown;
        let ended = if is_unknown { RowOutcome::Unknown } else { RowOutcome::Failed };
        let error = Arc::new(error);
        self.end(slice.rows.into_iter().map(|row| (row, ended(Arc::clone(&error)))));
    }

    /// Sends nothing more.
    fn stop(&mut self, error: &Arc<Error>) {
        if self.fatal.is_none() {
            self.fatal = Some(Arc::clone(error));
            self.monitor.stop(Arc::clone(error) as Cause);
            let (left, open) = self.window.close_all(error);
            self.not_attempted(left, error);
            for slice in open {
                self.conclude(slice, error);
            }
        }
    }

    /// A slice that came back is not sent again.
    fn leave(&mut self, slice: Slice, error: &Arc<Error>) {
        if slice.open.is_some() {
            return self.conclude(slice, error);
        }
        let not_attempted = || RowOutcome::NotAttempted(Arc::clone(error));
        self.end(slice.rows.into_iter().map(|row| (row, not_attempted())));
    }

    /// The service refused one of the rows, and did none. What is left is to be sent again.
    fn refused(&mut self, slice: Slice, index: Option<usize>, error: Error) -> Vec<Slice> {
        let bad = if slice.rows.len() == 1 { Some(0) } else { index };
        let bad = bad.filter(|bad| *bad < slice.rows.len());
        let is_missing = is_missing(&error);
        // An earlier attempt that was applied may be the cause, unless it would have been refused too.
        let open =
            slice.open.filter(|_| bad.is_none() || Row::may_follow_an_earlier_attempt(&error));
        let is_open = open.is_some();
        let missing = RowOutcome::Applied { etag: None, confirmation: Confirmation::Response };
        // The index counts within the slice, which says nothing to who gave the rows.
        let key = error.entity_key().cloned();
        let error = Arc::new(error.with_batch(None, key));
        let unknown = || Arc::new(outcome::unknown((*error).clone()));
        let mut rest = Vec::with_capacity(slice.rows.len());
        let mut ended = Vec::new();
        for (at, row) in slice.rows.into_iter().enumerate() {
            let is_bad = Some(at) == bad;
            if is_bad && is_missing && row.missing_is_ok {
                ended.push((row, missing.clone()));
            } else if is_open && (is_bad || !row.is_repeatable) {
                ended.push((row, RowOutcome::Unknown(unknown())));
            } else if is_bad {
                ended.push((row, RowOutcome::Failed(Arc::clone(&error))));
            } else {
                rest.push(row);
            }
        }
        self.end(ended);
        let in_halves = slice.refusals > 0 || bad.is_none();
        let refusals = slice.refusals + 1;
        let rest = Rest { rows: rest, refusals, since: slice.since, open, in_halves };
        Slice::cut(&self.window.target, &slice.partition, rest)
    }

    /// Rows that were kept have their outcomes.
    fn end(&mut self, rows: impl IntoIterator<Item = (Row, RowOutcome)>) {
        let now = self.pipeline.clock.instant();
        let mut results = Vec::new();
        for (row, outcome) in rows {
            let open = match &outcome {
                outcome if outcome.is_settled() => None,
                RowOutcome::Failed(error)
                | RowOutcome::Unknown(error)
                | RowOutcome::NotAttempted(error) => Some(Arc::clone(error)),
                RowOutcome::Applied { .. } => None,
            };
            let stuck = self.window.end(&row, open.as_ref(), now);
            results.push(result(row, outcome));
            if let Some(error) = open {
                self.count_open(1, &error);
                self.not_attempted(stuck, &error);
            }
        }
        self.finish(&results);
    }

    /// Rows that were not on their way, and will not be.
    fn not_attempted(&mut self, rows: Vec<Row>, error: &Arc<Error>) {
        self.count_open(rows.len(), error);
        let not_attempted = |row| result(row, RowOutcome::NotAttempted(Arc::clone(error)));
        let results: Vec<_> = rows.into_iter().map(not_attempted).collect();
        self.finish(&results);
    }

    fn count_open(&mut self, rows: usize, error: &Arc<Error>) {
        self.health.open += rows;
        if self.health.open > OPEN_ROWS {
            self.stop(error);
        }
    }

    fn finish(&mut self, results: &[RowResult]) {
        self.monitor.finish(results);
        if let Some(on_row) = &mut self.callbacks.row {
            for result in results {
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

fn result(row: Row, outcome: RowOutcome) -> RowResult {
    RowResult { index: row.index, key: Some(row.key), outcome }
}

async fn send(
    pipeline: Arc<ClientCore>,
    slice: Slice,
    sent_at: Instant,
    first_sent: Option<Instant>,
) -> Answer {
    // The run must see each failure, so as to slow down.
    let options = CallOptions { retry: Some(RetryPolicy::none()), ..CallOptions::default() };
    let mut wait = None;
    let table = slice.request().resource.clone();
    let trace = pipeline.trace(slice.request().operation, &table).batch(slice.rows.len());
    // The run slows down then, and sends it again.
    let trace = trace.expecting(Some(ErrorCode::is_throttling));
    let work = async {
        let reply = pipeline.send(slice.request(), &options, &trace).await?;
        wait = server_wait(&reply.headers, &reply.body, pipeline.clock.now());
        let committed = read(&pipeline, &slice, reply, first_sent).await?;
        if committed.confirmation != Confirmation::Response {
            trace.resolved();
        }
        Ok(committed)
    };
    let result = trace.run(work).await;
    drop(trace);
    Answer { slice, sent_at, result, wait, is_final: false }
}

/// The results of a slice, of which earlier attempts may be open.
async fn read(
    pipeline: &Arc<ClientCore>,
    slice: &Slice,
    reply: Reply,
    first_sent: Option<Instant>,
) -> Result<Committed, Error> {
    let reply = Reply { open: reply.open.or(slice.open), ..reply };
    let (request, sent) = (slice.request(), slice.sent());
    let status = request.status_of(reply.status, &reply.headers, &reply.body);
    if is_transient(status) || (slice.needs_proof_by_row() && !status.is_success()) {
        // The run sends it again, or each of its rows.
        return transaction::results(reply, request, sent);
    }
    outcome::settle(pipeline, request, sent, &CallOptions::default(), first_sent, Ok(reply)).await
}

/// Reads the rows of a slice that is not sent again, once; `error` is why.
async fn conclude(pipeline: Arc<ClientCore>, slice: Slice, error: Error) -> Answer {
    let now = pipeline.clock.instant();
    let options = CallOptions { deadline: Some(pipeline.try_timeout), ..CallOptions::default() };
    let (request, sent) = (slice.request(), slice.sent());
    let error = outcome::unknown(error);
    let result = outcome::settle(&pipeline, request, sent, &options, None, Err(error)).await;
    Answer { slice, sent_at: now, result, wait: None, is_final: true }
}

/// No wait is too long to be reckoned with; a day is as good as any.
fn later(now: Instant, wait: Duration) -> Instant {
    const LONGEST: Duration = Duration::from_hours(24);
    now + wait.min(LONGEST)
}
