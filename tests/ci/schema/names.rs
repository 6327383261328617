// The columns of all 1 row of the table Names, printed by azure-table.

use std::collections::BTreeMap;

use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::{ETag, TableEntity};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Names", rename_all = "camelCase")]
pub struct NamesRow {
    #[table(partition_key)]
    pub partition_key: String,
    #[table(row_key)]
    pub row_key: String,
    #[table(timestamp)]
    pub timestamp: Option<EdmDateTime>,
    #[table(etag)]
    pub etag: Option<ETag>,
    pub type_: i32,
    #[table(rename = "Type")]
    pub type_2: i32,
    #[table(rename = "TYPE")]
    pub type_3: i32,
    pub self_: i32,
    #[table(rename = "Self")]
    pub self_2: i32,
    pub crate_: i32,
    pub gen_: i32,
    pub async_: i32,
    pub fn_: i32,
    #[table(rename = "_")]
    pub column: i32,
    #[table(rename = "__")]
    pub column_2: i32,
    #[table(rename = "_1")]
    pub _1: i32,
    #[table(rename = "Text")]
    pub text: i32,
    #[table(rename = "text")]
    pub text_2: i32,
    #[table(rename = "TEXT")]
    pub text_3: i32,
    #[table(rename = "text_2")]
    pub text_2_2: i32,
    #[table(rename = "Etag")]
    pub etag_2: i32,
    #[table(rename = "ETag")]
    pub e_tag: i32,
    #[table(rename = "Timestamp_")]
    pub timestamp_: i32,
    #[table(rename = "partition_key")]
    pub partition_key_2: i32,
    #[table(rename = "RowKey_")]
    pub row_key_: i32,
    #[table(rename = "Extra")]
    pub extra_2: i32,
    #[table(rename = "extra")]
    pub extra_3: i32,
    #[table(rename = "Größe")]
    pub größe: i32,
    #[table(rename = "größe")]
    pub größe_2: i32,
    #[table(rename = "日本")]
    pub column_3: i32,
    #[table(rename = "中国")]
    pub column_4: i32,
    #[table(rename = "Cafe\u{301}")]
    pub cafe: i32,
    #[table(rename = "Café")]
    pub café: i32,
    #[table(rename = "a\u{ad}b")]
    pub ab: i32,
    #[table(rename = "ab")]
    pub ab_2: i32,
    #[table(rename = "HTTPStatus")]
    pub http_status: i32,
    #[table(rename = "HttpStatus")]
    pub http_status_2: i32,
    #[table(rename = "Http_Status")]
    pub http_status_3: i32,
    pub columns: i32,
    pub key: i32,
    #[table(rename = "Option")]
    pub option: i32,
    #[table(rename = "String")]
    pub string: i32,
    #[table(rename = "Vec")]
    pub vec: i32,
    #[table(rename = "Some")]
    pub some: i32,
    pub row: i32,
    #[table(rename = "__row")]
    pub __row: i32,
    pub writer: i32,
    #[table(rename = "ﬁ")]
    pub column_5: i32,
    #[table(rename = "KK")]
    pub kk: i32,
    #[table(rename = "KK")]
    pub kk_2: i32,
    #[table(rename = "Ωhm")]
    pub hm: i32,
    #[table(extra)]
    pub extra: BTreeMap<String, EdmValue>,
}
