//! Settles open changes, by reading their rows back.

use std::collections::HashMap;
use std::sync::Arc;

use super::TableContext;
use super::options::SaveOptions;
use super::tracker::Identity;
use crate::ETag;
use crate::entity::EntityKey;
use crate::error::{Error, MatchingState};
use crate::operation::{Confirmation, Proof, Request, WriteOutcome, WriteResult};
use crate::outcome::{self, Found, Judged, OpenWrite, Unconfirmed, Verdict};

/// The findings about the entities of one request.
#[derive(Default)]
pub(super) struct Findings {
    /// The entities with a change that was applied.
    pub(super) applied: HashMap<Identity, (Option<ETag>, Confirmation)>,
    /// Set if the rows are in the state that an attempt leaves.
    pub(super) matching_state: Option<MatchingState>,
    /// The rows that were read.
    rows: HashMap<EntityKey, Found>,
}

impl TableContext {
    /// Asks for the outcome of each open change of these entities, of one partition, and tells the tracker. `last` is
    /// the last response to a request about them.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub(super) async fn settle_open(
        &mut self,
        ids: &[&Identity],
        last: Option<(&Arc<Request>, &Unconfirmed)>,
        options: &SaveOptions,
    ) -> Result<Findings, Error> {
        let opened = self.tracker.open_requests(ids);
        let writes = opened.iter().map(|open| {
            let last = last.filter(|(request, _)| open.is_of(request)).map(|(_, last)| last);
            OpenWrite {
                request: &open.request,
                is_open: last.is_none_or(Unconfirmed::is_open),
                is_fenced: last.is_some_and(Unconfirmed::is_fenced),
                sent: Some(open.sent.end),
                since: None,
            }
        });
        let writes: Vec<_> = writes.collect();
        // The service may be down, unless it closed the last request.
        let may_be_down = last.is_none_or(|(_, last)| last.is_open());
        let Judged { judgments, rows } =
            outcome::open(&self.core, &writes, may_be_down, &options.call).await?;
        let mut findings = Findings::default();
        for (open, judgment) in opened.iter().zip(judgments) {
            if let Verdict::Unknown { matching_state: Some(state) } = judgment.verdict {
                findings.matching_state = Some(state);
            }
            for (id, etag, confirmation) in self.tracker.resolve(open, &judgment, &rows) {
                findings.applied.insert(id, (etag, confirmation));
            }
        }
        findings.rows = rows;
        Ok(findings)
    }

    /// Resolves earlier changes that cannot be sent again: changes that the program undid, and inserts of entities
    /// that it deleted. Returns whether the rows could be read.
    pub(super) async fn resolve_unsendable(&mut self, options: &SaveOptions) -> bool {
        let unsendable: Vec<_> = self
            .tracker
            .in_order()
            .into_iter()
            .filter(|(_, tracked)| tracked.is_unsendable())
            .map(|(id, tracked)| (id.clone(), Arc::clone(tracked.table()), tracked.key().clone()))
            .collect();
        let mut is_read = true;
        for (id, table, key) in unsendable {
            let Some(tracked) = self.tracker.get(&id) else { continue };
            let Some(open) = tracked.open_changes().last().cloned() else { continue };
            let result = self.last_report.results.len();
            self.last_report.results.push(WriteResult {
                index: result as u64,
                table,
                operation: open.change.operation(),
                key: Some(key.clone()),
                outcome: WriteOutcome::Unknown(dropped().into()),
            });
            let found = self.settle_open(&[&id], None, options).await;
            self.last_report.results[result].outcome = match found {
                Err(error) => {
                    is_read = false;
                    WriteOutcome::Unknown(outcome::unknown(error).into())
                }
                Ok(findings) => match findings.applied.get(&id) {
                    Some((etag, confirmation)) => {
                        WriteOutcome::Applied { etag: etag.clone(), confirmation: *confirmation }
                    }
                    None => self.unresolved(&id, !findings.rows.contains_key(&key), options),
                },
            };
        }
        is_read
    }

    /// Returns the outcome of a change that cannot be sent again and was not found.
    fn unresolved(
        &mut self,
        id: &Identity,
        is_absent: bool,
        options: &SaveOptions,
    ) -> WriteOutcome {
        let Some(tracked) = self.tracker.get(id) else {
            return WriteOutcome::Unknown(may_still_be_applied().into());
        };
        let is_gone = is_absent
            && outcome::accepted(&self.core, &options.call) >= Proof::MatchingState
            && tracked.is_deleted()
            && tracked.condition().is_none()
            && tracked
                .open_changes()
                .iter()
                .all(|open| outcome::is_expired(&self.core, open.sent.end));
        if is_gone {
            // The service refuses every open change by now, and there is no row to delete.
            self.tracker.forget(id);
            let confirmation = Confirmation::Comparison;
            return WriteOutcome::Applied { etag: None, confirmation };
        }
        WriteOutcome::Unknown(may_still_be_applied().into())
    }
}

/// The error of a change whose save was dropped before the response came.
pub(super) fn dropped() -> Error {
    outcome::unknown(Error::timeout("the save was dropped before the response came"))
}

/// The error of a change that was not sent.
pub(super) fn not_sent() -> Error {
    outcome::not_applied(Error::timeout("the save ended before the change was sent"))
}

/// The error of a change that was not found in the row, and may still be applied.
pub(super) fn may_still_be_applied() -> Error {
    outcome::unknown(Error::timeout("an earlier attempt may still be applied"))
}
