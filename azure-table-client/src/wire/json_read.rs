//! Entities from JSON, directly into the struct: every value is borrowed from the response until the field
//! takes ownership. No map is built.

mod row;
mod value;

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use self::row::{RowReader, RowSeed, Texts};
use super::ReadError;
use crate::entity::{DecodeError, Form, ReadRow, Row};

/// Reads the rows of a query's reply: `{"value":[{…},…]}`.
pub(crate) fn read_page<T>(
    body: &[u8],
    form: Form,
    reader: &dyn ReadRow<T>,
) -> Result<Vec<T>, ReadError> {
    let mut values = Vec::new();
    let mut consume = |step: Step<'_, '_>| match step {
        Step::Restart => {
            values.clear();
            Ok(())
        }
        Step::Row(row) => reader.read_row(row).map(|value| values.push(value)),
    };
    let row = || Row::with(reader.columns(), reader.keeps_others(), form);
    read(as_text(body)?, &row, true, &mut consume)?;
    Ok(values)
}

/// Reads the reply of a point query: one row.
pub(crate) fn read_one<T>(
    body: &[u8],
    form: Form,
    reader: &dyn ReadRow<T>,
) -> Result<T, ReadError> {
    let mut value = None;
    let mut consume = |step: Step<'_, '_>| match step {
        Step::Restart => Ok(()),
        Step::Row(row) => reader.read_row(row).map(|read| value = Some(read)),
    };
    let row = || Row::with(reader.columns(), reader.keeps_others(), form);
    read(as_text(body)?, &row, false, &mut consume)?;
    value.ok_or_else(|| ReadError::Json(serde_json::Error::custom("no entity")))
}

/// Reads one whole entity.
#[cfg(test)]
pub(crate) fn read_entity<T: crate::entity::TableEntity>(
    body: &[u8],
    typed: bool,
) -> Result<T, ReadError> {
    read_one(body, Form { typed, selected: false }, &crate::entity::Entities)
}

/// Fills a row from one JSON object, without building an entity.
#[cfg(feature = "mock")]
pub(crate) fn read_row<'de>(body: &'de [u8], row: Row<'de>) -> Result<Row<'de>, serde_json::Error> {
    let mut reader = RowReader::new(row, Texts::Any);
    let body = std::str::from_utf8(body).map_err(serde_json::Error::custom)?;
    let mut json = serde_json::Deserializer::from_str(body);
    RowSeed(&mut reader).deserialize(&mut json)?;
    json.end()?;
    Ok(reader.row)
}

/// One check of the whole body is far cheaper than one of each name and value.
fn as_text(body: &[u8]) -> Result<&str, ReadError> {
    std::str::from_utf8(body).map_err(|error| ReadError::Json(serde_json::Error::custom(error)))
}

/// A step of reading a body.
enum Step<'a, 'de> {
    /// The body is read again from the beginning.
    Restart,
    /// A row is complete.
    Row(&'a mut Row<'de>),
}

/// The consumer of the rows. A function pointer, so that the reader is compiled once instead of once for each
/// type of entity.
type Consumer<'t> = dyn FnMut(Step<'_, '_>) -> Result<(), DecodeError> + 't;

/// Reads for speed first. If that fails, reads again in a way that limits the damage of a lone surrogate to its
/// property.
fn read<'de>(
    body: &'de str,
    row: &dyn Fn() -> Row<'de>,
    is_page: bool,
    consume: &mut Consumer<'_>,
) -> Result<(), ReadError> {
    match read_once(body, RowReader::new(row(), Texts::Unicode), is_page, consume) {
        // A surrogate is always escaped.
        Err(ReadError::Json(error)) if body.contains("\\u") => {
            consume(Step::Restart).map_err(ReadError::Decode)?;
            match read_once(body, RowReader::new(row(), Texts::Any), is_page, consume) {
                Err(ReadError::Json(_)) => Err(ReadError::Json(error)),
                other => other,
            }
        }
        other => other,
    }
}

fn read_once<'de>(
    body: &'de str,
    mut reader: RowReader<'de>,
    is_page: bool,
    consume: &mut Consumer<'_>,
) -> Result<(), ReadError> {
    let mut failure = None;
    let mut json = serde_json::Deserializer::from_str(body);
    let rows = RowsSeed { reader: &mut reader, consume, failure: &mut failure };
    let outcome = if is_page { PageSeed(rows).deserialize(&mut json) } else { rows.one(&mut json) };
    match (failure, outcome.and_then(|()| json.end())) {
        (Some(failure), _) => Err(ReadError::Decode(failure)),
        (None, outcome) => outcome.map_err(ReadError::Json),
    }
}

/// `{"value":[…]}`.
struct PageSeed<'a, 't, 'de>(RowsSeed<'a, 't, 'de>);

impl<'de> DeserializeSeed<'de> for PageSeed<'_, '_, 'de> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for PageSeed<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the entities in \"value\"")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let mut found = false;
        while let Some(is_value) = map.next_key_seed(IsValue)? {
            if is_value {
                found = true;
                map.next_value_seed(&mut self.0)?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        if found { Ok(()) } else { Err(A::Error::missing_field("value")) }
    }
}

struct IsValue;

impl<'de> DeserializeSeed<'de> for IsValue {
    type Value = bool;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for IsValue {
    type Value = bool;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }
    fn visit_str<E>(self, name: &str) -> Result<bool, E> {
        Ok(name == "value")
    }
}

struct RowsSeed<'a, 't, 'de> {
    reader: &'a mut RowReader<'de>,
    consume: &'a mut Consumer<'t>,
    failure: &'a mut Option<DecodeError>,
}

impl<'de> RowsSeed<'_, '_, 'de> {
    /// Hands on the row that was read; an error of it ends the reading.
    fn take_row<E: serde::de::Error>(&mut self) -> Result<(), E> {
        (self.consume)(Step::Row(&mut self.reader.row)).map_err(|error| {
            *self.failure = Some(error);
            E::custom("an entity is not valid")
        })
    }

    fn one<D: Deserializer<'de>>(mut self, deserializer: D) -> Result<(), D::Error> {
        RowSeed(self.reader).deserialize(deserializer)?;
        self.take_row()
    }
}

impl<'de> DeserializeSeed<'de> for &mut RowsSeed<'_, '_, 'de> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for &mut RowsSeed<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of entities")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(RowSeed(self.reader))?.is_some() {
            self.take_row()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::edm::{EdmDateTime, EdmValue};
    use crate::entity::{DecodeReason, DynamicEntity, Entities, TableEntity};

    fn read_page<T: TableEntity>(body: &[u8], typed: bool) -> Result<Vec<T>, ReadError> {
        super::read_page(body, Form { typed, selected: false }, &Entities)
    }

    const MINIMAL: &str = r#"{"odata.metadata":"https://a.table.core.windows.net/$metadata#T",
        "value":[{"odata.etag":"W/\"datetime'2017-11-10T02%3A43%3A55.7662669Z'\"",
        "PartitionKey":"p","RowKey":"r","Timestamp":"2017-11-10T02:43:55.7662669Z",
        "Big@odata.type":"Edm.Int64","Big":"9223372036854775807",
        "NaN":"NaN","NaN@odata.type":"Edm.Double","Whole":5.0,"Small":-5,
        "Guid@odata.type":"Edm.Guid","Guid":"c9da6455-213d-42c9-9a79-3e9149a57833",
        "Bytes@odata.type":"Edm.Binary","Bytes":"AAEC/w==",
        "At@odata.type":"Edm.DateTime","At":"9999-12-31T23:59:59.9999999Z",
        "Text":"\u00e9 \ud83d\ude00","None":null,"Yes":true}]}"#;

    #[test]
    fn all_types_annotated_before_or_after() {
        let page: Vec<DynamicEntity> = read_page(MINIMAL.as_bytes(), true).unwrap();
        let [entity] = &page[..] else { panic!("one entity") };
        assert_eq!(entity.key().to_string(), r#"("p", "r")"#);
        assert!(entity.etag().unwrap().as_str().starts_with("W/\"datetime'2017"));
        assert_eq!(entity.timestamp().unwrap().to_string(), "2017-11-10T02:43:55.7662669Z");
        let values: Vec<(&str, EdmValue)> =
            entity.properties().map(|(n, v)| (n, v.clone())).collect();
        assert_eq!(
            values,
            [
                ("Big", EdmValue::Int64(i64::MAX)),
                ("NaN", EdmValue::Double(f64::NAN)),
                ("Whole", EdmValue::Double(5.0)),
                ("Small", EdmValue::Int32(-5)),
                ("Guid", EdmValue::Guid("c9da6455-213d-42c9-9a79-3e9149a57833".parse().unwrap())),
                ("Bytes", EdmValue::Binary(vec![0, 1, 2, 255].into())),
                ("At", EdmValue::DateTime(EdmDateTime::MAX)),
                ("Text", EdmValue::String("é 😀".into())),
                ("Yes", EdmValue::Boolean(true)),
            ]
        );
    }

    #[test]
    fn a_lone_surrogate_spoils_one_property() {
        let body = br#"{"value":[{"PartitionKey":"p","RowKey":"r","Bad":"\ud800","Good":1}]}"#;
        let Err(ReadError::Decode(error)) = read_page::<DynamicEntity>(body, true) else {
            panic!("an error of the property")
        };
        assert_eq!(
            (error.property(), error.reason()),
            ("Bad", &DecodeReason::NoUnicode { offset: 8 })
        );
        // A bad property that the struct does not have is harmless.
        let rows = read_page::<KeysOnly>(body, true).unwrap();
        assert_eq!(rows.len(), 1);
    }

    struct KeysOnly;
    impl TableEntity for KeysOnly {
        const COLUMNS: &'static [&'static str] = &["Bad"];
        fn partition_key(&self) -> Result<Cow<'_, str>, crate::entity::KeyError> {
            Ok("".into())
        }
        fn row_key(&self) -> Result<Cow<'_, str>, crate::entity::KeyError> {
            Ok("".into())
        }
        fn write_properties(
            &self,
            _: &mut crate::entity::PropertyWriter<'_>,
        ) -> Result<(), crate::entity::EncodeError> {
            Ok(())
        }
        fn from_row(_: &mut Row<'_>) -> Result<Self, DecodeError> {
            Ok(Self)
        }
    }

    #[test]
    fn what_is_no_page_is_refused() {
        for body in [
            "",
            "{",
            "[]",
            "null",
            "{}",
            r#"{"value":{}}"#,
            r#"{"value":[1]}"#,
            r#"{"value":[{"PartitionKey":"p","RowKey":"r"}]"#,
            "<html></html>",
            r#"{"value":[]} x"#,
            "\u{feff}",
        ] {
            assert!(read_page::<DynamicEntity>(body.as_bytes(), true).is_err(), "{body}");
        }
    }

    #[test]
    fn errors_name_entity_property_and_types() {
        let text = |member: &str| {
            let body = format!(r#"{{"value":[{{"PartitionKey":"p","RowKey":"r",{member}}}]}}"#);
            match read_page::<DynamicEntity>(body.as_bytes(), true) {
                Err(ReadError::Decode(error)) => error.to_string(),
                other => panic!("{other:?}"),
            }
        };
        let prefix = r#"property "A" of entity ("p", "r"): "#;
        for (member, reason) in [
            (
                r#""A@odata.type":"Edm.Int64","A":"5x""#,
                r#"expected Edm.Int64, found "5x", which is wrong at offset 1"#,
            ),
            (
                r#""A":"1.5","A@odata.type":"Edm.Int32""#,
                r#"expected Edm.Int32, found "1.5", which is wrong at offset 1"#,
            ),
            (
                r#""A":"2009-04-14 01:02:03Z","A@odata.type":"Edm.DateTime""#,
                r#"expected Edm.DateTime, found "2009-04-14 01:02:03Z", which is wrong at offset 10"#,
            ),
            (
                r#""A":"c9da6455_213d","A@odata.type":"Edm.Guid""#,
                r#"expected Edm.Guid, found "c9da6455_213d", which is wrong at offset 8"#,
            ),
            (
                r#""A":"1e5x","A@odata.type":"Edm.Double""#,
                r#"expected Edm.Double, found "1e5x", which is wrong at offset 3"#,
            ),
            (
                r#""A":"?","A@odata.type":"Edm.Binary""#,
                r#"expected Edm.Binary, found "?", which is wrong at offset 0"#,
            ),
            (r#""A":"x","A@odata.type":"Edm.Byte""#, "annotated with an unknown Edm type"),
            (r#""A":{"x":[1]}"#, "an object or an array instead of a value"),
            (
                r#""A":3000000000,"A@odata.type":"Edm.Int32""#,
                "expected Edm.Int32, found 3000000000",
            ),
        ] {
            assert_eq!(text(member), format!("{prefix}{reason}"));
        }
    }

    #[test]
    fn rows_of_different_shape_do_not_mix() {
        let body = br#"{"value":[
            {"PartitionKey":"p","RowKey":"1","A":1,"B":2},
            {"RowKey":"2","B":3,"PartitionKey":"p"},
            {"A@odata.type":"Edm.Int64","PartitionKey":"p","RowKey":"3","A":"4"}]}"#;
        let page: Vec<DynamicEntity> = read_page(body, true).unwrap();
        assert_eq!(page[1].value("A"), None);
        assert_eq!(page[1].value("B"), Some(&EdmValue::Int32(3)));
        assert_eq!(page[2].value("A"), Some(&EdmValue::Int64(4)));
        assert_eq!(page[2].properties().len(), 1);
    }
}
