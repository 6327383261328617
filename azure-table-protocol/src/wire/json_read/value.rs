//! The values of JSON's members.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::entity::RawValue;

/// The only member of the object that `serde_json` creates for a number in programs with its feature
/// `arbitrary_precision`.
const NUMBER: &str = "$serde_json::private::Number";

/// Text, borrowed where it has no escapes.
pub(super) struct TextSeed;

impl<'de> DeserializeSeed<'de> for TextSeed {
    type Value = Cow<'de, str>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for TextSeed {
    type Value = Cow<'de, str>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }
    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// Reads a scalar, borrowed if possible; other values are skipped.
pub(super) struct ValueSeed;

impl<'de> DeserializeSeed<'de> for ValueSeed {
    type Value = RawValue<'de>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed {
    type Value = RawValue<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a property value")
    }
    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(RawValue::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(RawValue::Boolean(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(RawValue::Integer(value))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        #[expect(clippy::cast_precision_loss, reason = "beyond Int64, so it can only be a Double")]
        Ok(i64::try_from(value).map_or(RawValue::Float(value as f64), RawValue::Integer))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(RawValue::Float(value))
    }
    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
        Ok(RawValue::Text(Cow::Borrowed(value)))
    }
    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(RawValue::Text(Cow::Owned(value.to_owned())))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(RawValue::NoScalar)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let value = match map.next_key_seed(TextSeed)? {
            Some(name) if name == NUMBER => map.next_value_seed(ValueSeed)?,
            Some(_) => map.next_value::<IgnoredAny>().map(|_| RawValue::NoScalar)?,
            None => return Ok(RawValue::NoScalar),
        };
        let mut is_alone = true;
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            is_alone = false;
        }
        match value {
            RawValue::Text(text) if is_alone => number(&text),
            _ => Ok(RawValue::NoScalar),
        }
    }
}

/// The value that `serde_json` gives this number without that feature.
fn number<E: de::Error>(text: &str) -> Result<RawValue<'static>, E> {
    // Rust's parser of floats also accepts words such as inf.
    if !text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')) {
        return Ok(RawValue::NoScalar);
    }
    match (text.parse(), text.parse::<f64>()) {
        // No integer holds the sign of -0.
        (Ok(integer), _) if text != "-0" => Ok(RawValue::Integer(integer)),
        (_, Ok(float)) if float.is_finite() => Ok(RawValue::Float(float)),
        (_, Ok(_)) => Err(E::custom("a number is out of range")),
        (_, Err(_)) => Ok(RawValue::NoScalar),
    }
}

#[cfg(test)]
mod tests {
    use serde::de::value::{Error, MapDeserializer};

    use super::*;

    fn read(json: &str) -> Result<String, serde_json::Error> {
        let value = ValueSeed.deserialize(&mut serde_json::Deserializer::from_str(json));
        value.map(|value| format!("{value:?}"))
    }

    /// Reads the object that `serde_json` creates for a number in programs with its feature
    /// `arbitrary_precision`.
    fn read_map(members: &[(&'static str, &'static str)]) -> Result<String, Error> {
        let map = MapDeserializer::new(members.iter().copied());
        ValueSeed.deserialize(map).map(|value| format!("{value:?}"))
    }

    #[test]
    fn numbers_are_the_same_however_serde_json_hands_them_over() {
        for (number, value) in [
            ("5", "Integer(5)"),
            ("-5", "Integer(-5)"),
            ("0", "Integer(0)"),
            ("-0", "Float(-0.0)"),
            ("9223372036854775807", "Integer(9223372036854775807)"),
            ("-9223372036854775808", "Integer(-9223372036854775808)"),
            ("9223372036854775808", "Float(9.223372036854776e18)"),
            ("-9223372036854775809", "Float(-9.223372036854776e18)"),
            ("18446744073709551615", "Float(1.8446744073709552e19)"),
            ("100000000000000000000000", "Float(1e23)"),
            ("5.0", "Float(5.0)"),
            ("-0.0", "Float(-0.0)"),
            ("1e300", "Float(1e300)"),
            ("2.2250738585072011e-308", "Float(2.225073858507201e-308)"),
        ] {
            assert_eq!(read(number).unwrap(), value, "{number}");
            assert_eq!(read_map(&[(NUMBER, number)]).unwrap(), value, "{number}");
        }
        assert!(read("1e999").is_err() && read_map(&[(NUMBER, "1e999")]).is_err());
    }

    #[test]
    fn an_object_is_no_number() {
        for members in [
            &[][..],
            &[("A", "5")],
            &[("A", "5"), (NUMBER, "5")],
            &[(NUMBER, "5"), ("A", "5")],
            &[(NUMBER, "NaN")],
            &[(NUMBER, "")],
        ] {
            assert_eq!(read_map(members).unwrap(), "NoScalar", "{members:?}");
        }
        let json = format!("{{\"{NUMBER}\":[5]}}");
        assert_eq!(read(&json).unwrap(), "NoScalar");
    }
}
