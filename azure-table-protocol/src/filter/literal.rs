//! Writes and reads literals.

use std::fmt;

use crate::edm::{EdmDateTime, EdmValue};

/// Displays a value in the service's format for filters.
pub(super) struct LiteralText<'a>(pub(super) &'a EdmValue);

impl fmt::Display for LiteralText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            EdmValue::String(text) => {
                f.write_str("'")?;
                for (index, part) in text.split('\'').enumerate() {
                    f.write_str(if index > 0 { "''" } else { "" })?;
                    f.write_str(part)?;
                }
                f.write_str("'")
            }
            EdmValue::Boolean(value) => write!(f, "{value}"),
            EdmValue::Int32(value) => write!(f, "{value}"),
            EdmValue::Int64(value) => write!(f, "{value}L"),
            // `Debug` writes a point or an exponent, and the shortest text that parses to the same value.
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

/// Parses a number in a filter: `5`, `5L`, `5.0`, `1e300`, `5d`. The error describes the valid numbers.
///
/// An integer beyond Int32 needs the suffix `L`: without it the service responds with 400 "Unrecognized
/// 'Edm.Int32' literal" (<https://github.com/microsoft/AzureStorageExplorer/issues/1382>). The suffixes `f` and
/// `m` of OData are those of types that the service does not store.
pub(super) fn number(text: &str) -> Result<EdmValue, &'static str> {
    let value = if let Some(integer) = text.strip_suffix(['L', 'l']) {
        integer.parse().ok().map(EdmValue::Int64)
    } else if text.contains(['.', 'e', 'E', 'd', 'D']) {
        let number = text.strip_suffix(['d', 'D']).unwrap_or(text);
        number.parse().ok().filter(|value: &f64| value.is_finite()).map(EdmValue::Double)
    } else {
        text.parse().ok().map(EdmValue::Int32)
    };
    value.ok_or("an Int32 (5), an Int64 (5L) or a Double (5.0)")
}

/// Parses `prefix'text'`. The error describes the valid literals.
pub(super) fn prefixed(prefix: &str, text: &str) -> Result<EdmValue, &'static str> {
    if prefix.eq_ignore_ascii_case("datetime") {
        let value = EdmDateTime::parse_literal(text).map(EdmValue::DateTime);
        value.map_err(|_| "a UTC time like datetime'2009-04-14T00:00:00Z'")
    } else if prefix.eq_ignore_ascii_case("guid") {
        let value = text.parse().ok().map(EdmValue::Guid);
        value.ok_or("a GUID like guid'c9da6455-213d-42c9-9a79-3e9149a57833'")
    } else if prefix.eq_ignore_ascii_case("x") || prefix.eq_ignore_ascii_case("binary") {
        hex(text).map(|bytes| EdmValue::Binary(bytes.into())).ok_or("bytes like X'0aff'")
    } else {
        Err("datetime, guid, X or binary before the quote")
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

#[cfg(test)]
mod tests {
    use crate::edm::EdmDateTime;
    use crate::filter::{CompareOp, Filter, FilterErrorKind};

    #[test]
    fn times_are_read_as_the_service_reads_them() {
        for (text, expected) in [
            ("2020-01-01", "2020-01-01T00:00:00Z"),
            ("2020-01-01Z", "2020-01-01T00:00:00Z"),
            ("2020-01-01T10:30", "2020-01-01T10:30:00Z"),
            ("2020-01-01T10:30Z", "2020-01-01T10:30:00Z"),
            ("2020-01-01T10:30:05", "2020-01-01T10:30:05Z"),
            ("2020-01-01T10:30:05.5", "2020-01-01T10:30:05.5Z"),
            ("2020-01-01T10:30:05.123456789Z", "2020-01-01T10:30:05.1234567Z"),
            ("2020-01-01T10:30:05+02:00", "2020-01-01T08:30:05Z"),
            ("2020-01-01T10:30+02:00", "2020-01-01T08:30:00Z"),
        ] {
            let filter = Filter::parse(&format!("A ge datetime'{text}'")).unwrap();
            let expected: EdmDateTime = expected.parse().unwrap();
            assert_eq!(filter, Filter::compare("A", CompareOp::Ge, expected).unwrap(), "{text}");
        }
        for text in
            ["", "2020", "2020-01", "2020-13-01", "2020-01-01T10", "0000-01-01", "é020-01-01"]
        {
            let error = Filter::parse(&format!("A ge datetime'{text}'")).unwrap_err();
            assert_eq!(error.kind(), FilterErrorKind::BadLiteral, "{text}");
        }
    }

    /// LINQ programs compare with `DateTime.MinValue`.
    #[test]
    fn a_time_before_the_services_range_is_a_literal() {
        let text = "A gt datetime'0001-01-01T00:00:00.0000000Z'";
        let filter = Filter::parse(text).unwrap();
        assert_eq!(filter.to_string(), text);
        let Filter::Compare { literal: crate::edm::EdmValue::DateTime(time), .. } = filter else {
            panic!("no comparison")
        };
        assert!(time < EdmDateTime::MIN && time.ticks() == 0);
    }
}
