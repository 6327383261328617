//! What is sent for an entity. No I/O.

use super::state::{Add, Change, Known, Pending, Properties, Tracked, refusal};
use crate::edm::EdmValue;
use crate::entity::DynamicEntity;
use crate::error::Error;
use crate::etag::IfMatch;
use crate::operation::entity::{Update, Write};

impl Tracked {
    /// What is to be sent; `None` if there is nothing to do.
    ///
    /// The service ignores nulls in a merge, so that nothing can be removed by one: where a property
    /// went, the entity is replaced as a whole, with the properties of other programs.
    pub(super) fn change(&self, replace_on_update: bool) -> Result<Option<Change>, Error> {
        if self.condition.is_none() && matches!(self.pending, Pending::Update | Pending::Delete) {
            return Err(refusal(&self.key, "its ETag is not known: read it again"));
        }
        let change = match self.pending {
            Pending::Nothing => return Ok(None),
            Pending::Add(add) => Change::Add(add, self.current.clone()),
            Pending::Delete => Change::Delete,
            Pending::Update if self.replaces => Change::Put(self.current.clone()),
            Pending::Update => self.update(replace_on_update)?,
        };
        // A refresh may have made the same change.
        let is_empty = matches!(&change, Change::Merge(set) if set.is_empty());
        if is_empty && self.snapshot.is_some() {
            return Ok(None);
        }
        Ok(Some(change))
    }

    fn update(&self, replace_on_update: bool) -> Result<Change, Error> {
        let empty = Properties::new();
        let snapshot = self.snapshot.as_ref().unwrap_or(&empty);
        let removed = snapshot.keys().find(|name| !self.current.contains_key(*name));
        let removed = removed.or(self.lacks.as_ref().filter(|_| self.snapshot.is_none()));
        match (&self.known, removed) {
            (Known::Some(_), Some(name)) => Err(refusal(
                &self.key,
                format_args!(
                    "property {name:?} was removed, which takes a replace, and that would lose the \
                     columns that its query did not select: read it as a whole"
                ),
            )),
            (Known::Some(_), None) if replace_on_update => Err(refusal(
                &self.key,
                "a replace would lose the columns that its query did not select: read it as a whole",
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
                Ok(Change::Merge(set.collect()))
            }
            _ => Ok(Change::Put(self.current.clone())),
        }
    }

    /// The condition of an update or a delete. What is new has none, and is sent without one.
    pub(super) fn if_match(&self) -> &IfMatch {
        self.condition.as_ref().unwrap_or(&IfMatch::Any)
    }
}

impl Change {
    /// The name for reports.
    pub(super) const fn operation(&self) -> crate::wire::Operation {
        use crate::wire::Operation;
        match self {
            Self::Add(Add::Insert, _) => Operation::Insert,
            Self::Add(Add::InsertOrMerge, _) => Operation::InsertOrMerge,
            Self::Add(Add::InsertOrReplace, _) => Operation::InsertOrReplace,
            Self::Merge(_) => Operation::Merge,
            Self::Put(_) => Operation::Replace,
            Self::Delete => Operation::Delete,
        }
    }

    /// How its entity is written; `None` for a delete.
    pub(super) const fn write<'c>(&self, condition: &'c IfMatch) -> Option<Write<'c>> {
        Some(match self {
            Self::Add(Add::Insert, _) => Write::Insert,
            Self::Add(Add::InsertOrMerge, _) => Write::Upsert(Update::Merge),
            Self::Add(Add::InsertOrReplace, _) => Write::Upsert(Update::Replace),
            Self::Merge(_) => Write::Update(Update::Merge, condition),
            Self::Put(_) => Write::Update(Update::Replace, condition),
            Self::Delete => return None,
        })
    }

    pub(super) const fn properties_mut(&mut self) -> Option<&mut Properties> {
        match self {
            Self::Add(_, properties) | Self::Merge(properties) | Self::Put(properties) => {
                Some(properties)
            }
            Self::Delete => None,
        }
    }

    pub(super) const fn properties(&self) -> Option<&Properties> {
        match self {
            Self::Add(_, properties) | Self::Merge(properties) | Self::Put(properties) => {
                Some(properties)
            }
            Self::Delete => None,
        }
    }
}

/// An entity of these properties.
pub(super) fn dynamic(tracked: &Tracked, properties: &Properties) -> DynamicEntity {
    let key = &tracked.key;
    let mut entity = DynamicEntity::new(&*key.partition_key, &*key.row_key);
    let set = |(name, value): (&String, &EdmValue)| {
        entity.set(name.as_str(), value.clone());
    };
    properties.iter().for_each(set);
    entity
}
