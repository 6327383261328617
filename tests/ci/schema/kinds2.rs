// The columns of all 60 rows of the table Kinds2, printed by azure-table.

use std::collections::BTreeMap;

use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::{DynamicEntity, ETag, TableEntity};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Kinds2", discriminator = "EntityType")]
pub enum Kinds2Row {
    #[table(rename = "1")]
    Kind1(Kind1Row),
    #[table(rename = "a\"b\\c\n")]
    ABC(ABCRow),
    #[table(rename = "order-created")]
    OrderCreated(OrderCreatedRow),
    #[table(rename = "order.created")]
    OrderCreated2(OrderCreated2Row),
    #[table(rename = "日本")]
    Kind(KindRow),
    #[table(other)]
    Other(DynamicEntity),
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
pub struct Kind1Row {
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
pub struct OrderCreated2Row {
    #[table(partition_key)]
    pub partition_key: String,
    #[table(row_key)]
    pub row_key: String,
    #[table(timestamp)]
    pub timestamp: Option<EdmDateTime>,
    #[table(etag)]
    pub etag: Option<ETag>,
    // In `extra`: Kind (Edm.Int32, Edm.String, Edm.Guid, Edm.DateTime, Edm.Boolean, Edm.Int64).
    // In `extra`: type (Edm.Int64, Edm.Guid, Edm.Int32, Edm.Double, Edm.DateTime, Edm.Boolean).
    // In `extra`: totalViews (Edm.Int64, Edm.DateTime, Edm.Int32, Edm.Boolean, Edm.Binary, Edm.String, Edm.Guid).
    // In `extra`: Ready (Edm.Int32, Edm.Int64, Edm.Guid, Edm.String, Edm.Boolean).
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
    // In `extra`: Kind (Edm.Int32, Edm.Double, Edm.Int64, Edm.Guid, Edm.Boolean).
    // In `extra`: totalViews (Edm.Int32, Edm.DateTime, Edm.Binary, Edm.Double, Edm.Boolean, Edm.Int64).
    // In `extra`: Ready (Edm.Guid, Edm.String, Edm.Binary, Edm.Double, Edm.Boolean, Edm.Int64).
    // In `extra`: type (Edm.Int32, Edm.Guid, Edm.Int64, Edm.Boolean, Edm.Double, Edm.String).
    #[table(extra)]
    pub extra: BTreeMap<String, EdmValue>,
}
