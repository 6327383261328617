//! The meaning of a response for the changes of its request.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::super::TableContext;
use super::super::options::{Mode, SaveOptions};
use super::super::plan::{self, Candidate, RequestGroup};
use super::super::settle::{Findings, not_sent};
use super::super::tracker::{Change, Identity, Tracked};
use crate::ETag;
use crate::error::{Error, ErrorCode, MatchingState, Outcome};
use crate::operation::{Confirmation, Reply, WriteOutcome};
use crate::outcome::{self, Unconfirmed};
use crate::pipeline::CallTrace;

/// Entities with a change that an earlier request was found to have applied, and whose current change has no outcome
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
    /// Puts the requests first in the queue, except for a part of the changes of an atomic save. Returns whether the save
    /// continues.
    pub(super) fn requeue(
        self,
        waiting: &mut VecDeque<RequestGroup>,
        options: &SaveOptions,
    ) -> bool {
        if self.is_done || options.mode != Mode::Atomic {
            self.again.into_iter().rev().for_each(|group| waiting.push_front(group));
        }
        self.is_done
    }
}

/// The response that refuses the changes of a request, or the failure to get one.
struct Refusal<'r> {
    error: &'r Error,
    /// Set if the rows are in the state that the request leaves.
    matching_state: Option<MatchingState>,
    /// The index in the report of the change that failed the transaction.
    failed: Option<usize>,
    /// Whether an earlier request had applied a change of this one, so that the others are sent again.
    any_applied: bool,
}

impl<'r> Refusal<'r> {
    fn new(
        group: &RequestGroup,
        error: &'r Error,
        matching_state: Option<MatchingState>,
        applied_earlier: &AppliedEarlier,
    ) -> Self {
        let failed = error.batch_index().filter(|_| group.is_transaction());
        let failed = failed.and_then(|index| group.changes.get(index)).map(|it| it.result);
        let any_applied = group.changes.iter().any(|it| applied_earlier.contains_key(&it.id));
        Self { error, matching_state, failed, any_applied }
    }

    /// Whether the request stays open.
    fn is_open(&self) -> bool {
        self.error.outcome() == Outcome::Unknown
    }

    /// The outcome of a change that no request is known to have applied; `None` if it is sent again.
    fn outcome(&self, candidate: &Candidate, is_unknown: bool) -> Option<WriteOutcome> {
        let error = self.error.clone();
        if is_unknown {
            let error = outcome::unknown(error).with_matching_state(self.matching_state);
            return Some(WriteOutcome::Unknown(error.into()));
        }
        if self.any_applied {
            return None;
        }
        // The service rolled back the other changes of the transaction.
        let error = Arc::new(outcome::not_applied(error));
        Some(match self.failed {
            Some(failed) if failed != candidate.result => WriteOutcome::NotAttempted(error),
            _ => WriteOutcome::Failed(error),
        })
    }
}

/// Whether the response counts as the success of deletes, since the option says so.
fn is_deleted(group: &RequestGroup, error: &Error, options: &SaveOptions) -> bool {
    options.missing_is_deleted
        && !group.is_transaction()
        && error.code() == Some(&ErrorCode::ResourceNotFound)
        && group.changes.iter().all(|candidate| candidate.change == Change::Delete)
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
        let last = match Unconfirmed::of(reply, &group.request, None) {
            Ok(committed) => {
                let etags = committed.operations.into_iter().map(|result| result.etag);
                return self.confirm(&group, etags.collect(), trace, options).await;
            }
            Err(last) => last,
        };
        if last.error().outcome() == Outcome::Applied || is_deleted(&group, last.error(), options) {
            let etags = vec![None; group.changes.len()];
            return self.confirm(&group, etags, trace, options).await;
        }
        let (error, findings) =
            match trace.within(self.settle_request(&group, &last, options)).await {
                Ok(findings) => (last.into_error(), findings),
                // A proxy may have delivered the request twice.
                Err(_) => (outcome::unknown(last.into_error()), Findings::default()),
            };
        let Findings { applied, matching_state, .. } = findings;
        let is_resolved = group.changes.iter().all(|it| applied.contains_key(&it.id));
        applied_earlier.extend(applied);
        let refusal = Refusal::new(&group, &error, matching_state, applied_earlier);
        let follow_up = self.conclude(&group, &refusal, applied_earlier, options);
        match group.changes.iter().find_map(|it| self.unknown(it)) {
            Some(unknown) => trace.finish(Err(unknown)),
            None if is_resolved => {
                trace.resolved();
                trace.finish(Ok(()));
            }
            None => trace.finish(Err(&error)),
        }
        follow_up
    }

    /// The error of a change whose outcome is unknown.
    fn unknown(&self, candidate: &Candidate) -> Option<&Error> {
        match &self.last_report.results.get(candidate.result)?.outcome {
            WriteOutcome::Unknown(error) => Some(error),
            _ => None,
        }
    }

    /// Records that the service confirmed the changes of a request, with the ETag of each. Reads the ETags that the
    /// response lacks.
    async fn confirm(
        &mut self,
        group: &RequestGroup,
        etags: Vec<Option<ETag>>,
        trace: &CallTrace<'_>,
        options: &SaveOptions,
    ) -> FollowUp {
        let confirmation = Confirmation::Response;
        let mut lacking = Vec::new();
        for (at, (candidate, etag)) in group.changes.iter().zip(etags).enumerate() {
            let Candidate { id, change, .. } = candidate;
            self.tracker.applied(id, change.clone(), &group.request, etag.as_ref());
            if etag.is_none() && *change != Change::Delete {
                self.tracker.forget_etag(id);
                lacking.push(at);
            }
            self.set_outcome(candidate, WriteOutcome::Applied { etag, confirmation });
        }
        if !lacking.is_empty() {
            let rows = outcome::rows_left(&self.core, &group.request, &options.call);
            let rows = trace.within(rows).await;
            for (at, (candidate, row)) in group.changes.iter().zip(rows).enumerate() {
                if let Some(row) = row
                    && lacking.contains(&at)
                    && self.tracker.adopt_etag(&candidate.id, &row)
                {
                    let etag = Some(row.etag);
                    self.set_outcome(candidate, WriteOutcome::Applied { etag, confirmation });
                }
            }
        }
        trace.finish(Ok(()));
        FollowUp { is_done: true, again: Vec::new() }
    }

    /// Settles the open changes in a request that was not confirmed, unless the response closes all of them.
    async fn settle_request(
        &mut self,
        group: &RequestGroup,
        last: &Unconfirmed,
        options: &SaveOptions,
    ) -> Result<Findings, Error> {
        let has_earlier = group.changes.iter().any(|candidate| {
            self.tracker.get(&candidate.id).is_some_and(Tracked::has_earlier_open)
        });
        if !last.is_doubtful(&group.request, has_earlier) {
            return Ok(Findings::default());
        }
        let ids: Vec<_> = group.changes.iter().map(|candidate| &candidate.id).collect();
        self.settle_open(&ids, Some((&group.request, last)), options).await
    }

    /// Ends a request that was not confirmed, sets the outcomes of its changes, and plans those again
    /// that are to be sent again.
    fn conclude(
        &mut self,
        group: &RequestGroup,
        refusal: &Refusal<'_>,
        applied_earlier: &mut AppliedEarlier,
        options: &SaveOptions,
    ) -> FollowUp {
        let (mut again, mut is_done) = (Vec::new(), true);
        for candidate in &group.changes {
            let id = &candidate.id;
            self.tracker.end_request(id, &group.request, refusal.is_open());
            let outcome = refusal.outcome(candidate, self.tracker.is_unknown(id));
            if outcome.is_none() || applied_earlier.contains_key(id) {
                again.push(candidate);
            } else {
                is_done = false;
            }
            if let Some(outcome) = outcome {
                self.tracker.set_error(id, outcome.error().cloned());
                self.set_outcome(candidate, outcome);
            }
        }
        let follow_up = self.replan(again.into_iter(), applied_earlier, options);
        FollowUp { is_done: is_done && follow_up.is_done, ..follow_up }
    }

    /// Plans changes again, without the part that earlier requests applied.
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
                self.set_outcome(candidate, WriteOutcome::NotAttempted(not_sent()));
            }
            let hook = self.hooks.writing.as_deref_mut();
            let next = self.tracker.get(id).map_or(Ok(None), |tracked| {
                let (tracker, clock) = (&self.tracker, &self.core.clock);
                plan::candidate(tracker, clock, (id, tracked), options, hook, candidate.result)
            });
            match next {
                // The program changed the entity again after that request.
                Ok(Some(change)) => again.push(change),
                Ok(None) => is_done &= self.set_applied(candidate, applied),
                Err(error) => {
                    is_done = false;
                    self.set_failed(candidate, &error);
                }
            }
        }
        match plan::groups(&self.tracker, &again, options, &self.core) {
            Ok(again) => FollowUp { is_done, again },
            Err(error) => {
                for candidate in &again {
                    self.set_failed(candidate, &error);
                }
                FollowUp { is_done: false, again: Vec::new() }
            }
        }
    }

    /// Records that an earlier request applied a change of which nothing is left to send. Returns `false` if a later request
    /// about the entity is open, so that the outcome stays unknown.
    pub(super) fn set_applied(
        &mut self,
        candidate: &Candidate,
        applied: Option<(Option<ETag>, Confirmation)>,
    ) -> bool {
        let is_known = !self.tracker.is_unknown(&candidate.id);
        if is_known && let Some((etag, confirmation)) = applied {
            let etag = etag.filter(|_| candidate.change != Change::Delete);
            self.set_outcome(candidate, WriteOutcome::Applied { etag, confirmation });
        }
        is_known
    }

    /// Records that a change cannot be sent, unless a request about the entity is open: the outcome stays unknown.
    fn set_failed(&mut self, candidate: &Candidate, error: &Error) {
        if !self.tracker.is_unknown(&candidate.id) {
            self.set_outcome(candidate, WriteOutcome::Failed(error.clone().into()));
        }
    }
}
