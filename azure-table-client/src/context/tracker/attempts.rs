//! The open attempts of tracked entities: requests that may have been applied, or may be applied later.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use super::change::{Change, Wire};
use super::open_attempts::{OPEN_ATTEMPTS, OpenAttempt};
use super::{Identity, Known, ServerRow, Tracked, Tracker, refusal};
use crate::ETag;
use crate::edm::EdmValue;
use crate::entity::EntityKey;
use crate::error::Error;
use crate::operation::{Confirmation, Request};
use crate::outcome::{Found, Properties, Verdict};

/// A change that is about to be sent: the entity, the change as it is tracked, and as it is sent.
pub(crate) type Sending<'c> = (&'c Identity, &'c Change, &'c Wire);

impl Tracked {
    /// The open attempts in their order.
    pub(crate) fn attempts(&self) -> &[OpenAttempt] {
        self.open.all()
    }

    /// Returns the form in which a request sent this change under the current condition.
    pub(crate) fn sent_form(&self, change: &Change, request: &Arc<Request>) -> Option<&Wire> {
        let condition = self.condition_of(change);
        let is_same = |attempt: &&OpenAttempt| {
            attempt.is_of(request)
                && attempt.change == *change
                && attempt.condition.as_ref() == condition
        };
        self.open.all().iter().find(is_same).map(|attempt| &attempt.wire)
    }

    /// Whether the refusal of the attempt in flight may be due to an earlier attempt.
    pub(crate) fn has_earlier_attempt(&self) -> bool {
        self.open.all().len() > 1
    }

    /// Whether the row is the snapshot with the change that was sent, so that no other program wrote after it.
    /// `write_id` is the column with the ids of writes.
    fn is_exact(&self, attempt: &OpenAttempt, row: &Properties, write_id: Option<&str>) -> bool {
        let (Change::Merge(_), Known::All, Some(snapshot)) =
            (&attempt.change, &self.known, &self.snapshot)
        else {
            return true;
        };
        let wire = attempt.wire.change.properties();
        let is_written =
            |name: &str| wire.is_some_and(|set| set.contains_key(name)) || write_id == Some(name);
        let mut others = row.iter().filter(|(name, _)| !is_written(name));
        others.all(|(name, value)| snapshot.get(name) == Some(value))
            && snapshot.keys().all(|name| is_written(name) || row.contains_key(name))
    }
}

impl Tracker {
    /// Records the attempts of a request, before it is sent. Their outcome is unknown from here on, also if the
    /// save is dropped.
    ///
    /// # Errors
    /// An entity has too many open attempts: its index, and the error. No attempt is recorded.
    pub(crate) fn begin(
        &mut self,
        request: &Arc<Request>,
        changes: &[Sending<'_>],
        sent: &Range<Instant>,
    ) -> Result<(), (usize, Error)> {
        let attempts = changes.iter().map(|(id, change, wire)| {
            let tracked = self.get(id);
            let condition = tracked.and_then(|tracked| tracked.condition_of(change)).cloned();
            let update = tracked.and_then(|tracked| tracked.update.as_ref());
            let update = update.map(|update| Arc::clone(&update.written));
            let (change, wire) = ((*change).clone(), (*wire).clone());
            let (request, sent) = (Arc::clone(request), sent.clone());
            OpenAttempt { change, wire, condition, request, sent, update }
        });
        let attempts: Vec<_> = attempts.collect();
        let has_room = |(at, attempt): (usize, &OpenAttempt)| {
            self.get(changes[at].0).is_none_or(|tracked| tracked.open.has_room(attempt))
        };
        if let Some(at) = attempts.iter().enumerate().rposition(|attempt| !has_room(attempt)) {
            let error = refusal(
                &changes[at].0.key,
                format_args!(
                    "{OPEN_ATTEMPTS} earlier attempts may still be applied: wait, or detach the entity \
                     and read it again"
                ),
            );
            return Err((at, error));
        }
        for ((id, ..), attempt) in changes.iter().zip(attempts) {
            if let Some(tracked) = self.entities.get_mut(id) {
                tracked.open.begin(attempt);
            }
        }
        Ok(())
    }

    /// Closes the attempt of this request, which the service refused, or leaves it open in place of an earlier one that
    /// it repeats.
    pub(crate) fn end_attempt(&mut self, id: &Identity, request: &Arc<Request>, is_open: bool) {
        match self.entities.get_mut(id) {
            Some(tracked) if is_open => tracked.open.leave_open(request),
            Some(tracked) => tracked.open.close(request),
            None => {}
        }
    }

    /// Records that a change was applied.
    pub(crate) fn applied(
        &mut self,
        id: &Identity,
        change: Change,
        request: &Arc<Request>,
        etag: Option<&ETag>,
    ) {
        if change == Change::Delete {
            self.entities.remove(id);
            return;
        }
        let Some(tracked) = self.entities.get_mut(id) else { return };
        let attempt = tracked.open.of(request);
        if let (Some(sent), Some(update)) = (attempt.map(|it| &it.update), &tracked.update)
            && sent.as_ref().is_some_and(|sent| Arc::ptr_eq(sent, &update.written))
        {
            tracked.update = None;
        }
        tracked.open.applied(request);
        tracked.confirm(change, etag);
    }

    /// Records that a change was applied, and that its ETag is not known. The next update requires the ETag.
    pub(crate) fn forget_etag(&mut self, id: &Identity) {
        if let Some(tracked) = self.entities.get_mut(id) {
            tracked.condition = None;
        }
    }

    /// Records the error of the last save.
    pub(crate) fn set_error(&mut self, id: &Identity, error: Option<Error>) {
        if let Some(tracked) = self.entities.get_mut(id) {
            tracked.error = error;
        }
    }

    /// Returns one open attempt of each request about these entities, the last one first.
    pub(crate) fn open_requests(&self, ids: &[&Identity]) -> Vec<OpenAttempt> {
        let mut attempts: Vec<OpenAttempt> = Vec::new();
        for attempt in ids.iter().filter_map(|id| self.get(id)).flat_map(Tracked::attempts) {
            if !attempts.iter().any(|known| known.is_of(&attempt.request)) {
                attempts.push(attempt.clone());
            }
        }
        attempts.sort_by_key(|attempt| Reverse(attempt.sent.start));
        attempts
    }

    /// Applies the verdict on a request with open attempts. Returns the entities whose change was applied, with
    /// their ETags.
    pub(crate) fn resolve(
        &mut self,
        attempt: &OpenAttempt,
        verdict: Verdict,
        rows: &HashMap<EntityKey, Found>,
    ) -> Vec<(Identity, Option<ETag>, Confirmation)> {
        let mut applied = Vec::new();
        for write in &attempt.request.writes {
            let (id, key) = (self.identity(&attempt.request.resource, &write.key), &write.key);
            let Some(tracked) = self.entities.get_mut(&id) else { continue };
            let Some(own) = tracked.open.of(&attempt.request).cloned() else { continue };
            match verdict {
                Verdict::Applied(confirmation) => {
                    let row = rows.get(key);
                    // With the old ETag, the next update finds the conflict with a later writer.
                    let etag = row
                        .filter(|row| {
                            tracked.is_exact(&own, &row.properties, self.write_id.as_deref())
                        })
                        .map(|row| &row.etag);
                    let etag = etag.cloned();
                    self.applied(&id, own.change, &own.request, etag.as_ref());
                    applied.push((id, row.map(|row| row.etag.clone()), confirmation));
                }
                Verdict::NotApplied => {
                    tracked.open.not_applied(&attempt.request);
                }
                Verdict::Unknown { .. } => {}
            }
        }
        applied
    }

    /// Applies the proof in a row that a query found: the attempt whose write id is in the row was applied.
    pub(crate) fn apply_write_id(&mut self, id: &Identity, row: &ServerRow) {
        let Some(column) = self.write_id.clone() else { return };
        let Some(EdmValue::Guid(found)) = row.properties.get(&*column) else { return };
        let Some(tracked) = self.get(id).filter(|tracked| tracked.is_unknown()) else { return };
        let has_id = |it: &&OpenAttempt| it.wire.write_id.as_ref() == Some(found);
        let Some(attempt) = tracked.attempts().iter().find(has_id).cloned() else { return };
        let etag = tracked.is_exact(&attempt, &row.properties, Some(&*column)).then_some(&row.etag);
        self.applied(id, attempt.change, &attempt.request, etag);
    }
}
