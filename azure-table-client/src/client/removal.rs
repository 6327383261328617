//! Removal of properties. The service ignores nulls in a merge, so a merge cannot remove a property: the whole
//! row is replaced, including the properties of other programs.

use std::fmt;

use crate::Dialect;
use crate::difference::{Difference, apply, difference};
use crate::entity::{DynamicEntity, EncodeError, Ownership, TableEntity};
use crate::error::Error;
use crate::outcome::{Properties, properties_of};

/// An entity before it is changed.
pub(super) struct Before {
    written: Properties,
    ownership: Ownership,
    dialect: Dialect,
}

impl Before {
    /// # Errors
    /// The entity cannot be written as it was read, so that its removed properties are not known.
    pub(super) fn of<T: TableEntity>(entity: &T, dialect: Dialect) -> Result<Self, Error> {
        let (_, written) = properties_of(entity, dialect).map_err(unwritable)?;
        Ok(Self { written, ownership: entity.ownership(), dialect })
    }

    /// Whether the entity would be written with other properties now.
    pub(super) fn is_changed<T: TableEntity>(&self, now: &T) -> Result<bool, Error> {
        Ok(!self.difference(now)?.0.is_empty())
    }

    /// The row with the entity as it is now, without what it does not write any more; `None` if it
    /// writes all that it did, so that a merge will do. `read` returns all properties of the row.
    pub(super) fn replacement<T: TableEntity, E: fmt::Display>(
        &self,
        now: &T,
        read: impl FnOnce() -> Result<DynamicEntity, E>,
    ) -> Result<Option<DynamicEntity>, Error> {
        let (changes, now) = self.difference(now)?;
        let mut removed = changes.iter().filter(|(_, value)| value.is_none());
        let Some((first, _)) = removed.find(|(name, _)| self.written.contains_key(*name)) else {
            return Ok(None);
        };
        let mut row = read().map_err(|error| refusal(first, &error))?;
        let values = row.properties().map(|(name, value)| (name.to_owned(), value.clone()));
        let mut values: Properties = values.collect();
        apply(&changes, &mut values);
        values.extend(now);
        row.replace_properties(values.into_iter().collect());
        Ok(Some(row))
    }

    fn difference<T: TableEntity>(&self, now: &T) -> Result<(Difference, Properties), Error> {
        let (_, now) = properties_of(now, self.dialect)?;
        Ok((difference(&self.written, &now, Some(&self.ownership)), now))
    }
}

/// The error of a merge that would keep removed properties.
fn unwritable(error: EncodeError) -> Error {
    Error::invalid_input(format!(
        "the entity cannot be merged: its type cannot write the row as it was read ({error}), so that a property \
         which the change removes would stay; use `replace`"
    ))
    .with_source(error)
}

/// The error of a replacement that would lose other properties.
fn refusal(name: &str, error: &impl fmt::Display) -> Error {
    Error::invalid_input(format!(
        "property {name:?} cannot be removed: the other properties of the row cannot be written back unchanged \
         ({error}); `replace` drops them"
    ))
}
