//! What serde serializes, as properties of declared types.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde::ser::{
    Error as _, Impossible, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple, Serializer,
};

use super::{SerdeEntity, declared};
use crate::edm::{ConvertError, EdmDateTime, EdmType, EdmValue};
use crate::entity::{EncodeError, PropertyWriter};

pub(super) fn entity<T: SerdeEntity>(
    entity: &T,
    writer: &mut PropertyWriter<'_>,
) -> Result<(), EncodeError> {
    let keys = [entity.partition_key()?, entity.row_key()?];
    let members = Members::<T> { writer, keys, name: None, of: PhantomData };
    entity.serialize(EntitySerializer(members)).map_err(|Failure(error)| error)
}

/// Whatever went wrong, in the form in which it is reported.
#[derive(Debug)]
struct Failure(EncodeError);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Failure {}

impl serde::ser::Error for Failure {
    fn custom<D: fmt::Display>(message: D) -> Self {
        Self(EncodeError::Other(message.to_string()))
    }
}

/// The members of an entity on their way to the writer.
struct Members<'a, 'w, T> {
    writer: &'a mut PropertyWriter<'w>,
    keys: [Cow<'a, str>; 2],
    /// The name of the map's next value.
    name: Option<String>,
    of: PhantomData<T>,
}

impl<T: SerdeEntity> Members<'_, '_, T> {
    fn member<V: Serialize + ?Sized>(&mut self, name: &str, value: &V) -> Result<(), Failure> {
        let refuse = |reason: ConvertError| {
            Failure(EncodeError::Convert { property: name.to_owned(), reason })
        };
        let key = match name {
            "PartitionKey" => Some(&self.keys[0]),
            "RowKey" => Some(&self.keys[1]),
            "Timestamp" => return Ok(()),
            _ => None,
        };
        if let Some(key) = key {
            return match value.serialize(ValueSerializer(EdmType::String)) {
                Ok(Some(EdmValue::String(text))) if text == **key => Ok(()),
                Ok(value) => Err(refuse(ConvertError::Other(format!(
                    "the member is {value:?}, and the key is {key:?}"
                )))),
                Err(Reason(reason)) => Err(refuse(reason)),
            };
        }
        let Some((_, ty)) = declared::<T>(name) else {
            return Err(refuse(ConvertError::Other(
                "no Edm type is declared for it; add it to PROPERTIES, or have serde skip it"
                    .into(),
            )));
        };
        match value.serialize(ValueSerializer(ty)) {
            Ok(Some(value)) => self.writer.value(name, value.as_cow()).map_err(Failure),
            Ok(None) => Ok(()),
            Err(Reason(reason)) => Err(refuse(reason)),
        }
    }
}

impl<T: SerdeEntity> SerializeStruct for Members<'_, '_, T> {
    type Ok = ();
    type Error = Failure;

    fn serialize_field<V: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &V,
    ) -> Result<(), Failure> {
        self.member(name, value)
    }

    fn end(self) -> Result<(), Failure> {
        Ok(())
    }
}

impl<T: SerdeEntity> SerializeMap for Members<'_, '_, T> {
    type Ok = ();
    type Error = Failure;

    fn serialize_key<K: Serialize + ?Sized>(&mut self, key: &K) -> Result<(), Failure> {
        match key.serialize(ValueSerializer(EdmType::String)) {
            Ok(Some(EdmValue::String(name))) => {
                self.name = Some(name);
                Ok(())
            }
            _ => Err(Failure::custom("the name of a property must be text")),
        }
    }

    fn serialize_value<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), Failure> {
        match self.name.take() {
            Some(name) => self.member(&name, value),
            None => Err(Failure::custom("a value without a name")),
        }
    }

    fn end(self) -> Result<(), Failure> {
        Ok(())
    }
}

/// The methods of `Serializer` for what a serializer does not take.
macro_rules! refuse {
    ($error:expr; $($method:ident($($argument:ty),*) -> $ok:ty;)*) => {$(
        fn $method(self, $(_: $argument),*) -> Result<$ok, Self::Error> {
            Err($error)
        }
    )*};
}

/// Takes a struct or a map.
struct EntitySerializer<'a, 'w, T>(Members<'a, 'w, T>);

fn no_entity() -> Failure {
    Failure::custom("only a struct or a map can be an entity")
}

impl<'a, 'w, T: SerdeEntity> Serializer for EntitySerializer<'a, 'w, T> {
    type Ok = ();
    type Error = Failure;
    type SerializeSeq = Impossible<(), Failure>;
    type SerializeTuple = Impossible<(), Failure>;
    type SerializeTupleStruct = Impossible<(), Failure>;
    type SerializeTupleVariant = Impossible<(), Failure>;
    type SerializeMap = Members<'a, 'w, T>;
    type SerializeStruct = Members<'a, 'w, T>;
    type SerializeStructVariant = Impossible<(), Failure>;

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Failure> {
        Ok(self.0)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, Failure> {
        Ok(self.0)
    }

    fn serialize_some<V: Serialize + ?Sized>(self, value: &V) -> Result<(), Failure> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<V: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &V,
    ) -> Result<(), Failure> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<V: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &V,
    ) -> Result<(), Failure> {
        Err(no_entity())
    }

    refuse! {
        no_entity();
        serialize_bool(bool) -> ();
        serialize_i8(i8) -> ();
        serialize_i16(i16) -> ();
        serialize_i32(i32) -> ();
        serialize_i64(i64) -> ();
        serialize_i128(i128) -> ();
        serialize_u8(u8) -> ();
        serialize_u16(u16) -> ();
        serialize_u32(u32) -> ();
        serialize_u64(u64) -> ();
        serialize_u128(u128) -> ();
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_char(char) -> ();
        serialize_str(&str) -> ();
        serialize_bytes(&[u8]) -> ();
        serialize_none() -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_unit_variant(&'static str, u32, &'static str) -> ();
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }
}

/// Why a value is not of the declared type.
#[derive(Debug)]
struct Reason(ConvertError);

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Reason {}

impl serde::ser::Error for Reason {
    fn custom<D: fmt::Display>(message: D) -> Self {
        Self(ConvertError::Other(message.to_string()))
    }
}

/// A value of the declared type; `None` is not stored.
#[derive(Clone, Copy)]
struct ValueSerializer(EdmType);

impl ValueSerializer {
    fn wrong(self, found: EdmType) -> Reason {
        Reason(ConvertError::WrongType { expected: self.0, found })
    }

    fn no_scalar(self) -> Reason {
        Reason::custom(format_args!(
            "expected {}, found a list or an object; use #[serde(flatten)] or #[serde(with)]",
            self.0
        ))
    }

    fn integer(
        self,
        value: impl TryInto<i64> + fmt::Display + Copy,
    ) -> Result<Option<EdmValue>, Reason> {
        let out_of_range =
            |target| Reason(ConvertError::OutOfRange { value: value.to_string(), target });
        match self.0 {
            EdmType::Int32 => value
                .try_into()
                .ok()
                .and_then(|value| i32::try_from(value).ok())
                .map(|value| Some(EdmValue::Int32(value)))
                .ok_or_else(|| out_of_range("Edm.Int32")),
            EdmType::Int64 => value
                .try_into()
                .map(|value| Some(EdmValue::Int64(value)))
                .map_err(|_| out_of_range("Edm.Int64")),
            _ => Err(Reason::custom(format_args!("expected {}, found an integer", self.0))),
        }
    }
}

macro_rules! integers {
    ($($method:ident: $type:ty),*) => {$(
        fn $method(self, value: $type) -> Result<Option<EdmValue>, Reason> {
            self.integer(value)
        }
    )*};
}

impl Serializer for ValueSerializer {
    type Ok = Option<EdmValue>;
    type Error = Reason;
    type SerializeSeq = Bytes;
    type SerializeTuple = Bytes;
    type SerializeTupleStruct = Impossible<Self::Ok, Reason>;
    type SerializeTupleVariant = Impossible<Self::Ok, Reason>;
    type SerializeMap = Impossible<Self::Ok, Reason>;
    type SerializeStruct = Impossible<Self::Ok, Reason>;
    type SerializeStructVariant = Impossible<Self::Ok, Reason>;

    integers! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_i128: i128, serialize_u8: u8, serialize_u16: u16, serialize_u32: u32,
        serialize_u64: u64, serialize_u128: u128
    }

    fn serialize_bool(self, value: bool) -> Result<Self::Ok, Reason> {
        match self.0 {
            EdmType::Boolean => Ok(Some(EdmValue::Boolean(value))),
            _ => Err(self.wrong(EdmType::Boolean)),
        }
    }

    fn serialize_f32(self, value: f32) -> Result<Self::Ok, Reason> {
        self.serialize_f64(f64::from(value))
    }

    fn serialize_f64(self, value: f64) -> Result<Self::Ok, Reason> {
        match self.0 {
            EdmType::Double => Ok(Some(EdmValue::Double(value))),
            _ => Err(self.wrong(EdmType::Double)),
        }
    }

    fn serialize_char(self, value: char) -> Result<Self::Ok, Reason> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Result<Self::Ok, Reason> {
        Ok(Some(match self.0 {
            EdmType::String => EdmValue::String(text.to_owned()),
            EdmType::Guid => EdmValue::Guid(
                text.parse().map_err(|error| Reason::custom(format_args!("{text:?}: {error}")))?,
            ),
            EdmType::DateTime => {
                let time = DateTime::parse_from_rfc3339(text)
                    .map_err(|error| Reason::custom(format_args!("{text:?}: {error}")))?;
                let time = EdmDateTime::from_chrono(time.with_timezone(&Utc));
                EdmValue::DateTime(time.map_err(|error| Reason(error.into()))?)
            }
            _ => return Err(self.wrong(EdmType::String)),
        }))
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Self::Ok, Reason> {
        match self.0 {
            EdmType::Binary => Ok(Some(EdmValue::Binary(bytes.to_vec().into()))),
            _ => Err(self.wrong(EdmType::Binary)),
        }
    }

    fn serialize_none(self) -> Result<Self::Ok, Reason> {
        Ok(None)
    }

    fn serialize_unit(self) -> Result<Self::Ok, Reason> {
        Ok(None)
    }

    fn serialize_some<V: Serialize + ?Sized>(self, value: &V) -> Result<Self::Ok, Reason> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<V: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &V,
    ) -> Result<Self::Ok, Reason> {
        value.serialize(self)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Self::Ok, Reason> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_variant<V: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &V,
    ) -> Result<Self::Ok, Reason> {
        Err(self.no_scalar())
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Bytes, Reason> {
        match self.0 {
            EdmType::Binary => Ok(Bytes(Vec::with_capacity(length.unwrap_or(0).min(65_536)))),
            _ => Err(self.no_scalar()),
        }
    }

    fn serialize_tuple(self, length: usize) -> Result<Bytes, Reason> {
        self.serialize_seq(Some(length))
    }

    refuse! {
        Reason::custom("a struct, a map or a variant with data cannot be a property");
        serialize_unit_struct(&'static str) -> Self::Ok;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_map(Option<usize>) -> Self::SerializeMap;
        serialize_struct(&'static str, usize) -> Self::SerializeStruct;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }
}

/// Bytes that serde has as a list of numbers.
struct Bytes(Vec<u8>);

impl Bytes {
    fn push<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), Reason> {
        match value.serialize(ValueSerializer(EdmType::Int32))? {
            Some(EdmValue::Int32(byte)) if u8::try_from(byte).is_ok() => {
                self.0.extend(u8::try_from(byte));
                Ok(())
            }
            _ => Err(Reason::custom("a Binary is a list of numbers from 0 to 255")),
        }
    }
}

impl SerializeSeq for Bytes {
    type Ok = Option<EdmValue>;
    type Error = Reason;

    fn serialize_element<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), Reason> {
        self.push(value)
    }

    fn end(self) -> Result<Self::Ok, Reason> {
        Ok(Some(EdmValue::Binary(self.0.into())))
    }
}

impl SerializeTuple for Bytes {
    type Ok = Option<EdmValue>;
    type Error = Reason;

    fn serialize_element<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), Reason> {
        self.push(value)
    }

    fn end(self) -> Result<Self::Ok, Reason> {
        Ok(Some(EdmValue::Binary(self.0.into())))
    }
}
