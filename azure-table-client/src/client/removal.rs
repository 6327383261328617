//! What a change removes from an entity. The service ignores nulls in a merge, so that nothing can be
//! removed by one: the row is replaced as a whole, with the properties of other programs.

use crate::dialect::Dialect;
use crate::entity::{DynamicEntity, Ownership, TableEntity};
use crate::error::Error;
use crate::operation::entity::Source;
use crate::wire::ReadError;

/// An entity before it is changed.
pub(super) struct Before {
    /// `None` if it cannot be written as it is.
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

/// Other properties would be lost.
fn refusal(name: &str, error: &ReadError) -> Error {
    let reason = match error {
        ReadError::Json(error) => error.to_string(),
        ReadError::Atom(error) => error.to_string(),
        ReadError::Decode(error) => error.to_string(),
    };
    Error::invalid_input(format!(
        "property {name:?} was removed, which takes a replace of the whole row, and that cannot be kept \
         as it is ({reason}): `replace` does without what the entity does not have"
    ))
}
