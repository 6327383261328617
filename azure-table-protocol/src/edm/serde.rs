//! Values for serde: date-times as the text that they have on the wire, and values with their Edm type.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{self, Deserialize, Deserializer, EnumAccess, VariantAccess as _, Visitor};
use serde::ser::{Serialize, Serializer};

use super::{EdmDateTime, EdmValue};

/// The names of the variants of [`EdmValue`].
const VARIANTS: &[&str] =
    &["String", "Boolean", "Int32", "Int64", "Double", "DateTime", "Guid", "Binary"];

/// The name of the type and the value, as serde writes an enum: `{"Int64":5}`. Text formats hold Guids as text, Binary
/// values as Base64, and NaN and the infinities as the text that they have on the wire.
impl Serialize for EdmValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_text = serializer.is_human_readable();
        let put = Variant(serializer);
        match self {
            Self::String(v) => put.value(0, v),
            Self::Boolean(v) => put.value(1, v),
            Self::Int32(v) => put.value(2, v),
            Self::Int64(v) => put.value(3, v),
            Self::Double(v) if is_text && !v.is_finite() => put.value(4, &self.to_string()),
            Self::Double(v) => put.value(4, v),
            Self::DateTime(v) => put.value(5, v),
            Self::Guid(v) => put.value(6, &v.to_string()),
            Self::Binary(_) => put.value(7, &self.to_string()),
        }
    }
}

struct Variant<S>(S);

impl<S: Serializer> Variant<S> {
    fn value<T: Serialize + ?Sized>(self, index: u32, value: &T) -> Result<S::Ok, S::Error> {
        let name = VARIANTS[index as usize];
        self.0.serialize_newtype_variant("EdmValue", index, name, value)
    }
}

impl<'de> Deserialize<'de> for EdmValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let is_text = deserializer.is_human_readable();
        deserializer.deserialize_enum("EdmValue", VARIANTS, ValueVisitor { is_text })
    }
}

struct ValueVisitor {
    is_text: bool,
}

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = EdmValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value with its Edm type")
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<EdmValue, A::Error> {
        let (name, variant) = access.variant::<VariantName>()?;
        Ok(match name.0 {
            "String" => EdmValue::String(variant.newtype_variant()?),
            "Boolean" => EdmValue::Boolean(variant.newtype_variant()?),
            "Int32" => EdmValue::Int32(variant.newtype_variant()?),
            "Int64" => EdmValue::Int64(variant.newtype_variant()?),
            "Double" if self.is_text => EdmValue::Double(variant.newtype_variant::<Double>()?.0),
            "Double" => EdmValue::Double(variant.newtype_variant()?),
            "DateTime" => EdmValue::DateTime(variant.newtype_variant()?),
            "Guid" => {
                let text: String = variant.newtype_variant()?;
                EdmValue::Guid(text.parse().map_err(de::Error::custom)?)
            }
            _ => {
                let text: String = variant.newtype_variant()?;
                EdmValue::Binary(STANDARD.decode(text).map_err(de::Error::custom)?.into())
            }
        })
    }
}

/// One of [`VARIANTS`], by name or by number.
struct VariantName(&'static str);

impl<'de> Deserialize<'de> for VariantName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_identifier(NameVisitor)
    }
}

struct NameVisitor;

impl Visitor<'_> for NameVisitor {
    type Value = VariantName;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of an Edm type")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<VariantName, E> {
        let known = VARIANTS.iter().find(|known| **known == name);
        known.map(|known| VariantName(known)).ok_or_else(|| E::unknown_variant(name, VARIANTS))
    }

    fn visit_u64<E: de::Error>(self, index: u64) -> Result<VariantName, E> {
        let name = usize::try_from(index).ok().and_then(|index| VARIANTS.get(index));
        name.map(|name| VariantName(name))
            .ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(index), &self))
    }
}

/// A Double in a text format: a number, or the text of one that is not finite.
struct Double(f64);

impl<'de> Deserialize<'de> for Double {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // With serde_json's `arbitrary_precision`, a number is a map to any other visitor.
        let value = serde_json::Value::deserialize(deserializer)?;
        let value = match &value {
            serde_json::Value::Number(number) => number.as_f64().filter(|value| value.is_finite()),
            serde_json::Value::String(text) => match text.as_str() {
                "NaN" => Some(f64::NAN),
                "Infinity" => Some(f64::INFINITY),
                "-Infinity" => Some(f64::NEG_INFINITY),
                _ => None,
            },
            _ => None,
        };
        value.map(Self).ok_or_else(|| {
            de::Error::custom("expected a number, \"NaN\", \"Infinity\" or \"-Infinity\"")
        })
    }
}

impl Serialize for EdmDateTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EdmDateTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text)
    }
}

struct Text;

impl Visitor<'_> for Text {
    type Value = EdmDateTime;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a date-time of the form YYYY-MM-DDTHH:MM:SS[.fffffff]Z")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<EdmDateTime, E> {
        text.parse().map_err(|error| E::custom(format_args!("{text:?}: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn values_keep_their_types() {
        for (value, json) in [
            (EdmValue::String("5".into()), r#"{"String":"5"}"#),
            (EdmValue::Boolean(true), r#"{"Boolean":true}"#),
            (EdmValue::Int32(-5), r#"{"Int32":-5}"#),
            (EdmValue::Int64(i64::MAX), r#"{"Int64":9223372036854775807}"#),
            (EdmValue::Double(5.0), r#"{"Double":5.0}"#),
            (EdmValue::Double(-0.0), r#"{"Double":-0.0}"#),
            (EdmValue::Double(f64::NAN), r#"{"Double":"NaN"}"#),
            (EdmValue::Double(f64::NEG_INFINITY), r#"{"Double":"-Infinity"}"#),
            (
                EdmValue::DateTime(EdmDateTime::MAX),
                r#"{"DateTime":"9999-12-31T23:59:59.9999999Z"}"#,
            ),
            (EdmValue::Guid(Uuid::nil()), r#"{"Guid":"00000000-0000-0000-0000-000000000000"}"#),
            (EdmValue::Binary(Bytes::from_static(&[0, 1])), r#"{"Binary":"AAE="}"#),
        ] {
            assert_eq!(serde_json::to_string(&value).unwrap(), json);
            assert_eq!(serde_json::from_str::<EdmValue>(json).unwrap(), value);
        }
        // Other programs write a whole number without a point.
        assert_eq!(
            serde_json::from_str::<EdmValue>(r#"{"Double":5}"#).unwrap(),
            EdmValue::Double(5.0)
        );
        for bad in [
            "5",
            r#"{"Byte":5}"#,
            r#"{"Int32":5000000000}"#,
            r#"{"Int64":5.5}"#,
            r#"{"Double":"much"}"#,
            r#"{"Double":null}"#,
            r#"{"Guid":"x"}"#,
            r#"{"Binary":"?"}"#,
            r#"{"Int32":5,"Int64":5}"#,
        ] {
            assert!(serde_json::from_str::<EdmValue>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn date_times_are_text_with_all_their_digits() {
        let json = serde_json::to_string(&EdmDateTime::MAX).unwrap();
        assert_eq!(json, r#""9999-12-31T23:59:59.9999999Z""#);
        assert_eq!(serde_json::from_str::<EdmDateTime>(&json).unwrap(), EdmDateTime::MAX);
        let error = serde_json::from_str::<EdmDateTime>(r#""yesterday""#).unwrap_err();
        assert!(error.to_string().starts_with(r#""yesterday": not a date-time"#), "{error}");
        assert!(serde_json::from_str::<EdmDateTime>("5").is_err());
    }
}
