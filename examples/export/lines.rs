//! Entities as lines of JSON.

use azure_table_client::DynamicEntity;
use azure_table_client::edm::{EdmType, EdmValue};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

use super::AnyError;

const TYPE: &str = "@odata.type";

/// An entity as a line of JSON.
pub(super) fn to_json(row: &DynamicEntity) -> Value {
    let mut line = Map::new();
    line.insert("PartitionKey".to_owned(), json!(row.key().partition_key));
    line.insert("RowKey".to_owned(), json!(row.key().row_key));
    for (name, value) in row.properties() {
        let json = match value {
            EdmValue::String(v) => json!(v),
            EdmValue::Boolean(v) => json!(v),
            EdmValue::Int32(v) => json!(v),
            EdmValue::Double(v) if v.is_finite() => json!(v),
            other => json!(to_text(other)),
        };
        line.insert(name.to_owned(), json);
        let ty = value.edm_type();
        if !matches!(ty, EdmType::String | EdmType::Boolean | EdmType::Int32) {
            line.insert(format!("{name}{TYPE}"), json!(ty.as_str()));
        }
    }
    Value::Object(line)
}

/// A value as JSON has it where it has no type of its own for it.
pub(super) fn to_text(value: &EdmValue) -> String {
    match value {
        EdmValue::String(v) => v.clone(),
        EdmValue::Boolean(v) => v.to_string(),
        EdmValue::Int32(v) => v.to_string(),
        EdmValue::Int64(v) => v.to_string(),
        EdmValue::Double(v) if v.is_infinite() => format!("{v}").replace("inf", "Infinity"),
        EdmValue::Double(v) => format!("{v:?}"),
        EdmValue::DateTime(v) => v.to_string(),
        EdmValue::Guid(v) => v.to_string(),
        EdmValue::Binary(v) => BASE64_STANDARD.encode(v),
    }
}

/// The entity of a line.
pub(super) fn from_json(line: &str) -> Result<DynamicEntity, AnyError> {
    let mut line: Map<String, Value> = serde_json::from_str(line)?;
    let key = |json: Option<Value>| match json {
        Some(Value::String(key)) => Ok(key),
        _ => Err("a line without its keys"),
    };
    let mut row =
        DynamicEntity::new(key(line.remove("PartitionKey"))?, key(line.remove("RowKey"))?);
    for (name, json) in line.iter().filter(|(name, _)| !name.ends_with(TYPE)) {
        let ty = line.get(&format!("{name}{TYPE}")).and_then(Value::as_str);
        row.set(name, from_value(json, ty).ok_or_else(|| format!("{name}: {json} as {ty:?}"))?);
    }
    Ok(row)
}

fn from_value(json: &Value, ty: Option<&str>) -> Option<EdmValue> {
    let Some(ty) = ty else {
        return match json {
            Value::String(v) => Some(EdmValue::String(v.clone())),
            Value::Bool(v) => Some(EdmValue::Boolean(*v)),
            Value::Number(v) => Some(EdmValue::Int32(v.as_i64()?.try_into().ok()?)),
            _ => None,
        };
    };
    let text = json.as_str();
    Some(match EdmType::from_name(ty)? {
        EdmType::Int64 => EdmValue::Int64(text?.parse().ok()?),
        EdmType::Double => EdmValue::Double(json.as_f64().or_else(|| text?.parse().ok())?),
        EdmType::DateTime => EdmValue::DateTime(text?.parse().ok()?),
        EdmType::Guid => EdmValue::Guid(text?.parse().ok()?),
        EdmType::Binary => EdmValue::Binary(BASE64_STANDARD.decode(text?).ok()?.into()),
        EdmType::String | EdmType::Boolean | EdmType::Int32 => return None,
    })
}
