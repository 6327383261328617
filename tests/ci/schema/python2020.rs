// The columns of all 1 row of the table Python2020, printed by azure-table.

use std::collections::BTreeMap;

use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::{ETag, TableEntity};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Python2020")]
pub struct Python2020Row {
    #[table(partition_key)]
    pub partition_key: String,
    #[table(row_key)]
    pub row_key: String,
    #[table(timestamp)]
    pub timestamp: Option<EdmDateTime>,
    #[table(etag)]
    pub etag: Option<ETag>,
    #[table(rename = "Birthday")]
    pub birthday: EdmDateTime,
    pub age: i64,
    pub binary: Vec<u8>,
    #[table(rename = "birthday")]
    pub birthday_2: EdmDateTime,
    pub clsid: uuid::Uuid,
    pub deceased: bool,
    pub evenratio: f64,
    pub large: i64,
    pub married: bool,
    pub other: i32,
    pub ratio: f64,
    pub sex: String,
    #[table(extra)]
    pub extra: BTreeMap<String, EdmValue>,
}
