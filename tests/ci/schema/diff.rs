// The columns of all 20 rows of the table Diff, printed by azure-table.

use std::collections::BTreeMap;

use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::{ETag, TableEntity};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Diff", rename_all = "PascalCase")]
pub struct DiffRow {
    #[table(partition_key)]
    pub partition_key: String,
    #[table(row_key)]
    pub row_key: String,
    #[table(timestamp)]
    pub timestamp: Option<EdmDateTime>,
    #[table(etag)]
    pub etag: Option<ETag>,
    pub n: i32,
    pub zero: f64,
    #[table(extra)]
    pub extra: BTreeMap<String, EdmValue>,
}
