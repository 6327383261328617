// The columns of all 89 rows of the table Python2021, printed by azure-table.

use std::collections::BTreeMap;

use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::{ETag, TableEntity};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Python2021")]
pub struct Python2021Row {
    #[table(partition_key)]
    pub partition_key: String,
    #[table(row_key)]
    pub row_key: String,
    #[table(timestamp)]
    pub timestamp: Option<EdmDateTime>,
    #[table(etag)]
    pub etag: Option<ETag>,
    pub test: Option<bool>,
    pub test2: Option<String>,
    pub test3: Option<i32>,
    pub test4: Option<i32>,
    pub test5: Option<EdmDateTime>,
    #[table(rename = "Birthday")]
    pub birthday: Option<EdmDateTime>,
    pub binary: Option<Vec<u8>>,
    #[table(rename = "birthday")]
    pub birthday_2: Option<EdmDateTime>,
    pub clsid: Option<uuid::Uuid>,
    pub deceased: Option<bool>,
    pub evenratio: Option<f64>,
    pub married: Option<bool>,
    pub other: Option<i32>,
    pub ratio: Option<f64>,
    pub sex: Option<String>,
    #[table(rename = "Value")]
    pub value: Option<i32>,
    pub double: Option<f64>,
    pub sign: Option<String>,
    #[table(rename = "value")]
    pub value_2: Option<i32>,
    pub inf: Option<f64>,
    pub nan: Option<f64>,
    pub negativeinf: Option<f64>,
    #[table(rename = "EmptyByte")]
    pub empty_byte: Option<Vec<u8>>,
    #[table(rename = "EmptyUnicode")]
    pub empty_unicode: Option<String>,
    #[table(rename = "SpacesAfterByte")]
    pub spaces_after_byte: Option<Vec<u8>>,
    #[table(rename = "SpacesAfterUnicode")]
    pub spaces_after_unicode: Option<String>,
    #[table(rename = "SpacesBeforeAndAfterByte")]
    pub spaces_before_and_after_byte: Option<Vec<u8>>,
    #[table(rename = "SpacesBeforeAndAfterUnicode")]
    pub spaces_before_and_after_unicode: Option<String>,
    #[table(rename = "SpacesBeforeByte")]
    pub spaces_before_byte: Option<Vec<u8>>,
    #[table(rename = "SpacesBeforeUnicode")]
    pub spaces_before_unicode: Option<String>,
    #[table(rename = "SpacesOnlyByte")]
    pub spaces_only_byte: Option<Vec<u8>>,
    #[table(rename = "SpacesOnlyUnicode")]
    pub spaces_only_unicode: Option<String>,
    #[table(rename = "ETag")]
    pub e_tag: Option<String>,
    #[table(rename = "Etag")]
    pub etag_2: Option<String>,
    #[table(rename = "etag")]
    pub etag_3: Option<String>,
    #[table(rename = "啊齄丂狛狜")]
    pub column: Option<String>,
    pub datetime1: Option<EdmDateTime>,
    pub text: Option<String>,
    // In `extra`: age (Edm.Int32, Edm.String).
    // In `extra`: large (Edm.Int32, Edm.Int64).
    #[table(extra)]
    pub extra: BTreeMap<String, EdmValue>,
}
