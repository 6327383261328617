// The columns of all 60 rows of the table Mixed2, printed by azure-table.

use std::collections::BTreeMap;

use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::{ETag, TableEntity};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Mixed2", rename_all = "PascalCase")]
pub struct Mixed2Row {
    #[table(partition_key)]
    pub partition_key: String,
    #[table(row_key)]
    pub row_key: String,
    #[table(timestamp)]
    pub timestamp: Option<EdmDateTime>,
    #[table(etag)]
    pub etag: Option<ETag>,
    #[table(rename = "rating")]
    pub rating: i32,
    pub größe: f64,
    pub total_views: Option<EdmDateTime>,
    pub a1: String,
    pub posted: i32,
    pub name: Option<bool>,
    pub data: Option<Vec<u8>>,
    // In `extra`: Kind (Edm.Guid, Edm.Int32, Edm.DateTime, Edm.Boolean, Edm.String, Edm.Binary, Edm.Double, Edm.Int64).
    // In `extra`: totalViews (Edm.Boolean, Edm.Int64, Edm.Guid, Edm.String, Edm.DateTime, Edm.Int32, Edm.Binary, Edm.Double).
    // In `extra`: type (Edm.String, Edm.Int32, Edm.DateTime, Edm.Boolean, Edm.Guid, Edm.Double, Edm.Binary, Edm.Int64).
    // In `extra`: Ready (Edm.Binary, Edm.DateTime, Edm.Int64, Edm.Double, Edm.Boolean, Edm.String, Edm.Int32, Edm.Guid).
    #[table(extra)]
    pub extra: BTreeMap<String, EdmValue>,
}
