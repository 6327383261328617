//! Checks of the settings that a constructor receives.

use std::error::Error as _;

use azure_table_client::limits::LimitError;
use azure_table_client::{
    DynamicEntity, EntityKey, Error as ClientError, TableClient, TableEntity,
};

use crate::Error;

/// Checks the name of a table and the key of a row in it, like a write of this row.
pub(crate) fn check_row<T: TableEntity>(
    table: &TableClient<T>,
    key: &EntityKey,
) -> Result<(), Error> {
    let row = DynamicEntity::new(&*key.partition_key, &*key.row_key);
    let transaction = table.with_entity::<DynamicEntity>().transaction().insert(&row);
    let Err(error) = transaction.check() else { return Ok(()) };
    // The error of the transaction also names a position in it, but the caller has no transaction.
    let limit = error.source().and_then(|source| source.downcast_ref::<LimitError>()).cloned();
    Err(limit.map_or(error, ClientError::from).into())
}

/// Checks the name of a table.
pub(crate) fn check_table<T: TableEntity>(table: &TableClient<T>) -> Result<(), Error> {
    check_row(table, &EntityKey::new("p", "r"))
}
