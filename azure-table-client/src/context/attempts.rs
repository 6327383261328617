//! The open attempts of tracked entities: what was sent, and may have been applied or may still be. No
//! I/O.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use super::state::{Change, Identity, Known, Tracked, Tracker, refusal};
use crate::entity::EntityKey;
use crate::error::Error;
use crate::etag::{ETag, IfMatch};
use crate::operation::{Confirmation, Request};
use crate::outcome::{Found, Verdict, Wrote};

/// Open attempts that are kept for one entity.
pub(super) const OPEN_ATTEMPTS: usize = 8;

/// One change in a request that was sent.
#[derive(Debug, Clone)]
pub(super) struct OpenAttempt {
    /// The change as it is tracked.
    pub(super) change: Change,
    /// The change as it was sent: after the hook for writing, with its write id.
    pub(super) wire: Change,
    pub(super) condition: Option<IfMatch>,
    /// The request; all of its changes were applied or none was.
    pub(super) request: Arc<Request>,
    /// The entities of the request.
    pub(super) keys: Arc<[EntityKey]>,
    pub(super) sent_at: Instant,
}

impl OpenAttempt {
    /// Whether both would leave the same rows, by the same write ids.
    fn repeats(&self, other: &Self) -> bool {
        self.wire == other.wire && self.condition == other.condition && self.keys == other.keys
    }

    pub(super) fn is_of(&self, request: &Arc<Request>) -> bool {
        Arc::ptr_eq(&self.request, request)
    }

    /// Whether a row that has another ETag keeps it from being applied.
    const fn is_fenceable(&self) -> bool {
        matches!(self.condition, Some(IfMatch::Tag(_)))
    }
}

impl Tracked {
    /// The open attempt that sent this change under the present condition in this request.
    pub(super) fn attempt_of(
        &self,
        change: &Change,
        request: &Arc<Request>,
    ) -> Option<&OpenAttempt> {
        self.attempts.iter().find(|attempt| {
            attempt.is_of(request)
                && attempt.change == *change
                && attempt.condition.as_ref() == self.condition_of(change)
        })
    }

    /// The condition under which a change is sent.
    pub(super) const fn condition_of(&self, change: &Change) -> Option<&IfMatch> {
        match change {
            Change::Add(..) => None,
            Change::Merge(_) | Change::Put(_) | Change::Delete => self.condition.as_ref(),
        }
    }

    /// Whether the row is what was known of it with the change that was sent: no other program wrote after
    /// it.
    fn is_exact(&self, attempt: &OpenAttempt, row: &Found) -> bool {
        let (Change::Merge(_), Known::All, Some(snapshot)) =
            (&attempt.change, &self.known, &self.snapshot)
        else {
            return true;
        };
        let wire = attempt.wire.properties();
        let is_written = |name: &str| wire.is_some_and(|set| set.contains_key(name));
        let mut others = row.properties.iter().filter(|(name, _)| !is_written(name));
        others.all(|(name, value)| snapshot.get(name) == Some(value))
            && snapshot.keys().all(|name| is_written(name) || row.properties.contains_key(name))
    }

    /// Forgets the attempts that cannot be applied any more after a change of the entity was: those under
    /// an ETag, and those of the same request.
    fn forget_fenced(&mut self, request: &Arc<Request>) {
        self.attempts.retain(|attempt| !attempt.is_fenceable() && !attempt.is_of(request));
    }
}

impl Tracker {
    /// Records an attempt, before it is sent.
    ///
    /// # Errors
    /// The entity has too many open attempts.
    pub(super) fn begin(&mut self, id: &Identity, attempt: OpenAttempt) -> Result<(), Error> {
        let Some(tracked) = self.entities.get_mut(id) else { return Ok(()) };
        let repeats = tracked.attempts.iter().any(|earlier| earlier.repeats(&attempt));
        if tracked.attempts.len() >= OPEN_ATTEMPTS && !repeats {
            return Err(refusal(
                &attempt.keys[0],
                format_args!(
                    "{OPEN_ATTEMPTS} earlier attempts may still be applied: wait, or detach the entity \
                     and read it again"
                ),
            ));
        }
        tracked.was_unknown = tracked.is_unknown;
        tracked.is_unknown = true;
        tracked.attempts.push(attempt);
        Ok(())
    }

    /// The service's response settles the attempt of this request.
    pub(super) fn close(&mut self, id: &Identity, request: &Arc<Request>) {
        let Some(tracked) = self.entities.get_mut(id) else { return };
        tracked.attempts.retain(|attempt| !attempt.is_of(request));
        tracked.is_unknown = tracked.was_unknown && !tracked.attempts.is_empty();
    }

    /// The attempt of this request stays open. An earlier one that it repeats is the same write.
    pub(super) fn leave_open(&mut self, id: &Identity, request: &Arc<Request>) {
        let Some(tracked) = self.entities.get_mut(id) else { return };
        let Some(attempt) = tracked.attempts.iter().find(|attempt| attempt.is_of(request)).cloned()
        else {
            return;
        };
        let is_earlier = |it: &OpenAttempt| it.repeats(&attempt) && !it.is_of(request);
        tracked.attempts.retain(|it| !is_earlier(it));
    }

    /// A change was applied, as the service confirmed.
    pub(super) fn applied(
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
        tracked.forget_fenced(request);
        tracked.take_applied(change, etag);
    }

    /// The requests with open attempts of these entities, the last one first.
    pub(super) fn open_requests(&self, ids: &[&Identity]) -> Vec<OpenAttempt> {
        let mut attempts: Vec<OpenAttempt> = Vec::new();
        for attempt in ids.iter().filter_map(|id| self.get(id)).flat_map(|it| &it.attempts) {
            if !attempts.iter().any(|known| known.is_of(&attempt.request)) {
                attempts.push(attempt.clone());
            }
        }
        attempts.sort_by_key(|attempt| std::cmp::Reverse(attempt.sent_at));
        attempts
    }

    /// Takes over the verdict on a request with open attempts. Returns the entities whose change was
    /// applied, with their ETags.
    pub(super) fn resolve(
        &mut self,
        table: &str,
        attempt: &OpenAttempt,
        verdict: Verdict,
        rows: &HashMap<EntityKey, Found>,
    ) -> Vec<(Identity, Option<ETag>, Confirmation)> {
        let ids = attempt.keys.iter().map(|key| (self.identity(table, key), key));
        let ids: Vec<_> = ids.collect();
        let mut applied = Vec::new();
        for (id, key) in ids {
            let Some(tracked) = self.entities.get_mut(&id) else { continue };
            let own = tracked.attempts.iter().find(|it| it.is_of(&attempt.request)).cloned();
            let Some(own) = own else { continue };
            match verdict {
                Verdict::Applied(confirmation) => {
                    let row = rows.get(key);
                    // With the old ETag, the next update finds the conflict with whoever wrote later.
                    let etag = row.filter(|row| tracked.is_exact(&own, row)).map(|row| &row.etag);
                    let etag = etag.cloned();
                    self.applied(&id, own.change, &own.request, etag.as_ref());
                    applied.push((id, row.map(|row| row.etag.clone()), confirmation));
                }
                Verdict::NotApplied => {
                    tracked.attempts.retain(|it| !it.is_of(&attempt.request));
                    tracked.is_unknown &= !tracked.attempts.is_empty();
                }
                Verdict::Unknown { .. } => {}
            }
        }
        applied
    }

    /// A query found the row of an entity with open attempts: if it has the write id of one, that one was
    /// applied.
    pub(super) fn meet_write_id(&mut self, id: &Identity, row: &Found) {
        let Some(column) = self.write_id.clone() else { return };
        let Some(found) = row.properties.get(&*column) else { return };
        let Some(tracked) = self.entities.get(id).filter(|tracked| tracked.is_unknown) else {
            return;
        };
        let has_id = |it: &&OpenAttempt| {
            it.wire.properties().and_then(|written| written.get(&*column)) == Some(found)
        };
        let Some(attempt) = tracked.attempts.iter().find(has_id).cloned() else { return };
        let etag = tracked.is_exact(&attempt, row).then_some(&row.etag);
        self.applied(id, attempt.change, &attempt.request, etag);
    }
}

/// The writes of a request; empty if they cannot be read.
pub(super) fn writes(request: &Request) -> Vec<Wrote> {
    Wrote::all_of(request).unwrap_or_default()
}
