// The columns of all 60 rows of the table Kinds3, printed by azure-table.

use std::collections::BTreeMap;

use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::{DynamicEntity, ETag, TableEntity};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Kinds3", discriminator = "EntityType")]
pub enum Kinds3Row {
    Etag(EtagRow),
    Row(RowRow),
    String(StringRow),
    #[table(rename = "a\"b\\c\n")]
    ABC(ABCRow),
    #[table(rename = "日本")]
    Kind(KindRow),
    #[table(other)]
    Other(DynamicEntity),
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
pub struct EtagRow {
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
    pub total_views: Option<EdmDateTime>,
    pub a1: String,
    #[table(extra)]
    pub extra: BTreeMap<String, EdmValue>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
pub struct RowRow {
    #[table(partition_key)]
    pub partition_key: String,
    #[table(row_key)]
    pub row_key: String,
    #[table(timestamp)]
    pub timestamp: Option<EdmDateTime>,
    #[table(etag)]
    pub etag: Option<ETag>,
    pub name: Option<bool>,
    pub größe: f64,
    pub data: Option<Vec<u8>>,
    pub posted: i32,
    #[table(extra)]
    pub extra: BTreeMap<String, EdmValue>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
pub struct StringRow {
    #[table(partition_key)]
    pub partition_key: String,
    #[table(row_key)]
    pub row_key: String,
    #[table(timestamp)]
    pub timestamp: Option<EdmDateTime>,
    #[table(etag)]
    pub etag: Option<ETag>,
    // In `extra`: Kind (Edm.Double, Edm.Binary, Edm.String, Edm.Int64, Edm.DateTime, Edm.Int32, Edm.Guid, Edm.Boolean).
    // In `extra`: type (Edm.String, Edm.Int64, Edm.Boolean, Edm.Binary, Edm.DateTime, Edm.Int32).
    // In `extra`: totalViews (Edm.DateTime, Edm.Binary, Edm.Int32, Edm.Guid, Edm.Double, Edm.Boolean, Edm.Int64, Edm.String).
    // In `extra`: Ready (Edm.Guid, Edm.Int32, Edm.Boolean, Edm.Binary).
    #[table(extra)]
    pub extra: BTreeMap<String, EdmValue>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
pub struct ABCRow {
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
    pub total_views: Option<EdmDateTime>,
    pub a1: String,
    #[table(extra)]
    pub extra: BTreeMap<String, EdmValue>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
pub struct KindRow {
    #[table(partition_key)]
    pub partition_key: String,
    #[table(row_key)]
    pub row_key: String,
    #[table(timestamp)]
    pub timestamp: Option<EdmDateTime>,
    #[table(etag)]
    pub etag: Option<ETag>,
    // In `extra`: Kind (Edm.String, Edm.Binary, Edm.Int32, Edm.Guid, Edm.Boolean, Edm.DateTime, Edm.Int64).
    // In `extra`: type (Edm.DateTime, Edm.Guid, Edm.Int32, Edm.Int64, Edm.Binary, Edm.Boolean).
    // In `extra`: totalViews (Edm.Int64, Edm.Binary, Edm.Boolean, Edm.String, Edm.Double, Edm.DateTime).
    // In `extra`: Ready (Edm.Int32, Edm.DateTime, Edm.Int64, Edm.String, Edm.Guid, Edm.Binary).
    #[table(extra)]
    pub extra: BTreeMap<String, EdmValue>,
}
