// The columns of all 18 rows of the table Go2022, printed by azure-table.

use std::collections::BTreeMap;

use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::{ETag, TableEntity};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Go2022", rename_all = "PascalCase")]
pub struct Go2022Row {
    #[table(partition_key)]
    pub partition_key: String,
    #[table(row_key)]
    pub row_key: String,
    #[table(timestamp)]
    pub timestamp: Option<EdmDateTime>,
    #[table(etag)]
    pub etag: Option<ETag>,
    pub value: Option<i32>,
    pub bool: Option<bool>,
    pub byte: Option<String>,
    pub float: Option<f64>,
    pub integer: Option<i32>,
    pub string: Option<String>,
    pub double_quote: Option<String>,
    pub just_spaces: Option<String>,
    pub leading_spaces: Option<String>,
    pub leading_trailing_spaces: Option<String>,
    pub single_quote: Option<String>,
    pub trailing_spaces: Option<String>,
    pub binary: Option<Vec<u8>>,
    pub double: Option<f64>,
    pub guid: Option<uuid::Uuid>,
    pub int32: Option<i32>,
    pub int64: Option<i64>,
    // In `extra`: DateTime (Edm.String, Edm.DateTime).
    #[table(extra)]
    pub extra: BTreeMap<String, EdmValue>,
}
