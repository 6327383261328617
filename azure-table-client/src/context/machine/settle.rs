//! Settling the requests of earlier saves, before anything else is sent for their entities. No I/O.
//!
//! For each one, the rows are read back. If they prove nothing, the same request is sent again, at most once in a save, and its
//! rows are read once more. What then proves nothing stays in doubt; or it ends as unknown, if the program has changed an
//! entity since and the request cannot be applied any more or has no condition.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::super::doubt::{Candidate, Doubt, Evidence, Finding, Identity, RequestId};
use super::super::entity::Tracked;
use super::super::options::Mode;
use super::super::report::{dropped, may_still_be_applied, not_sent};
use super::{Action, Save, Stage, report_applied};
use crate::error::{Error, OpenWrite};
use crate::operation::{Proof, WriteOutcome};

/// The requests of earlier saves.
#[derive(Debug, Clone, Default)]
pub(super) struct Settling {
    /// Those that are not settled yet, the current one first.
    earlier: VecDeque<RequestId>,
    /// Whether an action about the current one is under way.
    is_busy: bool,
    /// Set if the current one was sent again: its attempts before.
    repeated: Option<OpenWrite>,
    /// The entities whose doubts have ended in this save: their pending changes are sent in it, too. The value is the index of
    /// the result that the next change takes over; `None` if the old request has a result of its own.
    pub(super) freed: HashMap<Identity, Option<usize>>,
    pub(super) superseded: Vec<Superseded>,
    /// The entities whose next request writes the same as one that has ended as unknown. Nothing tells the two apart, so that
    /// they share one result.
    pub(super) reused: HashSet<Identity>,
}

/// A request that has ended as unknown, and that a newer one of its entity follows.
#[derive(Debug, Clone)]
pub(super) struct Superseded {
    pub(super) sent: Candidate,
    /// The result of the newer one.
    pub(super) by: Option<usize>,
}

impl Settling {
    pub(super) fn add(&mut self, request: RequestId) {
        self.earlier.push_back(request);
    }

    pub(super) fn is_done(&self) -> bool {
        self.earlier.is_empty()
    }

    pub(super) fn is_about(&self, request: RequestId) -> bool {
        self.earlier.front() == Some(&request)
    }

    /// Where the settling stands, for the explorer.
    #[cfg(test)]
    pub(super) fn place(&self) -> String {
        let Self { earlier, is_busy, repeated, superseded, .. } = self;
        let mut freed: Vec<_> = self.freed.values().collect();
        freed.sort();
        let by: Vec<_> = superseded.iter().map(|old| old.by).collect();
        format!("{} {is_busy} {} {freed:?} {by:?}", earlier.len(), repeated.is_some())
    }

    fn next(&mut self) {
        self.earlier.pop_front();
        (self.is_busy, self.repeated) = (false, None);
    }
}

impl Save {
    /// Begins to settle the next request, unless one is being settled.
    pub(super) fn settle_next(&mut self, stage: &mut Stage<'_>) -> Option<Action> {
        // A save that cannot be planned reads the rows, and sends nothing.
        if self.is_over && self.refused.is_none() {
            self.settling.earlier.clear();
        }
        if self.settling.is_busy {
            return None;
        }
        while let Some(&request) = self.settling.earlier.front() {
            self.settling.is_busy = true;
            if self.proof != Proof::Response {
                return Some(Action::ReadRows(request));
            }
            let action = self.unproved(stage, request, may_still_be_applied(), None);
            if action.is_some() {
                return action;
            }
        }
        None
    }

    pub(super) fn settled(
        &mut self,
        stage: &mut Stage<'_>,
        request: RequestId,
        finding: Finding,
    ) -> Option<Action> {
        match finding {
            Finding::Applied { confirmation, etags, rows } => {
                let doubt = stage.tracker.applied(request, &etags, &rows)?;
                report_applied(stage.report, &doubt.members, confirmation, &etags, &rows);
                self.end(stage, &doubt, |_| None);
                None
            }
            Finding::NotApplied(_) => {
                let doubt = stage.tracker.end(request)?;
                for member in doubt.members.iter().filter(|member| !member.is_released) {
                    let tracked = stage.tracker.get(&member.id);
                    let next = tracked.map(|it| it.change(self.options.replace_on_update));
                    if matches!(next, None | Some(Ok(None))) {
                        self.left_out.insert(member.result);
                    }
                }
                // The next request of the entity takes over its result.
                self.end(stage, &doubt, |member| Some(member.result));
                None
            }
            Finding::Unknown { error, open, since, evidence } => {
                if let Some(doubt) = stage.tracker.doubts.get_mut(&request) {
                    doubt.examined(open, since);
                }
                self.unproved(stage, request, error, evidence.as_ref())
            }
        }
    }

    /// Ends the current request. `result` returns the result that the next request of a member takes over.
    fn end(
        &mut self,
        stage: &mut Stage<'_>,
        doubt: &Doubt,
        result: impl Fn(&Candidate) -> Option<usize>,
    ) {
        for member in doubt.members.iter().filter(|member| !member.is_released) {
            let result = result(member);
            if let Some(at) = result {
                stage.report.set(at, stage.unsent(&member.id, not_sent()));
            }
            self.settling.freed.insert(member.id.clone(), result);
        }
        self.settling.next();
    }

    /// Nothing proves the outcome of the current request: sends it again, ends it as unknown, or leaves it in doubt.
    ///
    /// - It is sent again once in a save, if it can still be applied, no entity that it adds was deleted, and none was
    ///   released. Without a condition, it is sent again only if nothing newer is to be sent.
    /// - It is ended if it has expired. It is also ended if something newer is to be sent, unless that is the deletion of an
    ///   entity that it adds, and the service refuses it by now, or it has no condition, or an entity was released.
    /// - Otherwise it is left in doubt.
    fn unproved(
        &mut self,
        stage: &mut Stage<'_>,
        request: RequestId,
        error: Error,
        evidence: Option<&Evidence>,
    ) -> Option<Action> {
        let Some(doubt) = stage.tracker.doubts.get(&request) else {
            self.settling.next();
            return None;
        };
        let is_read = evidence.is_some() || self.proof == Proof::Response;
        let is_expired = evidence.is_some_and(|evidence| evidence.is_expired);
        let is_undone = stage.tracker.is_undone(doubt);
        let is_outdated = stage.tracker.is_outdated(doubt, self.options.replace_on_update);
        let is_released = doubt.members.iter().any(|member| member.is_released);
        let is_guarded = doubt.is_guarded();
        let is_repeatable = is_read
            && self.refused.is_none()
            && self.settling.repeated.is_none()
            && !(is_expired || is_undone || is_released)
            && (is_guarded || !is_outdated);
        if is_repeatable {
            let (first, last) = self.time_of_request(stage.core);
            let doubt = stage.tracker.doubts.get_mut(&request)?;
            self.settling.repeated = Some(doubt.open);
            doubt.sent(first, last);
            for member in &doubt.members {
                stage.report.set(member.result, WriteOutcome::Unknown(dropped().into()));
            }
            return Some(Action::Send(request, self.settling.repeated));
        }
        let is_refused = match evidence {
            Some(evidence) => doubt.is_refused_by(&evidence.rows),
            None => {
                let is_missing = error.is_not_found();
                is_missing || error.is_conflict() || error.is_precondition_failed()
            }
        };
        // The repeat in this save may have been applied, and be the cause of the refusal. The next save judges it.
        let is_of_this_save =
            self.settling.repeated.is_some_and(|earlier| earlier.last_sent != doubt.open.last_sent);
        let can_end =
            is_read && !is_of_this_save && (is_expired || is_refused || is_released || !is_guarded);
        let is_newer = is_outdated || is_released;
        let error = Arc::new(error);
        let members: Vec<_> =
            doubt.members.iter().filter(|member| !member.is_released).cloned().collect();
        for member in &members {
            stage.report.set(member.result, WriteOutcome::Unknown(Arc::clone(&error)));
        }
        if can_end && (is_expired || (is_newer && !is_undone)) {
            stage.tracker.end_unknown(request)?;
            for member in members {
                self.ended(stage, member, evidence);
            }
        } else {
            for member in members {
                if let Some(tracked) = stage.tracker.get_mut(&member.id) {
                    tracked.error = Some(Error::clone(&error));
                }
            }
            let is_failure = self.settling.repeated.is_some() || !is_read;
            if is_failure || self.options.mode == Mode::Atomic {
                self.failed();
            }
        }
        self.settling.next();
        None
    }

    /// The request of a change has ended as unknown.
    fn ended(&mut self, stage: &mut Stage<'_>, member: Candidate, evidence: Option<&Evidence>) {
        self.settling.freed.insert(member.id.clone(), None);
        // The save may be dropped before its report is complete.
        stage.tracker.unsettled.extend(stage.report.results.get(member.result).cloned());
        let is_absent = evidence.is_some_and(|it| !it.rows.contains_key(&member.key));
        let tracked = stage.tracker.get(&member.id);
        if is_absent && tracked.is_some_and(Tracked::is_add_undone) {
            // Nothing is left to delete. Whether there ever was a row is not known: another program may have deleted it.
            stage.tracker.forget(&member.id);
        } else {
            self.settling.superseded.push(Superseded { sent: member, by: None });
        }
    }
}
