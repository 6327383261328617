//! Entities whose keys are in the body.

use std::borrow::Cow;

use crate::check::{check_keys, check_properties};
use crate::dialect::ServiceDialect;
use crate::edm::EdmCow;
use crate::entity::Annotation;
use crate::failure::Failure;
use crate::limits::EntitySize;
use crate::request::{self, EntityBody, RequestBody};
use crate::row::{Properties, StoredKey};
use crate::store::{RowText, RowWriter};
use crate::wire::json_read::{PropertyReader, ReadProperty};

/// Reads and checks a new row. `reader` is that of the transaction.
pub(super) fn new_row<'a>(
    dialect: ServiceDialect,
    max_key_units: usize,
    body: RequestBody<'a>,
    reader: &mut PropertyReader<'a>,
) -> Result<(StoredKey, RowText), Failure> {
    if let RequestBody::Json(body) = body
        && dialect == ServiceDialect::AzureStorage
        && let Some(row) = usual_row(max_key_units, body, reader)
    {
        return Ok(row);
    }
    let (key, properties) = entity_with_keys(dialect, max_key_units, body)?;
    let row = RowText::new(&key.row, &properties);
    Ok((key, row))
}

/// Reads, checks and writes one property after the other, without a list of them. Returns `None` for an entity that is not
/// valid, does not begin with its keys, or has JSON that [`PropertyReader`] does not read: [`entity_with_keys`] reads it,
/// or finds the failure.
fn usual_row<'a>(
    max_key_units: usize,
    body: &'a [u8],
    reader: &mut PropertyReader<'a>,
) -> Option<(StoredKey, RowText)> {
    let dialect = ServiceDialect::AzureStorage;
    let mut partition_key: Option<Cow<'_, str>> = None;
    let mut row: Option<(StoredKey, RowWriter, EntitySize)> = None;
    let mut names = Vec::with_capacity(16);
    reader.read(body, |ReadProperty { name, is_known, property, json }| {
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
        // The known names were checked in the last entity.
        if !is_known {
            let is_refused = names.contains(&name) || names.len() == dialect.max_properties();
            (!is_refused).then_some(())?;
            dialect.check_new_name(name).ok()?;
        }
        names.push(name);
        let Some(value) = value else { return Some(()) };
        dialect.check_value(name, &value).ok()?;
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
    Some((key, writer.finish()))
}

/// Reads and checks an entity whose keys are in the body.
pub(crate) fn entity_with_keys(
    dialect: ServiceDialect,
    max_key_units: usize,
    body: RequestBody<'_>,
) -> Result<(StoredKey, Properties<'_>), Failure> {
    let ((partition_key, row_key), mut properties) = EntityBody::parse(body)?.into_keys()?;
    let key = StoredKey::new(partition_key, row_key);
    check_keys(dialect, &key, max_key_units)?;
    dialect.remove_system_properties(&mut properties);
    check_properties(dialect, &key, &properties)?;
    Ok((key, properties))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Row = (StoredKey, RowText);

    const MAX_KEY_UNITS: usize = 512;

    /// The members of a body: mostly those that inserts have, and some that the service refuses.
    fn member() -> impl Strategy<Value = String> {
        let name = prop_oneof![
            20 => "[A-Za-z]{1,2}",
            1 => prop::sample::select(vec![
                "PartitionKey", "RowKey", "Timestamp", "etag", "Etag", "odata.etag", "é", "9", "", "a b", "a@odata.x",
            ])
            .prop_map(str::to_owned),
        ];
        let valid = prop::sample::select(vec![
            ("1", None),
            ("-5", None),
            ("3000000000", None),
            ("1.5", None),
            ("true", None),
            ("null", None),
            ("\"text\"", None),
            ("\"\"", Some("String")),
            (r#""a\"\u00e9\\""#, None),
            ("\"é\"", None),
            ("\"\u{7f}\"", None),
            ("5", Some("Double")),
            ("\"NaN\"", Some("Double")),
            ("\"-7\"", Some("Int64")),
            ("7", Some("Int32")),
            ("\"true\"", Some("Boolean")),
            ("\"2020-01-01T00:00:00.1234567Z\"", Some("DateTime")),
            ("\"2020-01-01T00:00:00\"", Some("DateTime")),
            ("\"AQID\"", Some("Binary")),
            ("\"C9C6AF4A-65C0-4B6E-9B8E-0BA1D2E3F405\"", Some("Guid")),
        ]);
        let types = ["Int64", "DateTime", "Guid", "Binary", "Double", "String", "Single"];
        let refused = (
            prop::sample::select(vec!["-0", "01", "1e400", r#""\ud800""#, "{}", "[1]", "\"x\""]),
            prop::option::of(prop::sample::select(types.to_vec())),
        );
        let value = prop_oneof![20 => valid, 1 => refused];
        (name, value, any::<bool>()).prop_map(|(name, (value, ty), is_first)| {
            let value = format!("\"{name}\":{value}");
            match ty.map(|ty| format!("\"{name}@odata.type\":\"Edm.{ty}\"")) {
                None => value,
                Some(ty) if is_first => format!("{ty},{value}"),
                Some(ty) => format!("{value},{ty}"),
            }
        })
    }

    fn body() -> impl Strategy<Value = String> {
        let keys = prop_oneof![
            20 => prop::sample::select(vec![
                r#""PartitionKey":"p","RowKey":"r""#,
                r#""PartitionKey":"","RowKey":"\u00e9""#,
                r#""PartitionKey@odata.type":"Edm.String","PartitionKey":"a b","RowKey":"r""#,
            ]),
            1 => prop::sample::select(vec![
                r#""RowKey":"r","PartitionKey":"p""#,
                r#""PartitionKey":"a/b","RowKey":"r""#,
                r#""PartitionKey":"p""#,
                r#""PartitionKey":"p","RowKey":null"#,
                r#""PartitionKey":5,"RowKey":"r""#,
            ]),
        ];
        let are_last = prop::bool::weighted(0.1);
        (keys, prop::collection::vec(member(), 0..5), are_last).prop_map(
            |(keys, members, are_last)| {
                let mut members = members;
                members.insert(if are_last { members.len() } else { 0 }, keys.to_owned());
                format!("{{{}}}", members.join(","))
            },
        )
    }

    /// Reads a body in both ways.
    fn read<'a>(
        body: &'a str,
        reader: &mut PropertyReader<'a>,
    ) -> (Option<Row>, Result<Row, Failure>) {
        let usual = usual_row(MAX_KEY_UNITS, body.as_bytes(), reader);
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
        #![proptest_config(ProptestConfig::with_cases(crate::tests::sized(300, 1000)))]
        #[test]
        fn both_ways_store_the_same_rows(bodies in prop::collection::vec(body(), 1..4)) {
            let mut reader = PropertyReader::default();
            // The second time, the names of each body are known.
            for body in bodies.iter().flat_map(|body| [body, body]) {
                let (usual, general) = read(body, &mut reader);
                if let Some(usual) = usual {
                    prop_assert_eq!(Ok(usual), general);
                }
            }
        }
    }

    /// A body with these members after its keys.
    fn with_keys(members: &str) -> String {
        format!(r#"{{"PartitionKey":"p","RowKey":"r"{members}}}"#)
    }

    #[test]
    fn usual_entities_are_read_at_once() {
        let most = (0..252).map(|n| format!(",\"A{n}\":1")).collect::<Vec<_>>().concat();
        for members in [
            "",
            r#","A":1,"B@odata.type":"Edm.Int64","B":"5","C":"é","D":null"#,
            r#","B":"5","B@odata.type":"Edm.Int64","etag":"x""#,
            &most,
        ] {
            let body = with_keys(members);
            let mut reader = PropertyReader::default();
            for _ in 0..2 {
                let (usual, general) = read(&body, &mut reader);
                assert!(usual.is_some() && usual == general.ok(), "{members}");
            }
        }
    }

    #[test]
    fn other_entities_are_left_to_the_general_reader() {
        let text = "x".repeat(32 * 1024);
        let members = |count: usize, value: &str| {
            (0..count).map(|n| format!(",\"A{n}\":{value}")).collect::<Vec<_>>().concat()
        };
        let (big, many) = (members(16, &format!("\"{text}\"")), members(253, "1"));
        for (members, is_valid) in [
            (r#","A":1,"A":1"#, false),
            (r#","A":null,"A":null"#, false),
            (r#","A":1,"B":2,"A":1"#, false),
            (r#","RowKey":"r""#, false),
            (r#","A":1,"PartitionKey":"p""#, false),
            (r#","A@odata.type":"Edm.Int64","A":"5","A@odata.type":"Edm.Int64""#, false),
            (r#","A@odata.type":"Edm.Int64","B":1,"A":"5""#, true),
            (r#","A":"5","B":1,"A@odata.type":"Edm.Int64""#, true),
            (r#","Timestamp":"2020-01-01T00:00:00Z""#, true),
            (r#","odata.etag":"x""#, true),
            (r#", "A":1"#, true),
            (&members(1, &format!("\"{text}x\"")), false),
            (&big, false),
            (&many, false),
        ] {
            let body = with_keys(members);
            let mut reader = PropertyReader::default();
            // A name that was refused is not known to be valid.
            for _ in 0..2 {
                let (usual, general) = read(&body, &mut reader);
                assert!(usual.is_none(), "{members}");
                assert_eq!(general.is_ok(), is_valid, "{members}: {general:?}");
            }
        }
    }

    /// Bodies that begin like the one before, and whose further names are checked.
    #[test]
    fn names_after_the_known_ones_are_checked() {
        let mut reader = PropertyReader::default();
        let bodies = [
            (r#","A":1,"B":2"#, true),
            (r#","A":1,"B":2,"C":null"#, true),
            (r#","A":1,"B":2,"C":3"#, true),
            (r#","A":1,"B":2,"A":3"#, false),
            (r#","A":1,"B":2,"Timestamp":3"#, false),
            (r#","B":1,"A":2"#, true),
            (r#","B":1,"B":2"#, false),
            (r#","B":1,"A@odata.type":"Edm.Int64","A":"2""#, true),
            (r#","B":1,"A":"2","9":1"#, false),
        ];
        let bodies = bodies.map(|(members, is_usual)| (with_keys(members), is_usual));
        for (body, is_usual) in &bodies {
            let (usual, general) = read(body, &mut reader);
            assert_eq!(usual.is_some(), *is_usual, "{body}");
            assert!(usual.is_none() || usual == general.ok(), "{body}");
        }
    }
}
