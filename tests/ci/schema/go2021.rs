// The columns of all 12 rows of the table Go2021, printed by azure-table.

use std::collections::BTreeMap;

use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::{ETag, TableEntity};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Go2021", rename_all = "PascalCase")]
pub struct Go2021Row {
    #[table(partition_key)]
    pub partition_key: String,
    #[table(row_key)]
    pub row_key: String,
    #[table(timestamp)]
    pub timestamp: Option<EdmDateTime>,
    #[table(etag)]
    pub etag: Option<ETag>,
    pub binary: Option<Vec<u8>>,
    pub bool: bool,
    pub date_type: Option<EdmDateTime>,
    pub float_type: Option<f64>,
    pub small: Option<i32>,
    pub stringy: Option<String>,
    #[table(rename = "large")]
    pub large: Option<i64>,
    pub byte: Option<String>,
    pub float: Option<f64>,
    pub integer: Option<i32>,
    pub string: Option<String>,
    pub double: Option<f64>,
    pub guid: Option<uuid::Uuid>,
    pub int32: Option<i32>,
    pub int64: Option<i64>,
    // In `extra`: DateTime (Edm.String, Edm.DateTime).
    #[table(extra)]
    pub extra: BTreeMap<String, EdmValue>,
}
