//! The meaning of a response for the changes of its request.

use std::collections::{HashMap, VecDeque};

use tracing::debug;

use super::super::TableContext;
use super::super::options::SaveOptions;
use super::super::plan::{self, Candidate, RequestGroup};
use super::super::report::SaveOutcome;
use super::super::resolve::Findings;
use super::super::tracker::{Change, Identity, Tracked};
use crate::ETag;
use crate::error::{Error, ErrorCode, MatchingState, Outcome};
use crate::operation::{Confirmation, Reply, transaction};
use crate::outcome;
use crate::pipeline::{CallTrace, error_type};

/// Entities with a change that an earlier attempt was found to have applied, and whose current change has no outcome
/// yet.
pub(super) type AppliedEarlier = HashMap<Identity, (Option<ETag>, Confirmation)>;

/// The consequence of a response for the save.
pub(super) struct FollowUp {
    /// Whether each change of the request was applied, or is sent again.
    pub(super) is_done: bool,
    /// Requests for the changes that are sent again.
    pub(super) again: Vec<RequestGroup>,
}

impl FollowUp {
    /// Puts the requests first in the queue. Returns whether the save continues.
    pub(super) fn requeue(self, waiting: &mut VecDeque<RequestGroup>) -> bool {
        self.again.into_iter().rev().for_each(|group| waiting.push_front(group));
        self.is_done
    }
}

impl TableContext {
    pub(super) async fn receive(
        &mut self,
        group: RequestGroup,
        reply: Result<Reply, Error>,
        trace: &CallTrace<'_>,
        applied_earlier: &mut AppliedEarlier,
        options: &SaveOptions,
    ) -> FollowUp {
        let request = &group.request;
        let mut error = match reply.and_then(|reply| transaction::results(reply, request)) {
            Ok(committed) => {
                let results = committed.operations.into_iter();
                let results = results.map(|result| (Some(result.status), result.etag));
                return self.confirm(&group, results.collect(), trace, options).await;
            }
            Err(error) => error,
        };
        let is_deleted = options.missing_is_deleted
            && !group.is_transaction()
            && error.code() == Some(&ErrorCode::ResourceNotFound)
            && group.changes.iter().all(|candidate| candidate.change == Change::Delete);
        if error.outcome() == Outcome::Applied || is_deleted {
            let results = vec![(error.status(), None); group.changes.len()];
            return self.confirm(&group, results, trace, options).await;
        }
        let findings = match trace.within(self.read_findings(&group, &error, options)).await {
            Ok(findings) => findings,
            // A proxy may have delivered the request twice.
            Err(read) => {
                let (code, request_id) = (error_type(&read), read.request_id());
                debug!(code, request_id, "cannot read back whether changes were applied");
                error = outcome::unknown(error);
                Findings::default()
            }
        };
        let is_resolved = group.changes.iter().all(|it| findings.applied.contains_key(&it.id));
        applied_earlier.extend(findings.applied);
        let follow_up =
            self.fail_or_replan(&group, &error, findings.matching_state, applied_earlier, options);
        if is_resolved {
            trace.resolved();
            trace.finish(Ok(()));
        } else {
            let unknown = group.changes.iter().find_map(|it| self.unknown(it));
            trace.finish(Err(unknown.unwrap_or(&error)));
        }
        follow_up
    }

    /// The error of a change whose outcome is unknown.
    fn unknown(&self, candidate: &Candidate) -> Option<&Error> {
        match &self.last_report.results.get(candidate.result)?.outcome {
            SaveOutcome::Unknown(error) => Some(error),
            _ => None,
        }
    }

    /// Records that the service confirmed the changes of a request, with the status and the ETag of each. Reads the
    /// ETags that the response lacks.
    async fn confirm(
        &mut self,
        group: &RequestGroup,
        results: Vec<(Option<u16>, Option<ETag>)>,
        trace: &CallTrace<'_>,
        options: &SaveOptions,
    ) -> FollowUp {
        let lacks_etag = |(candidate, (_, etag)): (&Candidate, &(Option<u16>, Option<ETag>))| {
            etag.is_none() && candidate.change != Change::Delete
        };
        let mut etags = if group.changes.iter().zip(&results).any(lacks_etag) {
            trace.within(outcome::etags_left(&self.core, &group.request, &options.call)).await
        } else {
            Vec::new()
        }
        .into_iter();
        for (candidate, (status, etag)) in group.changes.iter().zip(results) {
            let Candidate { id, change, .. } = candidate;
            let left = etags.next().flatten();
            let etag = etag.or(left);
            self.tracker.applied(id, change.clone(), &group.request, etag.as_ref());
            if etag.is_none() {
                self.tracker.forget_etag(id);
            }
            let confirmation = Confirmation::Response;
            self.set_outcome(candidate, SaveOutcome::Applied { status, etag, confirmation });
        }
        trace.finish(Ok(()));
        FollowUp { is_done: true, again: Vec::new() }
    }

    /// Reads back the attempts of a request that failed, unless the response closes all of them.
    async fn read_findings(
        &mut self,
        group: &RequestGroup,
        error: &Error,
        options: &SaveOptions,
    ) -> Result<Findings, Error> {
        let is_open = error.outcome() == Outcome::Unknown;
        let is_conflict =
            error.is_conflict() || error.is_precondition_failed() || error.is_not_found();
        let has_earlier = |candidate: &Candidate| {
            self.tracker.get(&candidate.id).is_some_and(Tracked::has_earlier_attempt)
        };
        // A proxy may have delivered the request twice.
        let may_be_repeated = group.request.has_write_id() && is_conflict;
        let is_doubtful =
            is_open || may_be_repeated || (is_conflict && group.changes.iter().any(has_earlier));
        if !is_doubtful {
            return Ok(Findings::default());
        }
        let ids: Vec<_> = group.changes.iter().map(|candidate| &candidate.id).collect();
        let closed = (!is_open).then_some(&group.request);
        let fenced = error.is_precondition_failed().then_some(&group.request);
        self.resolve_attempts(&group.table, &ids, closed, fenced, options).await
    }

    /// Sets the outcome of each change of a request that failed, or plans the change again.
    fn fail_or_replan(
        &mut self,
        group: &RequestGroup,
        error: &Error,
        matching_state: Option<MatchingState>,
        applied_earlier: &mut AppliedEarlier,
        options: &SaveOptions,
    ) -> FollowUp {
        let is_open = error.outcome() == Outcome::Unknown;
        let failed = error.batch_index().filter(|_| group.is_transaction());
        let failed = failed.and_then(|index| group.changes.get(index)).map(|it| it.result);
        let any_applied = group.changes.iter().any(|it| applied_earlier.contains_key(&it.id));
        let (mut again, mut is_done) = (Vec::new(), true);
        for candidate in &group.changes {
            let id = &candidate.id;
            if applied_earlier.contains_key(id) {
                again.push(candidate);
                continue;
            }
            if is_open {
                self.tracker.leave_open(id, &group.request);
            } else {
                self.tracker.close(id, &group.request);
            }
            let Some(tracked) = self.tracker.get(id) else { continue };
            let is_unknown = tracked.is_unknown();
            if any_applied && !is_unknown {
                // The request failed because of another change in it, which an earlier attempt had applied.
                again.push(candidate);
                continue;
            }
            is_done = false;
            let is_failed = is_unknown || failed.is_none_or(|failed| failed == candidate.result);
            let claim = if is_unknown { outcome::unknown } else { outcome::not_applied };
            let state = matching_state.filter(|_| is_unknown);
            let error = claim(error.clone()).with_matching_state(state);
            // The service rolled back the other changes of the transaction.
            self.tracker.set_error(id, is_failed.then(|| error.clone()));
            self.set_outcome(
                candidate,
                match (is_unknown, is_failed) {
                    (true, _) => SaveOutcome::Unknown(error),
                    (false, true) => SaveOutcome::Failed(error),
                    (false, false) => SaveOutcome::NotAttempted,
                },
            );
        }
        let follow_up = self.replan(again.into_iter(), applied_earlier, options);
        FollowUp { is_done: is_done && follow_up.is_done, ..follow_up }
    }

    /// Plans changes again, without the part that earlier attempts applied.
    pub(super) fn replan<'c>(
        &mut self,
        changes: impl Iterator<Item = &'c Candidate>,
        applied_earlier: &mut AppliedEarlier,
        options: &SaveOptions,
    ) -> FollowUp {
        let (mut again, mut is_done) = (Vec::new(), true);
        for candidate in changes {
            let id = &candidate.id;
            let applied = applied_earlier.remove(id);
            if !self.tracker.is_unknown(id) {
                self.set_outcome(candidate, SaveOutcome::NotAttempted);
            }
            let hook = self.hooks.writing.as_deref_mut();
            let next = self.tracker.get(id).map_or(Ok(None), |tracked| {
                let (tracker, clock) = (&self.tracker, &self.core.clock);
                plan::candidate(tracker, clock, (id, tracked), options, hook, candidate.result)
            });
            match (next, applied) {
                // The program changed the entity again after that attempt.
                (Ok(Some(change)), _) => again.push(change),
                (Ok(None), Some((etag, confirmation))) => {
                    let etag = etag.filter(|_| candidate.change != Change::Delete);
                    let outcome = SaveOutcome::Applied { status: None, etag, confirmation };
                    self.set_outcome(candidate, outcome);
                }
                (Ok(None), None) => {}
                (Err(error), _) => {
                    is_done = false;
                    self.set_outcome(candidate, SaveOutcome::Failed(error));
                }
            }
        }
        match plan::groups(&self.tracker, &again, options, &self.core) {
            Ok(again) => FollowUp { is_done, again },
            Err(error) => {
                for candidate in &again {
                    self.set_outcome(candidate, SaveOutcome::Failed(error.clone()));
                }
                FollowUp { is_done: false, again: Vec::new() }
            }
        }
    }
}
