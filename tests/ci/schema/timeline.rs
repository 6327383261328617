// The columns of all 9 rows of the table Timeline, printed by azure-table.

use std::collections::BTreeMap;

use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::{DynamicEntity, ETag, TableEntity};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Timeline", discriminator = "EntityType")]
pub enum TimelineRow {
    Post(PostRow),
    #[table(rename = "photo")]
    Photo(PhotoRow),
    #[table(other)]
    Other(DynamicEntity),
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
pub struct PostRow {
    #[table(partition_key)]
    pub partition_key: String,
    #[table(row_key)]
    pub row_key: String,
    #[table(timestamp)]
    pub timestamp: Option<EdmDateTime>,
    #[table(etag)]
    pub etag: Option<ETag>,
    pub text: String,
    pub rating: i32,
    pub reply: Option<bool>,
    #[table(extra)]
    pub extra: BTreeMap<String, EdmValue>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
pub struct PhotoRow {
    #[table(partition_key)]
    pub partition_key: String,
    #[table(row_key)]
    pub row_key: String,
    #[table(timestamp)]
    pub timestamp: Option<EdmDateTime>,
    #[table(etag)]
    pub etag: Option<ETag>,
    pub uri: String,
    pub rating: f64,
    #[table(extra)]
    pub extra: BTreeMap<String, EdmValue>,
}
