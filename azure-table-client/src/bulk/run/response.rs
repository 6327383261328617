//! The responses to the requests of a run: which chunks are sent again, and when.

use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::chunk::Chunk;
use super::super::failure::FailureKind;
use super::super::operation::Row;
use super::super::window::count;
use super::{Health, Run};
use crate::client_core::ClientCore;
use crate::error::{Error, ErrorCode, OpenWrite, Outcome};
use crate::operation::Committed;
use crate::operation::{Confirmation, Reply, WriteOutcome, is_missing};
use crate::outcome::{self, Unconfirmed};
use crate::pipeline::{CallOptions, FailedAttempt, RetryPolicy};

/// The consequence of a chunk that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextStep {
    /// The chunk is sent again.
    Again,
    /// The chunk is given up.
    GiveUp,
    /// The partition is given up.
    Close,
    /// The run ends.
    End,
}

/// The response to a chunk.
pub(in crate::bulk) struct Response {
    chunk: Chunk,
    sent_at: Instant,
    result: Result<Committed, Error>,
    /// The wait that the service requests.
    wait: Option<Duration>,
    /// Whether the chunk was given up, and its rows were read back.
    is_final: bool,
}

impl Run {
    pub(super) fn receive(&mut self, response: Response) {
        let Response { mut chunk, sent_at, result, wait, is_final } = response;
        if is_final {
            self.resolved(chunk, result);
            self.report_progress();
            return;
        }
        let now = self.core.clock.instant();
        let name = Arc::clone(&chunk.partition);
        let failure = result.as_ref().err().map(|error| FailureKind::of(error, chunk.rows.len()));
        self.record(&chunk, failure, sent_at, now);
        if let (Some(wait), Some(rate_limit)) = (wait, self.window.rate_limit(&name)) {
            rate_limit.pause_until(later(now, wait));
        }
        let again = match (result, failure) {
            (Ok(committed), _) => {
                self.applied(chunk, committed);
                Vec::new()
            }
            (Err(_), Some(FailureKind::Refused(_))) if chunk.needs_proof_by_row() => {
                chunk.split(&self.window.target)
            }
            (Err(error), Some(FailureKind::Refused(index))) => {
                let is_open = error.outcome() == Outcome::Unknown;
                chunk.open = is_open.then(|| error.open_write().unwrap_or_default());
                self.refused(chunk, index, error)
            }
            (Err(error), failure) => {
                if error.outcome() == Outcome::Unknown {
                    let open = error.open_write().unwrap_or_default();
                    chunk.open = OpenWrite::join(chunk.open, Some(open));
                }
                match self.next(&mut chunk, failure, now) {
                    NextStep::Again => vec![chunk],
                    next => {
                        self.give_up(chunk, error, next);
                        Vec::new()
                    }
                }
            }
        };
        match self.fatal.as_ref().or_else(|| self.window.closed(&name)).cloned() {
            None => self.window.put_back(&name, again, now),
            Some(error) => again.into_iter().for_each(|chunk| self.abandon(chunk, &error)),
        }
        self.report_progress();
    }

    /// Adjusts the rate limits, and counts the response.
    fn record(
        &mut self,
        chunk: &Chunk,
        failure: Option<FailureKind>,
        sent_at: Instant,
        now: Instant,
    ) {
        let rows = count(chunk);
        let is_overload = matches!(
            failure,
            Some(FailureKind::Throttled | FailureKind::Transient { is_overload: true })
        );
        let is_first = is_overload && {
            let random = self.core.clock.random_fraction();
            self.window.throttled(&chunk.partition, now, sent_at, rows, random)
        };
        if failure.is_none() {
            self.window.done(&chunk.partition, now, rows);
        }
        self.concurrency.responded(is_first);
        if let Some(failing_since) = self.window.failing_since(&chunk.partition) {
            if matches!(failure, None | Some(FailureKind::Refused(_))) {
                *failing_since = None;
                self.health = Health { unresolved: self.health.unresolved, ..Health::default() };
            } else {
                failing_since.get_or_insert(sent_at);
                self.health.failing_since.get_or_insert(sent_at);
            }
        }
        self.monitor.update(|progress| {
            progress.in_flight -= 1;
            progress.requests += 1;
            progress.bytes += chunk.bytes() as u64;
            progress.throttled += u64::from(failure == Some(FailureKind::Throttled));
        });
    }

    /// Decides the consequence of a chunk that failed. If it is sent again, its partition waits until then.
    fn next(&mut self, chunk: &mut Chunk, failure: Option<FailureKind>, now: Instant) -> NextStep {
        let mut has_no_retry_left = false;
        if self.fatal.is_some() || self.window.closed(&chunk.partition).is_some() {
            return NextStep::GiveUp;
        }
        match failure {
            Some(FailureKind::Fatal) => return NextStep::End,
            Some(FailureKind::Throttled) => {}
            Some(FailureKind::Transient { .. }) => {
                chunk.failures += 1;
                let wait = self.retry.wait(&FailedAttempt::new(chunk.failures), &*self.core.clock);
                let wait = wait.filter(|_| chunk.failures <= self.retry.max_retries());
                has_no_retry_left = wait.is_none();
                if let (Some(wait), Some(rate_limit)) =
                    (wait, self.window.rate_limit(&chunk.partition))
                {
                    rate_limit.pause_until(later(now, wait));
                }
            }
            _ => return NextStep::GiveUp,
        }
        let at = self
            .window
            .rate_limit(&chunk.partition)
            .map_or(now, |rate_limit| rate_limit.next_at(now));
        let is_late = |since: Option<Instant>| {
            since.is_some_and(|since| at.saturating_duration_since(since) >= self.give_up_after)
        };
        let failing_since = self.window.failing_since(&chunk.partition).and_then(|since| *since);
        if is_late(failing_since) {
            // A second failing partition points to an outage.
            let is_all = self.health.closed > 0 && is_late(self.health.failing_since);
            if is_all { NextStep::End } else { NextStep::Close }
        } else if has_no_retry_left || is_late(chunk.since) {
            NextStep::GiveUp
        } else {
            NextStep::Again
        }
    }

    /// Ends the row that the service refused, and returns the others to send them again. The attempt that was refused
    /// did not apply them. An open attempt may have: each of them is then resolved by itself.
    fn refused(&mut self, mut chunk: Chunk, index: Option<usize>, error: Error) -> Vec<Chunk> {
        let bad = if chunk.rows.len() == 1 { Some(0) } else { index };
        let bad = bad.filter(|bad| *bad < chunk.rows.len());
        // Halves, so that many invalid rows do not lead to as many large transactions.
        let in_halves = chunk.refusals > 0 || bad.is_none();
        chunk.refusals += 1;
        if let Some(bad) = bad {
            let row = chunk.rows.remove(bad);
            // The cause may be an earlier attempt that was applied, unless the service would have refused it too.
            chunk.open = chunk.open.filter(|_| Row::may_follow_an_earlier_attempt(&error));
            let outcome = refusal(&row, error, chunk.open.is_some());
            self.end([(row, outcome)]);
        }
        let rest = mem::take(&mut chunk.rows);
        let most = if in_halves { rest.len().div_ceil(2) } else { rest.len() };
        chunk.regroup(&self.window.target, rest, most)
    }
}

/// The outcome of a row that the service refused, perhaps because an open attempt was applied.
fn refusal(row: &Row, error: Error, is_open: bool) -> WriteOutcome {
    if row.missing_is_ok && is_missing(&error) {
        return WriteOutcome::Applied { etag: None, confirmation: Confirmation::Response };
    }
    // The program does not know the chunk in which the index counts.
    let error = error.at_index(None);
    if is_open {
        WriteOutcome::Unknown(Arc::new(outcome::unknown(error)))
    } else {
        WriteOutcome::Failed(Arc::new(error))
    }
}

pub(super) async fn send(
    core: Arc<ClientCore>,
    chunk: Chunk,
    options: CallOptions,
    sent_at: Instant,
) -> Response {
    // The run slows down after each failure.
    let once = CallOptions { retry: Some(RetryPolicy::none()), ..options.clone() };
    let mut wait = None;
    let table = chunk.request().resource.clone();
    let trace = core.trace(chunk.request().operation, &table).batch(chunk.rows.len());
    // The run sends a throttled chunk again.
    let trace = trace.expecting(Some(ErrorCode::is_throttling));
    let work = async {
        let reply = core.send(chunk.request(), &once, &trace).await?;
        wait = reply.wait;
        let committed = read(&core, &chunk, reply, &options).await?;
        if committed.confirmation != Confirmation::Response {
            trace.resolved();
        }
        Ok(committed)
    };
    let result = trace.run(work).await;
    drop(trace);
    Response { chunk, sent_at, result, wait, is_final: false }
}

/// Reads the results of a chunk, whose earlier attempts may be open.
async fn read(
    core: &Arc<ClientCore>,
    chunk: &Chunk,
    reply: Reply,
    options: &CallOptions,
) -> Result<Committed, Error> {
    let request = chunk.request();
    match Unconfirmed::of(Ok(reply), request, chunk.open) {
        Ok(committed) => Ok(committed),
        // The run sends the chunk again or each of its rows, or reads the rows back one by one. The response may be cut
        // so that its success cannot be read: one row then does not prove the others.
        Err(last) if last.is_transient() || chunk.needs_proof_by_row() => Err(last.into_error()),
        Err(last) => outcome::settle(core, request, options, last).await,
    }
}

/// Reads back the rows of a chunk that is not sent again because of `error`, which may be that of another chunk: its open
/// attempts are not those of this one.
pub(super) async fn read_back(
    core: Arc<ClientCore>,
    chunk: Chunk,
    options: CallOptions,
    error: Error,
) -> Response {
    let now = core.clock.instant();
    let options = CallOptions { deadline: Some(core.try_timeout), ..options };
    let error = outcome::unknown(error).with_open_write(None);
    let result = match Unconfirmed::of(Err(error), chunk.request(), chunk.open) {
        Ok(committed) => Ok(committed),
        Err(last) => outcome::settle(&core, chunk.request(), &options, last).await,
    };
    Response { chunk, sent_at: now, result, wait: None, is_final: true }
}

/// Adds a wait of at most a day, so that the sum does not overflow.
fn later(now: Instant, wait: Duration) -> Instant {
    const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
    now + wait.min(LONGEST)
}
