//! From a value that serde serializes to the Edm type that is declared for it.

use std::borrow::Cow;
use std::fmt::Display;

use chrono::DateTime;
use serde::ser::{Impossible, Serialize, SerializeSeq, SerializeTuple, Serializer};
use uuid::Uuid;

use super::Error;
use crate::edm::{ConvertError, DateTimeError, EdmCow, EdmDateTime, EdmType};
use crate::limits;

/// The function that accepts a value.
type Put<'a> = dyn FnMut(EdmCow<'_>) -> Result<(), Error> + 'a;

/// Receives one value; a missing value is left out.
pub(super) struct Value<'a> {
    ty: EdmType,
    put: &'a mut Put<'a>,
}

impl<'a> Value<'a> {
    pub(super) fn new(ty: EdmType, put: &'a mut Put<'a>) -> Self {
        Self { ty, put }
    }

    fn misfit<T>(&self, what: &str) -> Result<T, Error> {
        Err(ConvertError::Other(format!("declared as {}, but the value is {what}", self.ty)).into())
    }

    fn nested<T>(&self, what: &str) -> Result<T, Error> {
        self.misfit(&format!(
            "{what}, and a property is a single value \
             (use #[serde(flatten)], or #[serde(with = \"…\")] to make text or bytes of it)"
        ))
    }

    fn integer<T: Copy + Display>(self, value: T) -> Result<(), Error>
    where
        i32: TryFrom<T>,
        i64: TryFrom<T>,
    {
        let fitting = match self.ty {
            EdmType::Int32 => i32::try_from(value).ok().map(EdmCow::Int32),
            EdmType::Int64 => i64::try_from(value).ok().map(EdmCow::Int64),
            _ => return self.misfit("an integer"),
        };
        match fitting {
            Some(value) => (self.put)(value),
            None => {
                let value = value.to_string();
                Err(ConvertError::OutOfRange { value, target: self.ty.as_str() }.into())
            }
        }
    }

    fn bytes(self, len: usize) -> Result<Bytes<'a>, Error> {
        match self.ty {
            EdmType::Binary => Ok(Bytes {
                bytes: Vec::with_capacity(len.min(limits::BINARY_BYTES)),
                put: self.put,
            }),
            _ => self.nested("a list"),
        }
    }
}

macro_rules! integers {
    ($($method:ident($type:ty)),*) => {$(
        fn $method(self, value: $type) -> Result<(), Error> {
            self.integer(value)
        }
    )*};
}

impl<'a> Serializer for Value<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Bytes<'a>;
    type SerializeTuple = Bytes<'a>;
    type SerializeTupleStruct = Impossible<(), Error>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Impossible<(), Error>;
    type SerializeStruct = Impossible<(), Error>;
    type SerializeStructVariant = Impossible<(), Error>;

    integers!(
        serialize_i8(i8),
        serialize_i16(i16),
        serialize_i32(i32),
        serialize_i64(i64),
        serialize_i128(i128),
        serialize_u8(u8),
        serialize_u16(u16),
        serialize_u32(u32),
        serialize_u64(u64),
        serialize_u128(u128)
    );

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        match self.ty {
            EdmType::Boolean => (self.put)(EdmCow::Boolean(value)),
            _ => self.misfit("a boolean"),
        }
    }

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        match self.ty {
            EdmType::Double => (self.put)(EdmCow::Double(value)),
            _ => self.misfit("a float"),
        }
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Result<(), Error> {
        let value = match self.ty {
            EdmType::String => EdmCow::String(Cow::Borrowed(text)),
            EdmType::DateTime => EdmCow::DateTime(date_time(text)?),
            EdmType::Guid => EdmCow::Guid(Uuid::parse_str(text).map_err(|error| {
                ConvertError::Other(format!("{text:?} is not a UUID: {error}"))
            })?),
            _ => return self.misfit("text"),
        };
        (self.put)(value)
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), Error> {
        match self.ty {
            EdmType::Binary => (self.put)(EdmCow::Binary(Cow::Borrowed(bytes))),
            _ => self.misfit("bytes"),
        }
    }

    fn serialize_none(self) -> Result<(), Error> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        Ok(())
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Error> {
        self.nested("a variant with data")
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Bytes<'a>, Error> {
        self.bytes(len.unwrap_or(0))
    }

    fn serialize_tuple(self, len: usize) -> Result<Bytes<'a>, Error> {
        self.bytes(len)
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, Error> {
        self.nested("a tuple struct")
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Error> {
        self.nested("a variant with data")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Error> {
        self.nested("a map")
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, Error> {
        self.nested("a struct")
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Error> {
        self.nested("a variant with data")
    }
}

/// The instant of a text as chrono writes it: it may have digits below 100 ns, which are dropped.
fn date_time(text: &str) -> Result<EdmDateTime, ConvertError> {
    let time = DateTime::parse_from_rfc3339(text).map_err(|_| DateTimeError::Malformed)?;
    Ok(EdmDateTime::from_chrono(time.to_utc())?)
}

/// Receives a Binary as the list of its bytes, which is what `Vec<u8>` is to serde.
pub(super) struct Bytes<'a> {
    bytes: Vec<u8>,
    put: &'a mut Put<'a>,
}

impl SerializeSeq for Bytes<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, element: &T) -> Result<(), Error> {
        let mut byte = None;
        let mut put = |value: EdmCow<'_>| {
            if let EdmCow::Int32(value) = value {
                byte = u8::try_from(value).ok();
            }
            Ok(())
        };
        let read = element.serialize(Value::new(EdmType::Int32, &mut put));
        match (read, byte) {
            (Ok(()), Some(byte)) => {
                self.bytes.push(byte);
                Ok(())
            }
            _ => {
                let reason = "declared as Edm.Binary, but an element of the list is not a u8";
                Err(ConvertError::Other(reason.to_owned()).into())
            }
        }
    }

    fn end(self) -> Result<(), Error> {
        (self.put)(EdmCow::Binary(Cow::Owned(self.bytes)))
    }
}

impl SerializeTuple for Bytes<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, element: &T) -> Result<(), Error> {
        SerializeSeq::serialize_element(self, element)
    }

    fn end(self) -> Result<(), Error> {
        SerializeSeq::end(self)
    }
}
