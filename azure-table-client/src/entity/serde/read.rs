//! Properties of declared types, as what serde deserializes.

use std::cell::Cell;
use std::fmt;

use serde::de::value::SeqDeserializer;
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::{SerdeEntity, declared};
use crate::edm::{ConvertError, EdmValue};
use crate::entity::{DecodeError, DecodeReason, EntityKey, Row};

pub(super) fn entity<T: SerdeEntity>(row: &mut Row<'_>) -> Result<T, DecodeError> {
    let properties = row.take_others()?;
    let key = EntityKey::new(row.partition_key::<String>()?, row.row_key::<String>()?);
    let fail = |name: &str, reason| DecodeError::new(Some(key.clone()), name, reason);

    let mut members = Vec::with_capacity(properties.len() + 2);
    for (name, value) in properties {
        let Some((name, expected)) = declared::<T>(&name) else { continue };
        let found = value.edm_type();
        if found != expected {
            let reason = DecodeReason::Convert(ConvertError::WrongType { expected, found });
            return Err(fail(name, reason));
        }
        members.push((name, value));
    }
    if T::KEYS_ARE_MEMBERS {
        members.push(("PartitionKey", EdmValue::String(key.partition_key.clone())));
        members.push(("RowKey", EdmValue::String(key.row_key.clone())));
    }

    let at = Cell::new("");
    let members = Members { rest: members.into_iter(), value: None, at: &at };
    T::deserialize(members).map_err(|failure| match failure {
        Failure::Missing(name) => fail(name, DecodeReason::Missing),
        Failure::Other(text) => fail(at.get(), DecodeReason::Other(text)),
    })
}

#[derive(Debug)]
enum Failure {
    Missing(&'static str),
    Other(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(name) => write!(f, "{name} is missing"),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Failure {}

impl serde::de::Error for Failure {
    fn custom<D: fmt::Display>(message: D) -> Self {
        Self::Other(message.to_string())
    }

    fn missing_field(field: &'static str) -> Self {
        Self::Missing(field)
    }
}

/// The members of an entity. It notes at which one it is, for errors.
struct Members<'a> {
    rest: std::vec::IntoIter<(&'static str, EdmValue)>,
    value: Option<EdmValue>,
    at: &'a Cell<&'static str>,
}

impl<'de> Deserializer<'de> for Members<'_> {
    type Error = Failure;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_map(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> MapAccess<'de> for Members<'_> {
    type Error = Failure;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Failure> {
        let Some((name, value)) = self.rest.next() else {
            self.at.set("");
            return Ok(None);
        };
        self.at.set(name);
        self.value = Some(value);
        seed.deserialize(name.into_deserializer()).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Failure> {
        match self.value.take() {
            Some(value) => seed.deserialize(Value(value)),
            None => Err(Failure::Other("a value was asked for before its name".to_owned())),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

struct Value(EdmValue);

impl<'de> Deserializer<'de> for Value {
    type Error = Failure;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.0 {
            EdmValue::String(v) => visitor.visit_string(v),
            EdmValue::Boolean(v) => visitor.visit_bool(v),
            EdmValue::Int32(v) => visitor.visit_i32(v),
            EdmValue::Int64(v) => visitor.visit_i64(v),
            EdmValue::Double(v) => visitor.visit_f64(v),
            EdmValue::DateTime(v) => visitor.visit_string(v.to_string()),
            EdmValue::Guid(v) => visitor.visit_string(v.to_string()),
            EdmValue::Binary(v) => visitor.visit_byte_buf(v.into()),
        }
    }

    /// serde itself would cut a Double to an `f32`.
    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.0.get::<f32>() {
            Ok(value) => visitor.visit_f32(value),
            Err(reason) => Err(Failure::Other(reason.to_string())),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.0 {
            EdmValue::Binary(bytes) => {
                let mut bytes = SeqDeserializer::new(bytes.into_iter());
                let value = visitor.visit_seq(&mut bytes)?;
                bytes.end()?;
                Ok(value)
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        match self.0 {
            EdmValue::String(variant) => {
                variant.into_deserializer().deserialize_enum(name, variants, visitor)
            }
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f64 char str string bytes byte_buf unit
        unit_struct tuple_struct map struct identifier ignored_any
    }
}
