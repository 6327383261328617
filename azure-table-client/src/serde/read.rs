//! From properties into what serde deserializes.

use std::fmt;

use bytes::Bytes;
use serde::de::value::{BorrowedStrDeserializer, SeqDeserializer};
use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;
use uuid::Uuid;

use crate::edm::{EdmDateTime, EdmType, EdmValue, FromEdm};
use crate::entity::{DecodeError, DecodeReason, Row};
use crate::key::EntityKey;

/// The declared properties that the row has.
pub(super) fn properties(
    row: &mut Row<'_>,
    declared: &[(&'static str, EdmType)],
) -> Result<Vec<(&'static str, EdmValue)>, DecodeError> {
    let mut properties = Vec::with_capacity(declared.len());
    for (index, &(name, ty)) in declared.iter().enumerate() {
        if let Some(value) = property(row, index, ty)? {
            properties.push((name, value));
        }
    }
    Ok(properties)
}

fn property(row: &mut Row<'_>, index: usize, ty: EdmType) -> Result<Option<EdmValue>, DecodeError> {
    Ok(match ty {
        EdmType::String => row.optional::<String>(index)?.map(EdmValue::from),
        EdmType::Boolean => row.optional::<bool>(index)?.map(EdmValue::from),
        EdmType::Int32 => row.optional::<i32>(index)?.map(EdmValue::from),
        EdmType::Int64 => row.optional::<i64>(index)?.map(EdmValue::from),
        EdmType::Double => row.optional::<f64>(index)?.map(EdmValue::from),
        EdmType::DateTime => row.optional::<EdmDateTime>(index)?.map(EdmValue::from),
        EdmType::Guid => row.optional::<Uuid>(index)?.map(EdmValue::from),
        EdmType::Binary => row.optional::<Bytes>(index)?.map(EdmValue::from),
    })
}

/// Hands out the members of an entity.
pub(super) struct EntityDeserializer<'a> {
    keys: Option<&'a EntityKey>,
    timestamp: Option<EdmDateTime>,
    properties: Vec<(&'static str, EdmValue)>,
}

impl<'a> EntityDeserializer<'a> {
    pub(super) const fn new(
        keys: Option<&'a EntityKey>,
        timestamp: Option<EdmDateTime>,
        properties: Vec<(&'static str, EdmValue)>,
    ) -> Self {
        Self { keys, timestamp, properties }
    }

    /// The properties and those of the service's own values that are wanted.
    fn with(self, wanted: impl Fn(&str) -> bool) -> Entries {
        let mut members = self.properties;
        let system = [
            ("PartitionKey", self.keys.map(|keys| EdmValue::from(&*keys.partition_key))),
            ("RowKey", self.keys.map(|keys| EdmValue::from(&*keys.row_key))),
            ("Timestamp", self.timestamp.map(EdmValue::DateTime)),
        ];
        for (name, value) in system {
            members.extend(value.filter(|_| wanted(name)).map(|value| (name, value)));
        }
        Entries { members: members.into_iter(), next: None }
    }
}

impl<'de> Deserializer<'de> for EntityDeserializer<'_> {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_map(self.with(|name| fields.contains(&name)))
    }

    /// The deserializer does not know the members here. A superfluous Timestamp would end up in the maps that
    /// collect all further members.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_map(self.with(|name| name != "Timestamp"))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

struct Entries {
    members: std::vec::IntoIter<(&'static str, EdmValue)>,
    /// The member whose value comes next.
    next: Option<(&'static str, EdmValue)>,
}

impl<'de> MapAccess<'de> for Entries {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        self.next = self.members.next();
        match &self.next {
            Some((name, _)) => seed.deserialize(BorrowedStrDeserializer::new(name)).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        match self.next.take() {
            Some((name, value)) => seed.deserialize(Value(value)).map_err(|error| error.of(name)),
            None => Err(de::Error::custom("a value was read before its name")),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.members.len())
    }
}

/// Hands out one value.
struct Value(EdmValue);

impl Value {
    fn get<T: FromEdm>(&self) -> Result<T, Error> {
        self.0.get().map_err(|error| Error { member: None, reason: DecodeReason::Convert(error) })
    }
}

impl<'de> Deserializer<'de> for Value {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            EdmValue::String(text) => visitor.visit_string(text),
            EdmValue::Boolean(value) => visitor.visit_bool(value),
            EdmValue::Int32(value) => visitor.visit_i32(value),
            EdmValue::Int64(value) => visitor.visit_i64(value),
            EdmValue::Double(value) => visitor.visit_f64(value),
            EdmValue::DateTime(time) => visitor.visit_string(time.to_string()),
            EdmValue::Guid(id) => visitor.visit_string(id.to_string()),
            // Types of bytes accept a list too; Vec<u8> accepts only a list.
            EdmValue::Binary(bytes) => {
                SeqDeserializer::new(bytes.into_iter()).deserialize_any(visitor)
            }
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_byte_buf(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            EdmValue::Binary(bytes) => visitor.visit_byte_buf(bytes.into()),
            _ => self.deserialize_any(visitor),
        }
    }

    // serde would round an integer to a float, and a float to a shorter one.
    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_f32(self.get()?)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_f64(self.get()?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.0 {
            EdmValue::String(name) => visitor.visit_enum(name.into_deserializer()),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 char str string
        unit unit_struct seq tuple tuple_struct map struct identifier
    }
}

/// The error of an entity that could not be read.
#[derive(Debug)]
pub(super) struct Error {
    /// `None` if serde does not report it.
    member: Option<String>,
    reason: DecodeReason,
}

impl Error {
    /// The same error, of the member of this name.
    fn of(self, name: &str) -> Self {
        Self { member: Some(name.to_owned()), ..self }
    }

    pub(super) fn of_entity(self, key: EntityKey) -> DecodeError {
        DecodeError::new(Some(key), &self.member.unwrap_or_default(), self.reason)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl std::error::Error for Error {}

impl de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { member: None, reason: DecodeReason::Other(message.to_string()) }
    }

    fn missing_field(name: &'static str) -> Self {
        Self { member: None, reason: DecodeReason::Missing }.of(name)
    }

    fn unknown_field(name: &str, _: &'static [&'static str]) -> Self {
        Self::custom("PROPERTIES lists it, but the type has no such member").of(name)
    }
}
