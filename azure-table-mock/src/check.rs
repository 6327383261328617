//! The rules for keys, properties and entity sizes.

use crate::dialect::ServiceDialect;
use crate::failure::Failure;
use crate::limits::{EntitySize, check_key};
use crate::row::{Properties, StoredKey};

/// Checks keys, which have at most `max_units` UTF-16 code units each.
pub(super) fn check_keys(
    dialect: ServiceDialect,
    key: &StoredKey,
    max_units: usize,
) -> Result<(), Failure> {
    for (property, text) in [("PartitionKey", &*key.partition), ("RowKey", &*key.row)] {
        check_key(property, text)?;
        if text.len() > max_units && text.encode_utf16().count() > max_units {
            return Err(Failure::key_too_large(property, max_units));
        }
    }
    dialect.check_new_key(key)
}

/// Checks an entity: each property, and all of them together. The size of all comes first: a property of 1 MiB is an
/// `EntityTooLarge`.
pub(super) fn check_properties(
    dialect: ServiceDialect,
    key: &StoredKey,
    properties: &Properties<'_>,
) -> Result<(), Failure> {
    dialect.check_size(size_of(key, properties))?;
    for (name, value) in properties {
        dialect.check_new_property(name, value)?;
    }
    check_number(dialect, properties)?;
    dialect.check_json(key, properties)
}

/// Checks the number and the total size of properties that are valid one by one.
pub(super) fn check_entity(
    dialect: ServiceDialect,
    key: &StoredKey,
    properties: &Properties<'_>,
) -> Result<(), Failure> {
    check_number(dialect, properties)?;
    dialect.check_size(size_of(key, properties))?;
    dialect.check_json(key, properties)
}

fn check_number(dialect: ServiceDialect, properties: &Properties<'_>) -> Result<(), Failure> {
    if properties.len() > dialect.max_properties() {
        return Err(Failure::too_many_properties());
    }
    Ok(())
}

fn size_of(key: &StoredKey, properties: &Properties<'_>) -> EntitySize {
    let mut size = EntitySize::of_keys(&key.partition, &key.row);
    for (name, value) in properties {
        size.add(name, value);
    }
    size
}
