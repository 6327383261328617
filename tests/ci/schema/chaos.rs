// The columns of all 20 rows of the table Chaos, printed by azure-table.

use std::collections::BTreeMap;

use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::{ETag, TableEntity};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Chaos", rename_all = "PascalCase")]
pub struct ChaosRow {
    #[table(partition_key)]
    pub partition_key: String,
    #[table(row_key)]
    pub row_key: String,
    #[table(timestamp)]
    pub timestamp: Option<EdmDateTime>,
    #[table(etag)]
    pub etag: Option<ETag>,
    pub number: i64,
    pub ratio: f64,
    pub zero: f64,
    pub posted: EdmDateTime,
    pub id: uuid::Uuid,
    pub text: String,
    pub data: Option<Vec<u8>>,
    #[table(extra)]
    pub extra: BTreeMap<String, EdmValue>,
}
