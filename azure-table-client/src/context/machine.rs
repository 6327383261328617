//! A save as a state machine: each step takes an event, changes the tracker and the report, and returns what to do next. No
//! I/O; [`drive`](super::drive) carries the actions out.
//!
//! First the doubts of earlier saves are settled ([`settle`]), one by one. Then the pending changes are sent in
//! groups. A group reads the rows whose versions are not known, sends its request, and ends, or meets a conflict: then it
//! reads that row, asks the resolver, waits, and is sent again. A report names a request as unknown before it is sent, so that
//! a save can be dropped at any point.

mod settle;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::StatusCode;

use super::change::{Change, EntityState, refusal};
use super::conflict::{Conflict, Resolution, is_conflict};
use super::doubt::{Candidate, Doubt, Finding, Identity, RequestId};
use super::entity::Tracked;
use super::merge::{MergeOption, ServerRow};
use super::options::{Mode, SaveOptions};
use super::plan::{self, RequestGroup, Writing};
use super::report::{SaveError, SaveReport, dropped, may_still_be_applied, not_sent};
use super::tracker::Tracker;
use crate::client_core::ClientCore;
use crate::entity::{DynamicEntity, EntityKey, TableEntity as _};
use crate::error::{Error, OpenWrite};
use crate::operation::{Confirmation, Proof, Request, WriteOutcome};
use crate::outcome::{self, Found, MapEntity, properties_of};
use crate::pipeline::{FailedAttempt, RetryPolicy};
use crate::wire::service_error::ErrorBody;
use crate::{ETag, IfMatch};
use settle::{Settling, Superseded};

/// The waits before a change is sent again, so that two writers do not conflict repeatedly.
const WAITS: RetryPolicy =
    RetryPolicy::exponential(0, Duration::from_millis(20), Duration::from_secs(1));

/// A deadline that is longer than any process runs.
const LONGEST_DEADLINE: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The state of the context that a save changes.
pub(super) struct Stage<'s> {
    pub(super) core: &'s ClientCore,
    pub(super) tracker: &'s mut Tracker,
    pub(super) report: &'s mut SaveReport,
    pub(super) writing: Writing<'s>,
}

impl Stage<'_> {
    /// The outcome of a change that was not sent, or that a refused transaction did not apply. It is unknown if an earlier
    /// request of the entity has ended as unknown: that one may have left what this change writes.
    pub(super) fn unsent(&self, id: &Identity, error: Arc<Error>) -> WriteOutcome {
        if self.tracker.may_have_changed(id) {
            return WriteOutcome::Unknown(outcome::unknown(Error::clone(&error)).into());
        }
        WriteOutcome::NotAttempted(error)
    }
}

/// A row for the program and for the tracker; `None` if it does not exist.
pub(super) type RowNow = Option<(DynamicEntity, ServerRow)>;

/// What a save does next.
#[derive(Debug, Clone)]
pub(super) enum Action {
    /// Sends a request, whose earlier attempts may be open. If the response does not confirm it, reads its rows.
    Send(RequestId, Option<OpenWrite>),
    /// Reads the rows of a request.
    ReadRows(RequestId),
    /// Reads the row of an entity.
    ReadRow(Identity),
    /// Reads the ETags that the response to a request lacks.
    ReadVersions(Identity, Arc<Request>),
    /// Waits before the group of an entity is sent again.
    Wait(Identity, Duration),
}

/// What has happened.
pub(super) enum Event {
    Answered(RequestId, Finding),
    RowRead(Identity, Box<Result<RowNow, Error>>),
    VersionsRead(Identity, HashMap<EntityKey, Found>),
    Waited(Identity),
}

/// Changes that are sent together.
#[derive(Debug, Clone)]
struct Flight {
    group: RequestGroup,
    step: Step,
}

#[derive(Debug, Clone)]
enum Step {
    /// Reads the row of this change, since its version is not known.
    Reading(usize),
    Sent(RequestId),
    /// Reads the row of this change, which met a conflict.
    Resolving(usize, Error),
    /// Waits until these requests can be sent.
    Waiting(Vec<RequestGroup>),
    /// Reads the ETags that its response lacks.
    Versions,
}

#[derive(Debug, Clone)]
pub(super) struct Save {
    options: SaveOptions,
    proof: Proof,
    settling: Settling,
    /// The changes of entities without a doubt, until the doubts are settled.
    planned: Option<Vec<Candidate>>,
    waiting: VecDeque<RequestGroup>,
    flights: Vec<Flight>,
    /// The number of conflicts of each entity that were shown to the resolver.
    rounds: HashMap<Identity, u32>,
    /// Whether no further request is sent.
    is_over: bool,
    /// Set if the changes cannot be planned.
    refused: Option<Error>,
    /// The indexes of results that the report leaves out: nothing was applied and nothing is to be sent, or another result
    /// of the entity tells the same.
    left_out: BTreeSet<usize>,
}

impl Save {
    pub(super) fn begin(options: SaveOptions, stage: &mut Stage<'_>) -> (Self, Vec<Action>) {
        let mut save = Self {
            proof: outcome::accepted(stage.core, &options.call),
            options,
            settling: Settling::default(),
            planned: None,
            waiting: VecDeque::new(),
            flights: Vec::new(),
            rounds: HashMap::new(),
            is_over: false,
            refused: None,
            left_out: BTreeSet::new(),
        };
        stage.report.results.clear();
        // What earlier saves and queries have found, and no report has named for good.
        let proved = std::mem::take(&mut stage.tracker.proved);
        let earlier = proved.into_iter().chain(stage.tracker.unsettled.clone());
        earlier.for_each(|result| stage.report.push(result));
        stage.tracker.drop_equal_edits();
        save.list_doubts(stage);
        let candidates =
            plan::candidates(stage.tracker, stage.core, &save.options, &mut stage.writing);
        let planned = candidates.and_then(|mut candidates| {
            for candidate in &mut candidates {
                let outcome = stage.unsent(&candidate.id, not_sent());
                candidate.result = stage.report.add(candidate, outcome);
            }
            // Also if there are doubts: every error is found before anything is sent.
            let groups = plan::groups(&candidates, &save.options, stage.core)?;
            Ok((candidates, groups))
        });
        match planned {
            Err(error) => save.refuse(error),
            Ok((_, groups)) if save.settling.is_done() => save.waiting = groups.into(),
            Ok((candidates, _)) => save.planned = Some(candidates),
        }
        let actions = save.advance(stage);
        (save, actions)
    }

    fn refuse(&mut self, error: Error) {
        (self.refused, self.is_over) = (Some(error), true);
    }

    pub(super) fn step(&mut self, stage: &mut Stage<'_>, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        match event {
            Event::Answered(request, finding) if self.settling.is_about(request) => {
                actions.extend(self.settled(stage, request, finding));
            }
            Event::Answered(request, finding) => {
                let is_own = |it: &Flight| matches!(it.step, Step::Sent(sent) if sent == request);
                if let Some(flight) = self.take_flight(is_own) {
                    actions.extend(self.answered(stage, flight, request, finding));
                }
            }
            Event::RowRead(id, row) => {
                if let Some(flight) = self.take_flight_of(&id) {
                    actions.extend(self.row_read(stage, flight, *row));
                }
            }
            Event::VersionsRead(id, rows) => {
                if let Some(flight) = self.take_flight_of(&id) {
                    adopt_versions(stage, &flight.group.changes, &rows);
                }
            }
            Event::Waited(id) => {
                if let Some(Flight { step: Step::Waiting(groups), .. }) = self.take_flight_of(&id) {
                    self.requeue(groups);
                }
            }
        }
        actions.extend(self.advance(stage));
        actions
    }

    fn take_flight(&mut self, is_own: impl Fn(&Flight) -> bool) -> Option<Flight> {
        let at = self.flights.iter().position(is_own)?;
        Some(self.flights.swap_remove(at))
    }

    fn take_flight_of(&mut self, id: &Identity) -> Option<Flight> {
        self.take_flight(|flight| flight.group.changes.iter().any(|change| change.id == *id))
    }

    fn requeue(&mut self, groups: Vec<RequestGroup>) {
        groups.into_iter().rev().for_each(|group| self.waiting.push_front(group));
    }

    /// Starts what can be started now.
    fn advance(&mut self, stage: &mut Stage<'_>) -> Vec<Action> {
        let mut actions = Vec::new();
        actions.extend(self.settle_next(stage));
        if !self.settling.is_done() {
            return actions;
        }
        if !self.is_over
            && let Some(planned) = self.planned.take()
        {
            self.plan_all(stage, planned);
        }
        let concurrency = match self.options.mode {
            Mode::PerPartition => self.options.concurrency,
            Mode::Each | Mode::Atomic => 1,
        };
        while !self.is_over
            && self.flights.len() < concurrency
            && let Some(group) = self.waiting.pop_front()
        {
            actions.extend(self.start(stage, group));
        }
        actions
    }

    /// Plans all changes, after the doubts of earlier saves were settled.
    fn plan_all(&mut self, stage: &mut Stage<'_>, planned: Vec<Candidate>) {
        let freed = std::mem::take(&mut self.settling.freed);
        let mut planned: HashMap<_, _> =
            planned.into_iter().map(|candidate| (candidate.id.clone(), candidate)).collect();
        let mut all = Vec::new();
        for (id, tracked) in stage.tracker.in_order() {
            if let Some(candidate) = planned.remove(id) {
                all.push(candidate);
                continue;
            }
            if !freed.contains_key(id) {
                continue;
            }
            let entity = (id, tracked);
            let candidate = plan::candidate(
                stage.tracker,
                stage.core,
                entity,
                &self.options,
                &mut stage.writing,
            );
            match candidate {
                Ok(None) => {}
                Ok(Some(mut candidate)) => {
                    let superseded = &mut self.settling.superseded;
                    let old = superseded.iter().position(|old| old.sent.id == *id);
                    let result = match old {
                        // Without an id, it is the same request.
                        Some(at) if superseded[at].sent.is_same_write(&candidate) => {
                            self.settling.reused.insert(id.clone());
                            Some(superseded.swap_remove(at).sent.result)
                        }
                        _ => freed.get(id).copied().flatten(),
                    };
                    let unsent = stage.unsent(id, not_sent());
                    candidate.result = match result {
                        Some(at) => {
                            stage.report.set(at, unsent);
                            stage.report.results[at].operation = candidate.change.operation();
                            at
                        }
                        None => stage.report.add(&candidate, unsent),
                    };
                    if let Some(old) = superseded.iter_mut().find(|old| old.sent.id == *id) {
                        old.by = Some(candidate.result);
                    }
                    all.push(candidate);
                }
                Err(error) => return self.refuse(error),
            }
        }
        match plan::groups(&all, &self.options, stage.core) {
            Ok(groups) => self.waiting = groups.into(),
            Err(error) => self.refuse(error),
        }
    }

    /// Starts a group: reads the rows whose versions are not known, or sends the request.
    fn start(&mut self, stage: &mut Stage<'_>, group: RequestGroup) -> Option<Action> {
        let lacks =
            |it: &Candidate| it.condition.is_none() && !matches!(it.change, Change::Add(..));
        if let Some(at) = group.changes.iter().position(lacks) {
            let change = &group.changes[at];
            if self.proof == Proof::Response {
                let error = refusal(&change.key, "its ETag is not known: read it again");
                return self.fail(stage, &group, Some(at), error);
            }
            let action = Action::ReadRow(change.id.clone());
            self.flights.push(Flight { group, step: Step::Reading(at) });
            return Some(action);
        }
        let (first, last) = self.time_of_request(stage.core);
        let mut doubt = Doubt {
            request: Arc::clone(&group.request),
            members: group.changes.clone(),
            open: OpenWrite::default(),
            since: None,
        };
        doubt.sent(first, last);
        for change in &group.changes {
            stage.report.set(change.result, WriteOutcome::Unknown(dropped().into()));
        }
        let request = stage.tracker.begin(doubt);
        self.flights.push(Flight { group, step: Step::Sent(request) });
        Some(Action::Send(request, None))
    }

    /// Returns the time of a request that is sent now, and the deadline, after which no retry is sent.
    pub(super) fn time_of_request(&self, core: &ClientCore) -> (Instant, Instant) {
        let now = core.clock.instant();
        let deadline = self.options.call.deadline.unwrap_or(core.deadline);
        (now, now + deadline.min(LONGEST_DEADLINE))
    }

    fn answered(
        &mut self,
        stage: &mut Stage<'_>,
        flight: Flight,
        request: RequestId,
        finding: Finding,
    ) -> Option<Action> {
        let Flight { group, .. } = flight;
        match finding {
            Finding::Applied { confirmation, etags, rows } => {
                stage.tracker.applied(request, &etags, &rows);
                let changes = &group.changes;
                report_applied(stage.report, changes, confirmation, &etags, &rows);
                let has_etag = |at: usize| etags.get(at).is_some_and(Option::is_some);
                let mut left =
                    changes.iter().enumerate().filter(|it| it.1.change != Change::Delete);
                let lacks_etag = left.any(|(at, _)| !has_etag(at));
                if confirmation != Confirmation::Response
                    || !lacks_etag
                    || self.proof == Proof::Response
                {
                    return None;
                }
                let first = changes.first()?.id.clone();
                let action = Action::ReadVersions(first, Arc::clone(&group.request));
                self.flights.push(Flight { group, step: Step::Versions });
                Some(action)
            }
            Finding::NotApplied(error) => {
                stage.tracker.end(request);
                let failed = match error.batch_index() {
                    Some(at) if group.is_transaction() && at < group.changes.len() => Some(at),
                    _ if group.changes.len() == 1 => Some(0),
                    _ => None,
                };
                match failed {
                    Some(at) if is_conflict(group.changes[at].change.operation(), &error) => {
                        self.conflict(stage, group, at, error, None)
                    }
                    _ => self.fail(stage, &group, failed, error),
                }
            }
            Finding::Unknown { error, open, since, .. } => {
                if let Some(doubt) = stage.tracker.doubts.get_mut(&request) {
                    doubt.examined(open, since);
                }
                let error = Arc::new(error);
                for change in &group.changes {
                    if let Some(tracked) = stage.tracker.get_mut(&change.id) {
                        tracked.error = Some(Error::clone(&error));
                    }
                    stage.report.set(change.result, WriteOutcome::Unknown(Arc::clone(&error)));
                }
                self.failed();
                None
            }
        }
    }

    /// Records that a change has failed. The save ends unless it continues.
    pub(super) fn failed(&mut self) {
        self.is_over |= !self.options.continue_on_error || self.options.mode == Mode::Atomic;
    }

    /// Leaves the changes of a group pending, after the service or the context has refused one of them or all.
    fn fail(
        &mut self,
        stage: &mut Stage<'_>,
        group: &RequestGroup,
        failed: Option<usize>,
        error: Error,
    ) -> Option<Action> {
        report_refused(stage, &group.changes, failed, error);
        self.failed();
        None
    }

    /// A change met the write of another program. `row` is the row now, if it was read.
    fn conflict(
        &mut self,
        stage: &mut Stage<'_>,
        group: RequestGroup,
        at: usize,
        error: Error,
        row: Option<RowNow>,
    ) -> Option<Action> {
        let id = group.changes[at].id.clone();
        let done = self.rounds.get(&id).copied().unwrap_or_default();
        let resolver = &self.options.resolver;
        if resolver.is_abort() || done >= resolver.rounds || self.is_over {
            return self.fail(stage, &group, Some(at), error.with_rounds(done));
        }
        self.rounds.insert(id.clone(), done + 1);
        match row {
            Some(row) => self.resolve(stage, group, at, error, row),
            None => {
                // The save may be dropped before the conflict is resolved.
                report_refused(stage, &group.changes, Some(at), error.clone());
                self.flights.push(Flight { group, step: Step::Resolving(at, error) });
                Some(Action::ReadRow(id))
            }
        }
    }

    fn row_read(
        &mut self,
        stage: &mut Stage<'_>,
        flight: Flight,
        row: Result<RowNow, Error>,
    ) -> Option<Action> {
        let Flight { mut group, step } = flight;
        match (step, row) {
            (Step::Reading(at), Ok(row)) => {
                let Candidate { id, table, key, change, .. } = &group.changes[at];
                let tracked = stage.tracker.get(id);
                let write_id = stage.tracker.write_id.as_deref();
                let lost = match &row {
                    None => Some(missing()),
                    Some((_, row)) => tracked
                        .and_then(|it| it.overwritten(change, &row.found.properties, write_id))
                        .map(|column| changed_since(&column)),
                };
                let is_undone = tracked.is_some_and(Tracked::is_add_undone);
                let is_gone = self.options.missing_is_deleted
                    && self.options.mode == Mode::Each
                    && *change == Change::Delete;
                if row.is_none() && (is_undone || is_gone) {
                    // Nothing is left to delete. The other changes of a transaction are sent without this one.
                    let Candidate { id, result, .. } = group.changes.remove(at);
                    stage.tracker.forget(&id);
                    if is_undone {
                        self.left_out.insert(result);
                    } else {
                        let confirmation = Confirmation::Comparison;
                        let outcome = WriteOutcome::Applied { etag: None, confirmation };
                        stage.report.set(result, outcome);
                    }
                } else if let Some(error) = lost {
                    let error = error.about(change.operation(), table, || Some(key.clone()));
                    return self.conflict(stage, group, at, error, Some(row));
                } else {
                    // For this request only: the program has not seen the row in this version.
                    group.changes[at].condition = row.map(|(_, row)| IfMatch::Tag(row.found.etag));
                }
                match plan::groups(&group.changes, &self.options, stage.core) {
                    Ok(groups) => self.requeue(groups),
                    Err(error) => return self.fail(stage, &group, Some(at), error),
                }
                None
            }
            (Step::Reading(at), Err(error)) => self.fail(stage, &group, Some(at), error),
            (Step::Resolving(at, error), Ok(row)) => self.resolve(stage, group, at, error, row),
            (Step::Resolving(at, error), Err(cause)) => {
                let hint =
                    format!("the conflict was not resolved, the row cannot be read: {cause}");
                self.fail(stage, &group, Some(at), error.with_hint(Some(hint)))
            }
            (Step::Sent(_) | Step::Waiting(_) | Step::Versions, _) => None,
        }
    }

    /// Merges the row of a conflict by the decision of the resolver, and sends the group again.
    fn resolve(
        &mut self,
        stage: &mut Stage<'_>,
        mut group: RequestGroup,
        at: usize,
        error: Error,
        row: RowNow,
    ) -> Option<Action> {
        let id = group.changes[at].id.clone();
        let round = self.rounds.get(&id).copied().unwrap_or_default();
        if let Err(error) = self.decide(stage, &group.changes[at], &error, round, row) {
            return self.fail(stage, &group, Some(at), error);
        }
        let is_reused = self.settling.reused.remove(&id);
        if is_reused {
            // What follows is another request: that one stays unknown.
            let change = &mut group.changes[at];
            let unknown = outcome::unknown(error.clone());
            stage.report.set(change.result, WriteOutcome::Unknown(unknown.into()));
        }
        // The server's row may already have the changed values.
        stage.tracker.drop_equal_edits();
        let tracked = stage.tracker.get(&id);
        let next = tracked.map(|tracked| tracked.change(self.options.replace_on_update));
        let is_over = matches!(next, None | Some(Ok(None)));
        if is_over {
            let change = group.changes.remove(at);
            if !is_reused {
                stage.report.set(change.result, WriteOutcome::Discarded(error.into()));
            }
        } else if is_reused {
            let change = &mut group.changes[at];
            change.result = stage.report.add(change, WriteOutcome::NotAttempted(not_sent()));
        }
        let groups = match self.plan_again(stage, &group.changes) {
            Ok(groups) => groups,
            Err(error) => return self.fail(stage, &group, None, error),
        };
        if is_over {
            self.requeue(groups);
            return None;
        }
        let wait = WAITS.wait(&FailedAttempt::new(round), &*stage.core.clock).unwrap_or_default();
        self.flights.push(Flight { group, step: Step::Waiting(groups) });
        Some(Action::Wait(id, wait))
    }

    fn decide(
        &self,
        stage: &mut Stage<'_>,
        change: &Candidate,
        error: &Error,
        round: u32,
        row: RowNow,
    ) -> Result<(), Error> {
        let Candidate { id, table, key, .. } = change;
        let Some(tracked) = stage.tracker.get(id) else { return Ok(()) };
        if row.as_ref().is_some_and(|(_, row)| tracked.etag() == Some(&row.found.etag)) {
            // The conflict is another change's of the same transaction.
            return Ok(());
        }
        let (server, row) = row.unzip();
        let is_delete = tracked.state() == EntityState::Deleted;
        let conflict = Conflict {
            table,
            key,
            operation: change.change.operation(),
            error,
            round,
            server: server.as_ref(),
            original: tracked.original().as_ref().map(MapEntity::to_dynamic),
            local: (!is_delete).then(|| tracked.current().to_dynamic()),
        };
        let option = match self.options.resolver.decide(&conflict) {
            Resolution::KeepLocal => MergeOption::PreserveChanges,
            Resolution::TakeServer => MergeOption::OverwriteChanges,
            Resolution::Abort => return Err(error.clone()),
            Resolution::Save(merged) if merged.key() != key => {
                let other = merged.key();
                let text = format!("its conflict was resolved with entity {other}");
                return Err(refusal(key, text));
            }
            Resolution::Save(merged) => {
                let (_, values) = properties_of(&merged, stage.core.protocol.dialect())?;
                stage.tracker.merge_resolution(id, row, values, merged.ownership());
                return Ok(());
            }
        };
        match row {
            Some(row) => {
                stage.tracker.merge_row(table, row, option);
            }
            None => stage.tracker.merge_missing(id, option, self.options.replace_on_update),
        }
        Ok(())
    }

    /// Plans the changes of a group again, with what a resolver has decided.
    fn plan_again(
        &self,
        stage: &mut Stage<'_>,
        changes: &[Candidate],
    ) -> Result<Vec<RequestGroup>, Error> {
        let mut again = Vec::new();
        for change in changes {
            let Some(tracked) = stage.tracker.get(&change.id) else { continue };
            let next = plan::candidate(
                stage.tracker,
                stage.core,
                (&change.id, tracked),
                &self.options,
                &mut stage.writing,
            )?;
            stage.report.set(change.result, stage.unsent(&change.id, not_sent()));
            again.extend(next.map(|next| Candidate { result: change.result, ..next }));
        }
        plan::groups(&again, &self.options, stage.core)
    }

    /// Shows each change that is not sent yet, for the explorer.
    #[cfg(test)]
    pub(super) fn digest(&self, show: &mut dyn FnMut(&Candidate)) {
        self.planned.iter().flatten().for_each(&mut *show);
        let flights = self.flights.iter().map(|flight| &flight.group);
        let groups = self.waiting.iter().chain(flights);
        groups.flat_map(|group| &group.changes).for_each(&mut *show);
        self.settling.superseded.iter().for_each(|old| show(&old.sent));
    }

    /// Whether conflicts are shown to a resolver, for the explorer.
    #[cfg(test)]
    pub(super) const fn has_resolver(&self) -> bool {
        !self.options.resolver.is_abort()
    }

    /// Where the save stands, for the explorer.
    #[cfg(test)]
    pub(super) fn place(&self) -> String {
        let step = |flight: &Flight| match &flight.step {
            Step::Reading(at) => format!("r{at}"),
            Step::Sent(_) => "s".to_owned(),
            Step::Resolving(at, _) => format!("c{at}"),
            Step::Waiting(groups) => format!("w{}", groups.len()),
            Step::Versions => "v".to_owned(),
        };
        let steps: Vec<_> = self.flights.iter().map(step).collect();
        let mut rounds: Vec<_> = self.rounds.values().collect();
        rounds.sort();
        let options = (
            self.options.mode,
            self.options.replace_on_update,
            &self.options.resolver,
            self.options.continue_on_error,
        );
        let rest = (self.planned.is_some(), self.is_over, &self.left_out, self.settling.place());
        format!("{steps:?}{rounds:?}{options:?}{rest:?}")
    }

    /// Completes the report.
    pub(super) fn finish(mut self, stage: &mut Stage<'_>) -> Result<SaveReport, SaveError> {
        for superseded in std::mem::take(&mut self.settling.superseded) {
            self.report_superseded(stage, &superseded);
        }
        stage.tracker.unsettled.clear();
        let report = &mut *stage.report;
        report.remove(&self.left_out);
        report.explain(&not_sent());
        report.name_entities();
        match self.refused.or_else(|| report.error().cloned()) {
            None => Ok(report.clone()),
            Some(error) => Err(SaveError { report: report.clone(), error }),
        }
    }

    /// Reports a request that has ended as unknown, beside the newer one of its entity.
    fn report_superseded(&mut self, stage: &mut Stage<'_>, old: &Superseded) {
        let Some(by) = old.by else { return };
        match &stage.report.results[by].outcome {
            // The newer one was refused: one result tells of both.
            WriteOutcome::Unknown(_) if stage.tracker.may_have_changed(&old.sent.id) => {
                let tracked = stage.tracker.get(&old.sent.id);
                if tracked.is_some_and(|tracked| tracked.doubt.request.is_none()) {
                    self.left_out.insert(old.sent.result);
                }
            }
            WriteOutcome::Applied { .. } => {
                // For an update under an ETag, another program may have computed the same values.
                let is_conditional = matches!(old.sent.condition, Some(IfMatch::Tag(_)));
                let required =
                    if is_conditional { Proof::MatchingUpdate } else { Proof::MatchingState };
                let tracked = stage.tracker.get(&old.sent.id);
                let has_state = tracked.is_some_and(|tracked| tracked.has_state_of(&old.sent));
                if has_state && self.proof >= required {
                    let confirmation = Confirmation::Comparison;
                    let outcome = WriteOutcome::Applied { etag: None, confirmation };
                    stage.report.set(old.sent.result, outcome);
                }
            }
            _ => {}
        }
    }

    /// Lists the requests of earlier saves in the report.
    fn list_doubts(&mut self, stage: &mut Stage<'_>) {
        let error = Arc::new(may_still_be_applied());
        for (request, doubt) in &mut stage.tracker.doubts {
            for member in doubt.members.iter_mut().filter(|member| !member.is_released) {
                member.result = stage.report.add(member, WriteOutcome::Unknown(Arc::clone(&error)));
            }
            self.settling.add(*request);
        }
    }
}

/// Reports that the changes of a request were applied, with the ETags in its response or in the rows.
pub(super) fn report_applied(
    report: &mut SaveReport,
    changes: &[Candidate],
    confirmation: Confirmation,
    etags: &[Option<ETag>],
    rows: &HashMap<EntityKey, Found>,
) {
    for (at, change) in changes.iter().enumerate().filter(|(_, change)| !change.is_released) {
        let etag = etags.get(at).cloned().flatten();
        let etag = etag.or_else(|| rows.get(&change.key).map(|row| row.etag.clone()));
        let etag = etag.filter(|_| change.change != Change::Delete);
        report.set(change.result, WriteOutcome::Applied { etag, confirmation });
    }
}

/// Reports that the service or the context has refused one of these changes or all.
fn report_refused(
    stage: &mut Stage<'_>,
    changes: &[Candidate],
    failed: Option<usize>,
    error: Error,
) {
    let error = Arc::new(outcome::not_applied(error));
    for (at, change) in changes.iter().enumerate() {
        let mut outcome = stage.unsent(&change.id, Arc::clone(&error));
        // The service has rolled back the other changes of the transaction.
        if failed.is_none_or(|failed| failed == at) {
            if let Some(tracked) = stage.tracker.get_mut(&change.id) {
                tracked.error = Some(Error::clone(&error));
            }
            // If an earlier request of the entity may be the cause of the refusal, its outcome stays unknown.
            if let WriteOutcome::NotAttempted(error) = outcome {
                outcome = WriteOutcome::Failed(error);
            }
        }
        stage.report.set(change.result, outcome);
    }
}

/// Takes over the ETags that a response lacks.
fn adopt_versions(stage: &mut Stage<'_>, changes: &[Candidate], rows: &HashMap<EntityKey, Found>) {
    let write_id = stage.tracker.write_id.clone();
    for change in changes {
        let Some(tracked) = stage.tracker.get_mut(&change.id) else { continue };
        if !tracked.has_lost_version() {
            continue;
        }
        let row = rows.get(&change.key);
        if tracked.adopt_version(row, write_id.as_deref()) {
            let etag = row.map(|row| row.etag.clone());
            let confirmation = Confirmation::Response;
            stage.report.set(change.result, WriteOutcome::Applied { etag, confirmation });
        }
    }
}

/// The error of a change that would overwrite what another program has written.
fn changed_since(column: &str) -> Error {
    refused_by_row(
        StatusCode::PRECONDITION_FAILED,
        "UpdateConditionNotSatisfied",
        format!(
            "the row has another value of {column:?} than the context knows: another program has written it"
        ),
    )
}

/// The error of a change whose row is gone.
fn missing() -> Error {
    let message = "the row does not exist any more: another program has deleted it";
    refused_by_row(StatusCode::NOT_FOUND, "ResourceNotFound", message.to_owned())
}

/// The refusal that the service would send. The row that was read shows it, so that the request is not sent.
pub(super) fn refused_by_row(status: StatusCode, code: &str, message: String) -> Error {
    Error::service(ErrorBody { code: code.to_owned(), message }).with_reply(status, None)
}
