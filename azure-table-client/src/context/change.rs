//! A change of an entity, in the form in which it is sent, and the states that the program sees.

use std::fmt;
use std::sync::Arc;

use crate::IfMatch;
use crate::entity::{EntityKey, Ownership};
use crate::error::Error;
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
    /// A change was sent, and its outcome is unknown. The next save settles it before it sends another change of the
    /// entity.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Add {
    Insert,
    InsertOrMerge,
    InsertOrReplace,
}

/// A change with the properties that it writes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Change {
    Add(Add, Arc<Properties>),
    Merge(Arc<Properties>),
    Put(Arc<Properties>),
    Delete,
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

    /// The properties that it writes; `None` for a delete.
    pub(crate) const fn properties(&self) -> Option<&Arc<Properties>> {
        match self {
            Self::Add(_, properties) | Self::Merge(properties) | Self::Put(properties) => {
                Some(properties)
            }
            Self::Delete => None,
        }
    }

    /// The same change with other properties.
    pub(crate) fn with_properties(&self, properties: Arc<Properties>) -> Self {
        match self {
            Self::Add(add, _) => Self::Add(*add, properties),
            Self::Merge(_) => Self::Merge(properties),
            Self::Put(_) => Self::Put(properties),
            Self::Delete => Self::Delete,
        }
    }

    /// Whether it leaves the columns that it does not write.
    pub(crate) const fn is_merge(&self) -> bool {
        matches!(self, Self::Merge(_) | Self::Add(Add::InsertOrMerge, _))
    }

    /// Whether it is an insert, which the service refuses if the row exists.
    pub(crate) const fn is_insert(&self) -> bool {
        matches!(self, Self::Add(Add::Insert, _))
    }
}

/// The last update of an entity.
#[derive(Debug, Clone)]
pub(crate) struct LastUpdate {
    /// The properties that its struct writes. Columns without a field are not among them.
    pub(super) written: Properties,
    pub(super) ownership: Arc<Ownership>,
    /// Whether a projection had left columns out: the struct may hold defaults in their place.
    pub(super) is_partial: bool,
}

/// The error of a call or a save about one entity.
pub(crate) fn refusal(key: &EntityKey, message: impl fmt::Display) -> Error {
    Error::invalid_input(format!("entity {key}: {message}")).of_entity(Some(key.clone()))
}
