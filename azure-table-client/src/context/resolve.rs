//! What became of a change whose reply never came, from what the service holds now. No I/O.

use super::merge_option::ServerRow;
use super::state::{Add, Change, Identity, Known, Pending, Sent, Tracker};
use crate::etag::IfMatch;

/// What was found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resolution {
    /// The change was made.
    Applied,
    /// It was not, as far as the service shows; it is pending again.
    ///
    /// An attempt that is still on its way meets the version that it carries, or the key that the next
    /// one inserted. One without a version, an upsert or one with `Any`, may yet be done.
    NotApplied,
    /// It was not, as far as the service shows; and the entity was to be deleted, so that there is
    /// nothing left to do, unless the attempt is still on its way.
    Forgotten,
}

impl Tracker {
    /// Compares what was sent with the row that the service holds now, `None` if there is none.
    ///
    /// An insert was made if the row has the values that were sent; an update, if the version is a new
    /// one and the row has the values that were sent; a delete, if there is no row. Another program that
    /// wrote the very same values cannot be told from this one.
    pub(super) fn resolve(&mut self, id: &Identity, row: Option<&ServerRow>) -> Resolution {
        let Some(tracked) = self.entities.get_mut(id) else { return Resolution::NotApplied };
        let Some(Sent { change, wire }) = tracked.sent.take() else {
            return Resolution::NotApplied;
        };
        let written = wire.properties();
        let has_values = |row: &ServerRow| {
            let mut written = written.into_iter().flatten();
            written.all(|(name, value)| row.properties.get(name) == Some(value))
        };
        let is_whole = |row: &ServerRow| written == Some(&row.properties);
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
                return Resolution::Forgotten;
            }
            return Resolution::NotApplied;
        }
        let is_delete = change == Change::Delete;
        // If another program wrote behind this change, the row's version is not that of what is known
        // here: with the old one, the next update finds the conflict.
        let etag = row.filter(|row| match (&change, &tracked.known, &tracked.snapshot) {
            (Change::Merge(_), Known::All, Some(snapshot)) => {
                let others = row.properties.iter();
                let mut others =
                    others.filter(|(name, _)| written.is_none_or(|w| !w.contains_key(*name)));
                others.all(|(name, value)| snapshot.get(name) == Some(value))
            }
            _ => true,
        });
        tracked.take_applied(change, etag.map(|row| &row.etag));
        if is_delete {
            self.entities.remove(id);
        }
        Resolution::Applied
    }
}
