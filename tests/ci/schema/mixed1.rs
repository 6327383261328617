// The columns of all 60 rows of the table Mixed1, printed by azure-table.

use std::collections::BTreeMap;

use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::{ETag, TableEntity};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Mixed1", rename_all = "PascalCase")]
pub struct Mixed1Row {
    #[table(partition_key)]
    pub partition_key: String,
    #[table(row_key)]
    pub row_key: String,
    #[table(timestamp)]
    pub timestamp: Option<EdmDateTime>,
    #[table(etag)]
    pub etag: Option<ETag>,
    pub name: Option<bool>,
    #[table(rename = "rating")]
    pub rating: i32,
    pub größe: f64,
    pub a1: String,
    pub posted: i32,
    pub total_views: Option<EdmDateTime>,
    pub data: Option<Vec<u8>>,
    // In `extra`: Kind (Edm.Binary, Edm.Boolean, Edm.Int64, Edm.Double, Edm.String, Edm.Int32, Edm.DateTime, Edm.Guid).
    // In `extra`: type (Edm.String, Edm.Int64, Edm.DateTime, Edm.Binary, Edm.Boolean, Edm.Guid, Edm.Double, Edm.Int32).
    // In `extra`: totalViews (Edm.Binary, Edm.Boolean, Edm.Int32, Edm.Int64, Edm.Guid, Edm.String, Edm.DateTime, Edm.Double).
    // In `extra`: Ready (Edm.Boolean, Edm.Guid, Edm.Int32, Edm.DateTime, Edm.Int64, Edm.Binary, Edm.String, Edm.Double).
    #[table(extra)]
    pub extra: BTreeMap<String, EdmValue>,
}
