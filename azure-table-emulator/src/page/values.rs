//! Values as text: shown, edited, compared.

use std::cmp::Ordering;

use azure_table_client::edm::{EdmDateTime, EdmType, EdmValue};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use uuid::Uuid;

use super::html::is_shown_as_code;

/// The types in the order of Storage Explorer.
pub(super) const TYPES: [EdmType; 8] = [
    EdmType::String,
    EdmType::Boolean,
    EdmType::Binary,
    EdmType::DateTime,
    EdmType::Double,
    EdmType::Guid,
    EdmType::Int32,
    EdmType::Int64,
];

/// Returns a value as text: `5.0`, `NaN`, `2009-04-14T00:00:00Z`, bytes in base64.
pub(super) fn shown(value: &EdmValue) -> String {
    match value {
        EdmValue::DateTime(time) => time.trimmed().to_string(),
        value => value.to_string(),
    }
}

/// Returns the text of a value in a form: browsers change line breaks, and control characters are shown as
/// their code points.
pub(super) fn in_form(value: &EdmValue) -> String {
    with_plain_breaks(&shown(value))
        .chars()
        .map(|character| match character {
            _ if is_shown_as_code(character) => character.escape_unicode().to_string(),
            _ => character.to_string(),
        })
        .collect()
}

/// Returns `true` if a form cannot show the text as it is.
pub(super) fn has_code(value: &EdmValue) -> bool {
    matches!(value, EdmValue::String(text) if with_plain_breaks(text).chars().any(is_shown_as_code))
}

/// Returns the text with `\n` for each line break.
pub(super) fn with_plain_breaks(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Reads the text of a form.
pub(super) fn parse(edm_type: EdmType, text: &str) -> Result<EdmValue, &'static str> {
    let word = text.trim();
    Ok(match edm_type {
        EdmType::String => EdmValue::String(text.to_owned()),
        EdmType::Boolean if word.eq_ignore_ascii_case("true") => EdmValue::Boolean(true),
        EdmType::Boolean if word.eq_ignore_ascii_case("false") => EdmValue::Boolean(false),
        EdmType::Boolean => return Err("must be true or false"),
        EdmType::Int32 => {
            let value = word.parse().map_err(|_| "must be a whole number of 32 bits")?;
            EdmValue::Int32(value)
        }
        EdmType::Int64 => {
            let value = word.parse().map_err(|_| "must be a whole number of 64 bits")?;
            EdmValue::Int64(value)
        }
        EdmType::Double => {
            let value = word.parse().map_err(|_| "must be a number, NaN or Infinity")?;
            EdmValue::Double(value)
        }
        EdmType::DateTime => {
            let time: Result<EdmDateTime, _> = word.parse();
            EdmValue::DateTime(time.map_err(|_| "must be a time such as 2009-04-14T12:30:00Z")?)
        }
        EdmType::Guid => {
            EdmValue::Guid(Uuid::try_parse(word).map_err(|_| "must be a Guid of 32 digits")?)
        }
        EdmType::Binary => {
            let bytes = STANDARD.decode(word).map_err(|_| "must be bytes in base64")?;
            EdmValue::Binary(bytes.into())
        }
    })
}

/// Orders values of one type by value, and others by type. Missing values are last.
pub(super) fn compare(a: Option<&EdmValue>, b: Option<&EdmValue>) -> Ordering {
    use EdmValue::{Binary, Boolean, DateTime, Double, Guid, Int32, Int64, String};
    let (Some(a), Some(b)) = (a, b) else { return a.is_none().cmp(&b.is_none()) };
    match (a, b) {
        (String(a), String(b)) => a.encode_utf16().cmp(b.encode_utf16()),
        (Boolean(a), Boolean(b)) => a.cmp(b),
        (Int32(a), Int32(b)) => a.cmp(b),
        (Int64(a), Int64(b)) => a.cmp(b),
        (Double(a), Double(b)) => a.total_cmp(b),
        (DateTime(a), DateTime(b)) => a.cmp(b),
        (Guid(a), Guid(b)) => a.cmp(b),
        (Binary(a), Binary(b)) => a.cmp(b),
        _ => a.edm_type().as_str().cmp(b.edm_type().as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_round_trip_through_a_form() {
        for value in [
            EdmValue::from("a\nb é"),
            EdmValue::from(""),
            EdmValue::from(true),
            EdmValue::from(i32::MIN),
            EdmValue::from(i64::MAX),
            EdmValue::from(5.0),
            EdmValue::from(f64::NAN),
            EdmValue::from(f64::NEG_INFINITY),
            EdmValue::from(1e300),
            EdmValue::DateTime("2009-04-14T12:30:00.1234567Z".parse().unwrap()),
            EdmValue::Guid(Uuid::from_u128(7)),
            EdmValue::Binary(vec![0, 255].into()),
        ] {
            let text = in_form(&value);
            assert_eq!(parse(value.edm_type(), &text), Ok(value), "{text}");
        }
        for edm_type in TYPES {
            assert_eq!(parse(edm_type, "x y").is_ok(), edm_type == EdmType::String, "{edm_type}");
        }
        assert_eq!(in_form(&"a\r\nb\0".into()), "a\nb\\u{0}");
        assert!(has_code(&"\0".into()) && !has_code(&"a\r\nb".into()));
    }

    #[test]
    fn missing_values_are_last() {
        let (one, two, text) = (EdmValue::from(1), EdmValue::from(2), EdmValue::from("1"));
        assert_eq!(compare(Some(&one), Some(&two)), Ordering::Less);
        assert_eq!(compare(Some(&two), None), Ordering::Less);
        assert_eq!(compare(Some(&one), Some(&text)), Ordering::Less);
        assert_eq!(compare(None, None), Ordering::Equal);
    }
}
