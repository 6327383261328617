//! Policies for properties that are missing, null or of another type than the field's.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::edm::{EdmCow, EdmDateTime, EdmType};

/// The policy for a property that is missing, null or mistyped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Policy {
    /// The rule of the field's type: an `Option` is `None` for a missing or null property; anything else is an
    /// error.
    #[default]
    OfType,
    /// An error for all types.
    Error,
    /// The field's default.
    UseDefault,
    /// The field's default; the error goes to the entity's list of errors.
    Collect,
}

/// The policies and accepted types of a property.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reading {
    /// The row does not have the property.
    pub missing: Policy,
    /// The property is null.
    pub null: Policy,
    /// The property has a type or a value that the field does not accept.
    pub mistyped: Policy,
    /// The other types that are read.
    pub accept: Accept,
}

/// The types that a property may have besides the field's own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Accept {
    /// Only the type of the field.
    #[default]
    Exact,
    /// Types whose values fit without loss: an Int32 in place of an Int64 or a Double.
    Widened,
    /// Also the types that `azure_data_tables` 0.21 stored because it wrote no annotations: Int64 as
    /// Double; DateTime, Guid and Binary as text. A Guid in mixed case and a URN are not read.
    Lenient,
}

/// 2^53: up to it every whole number is a Double.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl Accept {
    /// Converts `value` to the type `wanted`, if that is accepted. A part of a date-time below 100 ns is dropped;
    /// everything else is converted without loss.
    #[doc(hidden)]
    pub fn convert(self, value: EdmCow<'_>, wanted: EdmType) -> EdmCow<'_> {
        let found = value.edm_type();
        if self == Self::Exact || found == wanted {
            return value;
        }
        match (value, wanted) {
            (EdmCow::Int32(v), EdmType::Int64) => EdmCow::Int64(i64::from(v)),
            (EdmCow::Int32(v), EdmType::Double) => EdmCow::Double(f64::from(v)),
            (value, wanted) if self == Self::Lenient => lenient(value, wanted),
            (value, _) => value,
        }
    }
}

fn lenient(value: EdmCow<'_>, wanted: EdmType) -> EdmCow<'_> {
    let converted = match (&value, wanted) {
        #[expect(clippy::cast_possible_truncation, reason = "a whole number up to 2^53")]
        (EdmCow::Double(v), EdmType::Int64) if v.fract() == 0.0 && v.abs() <= EXACT => {
            Some(EdmCow::Int64(*v as i64))
        }
        (EdmCow::String(text), EdmType::DateTime) => date_time(text).map(EdmCow::DateTime),
        (EdmCow::String(text), EdmType::Guid) => guid(text).map(EdmCow::Guid),
        (EdmCow::String(text), EdmType::Binary) => {
            STANDARD.decode(&**text).ok().map(|bytes| EdmCow::Binary(Cow::Owned(bytes)))
        }
        _ => None,
    };
    converted.unwrap_or(value)
}

/// Parses one of the [`guid_texts`] of a Guid.
fn guid(text: &str) -> Option<Uuid> {
    let guid = text.parse().ok()?;
    guid_texts(guid).iter().any(|form| form == text).then_some(guid)
}

/// Returns the texts that are read as this Guid: with hyphens, without them, and in braces, each in lower and in upper
/// case. A filter compares with all of them.
pub fn guid_texts(guid: Uuid) -> Vec<String> {
    let lower = [guid.to_string(), guid.simple().to_string(), guid.braced().to_string()];
    let upper = lower.clone().map(|text| text.to_ascii_uppercase());
    let upper = upper.into_iter().filter(|text| !lower.contains(text)).collect::<Vec<_>>();
    lower.into_iter().chain(upper).collect()
}

/// Parses RFC 3339, the serde form of `chrono`, and the default serde form of `time`,
/// `2024-05-01 12:00:00.0 +00:00:00`.
fn date_time(text: &str) -> Option<EdmDateTime> {
    let time = DateTime::parse_from_rfc3339(text).ok().or_else(|| {
        let text = text.strip_suffix(":00")?;
        DateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f %:z").ok()
    })?;
    EdmDateTime::from_chrono(time.with_timezone(&Utc)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guid_is_read_in_the_forms_that_filters_find() {
        let id: Uuid = "0a1b2c3d-0000-0000-0000-00000000abcd".parse().unwrap();
        assert_eq!(guid_texts(id).len(), 6);
        assert_eq!(guid_texts(Uuid::from_u128(7)).len(), 3);
        let read = |text: String| {
            Accept::Lenient.convert(EdmCow::String(text.into()), EdmType::Guid).into_value()
        };
        for text in guid_texts(id) {
            assert_eq!(read(text), id.into());
        }
        for other in [id.urn().to_string(), id.to_string().replacen('a', "A", 1), "0a1b".into()] {
            assert_eq!(read(other.clone()), other.into());
        }
    }
}
