//! Refuses keys that no entity of a type can have: a request with such a key would find no row, and a
//! delete would report that there was nothing to delete.

use crate::entity::{EntityKey, TableEntity};
use crate::error::Error;

/// Refuses a key that no `T` can have.
pub(crate) fn check_key<T: TableEntity>(key: &EntityKey) -> Result<(), Error> {
    if T::reads_keys(&key.partition_key, &key.row_key) {
        return Ok(());
    }
    let EntityKey { partition_key, row_key } = key;
    let keys = format!("PartitionKey {partition_key:?} and the RowKey {row_key:?}");
    let error = refusal::<T>(&keys, "key", "entity_key");
    Err(error.of_entity(Some(key.clone())))
}

/// Refuses a PartitionKey that no `T` can have.
pub(crate) fn check_partition_key<T: TableEntity>(partition_key: &str) -> Result<(), Error> {
    if T::reads_partition_key(partition_key) {
        return Ok(());
    }
    Err(refusal::<T>(&format!("PartitionKey {partition_key:?}"), "partition", "partition_key"))
}

/// The error names the function that creates such a key, or the entity's method that returns it.
fn refusal<T: TableEntity>(keys: &str, function: &str, method: &str) -> Error {
    let mut types = Vec::new();
    T::key_types(&mut types);
    types.dedup();
    let functions: Vec<_> = types.iter().map(|name| format!("`{name}::{function}(…)`")).collect();
    let advice = if functions.is_empty() {
        format!("the entity's `{method}()`")
    } else {
        functions.join(" or ")
    };
    Error::invalid_input(format!("no entity of this type has the {keys}: use {advice}"))
}
