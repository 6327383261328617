//! Serialization into properties.

mod value;

use std::fmt;

use serde::ser::{self, Impossible, Serialize, SerializeMap, SerializeStruct, Serializer};

use self::value::Value;
use crate::edm::{ConvertError, EdmCow, EdmType};
use crate::entity::{EncodeError, PropertyWriter};
use crate::key::KeyError;

/// Receives the members of a struct or a map.
pub(super) struct EntitySerializer<'a, 'w> {
    declared: &'static [(&'static str, EdmType)],
    partition_key: &'a str,
    row_key: &'a str,
    writer: &'a mut PropertyWriter<'w>,
    /// The member of a map whose value comes next.
    next: Option<CurrentMember<'a>>,
}

#[derive(Clone, Copy)]
enum CurrentMember<'a> {
    Property(&'static str, EdmType),
    /// A key, and what it must be.
    Key(&'static str, &'a str),
    Timestamp,
}

impl<'a, 'w> EntitySerializer<'a, 'w> {
    pub(super) fn new(
        declared: &'static [(&'static str, EdmType)],
        partition_key: &'a str,
        row_key: &'a str,
        writer: &'a mut PropertyWriter<'w>,
    ) -> Self {
        Self { declared, partition_key, row_key, writer, next: None }
    }

    fn member(&self, name: &str) -> Result<CurrentMember<'a>, Error> {
        match name {
            "PartitionKey" => return Ok(CurrentMember::Key("PartitionKey", self.partition_key)),
            "RowKey" => return Ok(CurrentMember::Key("RowKey", self.row_key)),
            "Timestamp" => return Ok(CurrentMember::Timestamp),
            _ => {}
        }
        match self.declared.iter().find(|(declared, _)| *declared == name) {
            Some(&(declared, ty)) => Ok(CurrentMember::Property(declared, ty)),
            None => {
                let reason = "PROPERTIES does not list it: add it there, or have serde skip it";
                Err(Error::Value(ConvertError::Other(reason.to_owned())).of(name))
            }
        }
    }

    fn write<T: Serialize + ?Sized>(
        &mut self,
        member: CurrentMember<'_>,
        value: &T,
    ) -> Result<(), Error> {
        match member {
            CurrentMember::Timestamp => Ok(()),
            CurrentMember::Property(name, ty) => {
                let writer = &mut *self.writer;
                let mut put = |value: EdmCow<'_>| Ok(writer.value(name, value)?);
                value.serialize(Value::new(ty, &mut put)).map_err(|error| error.of(name))
            }
            CurrentMember::Key(name, key) => {
                let mut found = None;
                let mut put = |value: EdmCow<'_>| {
                    found = as_text(&value).map(str::to_owned);
                    Ok(())
                };
                value
                    .serialize(Value::new(EdmType::String, &mut put))
                    .map_err(|error| error.of(name))?;
                if found.as_deref() == Some(key) {
                    return Ok(());
                }
                let found = found.map_or_else(|| "nothing".to_owned(), |text| format!("{text:?}"));
                let reason =
                    format!("the member {name} is {found}, but the entity's key is {key:?}");
                Err(EncodeError::Key(KeyError::new(reason)).into())
            }
        }
    }
}

fn as_text<'v>(value: &'v EdmCow<'_>) -> Option<&'v str> {
    match value {
        EdmCow::String(text) => Some(text),
        _ => None,
    }
}

impl SerializeStruct for EntitySerializer<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.write(self.member(name)?, value)
    }

    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

impl SerializeMap for EntitySerializer<'_, '_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, name: &T) -> Result<(), Error> {
        let mut next = None;
        let mut put = |name: EdmCow<'_>| {
            next = as_text(&name).map(|name| self.member(name)).transpose()?;
            Ok(())
        };
        match (name.serialize(Value::new(EdmType::String, &mut put)), next) {
            (Ok(()), Some(member)) => {
                self.next = Some(member);
                Ok(())
            }
            (Err(error @ Error::Entity(_)), _) => Err(error),
            _ => Err(ser::Error::custom("the name of a member must be text")),
        }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        match self.next.take() {
            Some(member) => self.write(member, value),
            None => Err(ser::Error::custom("a value came before its name")),
        }
    }

    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

fn no_entity<T>(what: &str) -> Result<T, Error> {
    Err(ser::Error::custom(format_args!("an entity must be a struct or a map, not {what}")))
}

macro_rules! no_entity {
    ($what:literal: $($method:ident($($argument:ty),*)),*) => {$(
        fn $method(self $(, _: $argument)*) -> Result<(), Error> {
            no_entity($what)
        }
    )*};
}

impl Serializer for EntitySerializer<'_, '_> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Impossible<(), Error>;
    type SerializeTuple = Impossible<(), Error>;
    type SerializeTupleStruct = Impossible<(), Error>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Impossible<(), Error>;

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Error> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, Error> {
        Ok(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    no_entity!("a single value":
        serialize_bool(bool), serialize_i8(i8), serialize_i16(i16), serialize_i32(i32),
        serialize_i64(i64), serialize_i128(i128), serialize_u8(u8), serialize_u16(u16),
        serialize_u32(u32), serialize_u64(u64), serialize_u128(u128), serialize_f32(f32),
        serialize_f64(f64), serialize_char(char), serialize_str(&str), serialize_bytes(&[u8]),
        serialize_unit_variant(&'static str, u32, &'static str));

    no_entity!("nothing":
        serialize_none(), serialize_unit(), serialize_unit_struct(&'static str));

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, Error> {
        no_entity("a list")
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Error> {
        no_entity("a tuple")
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, Error> {
        no_entity("a tuple struct")
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Error> {
        no_entity(VARIANT)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Error> {
        no_entity(VARIANT)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Error> {
        no_entity(VARIANT)
    }
}

const VARIANT: &str = "a variant within a map (use #[serde(tag = \"…\")])";

/// The error of an entity that could not be written.
#[derive(Debug)]
pub(super) enum Error {
    /// A value is wrong; the member that it belongs to is not known here.
    Value(ConvertError),
    Entity(EncodeError),
}

impl Error {
    /// The same error, of the member of this name.
    fn of(self, name: &str) -> Self {
        match self {
            Self::Value(reason) => {
                Self::Entity(EncodeError::Convert { property: name.to_owned(), reason })
            }
            entity @ Self::Entity(_) => entity,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(reason) => reason.fmt(f),
            Self::Entity(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl ser::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Value(ConvertError::Other(message.to_string()))
    }
}

impl From<ConvertError> for Error {
    fn from(reason: ConvertError) -> Self {
        Self::Value(reason)
    }
}

impl From<EncodeError> for Error {
    fn from(error: EncodeError) -> Self {
        Self::Entity(error)
    }
}

impl From<Error> for EncodeError {
    fn from(error: Error) -> Self {
        match error {
            Error::Value(reason) => Self::Other(reason.to_string()),
            Error::Entity(error) => error,
        }
    }
}
