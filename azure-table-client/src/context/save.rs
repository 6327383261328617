//! Sending the changes of a save.

mod response;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt as _};

use super::TableContext;
use super::options::{Mode, SaveOptions};
use super::plan::{self, Candidate, RequestGroup};
use super::report::{SaveError, SaveReport};
use super::settle::{dropped, may_still_be_applied, not_sent};
use super::tracker::{Identity, Sending};
use crate::client_core::ClientCore;
use crate::error::Error;
use crate::operation::{Reply, WriteOutcome, WriteResult};
use crate::outcome;
use crate::pipeline::{CallOptions, CallTrace};
use response::{AppliedEarlier, FollowUp};

/// A request that was sent, its response, and the trace of the call. The trace ends once the outcome is resolved as
/// far as possible.
type Response<'p> = (RequestGroup, Result<Reply, Error>, CallTrace<'p>);

/// A deadline that is longer than any process runs.
const LONGEST_DEADLINE: Duration = Duration::from_secs(365 * 24 * 60 * 60);

impl TableContext {
    /// Sends the changes, except those of the entities in `skip`.
    pub(super) async fn save(
        &mut self,
        options: SaveOptions,
        skip: &HashSet<Identity>,
    ) -> Result<SaveReport, SaveError> {
        self.last_report = SaveReport::default();
        self.tracker.drop_equal_updates();
        let is_read = self.resolve_unsendable(&options).await;
        let first = self.last_report.results.len();
        let hook = self.hooks.writing.as_deref_mut();
        let (tracker, clock) = (&self.tracker, &self.core.clock);
        let candidates = plan::candidates(tracker, clock, &options, hook, first, skip);
        let candidates = candidates.map_err(|error| self.refused(error))?;
        let groups = plan::groups(&self.tracker, &candidates, &options, &self.core);
        self.last_report.results.extend(candidates.into_iter().map(|candidate| WriteResult {
            index: candidate.result as u64,
            table: candidate.table,
            operation: candidate.change.operation(),
            key: Some(candidate.key),
            outcome: if self.tracker.is_unknown(&candidate.id) {
                WriteOutcome::Unknown(may_still_be_applied().into())
            } else {
                WriteOutcome::NotAttempted(not_sent())
            },
        }));
        let groups = groups.map_err(|error| self.refused(error))?;
        let is_whole = options.mode != Mode::Atomic
            || !self.tracker.has_unsendable_change(options.replace_on_update);
        if is_whole && (is_read || options.continue_on_error) {
            self.send_all(groups, &options).await;
        }
        self.last_report.explain(&not_sent());
        self.last_report.name_entities();
        match self.last_report.error() {
            None => Ok(self.last_report.clone()),
            Some(error) => Err(SaveError::new(self.last_report.clone(), error.clone())),
        }
    }

    /// The error of a save that sends nothing.
    fn refused(&self, error: Error) -> SaveError {
        SaveError { is_refused: true, ..SaveError::new(self.last_report.clone(), error) }
    }

    async fn send_all(&mut self, groups: Vec<RequestGroup>, options: &SaveOptions) {
        let concurrency = if options.mode == Mode::PerPartition { options.concurrency } else { 1 };
        let mut waiting = VecDeque::from(groups);
        let core = Arc::clone(&self.core);
        let mut in_flight = FuturesUnordered::new();
        let mut continues = true;
        let mut applied_earlier = AppliedEarlier::new();
        loop {
            while continues
                && in_flight.len() < concurrency
                && let Some(group) = waiting.pop_front()
            {
                let follow_up =
                    if group.changes.iter().any(|it| applied_earlier.contains_key(&it.id)) {
                        // After the group was planned, an earlier request was found to be applied.
                        self.replan(group.changes.iter(), &mut applied_earlier, options)
                    } else if self.begin(&group, options) {
                        if let Some(hook) = &mut self.hooks.request {
                            hook(group.request.operation, &group.request.resource);
                        }
                        in_flight.push(send(&core, group, options.call.clone()));
                        continue;
                    } else {
                        FollowUp { is_done: false, again: Vec::new() }
                    };
                continues = follow_up.requeue(&mut waiting, options) || options.continue_on_error;
            }
            let Some((group, reply, trace)) = in_flight.next().await else { break };
            if let (Some(hook), Ok(reply)) = (&mut self.hooks.reply, &reply) {
                hook(reply.status.as_u16(), reply.request_id());
            }
            let follow_up = self.receive(group, reply, &trace, &mut applied_earlier, options).await;
            continues &= follow_up.requeue(&mut waiting, options) || options.continue_on_error;
        }
        // The save ended before these changes were sent. A request about other changes has shown that they were applied.
        for candidate in waiting.iter().flat_map(|group| &group.changes) {
            let Some(applied) = applied_earlier.remove(&candidate.id) else { continue };
            if !self.has_change(&candidate.id, options) {
                self.set_applied(candidate, Some(applied));
            } else if !self.tracker.is_unknown(&candidate.id) {
                self.set_outcome(candidate, WriteOutcome::NotAttempted(not_sent()));
            }
        }
    }

    /// Records the open changes of a request. Returns whether it can be sent.
    fn begin(&mut self, group: &RequestGroup, options: &SaveOptions) -> bool {
        let now = self.core.clock.instant();
        let deadline = options.call.deadline.unwrap_or(self.core.deadline);
        let sent = now..now + deadline.min(LONGEST_DEADLINE);
        let changes = group.changes.iter().map(|candidate| {
            let Candidate { id, change, wire, condition, .. } = candidate;
            Sending { id, change, wire, condition: condition.as_ref() }
        });
        let changes: Vec<_> = changes.collect();
        let is_expired = |end| outcome::is_expired(&self.core, end);
        let refused = self.tracker.begin(&group.request, &changes, &sent, is_expired).err();
        for (at, candidate) in group.changes.iter().enumerate() {
            let outcome = match &refused {
                None => WriteOutcome::Unknown(dropped().into()),
                Some((_, error)) if self.tracker.is_unknown(&candidate.id) => {
                    WriteOutcome::Unknown(outcome::unknown(error.clone()).into())
                }
                Some((failed, error)) if *failed == at => {
                    WriteOutcome::Failed(error.clone().into())
                }
                Some((_, error)) => WriteOutcome::NotAttempted(error.clone().into()),
            };
            self.set_outcome(candidate, outcome);
        }
        refused.is_none()
    }

    fn set_outcome(&mut self, candidate: &Candidate, outcome: WriteOutcome) {
        if let Some(result) = self.last_report.results.get_mut(candidate.result) {
            result.outcome = outcome;
        }
    }
}

async fn send(core: &ClientCore, group: RequestGroup, options: CallOptions) -> Response<'_> {
    let RequestGroup { request, changes, .. } = &group;
    let trace = core.trace(request.operation, request.resource.clone()).batch(changes.len());
    let reply = trace.within(core.send(request, &options, &trace)).await;
    (group, reply, trace)
}
