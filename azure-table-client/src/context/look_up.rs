//! Finding out what became of changes whose replies never came.

use std::collections::HashMap;
use std::sync::Arc;

use super::TableContext;
use super::options::SaveOptions;
use super::plan::Candidate;
use super::report::{SaveOutcome, SaveResult};
use super::resolve::Resolution;
use super::state::Identity;
use crate::client::resolve::read_back;
use crate::entity::EntityKey;
use crate::error::{Error, Outcome};
use crate::etag::ETag;
use crate::operation::evidence::Found;
use crate::pipeline::CallOptions;

/// An entity that was sent: its identity, and its table and key as they are written.
type Named = (Identity, Arc<str>, EntityKey);

impl TableContext {
    /// Finds out by reads what became of the changes of one request; whether they were made.
    pub(super) async fn look_up(
        &mut self,
        changes: &[(usize, &Candidate)],
        error: &Error,
        options: &SaveOptions,
    ) -> bool {
        let ids = changes.iter().map(|(_, c)| (c.id.clone(), Arc::clone(&c.table), c.key.clone()));
        let ids: Vec<_> = ids.collect();
        let sent = |id| self.tracker.get(id).and_then(|tracked| tracked.sent.clone());
        let sent: Vec<_> = changes.iter().map(|(_, candidate)| sent(&candidate.id)).collect();
        let resolutions = self.find_out(ids, &options.call).await;
        // A version that is gone never comes back.
        let is_refused = error.is_precondition_failed();
        let mut is_done = true;
        for (at, ((result, candidate), sent)) in changes.iter().zip(sent).enumerate() {
            let id = &candidate.id;
            let resolution = resolutions.as_ref().map(|found| &found[at]);
            let outcome = match resolution {
                Ok((Resolution::Applied, etag)) => {
                    SaveOutcome::Applied { status: None, etag: etag.clone() }
                }
                // What refused this attempt refuses one that is still on its way.
                Ok((Resolution::NotApplied, _)) if is_refused => {
                    SaveOutcome::Failed(error.clone().with_outcome(Outcome::NotApplied))
                }
                Ok(_) | Err(_) => {
                    if let Some(tracked) = self.tracker.entities.get_mut(id) {
                        tracked.sent = sent;
                    }
                    SaveOutcome::Unknown(error.clone())
                }
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
        ids: Vec<Named>,
        options: &CallOptions,
    ) -> Result<Vec<(Resolution, Option<ETag>)>, Error> {
        let Some((_, table, _)) = ids.first() else { return Ok(Vec::new()) };
        let keys: Vec<_> = ids.iter().map(|(_, _, key)| key).collect();
        let mut rows: HashMap<_, Found> = read_back(&self.pipeline, table, &keys, options).await?;
        let mut changes = Vec::with_capacity(ids.len());
        for (id, _, key) in ids {
            changes.push((id, rows.remove(&key)));
        }
        let resolutions = self.tracker.resolve(&changes, self.pipeline.write_id.as_deref());
        let etags = changes.into_iter().map(|(_, row)| row.map(|row| row.etag));
        Ok(resolutions.into_iter().zip(etags).collect())
    }

    /// Finds out what became of earlier changes; whether all of it is known now.
    pub(super) async fn resolve_unknown(&mut self, options: &SaveOptions) -> bool {
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
            match self.find_out(ids, &options.call).await {
                Ok(found) => {
                    for (at, (resolution, etag)) in changes.into_iter().zip(found) {
                        self.last_report.results[at].outcome = match resolution {
                            Resolution::Applied => SaveOutcome::Applied { status: None, etag },
                            Resolution::Forgotten => SaveOutcome::Unknown(late()),
                            // It is sent again with the others.
                            Resolution::NotApplied | Resolution::Unclear => {
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
pub(super) fn dropped() -> Error {
    Error::timeout("the save was dropped before the answer came").with_outcome(Outcome::Unknown)
}

/// The error of an insert that was not there when it was to be deleted again.
fn late() -> Error {
    let error = Error::timeout("it was to be deleted and is not there, but may still arrive");
    error.with_outcome(Outcome::Unknown)
}
