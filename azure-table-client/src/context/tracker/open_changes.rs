//! The open changes of one entity. No I/O.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use super::change::{Change, Wire};
use crate::IfMatch;
use crate::operation::Request;
use crate::outcome::Properties;

/// The maximum number of open changes of one entity.
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
}

impl OpenChange {
    /// Whether both would leave the same rows, with the same write ids.
    pub(crate) fn repeats(&self, other: &Self) -> bool {
        self.is_copy_of(other) && self.has_rows_of(&other.request)
    }

    /// Whether both would leave the same row.
    fn is_copy_of(&self, other: &Self) -> bool {
        self.wire == other.wire && self.condition == other.condition
    }

    /// Whether a request writes the same rows in the same order.
    pub(crate) fn has_rows_of(&self, request: &Request) -> bool {
        let keys = request.writes.iter().map(|write| &write.key);
        self.request.writes.iter().map(|write| &write.key).eq(keys)
    }

    pub(crate) fn is_of(&self, request: &Arc<Request>) -> bool {
        Arc::ptr_eq(&self.request, request)
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
    /// Whether the outcome of the last change that was sent is unknown.
    is_unknown: bool,
    /// The value of `is_unknown` before the change in flight.
    was_unknown: bool,
}

impl OpenChanges {
    pub(super) fn all(&self) -> &[OpenChange] {
        &self.changes
    }

    pub(super) const fn is_unknown(&self) -> bool {
        self.is_unknown
    }

    pub(super) fn of(&self, request: &Arc<Request>) -> Option<&OpenChange> {
        self.changes.iter().find(|open| open.is_of(request))
    }

    /// Whether another change can be recorded. One that repeats an earlier one takes its place.
    pub(super) fn has_room(&self, open: &OpenChange) -> bool {
        self.changes.len() < MAX_OPEN_CHANGES
            || self.changes.iter().any(|earlier| earlier.repeats(open))
    }

    /// Records a change that is about to be sent.
    pub(super) fn begin(&mut self, open: OpenChange) {
        self.was_unknown = self.is_unknown || !self.changes.is_empty();
        self.is_unknown = true;
        // Of the earlier copies of this write, from saves that were dropped, the last one is enough.
        let last = self.changes.iter().rposition(|earlier| earlier.repeats(&open));
        let mut at = 0..;
        self.changes.retain(|earlier| at.next() == last || !earlier.repeats(&open));
        self.changes.push(open);
    }

    /// Closes the change of a request that the service refused.
    pub(super) fn close(&mut self, request: &Arc<Request>) {
        self.changes.retain(|open| !open.is_of(request));
        self.is_unknown = self.was_unknown && !self.changes.is_empty();
    }

    /// Leaves the change of a request open, in place of an earlier one that it repeats.
    pub(super) fn leave_open(&mut self, request: &Arc<Request>) {
        let Some(open) = self.of(request).cloned() else { return };
        self.changes.retain(|it| it.is_of(request) || !it.repeats(&open));
    }

    /// Removes the change of a request that was applied, those before it, and later copies of it. One without a condition
    /// may still arrive; like the write of another program, it is then a conflict of the next change.
    ///
    /// Another later change stays open, unless the ETag of the applied one excludes it.
    pub(super) fn applied(&mut self, request: &Arc<Request>) {
        let at = self.changes.iter().position(|open| open.is_of(request));
        let applied = self.changes.drain(..at.map_or(0, |at| at + 1)).next_back();
        if let Some(applied) = applied {
            // The row had this ETag until then, and has another one since.
            let is_excluded = |open: &OpenChange| applied.is_fenceable() && open.is_fenceable();
            self.changes.retain(|open| !is_excluded(open) && !open.is_copy_of(&applied));
        }
        self.is_unknown &= !self.changes.is_empty();
    }

    /// Removes the change of a request that was not applied.
    pub(super) fn not_applied(&mut self, request: &Arc<Request>) {
        self.changes.retain(|open| !open.is_of(request));
        self.is_unknown &= !self.changes.is_empty();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::change::Add;
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
        }
    }

    #[test]
    fn later_changes_stay_open_unless_the_applied_one_settles_them() {
        for (what, applied, later, is_left) in [
            ("another upsert", change(1, None), change(2, None), true),
            ("a copy, in a request about other rows", change(1, None), change(1, None), false),
            ("under the same ETag", change(1, Some("t")), change(2, Some("t")), false),
            ("without a condition", change(1, Some("t")), change(2, None), true),
            // The upsert may have arrived after the update.
            ("an update after an upsert", change(1, None), change(2, Some("t")), true),
        ] {
            let mut open = OpenChanges::default();
            open.begin(applied.clone());
            open.begin(later.clone());
            open.applied(&applied.request);
            let stays = open.of(&later.request).is_some();
            assert_eq!((stays, open.is_unknown()), (is_left, is_left), "{what}");
        }
    }
}
