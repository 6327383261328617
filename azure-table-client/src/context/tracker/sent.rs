//! The open changes of tracked entities: requests that may have been applied, or may be applied later.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use super::change::{Change, Wire};
use super::open_changes::{MAX_OPEN_CHANGES, OpenChange};
use super::{Identity, Known, ServerRow, Tracked, Tracker, refusal};
use crate::edm::EdmValue;
use crate::entity::EntityKey;
use crate::error::Error;
use crate::operation::{Confirmation, Request};
use crate::outcome::{Found, Judgment, Properties, Verdict};
use crate::{ETag, IfMatch};

/// A change that is about to be sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sending<'c> {
    pub(crate) id: &'c Identity,
    /// The change as it is tracked.
    pub(crate) change: &'c Change,
    pub(crate) wire: &'c Wire,
    pub(crate) condition: Option<&'c IfMatch>,
}

impl Tracked {
    /// The open changes in their order.
    pub(crate) fn open_changes(&self) -> &[OpenChange] {
        self.open.all()
    }

    /// Returns the form in which a request sent this change under the current condition, unless another change of the entity
    /// was sent since: the id of the request would not prove that this one came last.
    pub(crate) fn sent_form(&self, change: &Change, request: &Arc<Request>) -> Option<&Wire> {
        let condition = self.condition_of(change);
        let is_same =
            |open: &&OpenChange| open.change == *change && open.condition.as_ref() == condition;
        let mut last = self.open.all().iter().rev().take_while(is_same);
        last.find(|open| open.is_of(request)).map(|open| &open.wire)
    }

    /// Whether the refusal of the change in flight may be due to an earlier change.
    pub(crate) fn has_earlier_open(&self) -> bool {
        self.open.all().len() > 1
    }

    /// Whether the columns that a change did not write are those of the snapshot, so that no other program wrote them.
    /// `write_id` is the column with the ids of writes.
    fn has_other_columns_of_snapshot(
        &self,
        open: &OpenChange,
        row: &Properties,
        write_id: Option<&str>,
    ) -> bool {
        let written = open.wire.change.properties();
        !open.is_merge()
            || self.has_known_columns(row, |name| {
                written.is_some_and(|set| set.contains_key(name)) || write_id == Some(name)
            })
    }

    /// Whether a row has the values that are known of it, except those of some columns.
    fn has_known_columns(&self, row: &Properties, is_excepted: impl Fn(&str) -> bool) -> bool {
        let Some(snapshot) = &self.snapshot else { return true };
        let is_same = |name: &String| is_excepted(name) || row.get(name) == snapshot.get(name);
        match &self.known {
            Known::All => snapshot.keys().chain(row.keys()).all(is_same),
            Known::Some(names) => names.iter().all(is_same),
            Known::Written => snapshot.keys().all(is_same),
        }
    }
}

impl Tracker {
    /// Records the changes of a request, before it is sent. Their outcome is unknown from here on, also if the
    /// save is dropped.
    ///
    /// # Errors
    /// An entity has too many open changes: its index, and the error. No change is recorded.
    pub(crate) fn begin(
        &mut self,
        request: &Arc<Request>,
        changes: &[Sending<'_>],
        sent: &Range<Instant>,
        is_expired: impl Fn(Instant) -> bool,
    ) -> Result<(), (usize, Error)> {
        let opened = changes.iter().map(|&Sending { id, change, wire, condition }| {
            let tracked = self.get(id);
            let update = tracked.and_then(|tracked| tracked.update.as_ref());
            let current = tracked.map(|tracked| Arc::clone(&tracked.current));
            OpenChange {
                change: change.clone(),
                wire: wire.clone(),
                condition: condition.cloned(),
                request: Arc::clone(request),
                sent: sent.clone(),
                update: update.map(|update| Arc::clone(&update.written)),
                current: current.unwrap_or_default(),
            }
        });
        let opened: Vec<_> = opened.collect();
        let has_room = |(at, open): (usize, &OpenChange)| {
            self.get(changes[at].id).is_none_or(|tracked| tracked.open.has_room(open, &is_expired))
        };
        if let Some(at) = opened.iter().enumerate().rposition(|open| !has_room(open)) {
            let error = refusal(
                &changes[at].id.key,
                format_args!(
                    "{MAX_OPEN_CHANGES} earlier attempts may still be applied: wait, or detach the entity \
                     and read it again"
                ),
            );
            return Err((at, error));
        }
        for (change, open) in changes.iter().zip(opened) {
            if let Some(tracked) = self.entities.get_mut(change.id) {
                tracked.open.begin(open);
            }
        }
        Ok(())
    }

    /// Closes the change of this request, which the service refused, or leaves it open in place of an earlier one that
    /// it repeats.
    pub(crate) fn end_request(&mut self, id: &Identity, request: &Arc<Request>, is_open: bool) {
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
        let open = tracked.open.of(request);
        if let (Some(sent), Some(update)) = (open.map(|it| &it.update), &tracked.update)
            && sent.as_ref().is_some_and(|sent| Arc::ptr_eq(sent, &update.written))
        {
            tracked.update = None;
        }
        let sent = open.map(|open| Arc::clone(&open.current));
        tracked.open.applied(request);
        tracked.confirm(change, sent.as_deref(), etag);
    }

    /// Records that the ETag is not known after a change that was applied. The entity cannot be updated until it is.
    pub(crate) fn forget_etag(&mut self, id: &Identity) {
        if let Some(tracked) = self.entities.get_mut(id) {
            tracked.condition = None;
        }
    }

    /// Sets the ETag of a row that was read after the change was applied, unless another program wrote other columns of
    /// the row. Returns whether it was set.
    pub(crate) fn adopt_etag(&mut self, id: &Identity, row: &Found) -> bool {
        let Some(tracked) = self.entities.get_mut(id) else { return false };
        let is_id = |name: &str| self.write_id.as_deref() == Some(name);
        let is_own = tracked.has_known_columns(&row.properties, is_id);
        if is_own {
            tracked.condition = Some(IfMatch::Tag(row.etag.clone()));
        }
        is_own
    }

    /// Records the error of the last save.
    pub(crate) fn set_error(&mut self, id: &Identity, error: Option<Error>) {
        if let Some(tracked) = self.entities.get_mut(id) {
            tracked.error = error;
        }
    }

    /// Returns one open change of each request about these entities, the last one first.
    pub(crate) fn open_requests(&self, ids: &[&Identity]) -> Vec<OpenChange> {
        let mut opened: Vec<OpenChange> = Vec::new();
        for open in ids.iter().filter_map(|id| self.get(id)).flat_map(Tracked::open_changes) {
            if !opened.iter().any(|known| known.is_of(&open.request)) {
                opened.push(open.clone());
            }
        }
        opened.sort_by_key(|open| Reverse(open.sent.start));
        opened
    }

    /// Applies the judgment of a request with open changes. Returns the entities whose change was applied, with
    /// their ETags.
    pub(crate) fn resolve(
        &mut self,
        open: &OpenChange,
        judgment: &Judgment,
        rows: &HashMap<EntityKey, Found>,
    ) -> Vec<(Identity, Option<ETag>, Confirmation)> {
        let mut applied = Vec::new();
        for (write, is_left) in open.request.writes.iter().zip(&judgment.left) {
            let (id, key) = (self.identity(&open.request.resource, &write.key), &write.key);
            let Some(tracked) = self.entities.get_mut(&id) else { continue };
            let Some(own) = tracked.open.of(&open.request).cloned() else { continue };
            match judgment.verdict {
                Verdict::Applied(confirmation) => {
                    let (row, write_id) = (rows.get(key), self.write_id.as_deref());
                    // With the old ETag, the next update finds the conflict with a later writer.
                    let is_of_change = |row: &&Found| {
                        *is_left
                            && tracked.has_other_columns_of_snapshot(
                                &own,
                                &row.properties,
                                write_id,
                            )
                    };
                    let etag = row.filter(is_of_change).map(|row| row.etag.clone());
                    self.applied(&id, own.change, &own.request, etag.as_ref());
                    applied.push((id, row.map(|row| row.etag.clone()), confirmation));
                }
                Verdict::NotApplied => {
                    tracked.open.close(&open.request);
                }
                Verdict::Unknown { .. } => {}
            }
        }
        applied
    }

    /// Applies the proof in a row that a query found: the change whose write id is in the row was applied.
    pub(crate) fn apply_write_id(&mut self, id: &Identity, row: &ServerRow) {
        let Some(column) = self.write_id.clone() else { return };
        let Some(EdmValue::Guid(found)) = row.properties.get(&*column) else { return };
        let Some(tracked) = self.get(id).filter(|tracked| tracked.is_unknown()) else { return };
        let has_id = |it: &&OpenChange| it.wire.write_id.as_ref() == Some(found);
        let Some(open) = tracked.open_changes().iter().find(has_id).cloned() else { return };
        let stored = row.stored.as_ref().unwrap_or(&row.properties);
        let is_of_change = open.is_left_in(stored, &column)
            && tracked.has_other_columns_of_snapshot(&open, &row.properties, Some(&*column));
        let etag = is_of_change.then_some(&row.etag);
        self.applied(id, open.change, &open.request, etag);
    }
}
