//! The pending change of a tracked entity, and the form in which it is sent.

use std::fmt;
use std::sync::Arc;

use uuid::Uuid;

use super::{Known, LastUpdate, Tracked, refusal};
use crate::error::Error;
use crate::operation::entity::{Update, Write};
use crate::outcome::Properties;
use crate::wire::Operation;
use crate::{ETag, IfMatch};

/// The state of a tracked entity, which decides what the next save does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EntityState {
    /// The next save inserts the entity.
    Added,
    /// The next save does nothing.
    Unchanged,
    /// The next save updates the entity.
    Modified,
    /// The next save deletes the entity.
    Deleted,
    /// A change was sent, and its outcome is unknown. The next save resolves it, and sends it again if need be.
    Unknown,
}

impl fmt::Display for EntityState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Added => "added",
            Self::Unchanged => "unchanged",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
            Self::Unknown => "unknown",
        })
    }
}

/// The write of an entity that was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Add {
    Insert,
    InsertOrMerge,
    InsertOrReplace,
}

/// The kind of the pending change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pending {
    Nothing,
    Add(Add),
    Update,
    Delete,
}

/// A change as it is tracked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Change {
    Add(Add, Arc<Properties>),
    Merge(Arc<Properties>),
    Put(Arc<Properties>),
    Delete,
}

/// A change as it is sent: after the hook for writing, with its write id.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wire {
    pub(crate) change: Change,
    pub(crate) write_id: Option<Uuid>,
}

impl Tracked {
    pub(crate) fn state(&self) -> EntityState {
        match self.pending {
            _ if self.is_unknown() => EntityState::Unknown,
            Pending::Nothing => EntityState::Unchanged,
            Pending::Add(_) => EntityState::Added,
            Pending::Update => EntityState::Modified,
            Pending::Delete => EntityState::Deleted,
        }
    }

    /// Whether the outcome of a change is unknown, and no request can be sent to resolve it.
    pub(crate) fn is_unsendable(&self, replace_on_update: bool) -> bool {
        self.is_unknown() && (self.lacks_etag() || !self.has_pending(replace_on_update))
    }

    /// Whether there may be something to send.
    pub(super) fn has_pending(&self, replace_on_update: bool) -> bool {
        self.pending != Pending::Nothing || (replace_on_update && self.update.is_some())
    }

    /// Returns the change to send; `None` if there is nothing to do.
    ///
    /// The service ignores nulls in a merge, so that a merge cannot remove a property. The entity is then replaced,
    /// with the properties of other programs. With `replace_on_update`, each updated entity is replaced by what its
    /// struct writes, as in .NET.
    pub(crate) fn change(&self, replace_on_update: bool) -> Result<Option<Change>, Error> {
        let replacement = self.update.as_ref().filter(|_| replace_on_update);
        let change = match (self.pending, replacement) {
            (Pending::Nothing, None) => return Ok(None),
            (Pending::Add(add), _) => Change::Add(add, Arc::clone(&self.current)),
            _ if self.condition.is_none() => {
                return Err(refusal(&self.key, "its ETag is not known: read it again"));
            }
            (Pending::Delete, _) => Change::Delete,
            (Pending::Update, _) if self.replaces => Change::Put(Arc::clone(&self.current)),
            (Pending::Nothing | Pending::Update, Some(update)) => self.replacement(update)?,
            (Pending::Update, None) => self.difference(replace_on_update)?,
        };
        // A refresh may have read the same change.
        let is_empty = matches!(&change, Change::Merge(set) if set.is_empty());
        if is_empty && self.snapshot.is_some() {
            return Ok(None);
        }
        Ok(Some(change))
    }

    /// Replaces the entity by what the struct of the last update writes.
    fn replacement(&self, update: &LastUpdate) -> Result<Change, Error> {
        self.check_replaceable(update.is_partial)?;
        Ok(Change::Put(Arc::clone(&update.written)))
    }

    fn check_replaceable(&self, is_partial: bool) -> Result<(), Error> {
        if is_partial || self.is_partly_known() {
            return Err(refusal(
                &self.key,
                "a replace would lose the columns that the query did not select: read all columns first",
            ));
        }
        Ok(())
    }

    /// Merges the properties that differ from the snapshot. If a property was removed, replaces the entity instead,
    /// including the columns without a field.
    fn difference(&self, replace: bool) -> Result<Change, Error> {
        if replace {
            self.check_replaceable(false)?;
            return Ok(Change::Put(Arc::clone(&self.current)));
        }
        let empty = Properties::new();
        let snapshot = self.snapshot.as_deref().unwrap_or(&empty);
        let removed = snapshot.keys().find(|name| !self.current.contains_key(*name));
        let removed = removed.or(self.lacks.as_ref().filter(|_| self.snapshot.is_none()));
        match (&self.known, removed) {
            (_, None) => {
                let set = self.current.iter();
                let set = set.filter(|(name, value)| snapshot.get(*name) != Some(value));
                let set = set.map(|(name, value)| (name.clone(), value.clone()));
                Ok(Change::Merge(Arc::new(set.collect())))
            }
            (Known::All, Some(_)) => Ok(Change::Put(Arc::clone(&self.current))),
            (Known::Some(_), Some(name)) => Err(refusal(
                &self.key,
                format_args!(
                    "property {name:?} was removed, which requires a replace, and a replace would lose the \
                     columns that the query did not select: read all columns first"
                ),
            )),
            (Known::Written, Some(name)) => Err(refusal(
                &self.key,
                format_args!(
                    "it was not read, and a merge cannot remove property {name:?}, which has no \
                     value: save with `replace_on_update`, or read it first"
                ),
            )),
        }
    }

    /// The condition under which a change is sent.
    pub(crate) const fn condition_of(&self, change: &Change) -> Option<&IfMatch> {
        match change {
            Change::Add(..) => None,
            Change::Merge(_) | Change::Put(_) | Change::Delete => self.condition.as_ref(),
        }
    }

    /// Drops the values that a replace has removed or written in another form. Local changes stay, also those since the
    /// entity was `sent`.
    fn drop_replaced(&mut self, written: &Properties, sent: Option<&Properties>) {
        let (Some(snapshot), Some(sent)) = (&self.snapshot, sent) else { return };
        let current = Arc::make_mut(&mut self.current);
        current.retain(|name, value| {
            let is_unchanged = [snapshot, sent].map(|known| known.get(name)) == [Some(&*value); 2];
            written.contains_key(name) || !is_unchanged
        });
        self.adopt_written(written, sent);
    }

    /// Sets the values that a change has written to columns without local changes, for example in another form.
    fn adopt_written(&mut self, written: &Properties, sent: &Properties) {
        let Some(snapshot) = &self.snapshot else { return };
        let current = Arc::make_mut(&mut self.current);
        for (name, value) in written {
            let own = current.get(name);
            if own == snapshot.get(name) && own == sent.get(name) {
                current.insert(name.clone(), value.clone());
            }
        }
    }

    /// Adds the values of a merge to the snapshot.
    fn confirm_merge(&mut self, written: &Properties, sent: Option<&Properties>) {
        if let Some(sent) = sent {
            self.adopt_written(written, sent);
        }
        let snapshot = Arc::make_mut(self.snapshot.get_or_insert_default());
        snapshot.extend(written.iter().map(|(name, value)| (name.clone(), value.clone())));
    }

    /// Records that a change was applied. `sent` has the properties with the local changes from when it was sent.
    pub(super) fn confirm(
        &mut self,
        change: Change,
        sent: Option<&Properties>,
        etag: Option<&ETag>,
    ) {
        self.error = None;
        self.replaces = false;
        match change {
            Change::Add(Add::InsertOrMerge, written) => {
                match &mut self.snapshot {
                    None => self.known = Known::Written,
                    // Other columns are known from a query. A merge cannot remove one.
                    Some(snapshot) if self.known == Known::Written => {
                        let current = &self.current;
                        Arc::make_mut(snapshot)
                            .retain(|name, value| current.get(name) == Some(&*value));
                    }
                    Some(_) => {}
                }
                self.confirm_merge(&written, sent);
            }
            Change::Merge(written) => self.confirm_merge(&written, sent),
            Change::Add(_, written) | Change::Put(written) => {
                self.known = Known::All;
                self.drop_replaced(&written, sent);
                self.snapshot = Some(written);
            }
            Change::Delete => {}
        }
        self.lacks = None;
        if let Some(etag) = etag {
            self.condition = Some(IfMatch::Tag(etag.clone()));
        }
        // The program may have changed the entity again since the change was sent.
        if self.pending != Pending::Delete {
            self.compare();
        }
    }
}

impl Change {
    /// The operation in reports.
    pub(crate) const fn operation(&self) -> Operation {
        match self {
            Self::Add(Add::Insert, _) => Operation::Insert,
            Self::Add(Add::InsertOrMerge, _) => Operation::InsertOrMerge,
            Self::Add(Add::InsertOrReplace, _) => Operation::InsertOrReplace,
            Self::Merge(_) => Operation::Merge,
            Self::Put(_) => Operation::Replace,
            Self::Delete => Operation::Delete,
        }
    }

    /// The write with its properties; `None` for a delete.
    pub(crate) fn write<'c>(
        &'c self,
        condition: Option<&'c IfMatch>,
    ) -> Option<(Write<'c>, &'c Properties)> {
        let condition = condition.unwrap_or(&IfMatch::Any);
        let write = match self {
            Self::Add(Add::Insert, _) => Write::Insert,
            Self::Add(Add::InsertOrMerge, _) => Write::Upsert(Update::Merge),
            Self::Add(Add::InsertOrReplace, _) => Write::Upsert(Update::Replace),
            Self::Merge(_) => Write::Update(Update::Merge, condition),
            Self::Put(_) => Write::Update(Update::Replace, condition),
            Self::Delete => return None,
        };
        Some((write, self.properties()?))
    }

    pub(crate) fn properties(&self) -> Option<&Properties> {
        match self {
            Self::Add(_, properties) | Self::Merge(properties) | Self::Put(properties) => {
                Some(properties)
            }
            Self::Delete => None,
        }
    }

    pub(crate) const fn properties_mut(&mut self) -> Option<&mut Arc<Properties>> {
        match self {
            Self::Add(_, properties) | Self::Merge(properties) | Self::Put(properties) => {
                Some(properties)
            }
            Self::Delete => None,
        }
    }
}
