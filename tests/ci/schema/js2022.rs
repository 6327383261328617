// The columns of all 48 rows of the table Js2022, printed by azure-table.

use std::collections::BTreeMap;

use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::{ETag, TableEntity};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Js2022", rename_all = "camelCase")]
pub struct Js2022Row {
    #[table(partition_key)]
    pub partition_key: String,
    #[table(row_key)]
    pub row_key: String,
    #[table(timestamp)]
    pub timestamp: Option<EdmDateTime>,
    #[table(etag)]
    pub etag: Option<ETag>,
    pub value: Option<String>,
    pub test: Option<String>,
    pub binary: Option<Vec<u8>>,
    pub binary_metadata: Option<Vec<u8>>,
    pub floating_point_number: Option<f64>,
    pub integer_number: Option<i32>,
    pub name: Option<String>,
    #[table(rename = "Value")]
    pub value_2: Option<f64>,
    pub date: Option<EdmDateTime>,
    // In `extra`: testField (Edm.String, Edm.DateTime, Edm.Guid, Edm.Int64, Edm.Int32, Edm.Boolean).
    // In `extra`: foo (Edm.String, Edm.Binary).
    #[table(extra)]
    pub extra: BTreeMap<String, EdmValue>,
}
