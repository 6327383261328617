//! The key and the row of an insert.

use std::borrow::Cow;

use super::entities::entity_with_keys;
use crate::check::check_keys;
use crate::dialect::ServiceDialect;
use crate::edm::EdmCow;
use crate::entity::Annotation;
use crate::failure::Failure;
use crate::limits::{EntitySize, check_property_name};
use crate::request::{self, RequestBody};
use crate::row::StoredKey;
use crate::store::{RowText, RowWriter};
use crate::wire::json_read::{ReadProperty, read_properties};

/// Reads and checks a new row.
pub(super) fn new_row(
    dialect: ServiceDialect,
    max_key_units: usize,
    body: RequestBody<'_>,
) -> Result<(StoredKey, RowText), Failure> {
    if let RequestBody::Json(body) = body
        && dialect == ServiceDialect::AzureStorage
        && let Some(row) = usual_row(max_key_units, body)
    {
        return Ok(row);
    }
    let (key, properties) = entity_with_keys(dialect, max_key_units, body)?;
    let row = RowText::new(&key.row, &properties);
    Ok((key, row))
}

/// Reads, checks and writes one property after the other, without a list of them. Returns `None` unless the entity is
/// valid and begins with its keys, as those of most clients do: [`entity_with_keys`] finds the failure.
fn usual_row(max_key_units: usize, body: &[u8]) -> Option<(StoredKey, RowText)> {
    let dialect = ServiceDialect::AzureStorage;
    let mut partition_key: Option<Cow<'_, str>> = None;
    let mut row: Option<(StoredKey, RowWriter, EntitySize)> = None;
    let mut names = Vec::with_capacity(16);
    read_properties(body, |ReadProperty { name, property, json }| {
        let is_typed = property.annotation != Annotation::None;
        let value = request::read_value(property).ok()?;
        let Some((_, writer, size)) = &mut row else {
            let Some(EdmCow::String(text)) = value else { return None };
            match (name, partition_key.take()) {
                ("PartitionKey", None) => partition_key = Some(text),
                ("RowKey", Some(partition_key)) => {
                    let key = StoredKey::new(partition_key, text);
                    check_keys(dialect, &key, max_key_units).ok()?;
                    let writer = RowWriter::new(&key.row, body.len());
                    let size = EntitySize::of_keys(&key.partition, &key.row);
                    row = Some((key, writer, size));
                }
                _ => return None,
            }
            return Some(());
        };
        if names.contains(&name) || names.len() > dialect.max_properties() {
            return None;
        }
        names.push(name);
        let Some(value) = value else { return check_property_name(name).ok() };
        dialect.check_new_property(name, &value).ok()?;
        size.add(name, &value);
        if is_typed {
            writer.push(name, &value);
        } else {
            writer.push_sent(name, &value, json);
        }
        Some(())
    })?;
    let (key, writer, size) = row?;
    dialect.check_size(size).ok()?;
    (names.len() <= dialect.max_properties()).then(|| (key, writer.finish()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Row = (StoredKey, RowText);

    const MAX_KEY_UNITS: usize = 512;

    /// The members of a body: those that inserts have, and those that the service refuses.
    fn member() -> impl Strategy<Value = String> {
        let name = prop_oneof![
            4 => "[A-Ca-c]{1,2}",
            1 => prop::sample::select(vec![
                "PartitionKey", "RowKey", "Timestamp", "etag", "Etag", "odata.etag", "é", "9", "", "a b", "a@odata.x",
            ])
            .prop_map(str::to_owned),
        ];
        let value = prop::sample::select(vec![
            "1",
            "-5",
            "3000000000",
            "1.5",
            "1e400",
            "-0",
            "01",
            "true",
            "null",
            "\"text\"",
            "\"\"",
            r#""a\"\u00e9\\""#,
            r#""\ud800""#,
            "\"é\"",
            "\"5\"",
            "\"x\"",
            "{}",
            "[1]",
            "\"2020-01-01T00:00:00.1234567Z\"",
            "\"2020-01-01T00:00:00\"",
            "\"AQID\"",
            "\"C9C6AF4A-65C0-4B6E-9B8E-0BA1D2E3F405\"",
            "\"NaN\"",
        ]);
        let ty = prop::option::weighted(
            0.5,
            prop::sample::select(vec![
                "Int64", "DateTime", "Guid", "Binary", "Double", "String", "Int32", "Boolean",
                "Single",
            ]),
        );
        (name, value, ty, any::<bool>()).prop_map(|(name, value, ty, is_first)| {
            let value = format!("\"{name}\":{value}");
            match ty.map(|ty| format!("\"{name}@odata.type\":\"Edm.{ty}\"")) {
                None => value,
                Some(ty) if is_first => format!("{ty},{value}"),
                Some(ty) => format!("{value},{ty}"),
            }
        })
    }

    fn body() -> impl Strategy<Value = String> {
        let keys = prop::sample::select(vec![
            r#""PartitionKey":"p","RowKey":"r""#,
            r#""PartitionKey":"p","RowKey":"r""#,
            r#""PartitionKey":"","RowKey":"\u00e9""#,
            r#""RowKey":"r","PartitionKey":"p""#,
            r#""PartitionKey@odata.type":"Edm.String","PartitionKey":"a/b","RowKey":"r""#,
            r#""PartitionKey":"p""#,
            r#""PartitionKey":"p","RowKey":null"#,
            r#""PartitionKey":5,"RowKey":"r""#,
        ]);
        (keys, prop::collection::vec(member(), 0..5), any::<bool>()).prop_map(
            |(keys, members, are_last)| {
                let mut members = members;
                members.insert(if are_last { members.len() } else { 0 }, keys.to_owned());
                format!("{{{}}}", members.join(","))
            },
        )
    }

    /// Reads a body in both ways.
    fn read(body: &str) -> (Option<Row>, Result<Row, Failure>) {
        let usual = usual_row(MAX_KEY_UNITS, body.as_bytes());
        let general = entity_with_keys(
            ServiceDialect::AzureStorage,
            MAX_KEY_UNITS,
            RequestBody::Json(body.as_bytes()),
        );
        (
            usual,
            general.map(|(key, properties)| {
                let row = RowText::new(&key.row, &properties);
                (key, row)
            }),
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        fn both_ways_store_the_same_row(body in body()) {
            let (usual, general) = read(&body);
            if let Some(usual) = usual {
                prop_assert_eq!(Ok(usual), general);
            }
        }
    }

    #[test]
    fn entities_of_clients_are_usual() {
        for body in [
            r#"{"PartitionKey":"p","RowKey":"r"}"#,
            r#"{"PartitionKey":"p","RowKey":"r","A":1,"B@odata.type":"Edm.Int64","B":"5","C":"é","D":null}"#,
            r#"{"PartitionKey":"p","RowKey":"r","B":"5","B@odata.type":"Edm.Int64","etag":"x"}"#,
        ] {
            let (usual, general) = read(body);
            assert_eq!(usual.ok_or(Failure::invalid_input()), general, "{body}");
            assert!(read(body).0.is_some(), "{body}");
        }
    }

    #[test]
    fn limits_hold() {
        let text = "x".repeat(32 * 1024);
        let members = |count: usize, value: &str| {
            (0..count).map(|n| format!("\"A{n}\":{value}")).collect::<Vec<_>>().join(",")
        };
        for members in [
            members(16, &format!("\"{text}\"")),
            members(253, "1"),
            members(1, &format!("\"{text}x\"")),
        ] {
            let (usual, general) =
                read(&format!(r#"{{"PartitionKey":"p","RowKey":"r",{members}}}"#));
            assert!(usual.is_none() && general.is_err(), "{general:?}");
        }
    }
}
