//! Settles open changes, by reading their rows back.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use super::TableContext;
use super::options::SaveOptions;
use super::tracker::{Identity, OpenChange};
use crate::ETag;
use crate::entity::EntityKey;
use crate::error::{Error, MatchingState, OpenWrite};
use crate::operation::{Confirmation, Proof, Request, WriteOutcome, WriteResult};
use crate::outcome::{self, Doubtful, Found, Judged, Unconfirmed, Verdict};
use crate::wire::Operation;

/// The findings about the entities of one request.
#[derive(Default)]
pub(super) struct Findings {
    /// The entities with a change that was applied.
    pub(super) applied: HashMap<Identity, (Option<ETag>, Confirmation)>,
    /// Set if the rows are in the state that the last request leaves, or an earlier one with the same changes.
    pub(super) matching_state: Option<MatchingState>,
    /// The rows that were read.
    rows: HashMap<EntityKey, Found>,
}

impl TableContext {
    /// Settles each open change of these entities, of one partition, and records the outcomes in the tracker. `last` is
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
            let own = last.filter(|(request, _)| open.is_of(request)).map(|(_, own)| own.open());
            let (first_sent, last_sent) = (Some(open.sent.start), Some(open.sent.end));
            let is_fenced = own.flatten().is_some_and(|open| open.is_fenced);
            let is_open = own.is_none_or(|open| open.is_some());
            Doubtful {
                request: &open.request,
                open: is_open.then_some(OpenWrite { first_sent, last_sent, is_fenced }),
                since: last.and_then(|(_, last)| last.since(&self.core, first_sent)),
            }
        });
        let writes: Vec<_> = writes.collect();
        let may_be_down = last.is_none_or(|(request, last)| last.may_be_down(request));
        let Judged { judgments, rows } =
            outcome::open(&self.core, &writes, may_be_down, &options.call).await?;
        let mut findings = Findings::default();
        let sent = opened.iter().find(|open| last.is_some_and(|(request, _)| open.is_of(request)));
        for (open, judgment) in opened.iter().zip(judgments) {
            if let Verdict::Unknown { matching_state: Some(state) } = judgment.verdict
                && sent.is_some_and(|sent| open.repeats(sent))
            {
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
            .filter(|(_, tracked)| tracked.is_unsendable(options.replace_on_update))
            .map(|(id, tracked)| (id.clone(), Arc::clone(tracked.table()), tracked.key().clone()))
            .collect();
        let mut is_read = true;
        for (id, table, key) in unsendable {
            let Some(tracked) = self.tracker.get(&id) else { continue };
            // The request of an earlier one may have settled it.
            let Some(open) = tracked.open_changes().last().cloned() else { continue };
            // Before the rows are read: the service refuses every open change from here on.
            let mut sent = tracked.open_changes().iter().map(|open| open.sent.end);
            let are_expired = sent.all(|end| outcome::is_expired(&self.core, end));
            let others = self.others_of(&open, &id);
            let sent = Sent { table, key: key.clone(), operation: open.change.operation() };
            // Reported while the rows are read, in case the save is dropped.
            self.report(sent.clone(), WriteOutcome::Unknown(dropped().into()));
            let found = self.settle_open(&[&id], None, options).await;
            self.last_report.results.pop();
            match found {
                Err(error) => {
                    is_read = false;
                    self.report(sent, WriteOutcome::Unknown(outcome::unknown(error).into()));
                }
                Ok(mut findings) => {
                    let row = findings.rows.remove(&key);
                    let own =
                        findings.applied.remove(&id).filter(|_| !self.tracker.is_unknown(&id));
                    let own = own.map(applied);
                    if let Some(own) =
                        own.or_else(|| self.unresolved(&id, row, are_expired, options))
                    {
                        self.report(sent, own);
                    }
                    self.report_others(others, findings, options);
                }
            }
        }
        is_read
    }

    /// The other entities with a change in the request of an open change.
    fn others_of(&self, open: &OpenChange, id: &Identity) -> Vec<(Identity, Sent)> {
        let resource = &open.request.resource;
        let ids =
            open.request.writes.iter().map(|write| self.tracker.identity(resource, &write.key));
        let sent = |other: Identity| {
            let tracked = self.tracker.get(&other).filter(|_| other != *id)?;
            let own = tracked.open_changes().iter().find(|own| own.is_of(&open.request))?;
            let (table, key) = (Arc::clone(tracked.table()), tracked.key().clone());
            Some((other, Sent { table, key, operation: own.change.operation() }))
        };
        ids.filter_map(sent).collect()
    }

    /// Reports the changes that were found to be applied and leave nothing to save, so that no other result names them.
    fn report_others(
        &mut self,
        others: Vec<(Identity, Sent)>,
        mut findings: Findings,
        options: &SaveOptions,
    ) {
        for (id, sent) in others {
            if let Some(found) = findings.applied.remove(&id)
                && !self.has_change(&id, options)
                && !self.tracker.is_unknown(&id)
            {
                self.report(sent, applied(found));
            }
        }
    }

    /// Whether a save has something to send for an entity.
    pub(super) fn has_change(&self, id: &Identity, options: &SaveOptions) -> bool {
        let tracked = self.tracker.get(id);
        tracked.is_some_and(|it| !matches!(it.change(options.replace_on_update), Ok(None)))
    }

    fn report(&mut self, sent: Sent, outcome: WriteOutcome) {
        let Sent { table, key, operation } = sent;
        let results = &mut self.last_report.results;
        let index = results.len() as u64;
        results.push(WriteResult { index, table, operation, key: Some(key), outcome });
    }

    /// Returns the outcome of a change that cannot be sent again and was not found; `None` if it was not applied, which
    /// leaves nothing to report.
    fn unresolved(
        &mut self,
        id: &Identity,
        row: Option<Found>,
        are_expired: bool,
        options: &SaveOptions,
    ) -> Option<WriteOutcome> {
        let Some(tracked) = self.tracker.get(id) else {
            return Some(WriteOutcome::Unknown(may_still_be_applied().into()));
        };
        let is_gone = row.is_none()
            && are_expired
            && outcome::accepted(&self.core, &options.call) >= Proof::MatchingState
            && tracked.is_deleted()
            && tracked.condition().is_none();
        if is_gone {
            self.tracker.forget(id);
            return Some(applied((None, Confirmation::Comparison)));
        }
        if are_expired && row.is_some_and(|row| tracked.etag() == Some(&row.etag)) {
            // The row is in the state that the context knows.
            self.tracker.close_all(id);
        }
        let is_unknown = self.tracker.is_unknown(id);
        is_unknown.then(|| WriteOutcome::Unknown(may_still_be_applied().into()))
    }
}

/// A change that an earlier save sent.
#[derive(Clone)]
struct Sent {
    table: Arc<str>,
    key: EntityKey,
    operation: Operation,
}

pub(super) fn applied((etag, confirmation): (Option<ETag>, Confirmation)) -> WriteOutcome {
    WriteOutcome::Applied { etag, confirmation }
}

/// The error of a change whose save was dropped before the response came.
pub(super) fn dropped() -> Error {
    outcome::unknown(Error::timeout("the save was dropped before the response came"))
}

static NOT_SENT: LazyLock<Arc<Error>> = LazyLock::new(|| {
    let error = Error::timeout("the save ended before the change was sent");
    outcome::not_applied(error).into()
});

/// The error of a change that was not sent.
pub(super) fn not_sent() -> Arc<Error> {
    Arc::clone(&NOT_SENT)
}

/// The error of a change that was not found in the row, and may still be applied.
pub(super) fn may_still_be_applied() -> Error {
    outcome::unknown(Error::timeout("an earlier attempt may still be applied"))
}
