//! Removal of properties. The service ignores nulls in a merge, so a merge cannot remove a property: the whole
//! row is replaced, including the properties of other programs.

use std::fmt;

use crate::Dialect;
use crate::entity::{DynamicEntity, EncodeError, Ownership, TableEntity};
use crate::error::Error;

/// An entity before it is changed.
pub(super) struct Before {
    written: DynamicEntity,
    ownership: Ownership,
    dialect: Dialect,
}

impl Before {
    /// # Errors
    /// The entity cannot be written as it was read, so that its removed properties are not known.
    pub(super) fn of<T: TableEntity>(entity: &T, dialect: Dialect) -> Result<Self, Error> {
        let written = DynamicEntity::of(entity, dialect).map_err(unwritable)?;
        Ok(Self { written, ownership: entity.ownership(), dialect })
    }

    /// Whether the entity would be written with other properties now.
    pub(super) fn is_changed<T: TableEntity>(&self, now: &T) -> Result<bool, Error> {
        let now = DynamicEntity::of(now, self.dialect)?;
        Ok(!self.written.properties().eq(now.properties()))
    }

    /// The row with the entity as it is now, without what it does not write any more; `None` if it
    /// writes all that it did, so that a merge will do. `read` returns all properties of the row.
    pub(super) fn replacement<T: TableEntity, E: fmt::Display>(
        &self,
        now: &T,
        read: impl FnOnce() -> Result<DynamicEntity, E>,
    ) -> Result<Option<DynamicEntity>, Error> {
        let now = DynamicEntity::of(now, self.dialect)?;
        let names = self.written.properties().map(|(name, _)| name);
        let mut removed = names.filter(|name| now.value(name).is_none()).peekable();
        let Some(first) = removed.peek() else { return Ok(None) };
        let mut row = read().map_err(|error| refusal(first, &error))?;
        for name in removed {
            row.remove(name);
            for former in self.ownership.former_names(name) {
                row.remove(former);
            }
        }
        for (name, value) in now.properties() {
            row.set(name, value.clone());
        }
        Ok(Some(row))
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
