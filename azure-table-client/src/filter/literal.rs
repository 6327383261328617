//! Literals, the one place where they are written and read.

use std::fmt;

use crate::edm::EdmValue;

/// Displays a value as the service wants it in a filter.
pub(super) struct Literal<'a>(pub(super) &'a EdmValue);

impl fmt::Display for Literal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            EdmValue::String(text) => write!(f, "'{}'", text.replace('\'', "''")),
            EdmValue::Boolean(value) => write!(f, "{value}"),
            EdmValue::Int32(value) => write!(f, "{value}"),
            EdmValue::Int64(value) => write!(f, "{value}L"),
            // Debug always has a point or an exponent, and is the shortest that reads the same.
            EdmValue::Double(value) => write!(f, "{value:?}"),
            EdmValue::DateTime(value) => write!(f, "datetime'{value}'"),
            EdmValue::Guid(value) => write!(f, "guid'{value}'"),
            EdmValue::Binary(bytes) => {
                f.write_str("X'")?;
                for byte in bytes {
                    write!(f, "{byte:02x}")?;
                }
                f.write_str("'")
            }
        }
    }
}

/// The value of a number as it stands in a filter: `5`, `5L`, `5.0`, `1e300`.
pub(super) fn number(text: &str) -> Option<EdmValue> {
    if let Some(integer) = text.strip_suffix(['L', 'l']) {
        return integer.parse().ok().map(EdmValue::Int64);
    }
    if text.contains(['.', 'e', 'E']) {
        let value: f64 = text.parse().ok()?;
        return value.is_finite().then_some(EdmValue::Double(value));
    }
    // Beyond Int32 an integer without suffix can only be meant as Int64.
    let value: i64 = text.parse().ok()?;
    Some(i32::try_from(value).map_or(EdmValue::Int64(value), EdmValue::Int32))
}

/// The value of `prefix'text'`.
pub(super) fn prefixed(prefix: &str, text: &str) -> Option<EdmValue> {
    match prefix.to_ascii_lowercase().as_str() {
        "datetime" => text.parse().ok().map(EdmValue::DateTime),
        "guid" => text.parse().ok().map(EdmValue::Guid),
        "x" | "binary" => hex(text).map(|bytes| EdmValue::Binary(bytes.into())),
        _ => None,
    }
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .chars()
        .map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok()))
        .collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    pairs.remainder().is_empty().then(|| pairs.map(|pair| pair[0] << 4 | pair[1]).collect())
}
