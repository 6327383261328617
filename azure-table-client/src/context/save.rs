//! Sending the changes, and what their responses mean.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tracing::debug;

use super::TableContext;
use super::attempts::{OpenAttempt, writes};
use super::options::{Mode, SaveOptions};
use super::plan::{self, Candidate, Unit};
use super::report::{SaveError, SaveOutcome, SaveReport, SaveResult};
use super::resolve::{Findings, dropped, late};
use super::state::{Change, Identity};
use crate::client_core::ClientCore;
use crate::entity::EntityKey;
use crate::error::{Error, ErrorCode, Outcome};
use crate::etag::ETag;
use crate::operation::transaction::OperationResult;
use crate::operation::{Confirmation, Reply, transaction};
use crate::outcome;
use crate::pipeline::{CallOptions, CallTrace};

/// A request that was sent, its response, and the trace of the call, which ends once the outcome is
/// known as well as it can be.
type Response<'p> = (Unit, Result<Reply, Error>, CallTrace<'p>);

/// Entities with a change that was found to be applied by an earlier attempt, and whose present change
/// has no outcome yet.
type Settled = HashMap<Identity, (Option<ETag>, Confirmation)>;

/// What a response leads to.
struct Received {
    /// Whether all changes of the request were applied, or are sent again.
    is_done: bool,
    /// Requests for changes that an earlier attempt kept from being applied.
    again: Vec<Unit>,
}

impl TableContext {
    /// Sends the changes, except those of the entities in `skip`.
    pub(super) async fn save(
        &mut self,
        options: SaveOptions,
        skip: &HashSet<Identity>,
    ) -> Result<SaveReport, SaveError> {
        self.last_report = SaveReport::default();
        let is_read = self.resolve_unsendable(&options).await;
        self.tracker.settle_equal();
        let first = self.last_report.results.len();
        let hook = self.hooks.writing.as_deref_mut();
        let candidates = plan::candidates(&self.tracker, &options, hook, first, skip);
        let candidates = candidates.map_err(|error| self.refused(error))?;
        let units = plan::units(&self.tracker, &candidates, &options, &self.pipeline);
        let is_unknown =
            |id: &Identity| self.tracker.get(id).is_some_and(|tracked| tracked.is_unknown);
        self.last_report.results.extend(candidates.into_iter().map(|candidate| SaveResult {
            table: candidate.table.to_string(),
            operation: candidate.change.operation(),
            outcome: if is_unknown(&candidate.id) {
                SaveOutcome::Unknown(late())
            } else {
                SaveOutcome::NotAttempted
            },
            key: candidate.key,
        }));
        let units = units.map_err(|error| self.refused(error))?;
        if is_read || options.continue_on_error {
            self.send_all(units, &options).await;
        }
        self.last_report.name_entities();
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

    async fn send_all(&mut self, units: Vec<Unit>, options: &SaveOptions) {
        let at_once = if options.mode == Mode::PerPartition { options.at_once } else { 1 };
        let mut waiting = VecDeque::from(units);
        let pipeline = Arc::clone(&self.pipeline);
        let mut in_flight = FuturesUnordered::new();
        let mut goes_on = true;
        let mut settled = Settled::new();
        loop {
            while goes_on
                && in_flight.len() < at_once
                && let Some(unit) = waiting.pop_front()
            {
                if unit.changes.iter().any(|candidate| settled.contains_key(&candidate.id)) {
                    // It was planned before an earlier attempt was found to be applied.
                    let again = self.plan_again(&unit, &mut settled, options);
                    again.into_iter().rev().for_each(|unit| waiting.push_front(unit));
                    continue;
                }
                if !self.begin(&unit) {
                    goes_on = options.continue_on_error;
                    continue;
                }
                if let Some(hook) = &mut self.hooks.request {
                    hook(unit.request.operation, &unit.table);
                }
                in_flight.push(send(&pipeline, unit, options.call.clone()));
            }
            let Some((unit, reply, trace)) = in_flight.next().await else { break };
            if let (Some(hook), Ok(reply)) = (&mut self.hooks.reply, &reply) {
                hook(reply.status.as_u16(), reply.request_id());
            }
            let Received { is_done, again } =
                self.receive(unit, reply, &trace, &mut settled, options).await;
            goes_on &= is_done || options.continue_on_error;
            again.into_iter().rev().for_each(|unit| waiting.push_front(unit));
        }
    }

    /// Records the attempts of a request, whose outcome is unknown from here on, also if the save is
    /// dropped. Returns whether it can be sent.
    fn begin(&mut self, unit: &Unit) -> bool {
        let sent_at = self.pipeline.clock.instant();
        let keys = unit.changes.iter().map(|candidate| candidate.key.clone()).collect();
        let mut refused = None;
        for candidate in &unit.changes {
            let Some(tracked) = self.tracker.get(&candidate.id) else { continue };
            let attempt = OpenAttempt {
                change: candidate.change.clone(),
                wire: candidate.wire.clone(),
                condition: tracked.condition_of(&candidate.change).cloned(),
                request: Arc::clone(&unit.request),
                keys: Arc::clone(&keys),
                sent_at,
            };
            if let Err(error) = self.tracker.begin(&candidate.id, attempt) {
                refused = Some((candidate.result, error));
            }
            self.set_outcome(candidate, SaveOutcome::Unknown(dropped()));
        }
        let Some((result, error)) = refused else { return true };
        for candidate in &unit.changes {
            self.tracker.close(&candidate.id, &unit.request);
            let is_unknown = self.tracker.get(&candidate.id).is_some_and(|it| it.is_unknown);
            let outcome = match (candidate.result == result, is_unknown) {
                (_, true) => SaveOutcome::Unknown(outcome::unknown(error.clone())),
                (true, false) => SaveOutcome::Failed(error.clone()),
                (false, false) => SaveOutcome::NotAttempted,
            };
            self.set_outcome(candidate, outcome);
        }
        false
    }

    fn set_outcome(&mut self, candidate: &Candidate, outcome: SaveOutcome) {
        if let Some(result) = self.last_report.results.get_mut(candidate.result) {
            result.outcome = outcome;
        }
    }

    async fn receive(
        &mut self,
        unit: Unit,
        reply: Result<Reply, Error>,
        trace: &CallTrace<'_>,
        settled: &mut Settled,
        options: &SaveOptions,
    ) -> Received {
        let (request, sent) = (&unit.request, unit.sent.as_ref());
        let result = reply.and_then(|reply| transaction::results(reply, request, sent));
        let mut error = match result {
            Ok(committed) => {
                let is_missing = |(candidate, result): (&Candidate, &OperationResult)| {
                    result.etag.is_none() && candidate.change != Change::Delete
                };
                let mut pairs = unit.changes.iter().zip(&committed.operations);
                let mut etags = if pairs.any(is_missing) {
                    trace.within(self.etags(&unit, options)).await
                } else {
                    HashMap::new()
                };
                for (candidate, result) in unit.changes.iter().zip(committed.operations) {
                    let etag = result.etag.or_else(|| etags.remove(&candidate.key));
                    self.applied(candidate, &unit, Some(result.status), etag);
                }
                trace.finish(Ok(()));
                return Received { is_done: true, again: Vec::new() };
            }
            Err(error) => error,
        };
        let is_deleted = options.missing_is_deleted
            && sent.is_none()
            && error.code() == Some(&ErrorCode::ResourceNotFound)
            && unit.changes.iter().all(|candidate| candidate.change == Change::Delete);
        if error.outcome() == Outcome::Applied || is_deleted {
            let mut etags = if is_deleted {
                HashMap::new()
            } else {
                trace.within(self.etags(&unit, options)).await
            };
            for candidate in &unit.changes {
                let etag = etags.remove(&candidate.key);
                self.applied(candidate, &unit, error.status(), etag);
            }
            trace.finish(Ok(()));
            return Received { is_done: true, again: Vec::new() };
        }
        let findings = match trace.within(self.read_findings(&unit, &error, options)).await {
            Ok(findings) => findings,
            // Whether a proxy delivered the request twice stays unknown.
            Err(read) => {
                debug!(%read, "cannot read back whether changes were applied");
                error = outcome::unknown(error);
                Findings::default()
            }
        };
        let is_resolved = unit.changes.iter().all(|it| findings.applied.contains_key(&it.id));
        settled.extend(findings.applied);
        let received = self.leave(&unit, &error, findings.state_matches, settled, options);
        if is_resolved {
            trace.resolved();
            trace.finish(Ok(()));
        } else {
            let unknown = unit.changes.iter().find_map(|it| self.unknown(it));
            trace.finish(Err(unknown.unwrap_or(&error)));
        }
        received
    }

    /// The error of a change whose outcome is unknown.
    fn unknown(&self, candidate: &Candidate) -> Option<&Error> {
        match &self.last_report.results.get(candidate.result)?.outcome {
            SaveOutcome::Unknown(error) => Some(error),
            _ => None,
        }
    }

    /// Reads the ETags of entities whose response lacks them, where the row is as the change left it.
    async fn etags(&mut self, unit: &Unit, options: &SaveOptions) -> HashMap<EntityKey, ETag> {
        let writes = writes(&unit.request);
        let keys: Vec<_> = writes.iter().map(|write| &write.key).collect();
        let read = outcome::read_back(&self.pipeline, &unit.table, &keys, &options.call);
        let mut rows = read.await.unwrap_or_default();
        let write_id = self.pipeline.settings.write_id.as_deref();
        let left = writes.iter().filter(|write| write.is_left_in(write_id, rows.get(&write.key)));
        let keys: Vec<_> = left.map(|write| write.key.clone()).collect();
        keys.into_iter().filter_map(|key| Some((key.clone(), rows.remove(&key)?.etag))).collect()
    }

    /// What the rows show of the attempts of a request that failed, where they can show anything.
    async fn read_findings(
        &mut self,
        unit: &Unit,
        error: &Error,
        options: &SaveOptions,
    ) -> Result<Findings, Error> {
        let is_open = error.outcome() == Outcome::Unknown;
        let is_conflict =
            error.is_conflict() || error.is_precondition_failed() || error.is_not_found();
        let has_earlier = |candidate: &Candidate| {
            let tracked = self.tracker.get(&candidate.id);
            tracked.is_some_and(|it| it.was_unknown && it.attempts.len() > 1)
        };
        // A proxy may have delivered the request twice.
        let may_be_repeated = unit.request.write_id.is_some() && is_conflict;
        let is_doubtful =
            is_open || may_be_repeated || (is_conflict && unit.changes.iter().any(has_earlier));
        if !is_doubtful {
            return Ok(Findings::default());
        }
        let ids: Vec<_> = unit.changes.iter().map(|candidate| &candidate.id).collect();
        let closed = (!is_open).then_some(&unit.request);
        let fenced = error.is_precondition_failed().then_some(&unit.request);
        self.find_out(&unit.table, &ids, closed, fenced, options).await
    }

    /// Gives each change of a request that failed its outcome, or prepares it to be sent again.
    fn leave(
        &mut self,
        unit: &Unit,
        error: &Error,
        state_matches: bool,
        settled: &mut Settled,
        options: &SaveOptions,
    ) -> Received {
        let is_open = error.outcome() == Outcome::Unknown;
        let failed = error.batch_index().filter(|_| unit.sent.is_some());
        let failed = failed.and_then(|index| unit.changes.get(index)).map(|it| it.result);
        let (mut is_done, mut again) = (true, Vec::new());
        let has_settled = unit.changes.iter().any(|it| settled.contains_key(&it.id));
        for candidate in &unit.changes {
            let Candidate { id, result, .. } = candidate;
            if let Some((etag, confirmation)) = settled.remove(id) {
                let etag = etag.filter(|_| candidate.change != Change::Delete);
                // It may have been changed again since that attempt.
                self.set_outcome(candidate, SaveOutcome::NotAttempted);
                match self.again(id, *result, options) {
                    Ok(Some(change)) => again.push(change),
                    Ok(None) => {
                        let outcome = SaveOutcome::Applied { status: None, etag, confirmation };
                        self.set_outcome(candidate, outcome);
                    }
                    Err(error) => {
                        is_done = false;
                        self.set_outcome(candidate, SaveOutcome::Failed(error));
                    }
                }
                continue;
            }
            if is_open {
                self.tracker.leave_open(id, &unit.request);
            } else {
                self.tracker.close(id, &unit.request);
            }
            let Some(tracked) = self.tracker.entities.get_mut(id) else { continue };
            if has_settled && !tracked.is_unknown {
                // An earlier transaction of the others was the cause.
                self.set_outcome(candidate, SaveOutcome::NotAttempted);
                match self.again(id, *result, options) {
                    Ok(change) => again.extend(change),
                    Err(error) => {
                        is_done = false;
                        self.set_outcome(candidate, SaveOutcome::Failed(error));
                    }
                }
                continue;
            }
            is_done = false;
            let is_unknown = tracked.is_unknown;
            let is_failed = is_unknown || failed.is_none_or(|failed| failed == *result);
            let claim = if is_unknown { outcome::unknown } else { outcome::not_applied };
            let error = claim(error.clone());
            let error = error.with_state_matches(is_unknown && state_matches);
            // The others of its transaction were rolled back.
            tracked.error = is_failed.then(|| error.clone());
            self.set_outcome(
                candidate,
                match (is_unknown, is_failed) {
                    (true, _) => SaveOutcome::Unknown(error),
                    (false, true) => SaveOutcome::Failed(error),
                    (false, false) => SaveOutcome::NotAttempted,
                },
            );
        }
        let units = plan::units(&self.tracker, &again, options, &self.pipeline);
        match units {
            Ok(again) => Received { is_done, again },
            Err(error) => {
                for candidate in &again {
                    self.set_outcome(candidate, SaveOutcome::Failed(error.clone()));
                }
                Received { is_done: false, again: Vec::new() }
            }
        }
    }

    /// Plans a request again, without the changes that were applied by earlier attempts.
    fn plan_again(
        &mut self,
        unit: &Unit,
        settled: &mut Settled,
        options: &SaveOptions,
    ) -> Vec<Unit> {
        let mut again = Vec::new();
        for candidate in &unit.changes {
            let Candidate { id, result, .. } = candidate;
            let found = settled.remove(id);
            match (self.again(id, *result, options), found) {
                (Ok(Some(change)), _) => again.push(change),
                (Ok(None), Some((etag, confirmation))) => {
                    let etag = etag.filter(|_| candidate.change != Change::Delete);
                    let outcome = SaveOutcome::Applied { status: None, etag, confirmation };
                    self.set_outcome(candidate, outcome);
                }
                (Ok(None), None) => {}
                (Err(error), _) => self.set_outcome(candidate, SaveOutcome::Failed(error)),
            }
        }
        plan::units(&self.tracker, &again, options, &self.pipeline).unwrap_or_else(|error| {
            for candidate in &again {
                self.set_outcome(candidate, SaveOutcome::Failed(error.clone()));
            }
            Vec::new()
        })
    }

    /// The change of an entity that is still to be sent, if there is one.
    fn again(
        &mut self,
        id: &Identity,
        result: usize,
        options: &SaveOptions,
    ) -> Result<Option<Candidate>, Error> {
        let hook = self.hooks.writing.as_deref_mut();
        let Some(tracked) = self.tracker.get(id) else { return Ok(None) };
        plan::candidate(&self.tracker, id, tracked, options, hook, result)
    }

    /// The service confirmed a change.
    fn applied(
        &mut self,
        candidate: &Candidate,
        unit: &Unit,
        status: Option<u16>,
        etag: Option<ETag>,
    ) {
        let Candidate { id, change, .. } = candidate;
        self.tracker.applied(id, change.clone(), &unit.request, etag.as_ref());
        if etag.is_none()
            && let Some(tracked) = self.tracker.entities.get_mut(id)
        {
            // The response lacks the ETag, which the next update has to name.
            tracked.condition = None;
        }
        let confirmation = Confirmation::Response;
        self.set_outcome(candidate, SaveOutcome::Applied { status, etag, confirmation });
    }
}

async fn send(pipeline: &ClientCore, unit: Unit, options: CallOptions) -> Response<'_> {
    let Unit { request, changes, .. } = &unit;
    let trace = pipeline.trace(request.operation, request.resource.clone()).batch(changes.len());
    let reply = trace.within(pipeline.send(request, &options, &trace)).await;
    (unit, reply, trace)
}
