// The columns of all 60 rows of the table Mixed3, printed by azure-table.

use std::collections::BTreeMap;

use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::{ETag, TableEntity};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Mixed3", rename_all = "PascalCase")]
pub struct Mixed3Row {
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
    pub data: Option<Vec<u8>>,
    pub a1: String,
    pub posted: i32,
    pub total_views: Option<EdmDateTime>,
    pub name: Option<bool>,
    // In `extra`: Kind (Edm.Double, Edm.String, Edm.Guid, Edm.Boolean, Edm.Binary, Edm.DateTime, Edm.Int32, Edm.Int64).
    // In `extra`: type (Edm.Int64, Edm.String, Edm.Int32, Edm.Guid, Edm.DateTime, Edm.Binary, Edm.Double, Edm.Boolean).
    // In `extra`: totalViews (Edm.Int32, Edm.Guid, Edm.Int64, Edm.Binary, Edm.Double, Edm.Boolean, Edm.DateTime, Edm.String).
    // In `extra`: Ready (Edm.Boolean, Edm.Binary, Edm.Int32, Edm.Double, Edm.String, Edm.Guid, Edm.DateTime, Edm.Int64).
    #[table(extra)]
    pub extra: BTreeMap<String, EdmValue>,
}
