//! Sending the changes, and what their replies mean.

use std::sync::Arc;

use futures_util::stream::{FuturesUnordered, StreamExt as _};

use super::TableContext;
use super::merge_option::ServerRow;
use super::options::{Mode, SaveOptions};
use super::plan::{self, Candidate, Unit};
use super::report::{SaveError, SaveOutcome, SaveReport, SaveResult};
use super::resolve::Resolution;
use super::state::{Change, Identity, Known, Sent};
use crate::client::TableClient;
use crate::entity::{DynamicEntity, EntityKey};
use crate::error::{Error, ErrorCode, Outcome};
use crate::etag::{ETag, IfMatch};
use crate::operation::{Reply, transaction};
use crate::pipeline::{CallOptions, Pipeline};
use crate::wire::Operation;

/// A request that was sent, and its answer.
type Answer = (Unit, Result<Reply, Error>);

impl TableContext {
    pub(super) async fn save(&mut self, options: SaveOptions) -> Result<SaveReport, SaveError> {
        self.last_report = SaveReport::default();
        let all_known = self.resolve_unknown(options).await;
        self.tracker.settle_equal();
        let candidates =
            plan::candidates(&self.tracker, options, self.hooks.writing.as_deref_mut());
        let candidates = candidates.map_err(|error| self.refused(error))?;
        let base = self.pipeline.endpoint.base();
        let units = plan::units(&self.tracker, &candidates, options, base);
        let first = self.last_report.results.len();
        self.last_report.results.extend(candidates.iter().map(|candidate| SaveResult {
            table: candidate.table.to_string(),
            key: candidate.key.clone(),
            operation: candidate.sent.change.operation(),
            outcome: SaveOutcome::NotAttempted,
        }));
        let units = units.map_err(|error| self.refused(error))?;
        if all_known || options.continue_on_error {
            self.send_all(units, &candidates, first, options).await;
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
        options: SaveOptions,
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
                on_way.push(send(Arc::clone(&self.pipeline), unit));
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
        options: SaveOptions,
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
                        is_done &= self.look_up(&[(first + at, candidate)], &error).await;
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
            return self.look_up(&changes, &error).await;
        }
        let failed = match error.batch_index() {
            Some(index) if unit.sent.is_some() => unit.changes.get(index).copied(),
            _ => None,
        };
        let is_missing = options.missing_is_deleted
            && (error.code()).is_some_and(|code| *code == ErrorCode::RESOURCE_NOT_FOUND);
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

    /// Finds out by reads what became of the changes of one request; whether they were made.
    async fn look_up(&mut self, changes: &[(usize, &Candidate)], error: &Error) -> bool {
        let ids = changes.iter().map(|(_, c)| (c.id.clone(), Arc::clone(&c.table), c.key.clone()));
        let resolutions = self.find_out(ids.collect()).await;
        let mut is_done = true;
        for (at, (result, Candidate { id, sent, .. })) in changes.iter().enumerate() {
            let outcome = match &resolutions {
                Ok(found) => match &found[at] {
                    (Resolution::Applied, etag) => {
                        SaveOutcome::Applied { status: None, etag: etag.clone() }
                    }
                    // An attempt that is still on its way may yet be done, unless it carries a version.
                    (Resolution::NotApplied, _) if !self.is_fenced(id, &sent.change) => {
                        if let Some(tracked) = self.tracker.entities.get_mut(id) {
                            tracked.sent = Some(sent.clone());
                        }
                        SaveOutcome::Unknown(error.clone())
                    }
                    _ => SaveOutcome::Failed(error.clone()),
                },
                Err(_) => SaveOutcome::Unknown(error.clone()),
            };
            let is_applied = matches!(outcome, SaveOutcome::Applied { .. });
            if !is_applied && let Some(tracked) = self.tracker.entities.get_mut(id) {
                tracked.error = Some(error.clone());
            }
            is_done &= is_applied;
            self.last_report.results[*result].outcome = outcome;
        }
        is_done
    }

    /// Reads the entities of one request, and compares them with what was sent.
    async fn find_out(
        &mut self,
        ids: Vec<(Identity, Arc<str>, EntityKey)>,
    ) -> Result<Vec<(Resolution, Option<ETag>)>, Error> {
        let mut changes = Vec::with_capacity(ids.len());
        for (id, table, key) in ids {
            changes.push((id, read_back(&self.pipeline, &table, &key).await?));
        }
        let resolutions = self.tracker.resolve(&changes).into_iter();
        let etags = changes.into_iter().map(|(_, row)| row.map(|row| row.etag));
        Ok(resolutions.zip(etags).collect())
    }

    /// Whether a version guards against an attempt that comes late.
    fn is_fenced(&self, id: &Identity, change: &Change) -> bool {
        let tracked = self.tracker.get(id);
        let has_tag = tracked.is_some_and(|t| matches!(t.condition, Some(IfMatch::Tag(_))));
        has_tag && !matches!(change, Change::Add(..))
    }

    /// Finds out what became of earlier changes; whether all of it is known now.
    async fn resolve_unknown(&mut self, options: SaveOptions) -> bool {
        let unknown: Vec<_> = self
            .tracker
            .in_order()
            .into_iter()
            .filter_map(|(id, tracked)| {
                let sent = tracked.sent.as_ref()?;
                let id = (id.clone(), Arc::clone(&tracked.table), tracked.key.clone());
                Some((id, sent.change.operation(), sent.transaction))
            })
            .collect();
        // All of them are unknown until they are found out, also if this is dropped on the way.
        let results = unknown.iter().map(|((_, table, key), operation, _)| SaveResult {
            table: table.to_string(),
            key: key.clone(),
            operation: *operation,
            outcome: SaveOutcome::Unknown(dropped()),
        });
        self.last_report.results.extend(results);
        // Those of one transaction together.
        let mut requests: Vec<(Option<u64>, Vec<usize>)> = Vec::new();
        for (at, (_, _, transaction)) in unknown.iter().enumerate() {
            let same = transaction.and_then(|_| requests.iter_mut().find(|r| r.0 == *transaction));
            match same {
                Some((_, changes)) => changes.push(at),
                None => requests.push((*transaction, vec![at])),
            }
        }
        let mut is_known = true;
        let mut pending = Vec::new();
        for (_, changes) in requests {
            if !is_known && !options.continue_on_error {
                break;
            }
            let ids = changes.iter().map(|at| unknown[*at].0.clone()).collect();
            match self.find_out(ids).await {
                Ok(found) => {
                    for (at, (resolution, etag)) in changes.into_iter().zip(found) {
                        self.last_report.results[at].outcome = match resolution {
                            Resolution::Applied => SaveOutcome::Applied { status: None, etag },
                            Resolution::Forgotten => SaveOutcome::Unknown(late()),
                            // It is sent again with the others.
                            Resolution::NotApplied => {
                                pending.push(at);
                                SaveOutcome::NotAttempted
                            }
                        };
                    }
                }
                Err(error) => {
                    is_known = false;
                    for at in changes {
                        self.last_report.results[at].outcome = SaveOutcome::Unknown(error.clone());
                    }
                }
            }
        }
        pending.sort_unstable();
        for at in pending.into_iter().rev() {
            self.last_report.results.remove(at);
        }
        is_known
    }
}

/// The error of what was sent by a save that nobody waited for.
fn dropped() -> Error {
    Error::timeout("the save was dropped before the answer came").with_outcome(Outcome::Unknown)
}

/// The error of an insert that was not there when it was to be deleted again.
fn late() -> Error {
    let error = Error::timeout("it was to be deleted and is not there, but may still arrive");
    error.with_outcome(Outcome::Unknown)
}

async fn send(pipeline: Arc<Pipeline>, unit: Unit) -> Answer {
    let reply = pipeline.send(&unit.request, &CallOptions::default()).await;
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

/// What the service holds now.
async fn read_back(
    pipeline: &Arc<Pipeline>,
    table: &Arc<str>,
    key: &EntityKey,
) -> Result<Option<ServerRow>, Error> {
    let table = TableClient::<DynamicEntity>::new(Arc::clone(pipeline), table.to_string());
    let found = table.get_if_exists(key).await?;
    Ok(found.map(|fetched| ServerRow {
        key: key.clone(),
        etag: fetched.etag.clone(),
        properties: properties(&fetched),
        known: Known::All,
    }))
}

pub(super) fn properties(entity: &DynamicEntity) -> super::state::Properties {
    entity.properties().map(|(name, value)| (name.to_owned(), value.clone())).collect()
}
