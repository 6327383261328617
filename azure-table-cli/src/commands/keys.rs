//! The keys of a row, for commands that transfer nothing else.

use azure_table_client::TableEntity;

/// The keys of a row.
#[derive(Debug, TableEntity)]
pub(super) struct Keys {
    #[table(partition_key)]
    pub(super) partition: String,
    #[table(row_key)]
    pub(super) row: String,
}
