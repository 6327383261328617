//! The rows of a reply, parsed independently of the library.

use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::{DynamicEntity, ETag, TableEntity};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use serde_json::Value;
use uuid::Uuid;

/// All columns of the rows that were recorded without types, as a program declares them.
#[derive(TableEntity)]
#[table(rename_all = "PascalCase")]
pub(super) struct Declared {
    #[table(partition_key)]
    partition_key: String,
    #[table(row_key)]
    row_key: String,
    string_property: Option<String>,
    boolean_property: Option<bool>,
    binary_property: Option<Vec<u8>>,
    int32_property: Option<i32>,
    int64_property: Option<i64>,
    double_property: Option<f64>,
    guid_property: Option<Uuid>,
    date_time_property: Option<EdmDateTime>,
    regular_double: Option<f64>,
    nan_double: Option<f64>,
    positive_infinity_double: Option<f64>,
    negative_infinity_double: Option<f64>,
    min_double: Option<f64>,
    max_double: Option<f64>,
    max_int64: Option<i64>,
    #[table(rename = "age")]
    age: Option<i64>,
    #[table(rename = "sex")]
    sex: Option<Vec<u8>>,
    #[table(rename = "name")]
    name: Option<Vec<u8>>,
    #[table(rename = "married")]
    married: Option<bool>,
    #[table(rename = "deceased")]
    deceased: Option<bool>,
    #[table(rename = "evenratio")]
    evenratio: Option<f64>,
    #[table(rename = "ratio")]
    ratio: Option<f64>,
    #[table(rename = "large")]
    large: Option<i64>,
    #[table(rename = "Birthday")]
    birthday: Option<EdmDateTime>,
    #[table(rename = "birthday")]
    birthday_in_small_letters: Option<EdmDateTime>,
    #[table(rename = "binary")]
    binary: Option<Vec<u8>>,
    #[table(rename = "other")]
    other: Option<i32>,
    #[table(rename = "clsid")]
    clsid: Option<Uuid>,
    #[table(rename = "_ClientEncryptionMetadata2")]
    encryption2: Option<Vec<u8>>,
    #[table(rename = "_ClientEncryptionMetadata1")]
    encryption1: Option<String>,
}

/// The types of the columns of [`Declared`], in the notation of JSON.
fn declared_type(name: &str) -> Option<&'static str> {
    Some(match name {
        "Int64Property" | "MaxInt64" | "age" | "large" => "Edm.Int64",
        "NanDouble" | "PositiveInfinityDouble" | "NegativeInfinityDouble" => "Edm.Double",
        "BinaryProperty" | "sex" | "name" | "binary" | "_ClientEncryptionMetadata2" => "Edm.Binary",
        "GuidProperty" | "clsid" => "Edm.Guid",
        "DateTimeProperty" | "Birthday" | "birthday" => "Edm.DateTime",
        _ => return None,
    })
}

fn time(text: &str) -> EdmDateTime {
    EdmDateTime::from_chrono(text.parse::<DateTime<Utc>>().unwrap()).unwrap()
}

fn value(stated: &Value, ty: Option<&str>) -> EdmValue {
    let text = || stated.as_str().unwrap();
    match (ty, stated) {
        (Some("Edm.Int64"), _) => text().parse::<i64>().unwrap().into(),
        (Some("Edm.Binary"), _) => STANDARD.decode(text()).unwrap().into(),
        (Some("Edm.Guid"), _) => text().parse::<Uuid>().unwrap().into(),
        (Some("Edm.DateTime"), _) => time(text()).into(),
        (Some("Edm.Double"), Value::String(word)) => match &**word {
            "NaN" => f64::NAN.into(),
            "Infinity" => f64::INFINITY.into(),
            "-Infinity" => f64::NEG_INFINITY.into(),
            other => panic!("{other} is no Double"),
        },
        (None | Some("Edm.Double"), Value::Number(number)) => match number.as_i64() {
            Some(whole) => i32::try_from(whole).unwrap().into(),
            None => number.as_f64().unwrap().into(),
        },
        (None, Value::Bool(flag)) => (*flag).into(),
        (None, Value::String(text)) => text.as_str().into(),
        other => panic!("{other:?} was never recorded"),
    }
}

/// Checks that a row has exactly the properties of the reply with their types, and its keys, time
/// and version. Returns the number of properties.
pub(super) fn check(entity: &DynamicEntity, row: &Value, is_untyped: bool) -> usize {
    let text = |name: &str| row.get(name).map(|value| value.as_str().unwrap());
    // A row of some columns lacks them.
    assert_eq!(entity.key().partition_key, text("PartitionKey").unwrap_or_default());
    assert_eq!(entity.key().row_key, text("RowKey").unwrap_or_default());
    let mut properties = 0;
    for (name, stated) in row.as_object().unwrap() {
        let is_property = !name.contains(['@', '.'])
            && !["PartitionKey", "RowKey", "Timestamp"].contains(&name.as_str());
        if !is_property || stated.is_null() {
            continue;
        }
        let annotation = row.get(format!("{name}@odata.type")).map(|ty| ty.as_str().unwrap());
        let ty = if is_untyped { declared_type(name) } else { annotation };
        assert_eq!(entity.value(name), Some(&value(stated, ty)), "{name}");
        properties += 1;
    }
    assert_eq!(entity.properties().len(), properties);
    if !is_untyped {
        assert_eq!(entity.etag().map(ETag::as_str), text("odata.etag"));
        assert_eq!(entity.timestamp(), text("Timestamp").map(time));
    }
    properties
}
