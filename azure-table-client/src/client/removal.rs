//! Removal of properties. The service ignores nulls in a merge, so a merge cannot remove a property: the whole
//! row is replaced, including the properties of other programs.

use crate::dialect::Dialect;
use crate::entity::{DynamicEntity, Ownership, TableEntity};
use crate::error::Error;
use crate::operation::entity::Source;
use crate::wire::ReadError;

/// An entity before it is changed.
pub(super) struct Before {
    /// `None` if the entity cannot be written.
    written: Option<DynamicEntity>,
    ownership: Ownership,
    dialect: Dialect,
}

impl Before {
    pub(super) fn of<T: TableEntity>(entity: &T, dialect: Dialect) -> Self {
        let written = DynamicEntity::of(entity, dialect).ok();
        Self { written, ownership: entity.ownership(), dialect }
    }

    /// The row with the entity as it is now, without what it does not write any more; `None` if it
    /// writes all that it did, so that a merge will do.
    pub(super) fn replacement<T: TableEntity>(
        &self,
        now: &T,
        row: &Source,
    ) -> Result<Option<DynamicEntity>, Error> {
        let now = DynamicEntity::of(now, self.dialect)?;
        let before = self.written.iter().flat_map(DynamicEntity::properties);
        let names = before.map(|(name, _)| name);
        let mut removed = names.filter(|name| now.value(name).is_none()).peekable();
        let Some(first) = removed.peek() else { return Ok(None) };
        let mut row = row.read().map_err(|error| refusal(first, &error))?;
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

/// The error of a replacement that would lose other properties.
fn refusal(name: &str, error: &ReadError) -> Error {
    Error::invalid_input(format!(
        "property {name:?} cannot be removed: the other properties of the row cannot be written back unchanged \
         ({error}); `replace` drops them"
    ))
}
