//! The pending change of a tracked entity, and the form in which it is sent.

use std::fmt;
use std::sync::Arc;

use super::{Known, Tracked, refusal};
use crate::error::Error;
use crate::etag::{ETag, IfMatch};
use crate::operation::entity::{Update, Write};
use crate::outcome::Properties;
use crate::wire::Operation;

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

/// A change as it is sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Change {
    Add(Add, Arc<Properties>),
    Merge(Arc<Properties>),
    Put(Arc<Properties>),
    Delete,
}

impl Tracked {
    pub(crate) fn state(&self) -> EntityState {
        match self.pending {
            _ if self.is_unknown => EntityState::Unknown,
            Pending::Nothing => EntityState::Unchanged,
            Pending::Add(_) => EntityState::Added,
            Pending::Update => EntityState::Modified,
            Pending::Delete => EntityState::Deleted,
        }
    }

    /// Whether the outcome of a change is unknown, and no request can be sent to resolve it.
    pub(crate) fn is_unsendable(&self) -> bool {
        self.is_unknown
            && match self.pending {
                Pending::Nothing => true,
                Pending::Delete => self.condition.is_none(),
                Pending::Add(_) | Pending::Update => false,
            }
    }

    /// Returns the change to send; `None` if there is nothing to do.
    ///
    /// The service ignores nulls in a merge, so that a merge cannot remove a property. The entity is then replaced,
    /// with the properties of other programs.
    pub(crate) fn change(&self, replace_on_update: bool) -> Result<Option<Change>, Error> {
        if self.condition.is_none() && matches!(self.pending, Pending::Update | Pending::Delete) {
            return Err(refusal(&self.key, "its ETag is not known: read it again"));
        }
        let change = match self.pending {
            Pending::Nothing => return Ok(None),
            Pending::Add(add) => Change::Add(add, Arc::clone(&self.current)),
            Pending::Delete => Change::Delete,
            Pending::Update if self.replaces => Change::Put(Arc::clone(&self.current)),
            Pending::Update => self.update(replace_on_update)?,
        };
        // A refresh may have read the same change.
        let is_empty = matches!(&change, Change::Merge(set) if set.is_empty());
        if is_empty && self.snapshot.is_some() {
            return Ok(None);
        }
        Ok(Some(change))
    }

    fn update(&self, replace_on_update: bool) -> Result<Change, Error> {
        let empty = Properties::new();
        let snapshot = self.snapshot.as_deref().unwrap_or(&empty);
        let removed = snapshot.keys().find(|name| !self.current.contains_key(*name));
        let removed = removed.or(self.lacks.as_ref().filter(|_| self.snapshot.is_none()));
        match (&self.known, removed) {
            (Known::Some(_), Some(name)) => Err(refusal(
                &self.key,
                format_args!(
                    "property {name:?} was removed, which requires a replace, and a replace would lose the \
                     columns that the query did not select: read all columns first"
                ),
            )),
            (Known::Some(_), None) if replace_on_update => Err(refusal(
                &self.key,
                "a replace would lose the columns that the query did not select: read all columns first",
            )),
            (Known::Written, Some(name)) if !replace_on_update => Err(refusal(
                &self.key,
                format_args!(
                    "it was not read, and a merge cannot remove property {name:?}, which has no \
                     value: save with `replace_on_update`, or read it first"
                ),
            )),
            (_, None) if !replace_on_update => {
                let set = self.current.iter();
                let set = set.filter(|(name, value)| snapshot.get(*name) != Some(value));
                let set = set.map(|(name, value)| (name.clone(), value.clone()));
                Ok(Change::Merge(Arc::new(set.collect())))
            }
            _ => Ok(Change::Put(Arc::clone(&self.current))),
        }
    }

    /// The condition of an update or a delete. A new entity has no condition, and is sent without one.
    pub(crate) fn if_match(&self) -> &IfMatch {
        self.condition.as_ref().unwrap_or(&IfMatch::Any)
    }

    /// The condition under which a change is sent.
    pub(super) const fn condition_of(&self, change: &Change) -> Option<&IfMatch> {
        match change {
            Change::Add(..) => None,
            Change::Merge(_) | Change::Put(_) | Change::Delete => self.condition.as_ref(),
        }
    }

    /// Records that a change was applied.
    pub(super) fn confirm(&mut self, change: Change, etag: Option<&ETag>) {
        self.error = None;
        self.is_unknown = false;
        self.replaces = false;
        match change {
            Change::Add(Add::InsertOrMerge, written) => {
                self.known = Known::Written;
                self.snapshot = Some(written);
            }
            Change::Add(_, written) | Change::Put(written) => {
                self.known = Known::All;
                self.snapshot = Some(written);
            }
            Change::Merge(written) => Arc::make_mut(self.snapshot.get_or_insert_default())
                .extend(Arc::unwrap_or_clone(written)),
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
        condition: &'c IfMatch,
    ) -> Option<(Write<'c>, &'c Properties)> {
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
