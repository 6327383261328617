//! The name of a table that a command writes.

use azure_table_client::limits::check_own_table_name;
use azure_table_client::{Dialect, Error, TableServiceClient};

use crate::failure::Result;

/// Checks the name before the command changes a file. The rules of Cosmos DB are wider; the client checks them.
pub(crate) fn check(service: &TableServiceClient, name: &str) -> Result<()> {
    if service.dialect() != Dialect::CosmosDb {
        check_own_table_name(name).map_err(Error::from)?;
    }
    Ok(())
}
