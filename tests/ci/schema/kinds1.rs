// The columns of all 60 rows of the table Kinds1, printed by azure-table.

use std::collections::BTreeMap;

use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::{DynamicEntity, ETag, TableEntity};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Kinds1", discriminator = "EntityType")]
pub enum Kinds1Row {
    Kind(KindRow),
    #[table(rename = "Other")]
    Other2(Other2Row),
    #[table(rename = "Self")]
    SelfKind(SelfKindRow),
    #[table(rename = "order.created")]
    OrderCreated(OrderCreatedRow),
    #[table(rename = "other")]
    Other3(Other3Row),
    #[table(other)]
    Other(DynamicEntity),
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
pub struct KindRow {
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
pub struct Other2Row {
    #[table(partition_key)]
    pub partition_key: String,
    #[table(row_key)]
    pub row_key: String,
    #[table(timestamp)]
    pub timestamp: Option<EdmDateTime>,
    #[table(etag)]
    pub etag: Option<ETag>,
    // In `extra`: Kind (Edm.Int64, Edm.Binary, Edm.Double, Edm.DateTime, Edm.Boolean, Edm.Guid, Edm.String).
    // In `extra`: type (Edm.Int32, Edm.Guid, Edm.Int64, Edm.Double, Edm.Binary, Edm.Boolean, Edm.DateTime).
    // In `extra`: totalViews (Edm.Int64, Edm.Boolean, Edm.Binary, Edm.String, Edm.Int32, Edm.Double).
    // In `extra`: Ready (Edm.Boolean, Edm.Int64, Edm.DateTime, Edm.Binary).
    #[table(extra)]
    pub extra: BTreeMap<String, EdmValue>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
pub struct SelfKindRow {
    #[table(partition_key)]
    pub partition_key: String,
    #[table(row_key)]
    pub row_key: String,
    #[table(timestamp)]
    pub timestamp: Option<EdmDateTime>,
    #[table(etag)]
    pub etag: Option<ETag>,
    // In `extra`: Kind (Edm.Binary, Edm.DateTime, Edm.Guid, Edm.Int32, Edm.Double, Edm.Int64).
    // In `extra`: type (Edm.Guid, Edm.Double, Edm.String, Edm.Int64, Edm.Boolean, Edm.Int32).
    // In `extra`: totalViews (Edm.Int32, Edm.Boolean, Edm.Double, Edm.Int64, Edm.Binary).
    // In `extra`: Ready (Edm.Int64, Edm.Double, Edm.Binary, Edm.DateTime, Edm.Int32, Edm.String).
    #[table(extra)]
    pub extra: BTreeMap<String, EdmValue>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
pub struct OrderCreatedRow {
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
pub struct Other3Row {
    #[table(partition_key)]
    pub partition_key: String,
    #[table(row_key)]
    pub row_key: String,
    #[table(timestamp)]
    pub timestamp: Option<EdmDateTime>,
    #[table(etag)]
    pub etag: Option<ETag>,
    pub größe: f64,
    pub data: Option<Vec<u8>>,
    pub posted: i32,
    pub name: Option<bool>,
    #[table(extra)]
    pub extra: BTreeMap<String, EdmValue>,
}
