//! What became of a change whose reply never came, from what the service holds now. No I/O.

use super::merge_option::ServerRow;
use super::state::{Add, Change, Identity, Pending, Tracker};
use crate::etag::IfMatch;

/// What was found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resolution {
    /// The change was made.
    Applied,
    /// It was not, as far as the service shows; it is pending again.
    ///
    /// An attempt that is still on its way meets the condition that the next one carries, or the key
    /// that it inserted.
    NotApplied,
}

impl Tracker {
    /// Compares what was sent with the row that the service holds now, `None` if there is none.
    ///
    /// An insert was made if the row has the values that were sent; an update, if the version is a new
    /// one and the row has the values that were sent; a delete, if there is no row. Another program that
    /// wrote the very same values cannot be told from this one.
    pub(super) fn resolve(&mut self, id: &Identity, row: Option<&ServerRow>) -> Resolution {
        let Some(tracked) = self.entities.get_mut(id) else { return Resolution::NotApplied };
        let Some(change) = tracked.sent.take() else { return Resolution::NotApplied };
        let has_values = |row: &ServerRow| {
            let sent = change.properties();
            sent.is_some_and(|sent| {
                sent.iter().all(|(name, value)| row.properties.get(name) == Some(value))
            })
        };
        let is_whole = |row: &ServerRow| change.properties() == Some(&row.properties);
        let is_new = |row: &ServerRow| match tracked.condition.as_ref() {
            Some(IfMatch::Tag(tag)) => *tag != row.etag,
            _ => true,
        };
        let applied = match (&change, row) {
            (Change::Delete, None) => true,
            (Change::Delete, Some(_)) | (_, None) => false,
            (Change::Add(Add::InsertOrMerge, _), Some(row)) => has_values(row),
            (Change::Add(..), Some(row)) => is_whole(row),
            (Change::Merge(_), Some(row)) => is_new(row) && has_values(row),
            (Change::Put(_), Some(row)) => is_new(row) && is_whole(row),
        };
        if !applied {
            // It was to be added, and is to be deleted now: there is nothing to delete.
            if tracked.pending == Pending::Delete && tracked.condition.is_none() {
                self.entities.remove(id);
            }
            return Resolution::NotApplied;
        }
        let is_delete = change == Change::Delete;
        tracked.take_applied(change, row.map(|row| &row.etag));
        if is_delete {
            self.entities.remove(id);
        }
        Resolution::Applied
    }
}
