//! The open changes of one entity. No I/O.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use super::change::{Add, Change, Wire};
use crate::IfMatch;
use crate::operation::Request;
use crate::outcome::Properties;

/// The maximum number of open changes of one entity that the service may still apply.
pub(super) const MAX_OPEN_CHANGES: usize = 8;

/// One change in a request that was sent.
#[derive(Debug, Clone)]
pub(crate) struct OpenChange {
    /// The change as it is tracked.
    pub(crate) change: Change,
    pub(super) wire: Wire,
    pub(super) condition: Option<IfMatch>,
    /// The request, which was applied as a whole or not at all.
    pub(crate) request: Arc<Request>,
    /// The time of the first request, and the deadline, after which no retry is sent.
    pub(crate) sent: Range<Instant>,
    /// The last update before it was sent.
    pub(super) update: Option<Arc<Properties>>,
    /// The properties with the local changes, from when it was sent.
    pub(super) current: Arc<Properties>,
}

impl OpenChange {
    /// Whether both would leave the same rows, with the same write ids.
    pub(crate) fn repeats(&self, other: &Self) -> bool {
        self.wire == other.wire
            && self.condition == other.condition
            && self.has_rows_of(&other.request)
    }

    /// Whether this change needs no outcome of its own, since `applied`, an earlier one, is known to be applied.
    fn is_settled_by(&self, applied: &Self) -> bool {
        // The row had the ETag until `applied` replaced it.
        let is_excluded = self.is_fenceable() && self.condition == applied.condition;
        is_excluded || self.is_same_change(applied)
    }

    /// Whether both are the same change of the program, although in other requests or with other write ids.
    fn is_same_change(&self, other: &Self) -> bool {
        let is_same_update = match (&self.update, &other.update) {
            (Some(own), Some(others)) => Arc::ptr_eq(own, others),
            (own, others) => own.is_none() && others.is_none(),
        };
        is_same_update && self.change == other.change && self.condition == other.condition
    }

    /// Whether a request writes the same rows in the same order.
    pub(crate) fn has_rows_of(&self, request: &Request) -> bool {
        let keys = request.writes.iter().map(|write| &write.key);
        self.request.writes.iter().map(|write| &write.key).eq(keys)
    }

    pub(crate) fn is_of(&self, request: &Arc<Request>) -> bool {
        Arc::ptr_eq(&self.request, request)
    }

    /// Whether a row has the properties that the change left. A client without ids may have written it since, and kept the
    /// column with the id.
    pub(super) fn is_left_in(&self, row: &Properties, write_id: &str) -> bool {
        let Some(written) = self.wire.change.properties() else { return false };
        let is_left = |name: &String| name == write_id || row.get(name) == written.get(name);
        written.keys().all(is_left) && (self.is_merge() || row.keys().all(is_left))
    }

    /// Whether it leaves the columns that it does not write.
    pub(super) const fn is_merge(&self) -> bool {
        matches!(self.change, Change::Merge(_) | Change::Add(Add::InsertOrMerge, _))
    }

    /// Takes over the values that the context, and not the program, has given to columns since it was sent.
    fn adopt(&mut self, current: &Properties, is_adopted: impl Fn(&str) -> bool) {
        let sent = Arc::make_mut(&mut self.current);
        sent.retain(|name, _| !is_adopted(name) || current.contains_key(name));
        for (name, value) in current.iter().filter(|(name, _)| is_adopted(name)) {
            sent.insert(name.clone(), value.clone());
        }
    }

    /// Whether the service refuses it once the row has another ETag.
    const fn is_fenceable(&self) -> bool {
        matches!(self.condition, Some(IfMatch::Tag(_)))
    }
}

/// The changes of an entity that may have been applied, or may be applied later, in their order.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenChanges {
    changes: Vec<OpenChange>,
}

impl OpenChanges {
    pub(super) fn all(&self) -> &[OpenChange] {
        &self.changes
    }

    /// Takes over the values that the context, and not the program, has given to columns.
    pub(super) fn adopt(&mut self, current: &Properties, is_adopted: impl Fn(&str) -> bool) {
        for open in &mut self.changes {
            open.adopt(current, &is_adopted);
        }
    }

    pub(super) fn of(&self, request: &Arc<Request>) -> Option<&OpenChange> {
        self.changes.iter().find(|open| open.is_of(request))
    }

    /// Whether another change can be recorded. One that repeats an earlier one takes its place.
    pub(super) fn has_room(&self, open: &OpenChange, is_expired: impl Fn(Instant) -> bool) -> bool {
        let open_now = self.changes.iter().filter(|earlier| !is_expired(earlier.sent.end));
        open_now.count() < MAX_OPEN_CHANGES
            || self.changes.iter().any(|earlier| earlier.repeats(open))
    }

    /// Records a change that is about to be sent.
    pub(super) fn begin(&mut self, open: OpenChange) {
        // Of the earlier copies of this write, from saves that were dropped, the last one is enough.
        let last = self.changes.iter().rposition(|earlier| earlier.repeats(&open));
        let mut at = 0..;
        self.changes.retain(|earlier| at.next() == last || !earlier.repeats(&open));
        self.changes.push(open);
    }

    /// Removes the change of a request that was not applied.
    pub(super) fn close(&mut self, request: &Arc<Request>) {
        self.changes.retain(|open| !open.is_of(request));
    }

    /// Leaves the change of a request open, in place of an earlier one that it repeats.
    pub(super) fn leave_open(&mut self, request: &Arc<Request>) {
        let Some(open) = self.of(request).cloned() else { return };
        self.changes.retain(|it| it.is_of(request) || !it.repeats(&open));
    }

    /// Removes the change of a request that was applied, those before it, and later ones that it settles. One without a
    /// condition may still arrive; like the write of another program, it is then a conflict of the next change.
    pub(super) fn applied(&mut self, request: &Arc<Request>) {
        // Another request has settled a confirmed change that is not in the list. All changes in the list are older.
        let at = self.changes.iter().position(|open| open.is_of(request));
        let count = at.map_or(self.changes.len(), |at| at + 1);
        let applied = self.changes.drain(..count).next_back();
        if let Some(applied) = applied {
            self.changes.retain(|open| !open.is_settled_by(&applied));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use uuid::Uuid;

    use super::*;
    use crate::edm::EdmValue;
    use crate::entity::EntityKey;
    use crate::operation::Target;
    use crate::operation::transaction::Batch;
    use crate::wire::Protocol;

    fn request() -> Arc<Request> {
        let mut batch = Batch::new(Target::of_test(Protocol::default()));
        batch.delete(&EntityKey::new("p", "r"), &IfMatch::Any).unwrap();
        Arc::new(batch.finish().unwrap())
    }

    fn change(value: i32, condition: Option<&str>) -> OpenChange {
        let values = Arc::new([("A".to_owned(), EdmValue::from(value))].into());
        let change = match condition {
            Some(_) => Change::Merge(values),
            None => Change::Add(Add::InsertOrMerge, values),
        };
        let now = Instant::now();
        OpenChange {
            change: change.clone(),
            wire: Wire { change, write_id: None },
            condition: condition.map(|tag| IfMatch::Tag(tag.into())),
            request: request(),
            sent: now..now + Duration::from_secs(60),
            update: None,
            current: Arc::default(),
        }
    }

    /// Two changes, the earlier of which is known to be applied. Returns whether the later one stays open.
    fn stays_open(applied: &OpenChange, later: &OpenChange) -> bool {
        let mut open = OpenChanges::default();
        open.begin(applied.clone());
        open.begin(later.clone());
        open.applied(&applied.request);
        open.of(&later.request).is_some()
    }

    #[test]
    fn later_changes_stay_open_unless_the_applied_one_settles_them() {
        let with_id = |id| {
            let mut change = change(1, None);
            change.wire.write_id = Some(Uuid::from_u128(id));
            change
        };
        let updated = || OpenChange { update: Some(Arc::default()), ..change(1, None) };
        for (what, applied, later, is_left) in [
            ("another upsert", change(1, None), change(2, None), true),
            (
                "the same change, in a request about other rows",
                change(1, None),
                change(1, None),
                false,
            ),
            ("the same change, with another id", with_id(1), with_id(2), false),
            ("the same values, by another update", updated(), updated(), true),
            ("under the same ETag", change(1, Some("t")), change(2, Some("t")), false),
            ("under another ETag", change(1, Some("t")), change(2, Some("u")), true),
            ("without a condition", change(1, Some("t")), change(2, None), true),
            // The upsert may have arrived after the update.
            ("an update after an upsert", change(1, None), change(2, Some("t")), true),
        ] {
            assert_eq!(stays_open(&applied, &later), is_left, "{what}");
        }
    }

    /// Another request may have settled the change in flight, before its own response confirms it.
    #[test]
    fn a_confirmed_change_settles_all_earlier_ones() {
        let [first, second, copy] = [change(1, None), change(2, None), change(1, None)];
        let mut open = OpenChanges::default();
        for change in [&first, &second, &copy] {
            open.begin(change.clone());
        }
        open.applied(&first.request);
        assert_eq!(open.all().len(), 1);
        open.applied(&copy.request);
        assert!(open.all().is_empty());
    }
}
