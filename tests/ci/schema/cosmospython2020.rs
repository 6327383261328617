// The columns of all 1 row of the table CosmosPython2020, printed by azure-table.

use std::collections::BTreeMap;

use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::{ETag, TableEntity};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "CosmosPython2020", rename_all = "PascalCase")]
pub struct CosmosPython2020Row {
    #[table(partition_key)]
    pub partition_key: String,
    #[table(row_key)]
    pub row_key: String,
    #[table(timestamp)]
    pub timestamp: Option<EdmDateTime>,
    #[table(etag)]
    pub etag: Option<ETag>,
    pub value: i64,
    #[table(extra)]
    pub extra: BTreeMap<String, EdmValue>,
}
