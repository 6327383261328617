// The columns of all 40 rows of the table Python2017, printed by azure-table.

use std::collections::BTreeMap;

use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::{ETag, TableEntity};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Python2017")]
pub struct Python2017Row {
    #[table(partition_key)]
    pub partition_key: String,
    #[table(row_key)]
    pub row_key: String,
    #[table(timestamp)]
    pub timestamp: Option<EdmDateTime>,
    #[table(etag)]
    pub etag: Option<ETag>,
    pub test: Option<String>,
    pub test2: Option<String>,
    pub test3: Option<i64>,
    pub test4: Option<i64>,
    pub test5: Option<EdmDateTime>,
    #[table(rename = "Birthday")]
    pub birthday: Option<EdmDateTime>,
    pub binary: Option<Vec<u8>>,
    #[table(rename = "birthday")]
    pub birthday_2: Option<EdmDateTime>,
    pub clsid: Option<uuid::Uuid>,
    pub deceased: Option<bool>,
    pub evenratio: Option<f64>,
    pub large: Option<i64>,
    pub married: Option<bool>,
    pub other: Option<i32>,
    pub ratio: Option<f64>,
    pub sex: Option<String>,
    pub sign: Option<String>,
    #[table(rename = "Description")]
    pub description: Option<String>,
    pub date: Option<EdmDateTime>,
    // In `extra`: age (Edm.Int64, Edm.String).
    #[table(extra)]
    pub extra: BTreeMap<String, EdmValue>,
}
