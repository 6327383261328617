//! Entities as JSON request bodies.

use std::io::Write as _;

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;

use crate::dialect::Dialect;
use crate::edm::{EdmCow, EdmType};
use crate::entity::{EncodeError, PropertySink, PropertyWriter, TableEntity};

/// Writes an entity as the body of an insert, update or merge, with the keys under which it is
/// addressed, and the id of the write in its column. After an error `out` ends with a part of it.
pub(crate) fn entity<T: TableEntity>(
    out: &mut Vec<u8>,
    entity: &T,
    partition_key: &str,
    row_key: &str,
    write_id: Option<(&str, uuid::Uuid)>,
    dialect: Dialect,
) -> Result<(), EncodeError> {
    let start = out.len();
    let mut body = Body(out);
    body.0.extend_from_slice(b"{\"PartitionKey\":");
    body.plain(partition_key);
    body.0.extend_from_slice(b",\"RowKey\":");
    body.plain(row_key);
    let writer = PropertyWriter::new(&mut body, partition_key, row_key);
    let mut writer = writer.write_id(write_id).dialect(dialect);
    entity.write_properties(&mut writer)?;
    writer.finish()?;
    body.0.push(b'}');
    Ok(dialect.check_body(body.0.len() - start)?)
}

/// `{"TableName":"…"}`.
pub(crate) fn table_name(name: &str) -> Vec<u8> {
    let mut out = b"{\"TableName\":".to_vec();
    Body(&mut out).plain(name);
    out.push(b'}');
    out
}

struct Body<'o>(&'o mut Vec<u8>);

impl Body<'_> {
    /// Text or a finite number.
    fn plain(&mut self, value: &(impl serde::Serialize + ?Sized)) {
        // Writing these values as JSON to a Vec cannot fail.
        let _ = serde_json::to_writer(&mut *self.0, value);
    }

    fn quoted(&mut self, value: impl std::fmt::Display) {
        let _ = write!(self.0, "\"{value}\"");
    }

    fn number(&mut self, value: f64) {
        if value.is_finite() {
            self.plain(&value);
        } else if value.is_nan() {
            self.0.extend_from_slice(b"\"NaN\"");
        } else {
            self.0.extend_from_slice(if value > 0.0 { b"\"Infinity\"" } else { b"\"-Infinity\"" });
        }
    }
}

impl PropertySink for Body<'_> {
    fn put(&mut self, name: &str, value: EdmCow<'_>) {
        let ty = value.edm_type();
        // String, Boolean and Int32 show in JSON. Double is annotated although 5.0 shows, since a
        // writer between us and the service may make 5 of it.
        if !matches!(ty, EdmType::String | EdmType::Boolean | EdmType::Int32) {
            self.0.extend_from_slice(b",\"");
            self.0.extend_from_slice(name.as_bytes());
            self.0.extend_from_slice(b"@odata.type\":\"");
            self.0.extend_from_slice(ty.as_str().as_bytes());
            self.0.push(b'"');
        }
        self.0.extend_from_slice(b",\"");
        self.0.extend_from_slice(name.as_bytes());
        self.0.extend_from_slice(b"\":");
        match value {
            EdmCow::String(v) => self.plain(&*v),
            EdmCow::Boolean(v) => self.0.extend_from_slice(if v { b"true" } else { b"false" }),
            EdmCow::Int32(v) => self.plain(&v),
            EdmCow::Int64(v) => {
                self.0.push(b'"');
                self.plain(&v);
                self.0.push(b'"');
            }
            EdmCow::Double(v) => self.number(v),
            EdmCow::DateTime(v) => self.quoted(v),
            EdmCow::Guid(v) => self.quoted(v),
            EdmCow::Binary(v) => self.quoted(Base64Display::new(&v, &STANDARD)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edm::EdmDateTime;
    use crate::entity::DynamicEntity;
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
        let back: DynamicEntity = json_read::read_entity(&body, true).unwrap();
        assert_eq!(back, dynamic);
    }

    #[test]
    fn an_id_takes_the_place_of_the_one_that_was_read() {
        let mut dynamic = DynamicEntity::new("p", "r");
        dynamic.set("A", 1).set("Id", uuid::Uuid::nil());
        let mut body = Vec::new();
        entity(&mut body, &dynamic, "p", "r", Some(("Id", uuid::Uuid::from_u128(7))), STORAGE)
            .unwrap();
        let back: DynamicEntity = json_read::read_entity(&body, true).unwrap();
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
