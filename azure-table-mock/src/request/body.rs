//! The entity in the body of a request.

use std::borrow::Cow;

use crate::edm::{DateTimeError, EdmCow, EdmDateTime, EdmType};
use crate::entity::{Annotation, Columns, DynamicEntity, Form, RawProperty, RawValue, Row};
use crate::failure::Failure;
use crate::row::Properties;
use crate::wire::{atom, json_read};

/// The PartitionKey and the RowKey of a body.
pub(crate) type BodyKeys<'a> = (Cow<'a, str>, Cow<'a, str>);

/// The body of a request in its format.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RequestBody<'a> {
    Json(&'a [u8]),
    Atom(&'a [u8]),
}

impl<'a> RequestBody<'a> {
    /// Fills a row with the properties of the body.
    pub(crate) fn row(self, row: impl Fn() -> Row<'a>) -> Result<Row<'a>, Failure> {
        let row = match self {
            Self::Json(body) => json_read::read_row(body, row()).ok(),
            Self::Atom(body) => atom::read::read_row(body, row()).ok(),
        };
        row.ok_or_else(Failure::invalid_input)
    }

    /// The name of the table in the body of a create request, if the body has one.
    pub(crate) fn table_name(self) -> Result<Option<String>, Failure> {
        let mut row = self.row(|| Row::with(Columns::new(&["TableName"]), false, Form::WHOLE))?;
        row.optional(0).map_err(|_| Failure::invalid_input())
    }
}

/// The entity of a body: its properties in order, without nulls, and its keys, which only an insert uses.
#[derive(Debug)]
pub(crate) struct EntityBody<'a> {
    keys: [Option<EdmCow<'a>>; 2],
    pub(crate) properties: Properties<'a>,
}

impl<'a> EntityBody<'a> {
    pub(crate) fn parse(body: RequestBody<'a>) -> Result<Self, Failure> {
        let mut row = body.row(|| Row::of::<DynamicEntity>(Form::WHOLE))?;
        if row.repeated {
            return Err(Failure::duplicate_properties());
        }
        let [partition_key, row_key] =
            [0, 1].map(|slot| read_value(std::mem::take(row.slot(slot))));
        let keys = [partition_key?, row_key?];
        let others = row.take_raw_others();
        let mut properties = Vec::with_capacity(others.len());
        for (name, property) in others {
            if let Some(value) = read_value(property)? {
                properties.push((name, value));
            }
        }
        Ok(Self { keys, properties })
    }

    /// Whether a key is not text.
    pub(crate) fn has_typed_keys(&self) -> bool {
        self.keys.iter().flatten().any(|key| !matches!(key, EdmCow::String(_)))
    }

    /// Returns the PartitionKey and the RowKey.
    pub(crate) fn into_keys(self) -> Result<(BodyKeys<'a>, Properties<'a>), Failure> {
        let [partition_key, row_key] = self.keys.map(|key| match key {
            Some(EdmCow::String(text)) => Ok(text),
            Some(_) => Err(Failure::invalid_input()),
            None => Err(Failure::properties_need_value()),
        });
        Ok(((partition_key?, row_key?), self.properties))
    }
}

/// Reads a value by its annotation. A missing value and null are `None`.
pub(crate) fn read_value(property: RawProperty<'_>) -> Result<Option<EdmCow<'_>>, Failure> {
    if let Some(value) = property.plain() {
        return Ok(Some(value));
    }
    let RawProperty { annotation, value } = property;
    let value = match value {
        RawValue::Missing | RawValue::Null => return Ok(None),
        RawValue::Text(text) if annotation == Annotation::Edm(EdmType::DateTime) => {
            return Ok(Some(EdmCow::DateTime(read_time(&text)?)));
        }
        RawValue::Text(text) if annotation == Annotation::Edm(EdmType::Boolean) => {
            read_boolean(text)
        }
        // An untyped number outside of the Int32 range is a Double
        // (<https://github.com/microsoft/AzureStorageExplorer/issues/1382>).
        #[expect(clippy::cast_precision_loss, reason = "the service does the same")]
        RawValue::Integer(number)
            if annotation == Annotation::None && i32::try_from(number).is_err() =>
        {
            RawValue::Float(number as f64)
        }
        value => value,
    };
    let value = annotation.resolve(value, true, None);
    value.map(Some).map_err(|_| Failure::invalid_input())
}

/// A Boolean as text, in any case ([Azurite#1947][case]).
///
/// [case]: https://github.com/Azure/Azurite/issues/1947
fn read_boolean(text: Cow<'_, str>) -> RawValue<'_> {
    match &*text {
        value if value.eq_ignore_ascii_case("true") => RawValue::Boolean(true),
        value if value.eq_ignore_ascii_case("false") => RawValue::Boolean(false),
        _ => RawValue::Text(text),
    }
}

/// A time without a zone is UTC, like in the examples of [Insert Entity][insert]; digits below 100 ns are dropped
/// (recorded in `TestAddAnnotatedEntity`). The other forms are those of literals in filters.
///
/// [insert]: https://learn.microsoft.com/rest/api/storageservices/insert-entity
fn read_time(text: &str) -> Result<EdmDateTime, Failure> {
    EdmDateTime::parse_lenient(text).map_err(|error| match error {
        // A .NET DateTime outside of the service's range, for example `MinValue`.
        DateTimeError::OutOfRange => Failure::out_of_range(),
        _ => Failure::invalid_input(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edm::EdmValue;

    fn value_of(members: &str) -> Result<Option<EdmValue>, &'static str> {
        // The blank leaves the body to the reader of any JSON.
        let [flat, general] = ["", " "].map(|blank| {
            let body = format!("{{{blank}{members}}}");
            let body = EntityBody::parse(RequestBody::Json(body.as_bytes()));
            body.map(|body| body.properties.into_iter().next().map(|(_, value)| value.into_value()))
                .map_err(Failure::known_code)
        });
        assert_eq!(flat, general, "{members}");
        flat
    }

    #[test]
    fn values_have_the_types_that_the_service_stores() {
        for (members, expected) in [
            (r#""A":5"#, Some(EdmValue::Int32(5))),
            (r#""A":3000000000"#, Some(EdmValue::Double(3e9))),
            (r#""A":18446744073709551615"#, Some(EdmValue::Double(18_446_744_073_709_551_615.0))),
            (r#""A":5.0"#, Some(EdmValue::Double(5.0))),
            (r#""A":5,"A@odata.type":"Edm.Double""#, Some(EdmValue::Double(5.0))),
            (r#""A@odata.type":"Edm.Int64","A":3000000000"#, Some(EdmValue::Int64(3_000_000_000))),
            (r#""A@odata.type":"Edm.Int64","A":"5""#, Some(EdmValue::Int64(5))),
            (r#""A":"\u00e9""#, Some(EdmValue::String("é".into()))),
            (
                r#""A@odata.type":"Edm.DateTime","A":"2008-07-10T00:00:00""#,
                Some(EdmValue::DateTime("2008-07-10T00:00:00Z".parse().unwrap())),
            ),
            (r#""A":null"#, None),
            (r#""A@odata.type":"Edm.Int64","A":null"#, None),
            (r#""odata.etag":"x","odata.type":"y","B@odata.other":1,"Timestamp":"z""#, None),
        ] {
            assert_eq!(value_of(members), Ok(expected), "{members}");
        }
        for (members, code) in [
            (r#""A":1,"A":2"#, "DuplicatePropertiesSpecified"),
            (r#""PartitionKey":"p","PartitionKey":"q""#, "DuplicatePropertiesSpecified"),
            (r#""A@odata.type":"Edm.DateTime","A":"0001-01-01T00:00:00Z""#, "OutOfRangeInput"),
            (r#""A@odata.type":"Edm.DateTime","A":"0001-01-01T00:00:00""#, "OutOfRangeInput"),
            (r#""A@odata.type":"Edm.DateTime","A":"today""#, "InvalidInput"),
            (r#""A@odata.type":"Edm.Single","A":1.5"#, "InvalidInput"),
            (r#""A@odata.type":"Edm.Int32","A":3000000000"#, "InvalidInput"),
            (r#""A":{"b":1}"#, "InvalidInput"),
            (r#""A":"\ud800""#, "InvalidInput"),
            (r#""A@odata.type":"Edm.Boolean","A":"yes""#, "InvalidInput"),
            (r#""A@odata.type":"Edm.Boolean","A":" true""#, "InvalidInput"),
            (r#""A@odata.type":"Edm.Int32","A":"5.0""#, "InvalidInput"),
            (r#""A@odata.type":"Edm.Int32","A":"3000000000""#, "InvalidInput"),
            (r#""A@odata.type":"Edm.Double","A":"inf""#, "InvalidInput"),
            (r#""A@odata.type":"Edm.Double","A":"13e7705""#, "InvalidInput"),
            (r#""A@odata.type":"Edm.Double","A":"-1e309""#, "InvalidInput"),
            (r#""A@odata.type":"Edm.Double","A":13e7705"#, "InvalidInput"),
            (r#""A":13e7705"#, "InvalidInput"),
        ] {
            assert_eq!(value_of(members), Err(code), "{members}");
        }
    }

    #[test]
    fn numbers_and_booleans_may_be_text() {
        for (ty, text, expected) in [
            ("Boolean", "true", EdmValue::Boolean(true)),
            ("Boolean", "TRUE", EdmValue::Boolean(true)),
            ("Boolean", "False", EdmValue::Boolean(false)),
            ("Int32", "-5", EdmValue::Int32(-5)),
            ("Double", "5", EdmValue::Double(5.0)),
            ("Double", "1.23456789012346e+24", EdmValue::Double(1.234_567_890_123_46e24)),
            ("Double", "1.7976931348623157e308", EdmValue::Double(f64::MAX)),
            ("Double", "-Infinity", EdmValue::Double(f64::NEG_INFINITY)),
            ("Double", "1e-400", EdmValue::Double(0.0)),
        ] {
            let members = format!(r#""A@odata.type":"Edm.{ty}","A":"{text}""#);
            assert_eq!(value_of(&members), Ok(Some(expected)), "{members}");
        }
    }

    #[test]
    fn times_are_kept_to_100_ns() {
        for (text, expected) in [
            ("2021-04-01T01:01:01.000000001Z", "2021-04-01T01:01:01Z"),
            ("2021-04-01T01:01:01.123456789Z", "2021-04-01T01:01:01.1234567Z"),
            ("2021-04-01T01:01:01.123456789", "2021-04-01T01:01:01.1234567Z"),
            ("2021-04-01T03:01:01.123456789+02:00", "2021-04-01T01:01:01.1234567Z"),
        ] {
            let members = format!(r#""A@odata.type":"Edm.DateTime","A":"{text}""#);
            let expected = EdmValue::DateTime(expected.parse().unwrap());
            assert_eq!(value_of(&members), Ok(Some(expected)), "{members}");
        }
    }

    #[test]
    fn keys_of_an_insert_are_text() {
        let keys_of = |members: &str| {
            let body = format!("{{{members}}}");
            let body = EntityBody::parse(RequestBody::Json(body.as_bytes())).unwrap();
            let keys = body.into_keys().map(|((partition, row), _)| format!("{partition} {row}"));
            keys.map_err(Failure::known_code)
        };
        let row = r#""RowKey":"r""#;
        for (partition, expected) in [
            (r#""PartitionKey":"p","#, Ok("p r".to_owned())),
            (r#""PartitionKey@odata.type":"Edm.String","PartitionKey":"","#, Ok(" r".to_owned())),
            ("", Err("PropertiesNeedValue")),
            (r#""PartitionKey":null,"#, Err("PropertiesNeedValue")),
            (r#""PartitionKey":5,"#, Err("InvalidInput")),
            (r#""PartitionKey@odata.type":"Edm.Int64","PartitionKey":"5","#, Err("InvalidInput")),
        ] {
            assert_eq!(keys_of(&format!("{partition}{row}")), expected, "{partition}");
        }
    }

    #[test]
    fn unusual_property_names_are_kept() {
        for name in ["a.b", "a@b", "@"] {
            let body = format!("{{\"{name}\":1}}");
            let body = EntityBody::parse(RequestBody::Json(body.as_bytes())).unwrap();
            assert_eq!(body.properties.len(), 1);
            assert_eq!(body.properties[0].0, name);
        }
    }
}
