//! Entities as JSON request bodies.

mod text;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use uuid::fmt::Hyphenated;

use crate::dialect::Dialect;
use crate::edm::EdmCow;
use crate::entity::{EncodeError, PropertyName, PropertySink, PropertyWriter, TableEntity};

const END: &str = "}";

/// Writes an entity as the body of an insert, update or merge, with the keys under which it is
/// addressed, and the id of the write in its column. Returns the offset of that id in the body. After an error `out`
/// ends with a part of the body.
pub fn entity<T: TableEntity>(
    out: &mut Vec<u8>,
    entity: &T,
    partition_key: &str,
    row_key: &str,
    write_id: Option<(&str, uuid::Uuid)>,
    dialect: Dialect,
) -> Result<Option<usize>, EncodeError> {
    let start = out.len();
    let mut body = JsonBody(out);
    body.0.extend_from_slice(b"{\"PartitionKey\":");
    text::push(body.0, partition_key);
    body.0.extend_from_slice(b",\"RowKey\":");
    text::push(body.0, row_key);
    let writer = PropertyWriter::new(&mut body, partition_key, row_key);
    let mut writer = writer.write_id(write_id).dialect(dialect);
    entity.write_properties(&mut writer)?;
    writer.finish()?;
    body.0.extend_from_slice(END.as_bytes());
    let length = body.0.len() - start;
    dialect.check_body(length)?;
    // The id is the last property, in quotes.
    Ok(write_id.map(|_| length - END.len() - "\"".len() - Hyphenated::LENGTH))
}

/// `{"TableName":"…"}`.
pub fn table_name(name: &str) -> Vec<u8> {
    let mut out = b"{\"TableName\":".to_vec();
    text::push(&mut out, name);
    out.push(b'}');
    out
}

struct JsonBody<'o>(&'o mut Vec<u8>);

impl JsonBody<'_> {
    /// The name of a property whose type shows in its value.
    #[inline]
    fn member(&mut self, name: PropertyName<'_>) {
        if let Some(member) = name.member {
            return self.0.extend_from_slice(member.as_bytes());
        }
        self.0.extend_from_slice(b",\"");
        self.0.extend_from_slice(name.text.as_bytes());
        self.0.extend_from_slice(b"\":");
    }

    /// Writes the type annotation, then the property's name. The annotation follows the name, in place of a quote and a
    /// colon.
    #[inline]
    fn typed_member(&mut self, name: PropertyName<'_>, annotation: &str) {
        self.member(name);
        let quote = self.0.len() - 2;
        self.0.truncate(quote);
        self.0.extend_from_slice(annotation.as_bytes());
        self.member(name);
    }

    /// A finite number.
    fn number(&mut self, value: &impl serde::Serialize) {
        // Writing a number as JSON to a Vec cannot fail.
        let _ = serde_json::to_writer(&mut *self.0, value);
    }

    fn double(&mut self, value: f64) {
        if value.is_finite() {
            self.number(&value);
        } else if value.is_nan() {
            self.0.extend_from_slice(b"\"NaN\"");
        } else {
            self.0.extend_from_slice(if value > 0.0 { b"\"Infinity\"" } else { b"\"-Infinity\"" });
        }
    }

    /// Writes quotes around a value that needs no escapes.
    fn quoted(&mut self, write: impl FnOnce(&mut Self)) {
        self.0.push(b'"');
        write(self);
        self.0.push(b'"');
    }

    fn base64(&mut self, bytes: &[u8]) {
        let start = self.0.len();
        // An overflow would need more bytes than memory has.
        let length = base64::encoded_len(bytes.len(), true).unwrap_or_default();
        self.0.resize(start + length, 0);
        // The buffer has the length of the text.
        let _ = STANDARD.encode_slice(bytes, &mut self.0[start..]);
    }
}

impl PropertySink for JsonBody<'_> {
    fn put(&mut self, name: PropertyName<'_>, value: EdmCow<'_>) {
        // String, Boolean and Int32 show in JSON. Double is annotated although 5.0 shows, since a
        // writer between us and the service may make 5 of it.
        match value {
            EdmCow::String(v) => {
                self.member(name);
                text::push(self.0, &v);
            }
            EdmCow::Boolean(v) => {
                self.member(name);
                self.0.extend_from_slice(if v { b"true" } else { b"false" });
            }
            EdmCow::Int32(v) => {
                self.member(name);
                self.number(&v);
            }
            EdmCow::Int64(v) => {
                self.typed_member(name, "@odata.type\":\"Edm.Int64\"");
                self.quoted(|body| body.number(&v));
            }
            EdmCow::Double(v) => {
                self.typed_member(name, "@odata.type\":\"Edm.Double\"");
                self.double(v);
            }
            EdmCow::DateTime(v) => {
                self.typed_member(name, "@odata.type\":\"Edm.DateTime\"");
                self.quoted(|body| body.0.extend_from_slice(&v.text()));
            }
            EdmCow::Guid(v) => {
                self.typed_member(name, "@odata.type\":\"Edm.Guid\"");
                let mut text = [0; Hyphenated::LENGTH];
                let text = v.as_hyphenated().encode_lower(&mut text);
                self.quoted(|body| body.0.extend_from_slice(text.as_bytes()));
            }
            EdmCow::Binary(v) => {
                self.typed_member(name, "@odata.type\":\"Edm.Binary\"");
                self.quoted(|body| body.base64(&v));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;
    use crate::edm::{EdmDateTime, EdmType, EdmValue};
    use crate::entity::{DynamicEntity, Entities, Form};
    use crate::wire::json_read;

    const STORAGE: Dialect = Dialect::AzureStorage;

    #[test]
    fn every_type_in_its_wire_form() {
        let mut dynamic = DynamicEntity::new("it's", "r\"1");
        dynamic
            .set("Text", "a\u{1}é")
            .set("Yes", true)
            .set("Small", i32::MIN)
            .set("Big", i64::MIN)
            .set("Whole", 5.0)
            .set("Inf", f64::NEG_INFINITY)
            .set("At", EdmDateTime::MIN)
            .set("Guid", uuid::Uuid::nil())
            .set("Bytes", vec![255_u8, 0]);
        let mut body = Vec::new();
        entity(&mut body, &dynamic, "it's", "r\"1", None, STORAGE).unwrap();
        assert_eq!(
            std::str::from_utf8(&body).unwrap(),
            concat!(
                r#"{"PartitionKey":"it's","RowKey":"r\"1","Text":"a\u0001é","Yes":true,"#,
                r#""Small":-2147483648,"Big@odata.type":"Edm.Int64","Big":"-9223372036854775808","#,
                r#""Whole@odata.type":"Edm.Double","Whole":5.0,"#,
                r#""Inf@odata.type":"Edm.Double","Inf":"-Infinity","#,
                r#""At@odata.type":"Edm.DateTime","At":"1601-01-01T00:00:00.0000000Z","#,
                r#""Guid@odata.type":"Edm.Guid","Guid":"00000000-0000-0000-0000-000000000000","#,
                r#""Bytes@odata.type":"Edm.Binary","Bytes":"/wA="}"#
            )
        );
        let back: DynamicEntity = json_read::read_one(&body, Form::WHOLE, &Entities).unwrap();
        assert_eq!(back, dynamic);
    }

    /// The body by the general means of the standard library and `serde_json`.
    fn by_format(entity: &DynamicEntity) -> String {
        let text = |text: &str| serde_json::to_string(text).unwrap();
        let key = entity.key();
        let mut body = format!(
            "{{\"PartitionKey\":{},\"RowKey\":{}",
            text(&key.partition_key),
            text(&key.row_key)
        );
        for (name, value) in entity.properties() {
            let ty = value.edm_type();
            if !matches!(ty, EdmType::String | EdmType::Boolean | EdmType::Int32) {
                write!(body, ",\"{name}@odata.type\":\"{ty}\"").unwrap();
            }
            let value = match value {
                EdmValue::String(value) => text(value),
                EdmValue::Double(value) if value.is_finite() => {
                    serde_json::to_string(value).unwrap()
                }
                EdmValue::Boolean(_) | EdmValue::Int32(_) => value.to_string(),
                _ => format!("\"{value}\""),
            };
            write!(body, ",\"{name}\":{value}").unwrap();
        }
        body + "}"
    }

    fn value() -> impl Strategy<Value = EdmValue> {
        let ticks = EdmDateTime::MIN.ticks()..=EdmDateTime::MAX.ticks();
        prop_oneof![
            ".{0,40}".prop_map(EdmValue::from),
            any::<bool>().prop_map(EdmValue::from),
            any::<i32>().prop_map(EdmValue::from),
            any::<i64>().prop_map(EdmValue::from),
            any::<u64>().prop_map(|bits| EdmValue::from(f64::from_bits(bits))),
            any::<i32>().prop_map(|whole| EdmValue::from(f64::from(whole))),
            ticks.prop_map(|ticks| EdmDateTime::from_ticks(ticks).unwrap().into()),
            any::<u128>().prop_map(|id| uuid::Uuid::from_u128(id).into()),
            proptest::collection::vec(any::<u8>(), 0..50).prop_map(EdmValue::from),
        ]
    }

    proptest! {
        #[test]
        fn a_body_is_the_one_of_general_formatting(
            keys in ("[ -\"$-.0-Za-~é]{0,20}", "[ -\"$-.0-Za-~é]{0,20}"),
            properties in proptest::collection::vec(("[a-zA-Z_é][a-zA-Z0-9_é]{0,20}", value()), 0..20),
        ) {
            let mut dynamic = DynamicEntity::new(keys.0, keys.1);
            for (name, value) in properties {
                dynamic.set(name, value);
            }
            let mut body = b"before".to_vec();
            let (key, written) = (dynamic.key(), dynamic.clone());
            entity(&mut body, &written, &key.partition_key, &key.row_key, None, STORAGE).unwrap();
            prop_assert_eq!(String::from_utf8(body).unwrap(), format!("before{}", by_format(&dynamic)));
        }
    }

    #[test]
    fn an_id_takes_the_place_of_the_one_that_was_read() {
        let mut dynamic = DynamicEntity::new("p", "r");
        dynamic.set("A", 1).set("Id", uuid::Uuid::nil());
        let mut body = Vec::new();
        entity(&mut body, &dynamic, "p", "r", Some(("Id", uuid::Uuid::from_u128(7))), STORAGE)
            .unwrap();
        let back: DynamicEntity = json_read::read_one(&body, Form::WHOLE, &Entities).unwrap();
        let id = back.get::<uuid::Uuid>("Id").unwrap().unwrap();
        assert!(back.properties().count() == 2 && !id.is_nil());
        let mut full = DynamicEntity::new("p", "r");
        for i in 0..252 {
            full.set(format!("P{i}"), i);
        }
        let error =
            entity(&mut body, &full, "p", "r", Some(("Id", uuid::Uuid::from_u128(7))), STORAGE)
                .unwrap_err();
        assert!(error.to_string().contains("253 properties"), "{error}");
    }

    #[test]
    fn limits_are_checked_as_it_is_written() {
        let mut many = DynamicEntity::new("p", "r");
        for i in 0..253 {
            many.set(format!("P{i}"), i);
        }
        assert!(
            entity(&mut Vec::new(), &many, "p", "r", None, STORAGE)
                .unwrap_err()
                .to_string()
                .contains("253 properties")
        );
        let mut large = DynamicEntity::new("p", "r");
        for i in 0..16 {
            large.set(format!("P{i}"), "x".repeat(32_768));
        }
        let text =
            entity(&mut Vec::new(), &large, "p", "r", None, STORAGE).unwrap_err().to_string();
        assert!(text.contains("at most 1048576"), "{text}");
    }
}
