//! Sending the changes, and what their replies mean.

use std::sync::Arc;

use futures_util::stream::{FuturesUnordered, StreamExt as _};

use super::TableContext;
use super::look_up::dropped;
use super::options::{Mode, SaveOptions};
use super::plan::{self, Candidate, Destination, Unit};
use super::report::{SaveError, SaveOutcome, SaveReport, SaveResult};
use super::state::{Change, Sent};
use crate::error::{Error, ErrorCode, Outcome};
use crate::etag::ETag;
use crate::operation::{Reply, transaction};
use crate::pipeline::{CallOptions, Pipeline};
use crate::wire::Operation;

/// A request that was sent, and its answer.
type Answer = (Unit, Result<Reply, Error>);

impl TableContext {
    pub(super) async fn save(&mut self, options: SaveOptions) -> Result<SaveReport, SaveError> {
        self.last_report = SaveReport::default();
        let all_known = self.resolve_unknown(&options).await;
        self.tracker.settle_equal();
        let candidates = plan::candidates(
            &self.tracker,
            &options,
            self.hooks.writing.as_deref_mut(),
            self.pipeline.write_id.as_deref(),
        );
        let candidates = candidates.map_err(|error| self.refused(error))?;
        let to = Destination::of(&self.pipeline);
        let units = plan::units(&self.tracker, &candidates, &options, to);
        let first = self.last_report.results.len();
        self.last_report.results.extend(candidates.iter().map(|candidate| SaveResult {
            table: candidate.table.to_string(),
            key: candidate.key.clone(),
            operation: candidate.sent.change.operation(),
            outcome: SaveOutcome::NotAttempted,
        }));
        let units = units.map_err(|error| self.refused(error))?;
        if all_known || options.continue_on_error {
            self.send_all(units, &candidates, first, &options).await;
        }
        match self.last_report.error() {
            None => Ok(self.last_report.clone()),
            Some(error) => {
                Err(SaveError { error: error.clone(), report: self.last_report.clone() })
            }
        }
    }

    /// Nothing is sent.
    fn refused(&self, error: Error) -> SaveError {
        SaveError { report: self.last_report.clone(), error }
    }

    async fn send_all(
        &mut self,
        units: Vec<Unit>,
        candidates: &[Candidate],
        first: usize,
        options: &SaveOptions,
    ) {
        let at_once = if options.mode == Mode::PerPartition { options.at_once } else { 1 };
        let mut waiting = units.into_iter();
        let mut on_way = FuturesUnordered::new();
        let mut goes_on = true;
        loop {
            while goes_on
                && on_way.len() < at_once
                && let Some(unit) = waiting.next()
            {
                // From here on it is not known what becomes of them, until a reply says it. That holds
                // too if this future is dropped.
                let transaction = unit.sent.is_some().then(|| self.tracker.next_order());
                for at in &unit.changes {
                    let Candidate { id, sent, .. } = &candidates[*at];
                    if let Some(tracked) = self.tracker.entities.get_mut(id) {
                        tracked.sent = Some(Sent { transaction, ..sent.clone() });
                    }
                    self.last_report.results[first + at].outcome = SaveOutcome::Unknown(dropped());
                }
                if let Some(hook) = &mut self.hooks.request {
                    hook(unit.request.operation, &unit.table);
                }
                on_way.push(send(Arc::clone(&self.pipeline), unit, options.call.clone()));
            }
            let Some((unit, reply)) = on_way.next().await else { break };
            if let (Some(hook), Ok(reply)) = (&mut self.hooks.reply, &reply) {
                hook(reply.status.as_u16(), reply.request_id());
            }
            let is_done = self.receive(unit, reply, candidates, first, options).await;
            goes_on &= is_done || options.continue_on_error;
        }
    }

    /// Takes the answer to a request; whether all of it was made.
    async fn receive(
        &mut self,
        unit: Unit,
        reply: Result<Reply, Error>,
        candidates: &[Candidate],
        first: usize,
        options: &SaveOptions,
    ) -> bool {
        let result = reply.and_then(|reply| read(reply, &unit));
        let error = match result {
            Ok(results) => {
                let mut is_done = true;
                for (at, (status, etag)) in unit.changes.iter().zip(results) {
                    let candidate = &candidates[*at];
                    if etag.is_none() && candidate.sent.change != Change::Delete {
                        // Without a version, the next update could not name one.
                        let error = Error::unexpected_reply("the answer has no ETag");
                        is_done &= self.look_up(&[(first + at, candidate)], &error, options).await;
                    } else {
                        self.applied(candidate, first + at, Some(status), etag);
                    }
                }
                return is_done;
            }
            Err(error) => error,
        };
        if error.outcome() != Outcome::NotApplied {
            let changes: Vec<_> =
                unit.changes.iter().map(|at| (first + at, &candidates[*at])).collect();
            return self.look_up(&changes, &error, options).await;
        }
        let failed = match error.batch_index() {
            Some(index) if unit.sent.is_some() => unit.changes.get(index).copied(),
            _ => None,
        };
        let is_missing = options.missing_is_deleted
            && (error.code()).is_some_and(|code| *code == ErrorCode::ResourceNotFound);
        let mut is_done = true;
        for at in &unit.changes {
            let Candidate { id, sent, .. } = &candidates[*at];
            if unit.sent.is_none() && is_missing && sent.change == Change::Delete {
                self.applied(&candidates[*at], first + at, error.status(), None);
                continue;
            }
            is_done = false;
            let Some(tracked) = self.tracker.entities.get_mut(id) else { continue };
            tracked.sent = None;
            // The others of its transaction were rolled back.
            let is_failed = failed.is_none_or(|failed| failed == *at);
            tracked.error = is_failed.then(|| error.clone());
            self.last_report.results[first + at].outcome = match &tracked.error {
                Some(error) => SaveOutcome::Failed(error.clone()),
                None => SaveOutcome::NotAttempted,
            };
        }
        is_done
    }

    fn applied(
        &mut self,
        candidate: &Candidate,
        result: usize,
        status: Option<u16>,
        etag: Option<ETag>,
    ) {
        let Candidate { id, sent, .. } = candidate;
        if sent.change == Change::Delete {
            self.tracker.entities.remove(id);
        } else if let Some(tracked) = self.tracker.entities.get_mut(id) {
            tracked.take_applied(sent.change.clone(), etag.as_ref());
        }
        self.last_report.results[result].outcome = SaveOutcome::Applied { status, etag };
    }
}

async fn send(pipeline: Arc<Pipeline>, unit: Unit, options: CallOptions) -> Answer {
    let Unit { request, changes, .. } = &unit;
    let trace = pipeline.trace(request.operation, &request.resource).batch(changes.len());
    let reply = trace.run_request(request, pipeline.send(request, &options, &trace)).await;
    drop(trace);
    (unit, reply)
}

/// The status and the new version of each change in the answer to a request.
fn read(reply: Reply, unit: &Unit) -> Result<Vec<(u16, Option<ETag>)>, Error> {
    if let Some(sent) = &unit.sent {
        let committed = transaction::committed(reply, &unit.request, sent)?;
        let results = committed.operations.into_iter();
        return Ok(results.map(|result| (result.status, result.etag)).collect());
    }
    if unit.request.operation == Operation::Delete {
        let done = reply.done(&unit.request)?;
        return Ok(vec![(done.status, None)]);
    }
    let written = reply.written(&unit.request)?;
    Ok(vec![(written.status, Some(written.etag))])
}
