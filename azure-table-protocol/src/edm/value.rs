use std::borrow::Cow;
use std::fmt;

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use uuid::Uuid;

use super::EdmDateTime;

/// The type of a property as the service stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EdmType {
    /// UTF-16 text of at most 32,768 code units (64 KiB).
    String,
    /// `true` or `false`.
    Boolean,
    /// Signed 32-bit integer.
    Int32,
    /// Signed 64-bit integer.
    Int64,
    /// IEEE 754 double, NaN and the infinities included.
    Double,
    /// UTC instant in 100 ns ticks from 1601-01-01 to 9999-12-31.
    DateTime,
    /// 128-bit identifier.
    Guid,
    /// At most 65,536 bytes.
    Binary,
}

impl EdmType {
    /// The name on the wire, for example `Edm.Int64`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::String => "Edm.String",
            Self::Boolean => "Edm.Boolean",
            Self::Int32 => "Edm.Int32",
            Self::Int64 => "Edm.Int64",
            Self::Double => "Edm.Double",
            Self::DateTime => "Edm.DateTime",
            Self::Guid => "Edm.Guid",
            Self::Binary => "Edm.Binary",
        }
    }

    /// The type of a name on the wire; `None` for a name the service does not store.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "Edm.String" => Self::String,
            "Edm.Boolean" => Self::Boolean,
            "Edm.Int32" => Self::Int32,
            "Edm.Int64" => Self::Int64,
            "Edm.Double" => Self::Double,
            "Edm.DateTime" => Self::DateTime,
            "Edm.Guid" => Self::Guid,
            "Edm.Binary" => Self::Binary,
            _ => return None,
        })
    }
}

impl fmt::Display for EdmType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A value together with its Edm type, borrowed where it can be.
///
/// Entities lend their properties in this form to be written; replies give them in this form to
/// be read.
#[derive(Debug, Clone)]
pub enum EdmCow<'a> {
    /// Text.
    String(Cow<'a, str>),
    /// `true` or `false`.
    Boolean(bool),
    /// A signed 32-bit integer.
    Int32(i32),
    /// A signed 64-bit integer.
    Int64(i64),
    /// A double, NaN and the infinities included.
    Double(f64),
    /// A UTC instant.
    DateTime(EdmDateTime),
    /// A 128-bit identifier.
    Guid(Uuid),
    /// Bytes.
    Binary(Cow<'a, [u8]>),
}

impl EdmCow<'_> {
    /// The Edm type of the value.
    pub const fn edm_type(&self) -> EdmType {
        match self {
            Self::String(_) => EdmType::String,
            Self::Boolean(_) => EdmType::Boolean,
            Self::Int32(_) => EdmType::Int32,
            Self::Int64(_) => EdmType::Int64,
            Self::Double(_) => EdmType::Double,
            Self::DateTime(_) => EdmType::DateTime,
            Self::Guid(_) => EdmType::Guid,
            Self::Binary(_) => EdmType::Binary,
        }
    }

    /// The same value, owned.
    pub fn into_value(self) -> EdmValue {
        match self {
            Self::String(v) => EdmValue::String(v.into_owned()),
            Self::Boolean(v) => EdmValue::Boolean(v),
            Self::Int32(v) => EdmValue::Int32(v),
            Self::Int64(v) => EdmValue::Int64(v),
            Self::Double(v) => EdmValue::Double(v),
            Self::DateTime(v) => EdmValue::DateTime(v),
            Self::Guid(v) => EdmValue::Guid(v),
            Self::Binary(v) => EdmValue::Binary(v.into_owned().into()),
        }
    }
}

/// An owned value together with its Edm type.
///
/// Two values are equal when the service would store the same thing for both: the types are
/// equal, NaN equals NaN, and `0.0` differs from `-0.0`.
#[derive(Debug, Clone)]
pub enum EdmValue {
    /// Text.
    String(String),
    /// `true` or `false`.
    Boolean(bool),
    /// A signed 32-bit integer.
    Int32(i32),
    /// A signed 64-bit integer.
    Int64(i64),
    /// A double, NaN and the infinities included.
    Double(f64),
    /// A UTC instant.
    DateTime(EdmDateTime),
    /// A 128-bit identifier.
    Guid(Uuid),
    /// Bytes.
    Binary(Bytes),
}

impl EdmValue {
    /// The Edm type of the value.
    pub const fn edm_type(&self) -> EdmType {
        match self {
            Self::String(_) => EdmType::String,
            Self::Boolean(_) => EdmType::Boolean,
            Self::Int32(_) => EdmType::Int32,
            Self::Int64(_) => EdmType::Int64,
            Self::Double(_) => EdmType::Double,
            Self::DateTime(_) => EdmType::DateTime,
            Self::Guid(_) => EdmType::Guid,
            Self::Binary(_) => EdmType::Binary,
        }
    }

    /// The same value, borrowed.
    pub fn as_cow(&self) -> EdmCow<'_> {
        match self {
            Self::String(v) => EdmCow::String(Cow::Borrowed(v)),
            Self::Boolean(v) => EdmCow::Boolean(*v),
            Self::Int32(v) => EdmCow::Int32(*v),
            Self::Int64(v) => EdmCow::Int64(*v),
            Self::Double(v) => EdmCow::Double(*v),
            Self::DateTime(v) => EdmCow::DateTime(*v),
            Self::Guid(v) => EdmCow::Guid(*v),
            Self::Binary(v) => EdmCow::Binary(Cow::Borrowed(v)),
        }
    }
}

impl PartialEq for EdmValue {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::String(a), Self::String(b)) => a == b,
            (Self::Boolean(a), Self::Boolean(b)) => a == b,
            (Self::Int32(a), Self::Int32(b)) => a == b,
            (Self::Int64(a), Self::Int64(b)) => a == b,
            (Self::Double(a), Self::Double(b)) => {
                a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
            }
            (Self::DateTime(a), Self::DateTime(b)) => a == b,
            (Self::Guid(a), Self::Guid(b)) => a == b,
            (Self::Binary(a), Self::Binary(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for EdmValue {}

macro_rules! from {
    ($($source:ty => $variant:ident),* $(,)?) => {$(
        impl From<$source> for EdmValue {
            fn from(value: $source) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}

from! {
    String => String, &str => String, bool => Boolean, i32 => Int32, i64 => Int64, u32 => Int64,
    f64 => Double, f32 => Double,
    EdmDateTime => DateTime, Uuid => Guid, Bytes => Binary, Vec<u8> => Binary,
}

/// The value as text that can be stored again: `5.0`, `NaN`, `-Infinity`, `2009-04-14T00:00:00.0000000Z`, bytes as
/// Base64.
impl fmt::Display for EdmValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::String(v) => v.fmt(f),
            Self::Boolean(v) => v.fmt(f),
            Self::Int32(v) => v.fmt(f),
            Self::Int64(v) => v.fmt(f),
            Self::Double(v) if v.is_infinite() => {
                f.pad(if *v > 0.0 { "Infinity" } else { "-Infinity" })
            }
            // Debug keeps the fraction of 5.0.
            Self::Double(v) => fmt::Debug::fmt(v, f),
            Self::DateTime(v) => v.fmt(f),
            Self::Guid(v) => v.fmt(f),
            Self::Binary(v) => Base64Display::new(v, &STANDARD).fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equality_is_that_of_the_stored_value() {
        assert_eq!(EdmValue::Double(f64::NAN), EdmValue::Double(-f64::NAN));
        assert_ne!(EdmValue::Double(0.0), EdmValue::Double(-0.0));
        assert_ne!(EdmValue::Int32(5), EdmValue::Int64(5));
        assert_ne!(EdmValue::Double(5.0), EdmValue::Int32(5));
    }

    #[test]
    fn names_go_both_ways() {
        for ty in [
            EdmType::String,
            EdmType::Boolean,
            EdmType::Int32,
            EdmType::Int64,
            EdmType::Double,
            EdmType::DateTime,
            EdmType::Guid,
            EdmType::Binary,
        ] {
            assert_eq!(EdmType::from_name(ty.as_str()), Some(ty));
        }
        assert_eq!(EdmType::from_name("Edm.Byte"), None);
    }
}
