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
        self.wire == other.wire
            && self.condition == other.condition
            && self.has_rows_of(&other.request)
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

    /// Removes the change of a request that was applied, those before it, and those under an earlier ETag, which the
    /// service refuses from here on. One of those before it, without a condition, may still arrive; like the write of
    /// another program, it is then a conflict of the next change.
    pub(super) fn applied(&mut self, request: &Arc<Request>) {
        let applied = self.changes.iter().position(|open| open.is_of(request));
        self.changes.drain(..applied.map_or(0, |at| at + 1));
        self.changes.retain(|open| !open.is_fenceable());
        self.is_unknown = false;
    }

    /// Removes the change of a request that was not applied.
    pub(super) fn not_applied(&mut self, request: &Arc<Request>) {
        self.changes.retain(|open| !open.is_of(request));
        self.is_unknown &= !self.changes.is_empty();
    }
}
