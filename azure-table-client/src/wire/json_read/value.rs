//! The values of JSON's members.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::entity::RawValue;

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

/// A scalar, borrowed where it can be; what is none is passed over.
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
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(RawValue::NoScalar)
    }
}
