//! The entity in the body of a request.

use std::borrow::Cow;

use crate::edm::{DateTimeError, EdmDateTime, EdmType};
use crate::entity::{Annotation, Columns, DynamicEntity, Form, RawProperty, RawValue, Row};
use crate::mock::failure::Failure;
use crate::mock::store::Properties;
use crate::wire::{atom, json_read};

/// The body of a request in its format.
#[derive(Debug, Clone, Copy)]
pub(in crate::mock) enum RequestBody<'a> {
    Json(&'a [u8]),
    Atom(&'a [u8]),
}

impl<'a> RequestBody<'a> {
    /// Fills a row with the properties of the body.
    pub(in crate::mock) fn row(self, row: impl Fn() -> Row<'a>) -> Result<Row<'a>, Failure> {
        let row = match self {
            Self::Json(body) => json_read::read_row(body, row).ok(),
            Self::Atom(body) => atom::read::read_row(body, row()).ok(),
        };
        row.ok_or_else(Failure::invalid_input)
    }

    /// The name of the table in the body of a create request, if the body has one.
    pub(in crate::mock) fn table_name(self) -> Result<Option<String>, Failure> {
        let mut row = self.row(|| Row::with(Columns::new(&["TableName"]), false, Form::WHOLE))?;
        row.optional(0).map_err(|_| Failure::invalid_input())
    }
}

/// The entity of a body: its keys, if it has them, and its properties in order, without nulls.
#[derive(Debug)]
pub(in crate::mock) struct EntityBody<'a> {
    pub(in crate::mock) partition_key: Option<Cow<'a, str>>,
    pub(in crate::mock) row_key: Option<Cow<'a, str>>,
    pub(in crate::mock) properties: Properties<'a>,
}

impl<'a> EntityBody<'a> {
    pub(in crate::mock) fn parse(body: RequestBody<'a>) -> Result<Self, Failure> {
        let mut row = body.row(|| Row::of::<DynamicEntity>(Form::WHOLE))?;
        if row.repeated {
            return Err(Failure::duplicate_properties());
        }
        let mut key = |slot: usize| match std::mem::take(row.slot(slot)) {
            RawProperty { value: RawValue::Missing | RawValue::Null, .. } => Ok(None),
            RawProperty {
                annotation: Annotation::None | Annotation::Edm(EdmType::String),
                value: RawValue::Text(text),
            } => Ok(Some(text)),
            _ => Err(Failure::invalid_input()),
        };
        let (partition_key, row_key) = (key(0)?, key(1)?);
        let others = row.take_raw_others();
        let mut properties = Vec::with_capacity(others.len());
        for (name, RawProperty { annotation, value }) in others {
            if matches!(value, RawValue::Missing | RawValue::Null) {
                continue;
            }
            let value = match value {
                RawValue::Text(text) if annotation == Annotation::Edm(EdmType::DateTime) => {
                    RawValue::Text(checked_time(text)?)
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
            let value = value.map_err(|_| Failure::invalid_input())?;
            properties.push((name, value));
        }
        Ok(Self { partition_key, row_key, properties })
    }
}

/// A time without a zone is UTC, like in the examples of [Insert Entity][insert].
///
/// [insert]: https://learn.microsoft.com/rest/api/storageservices/insert-entity
fn checked_time(text: Cow<'_, str>) -> Result<Cow<'_, str>, Failure> {
    let mut time = text;
    let mut read = time.parse::<EdmDateTime>();
    if read == Err(DateTimeError::Malformed) {
        let utc = format!("{time}Z");
        let read_as_utc = utc.parse();
        if read_as_utc != Err(DateTimeError::Malformed) {
            (time, read) = (utc.into(), read_as_utc);
        }
    }
    match read {
        // A .NET DateTime outside of the service's range, for example `MinValue`.
        Err(DateTimeError::OutOfRange) => Err(Failure::out_of_range()),
        _ => Ok(time),
    }
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
            (r#""PartitionKey":5"#, "InvalidInput"),
            (r#""PartitionKey@odata.type":"Edm.Int64","PartitionKey":"5""#, "InvalidInput"),
        ] {
            assert_eq!(value_of(members), Err(code), "{members}");
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
