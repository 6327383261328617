//! Properties of a response, before their conversion to the type of a field.

use std::borrow::Cow;

use base64::engine::general_purpose::STANDARD;
use base64::{DecodeError, Engine};

use super::error::DecodeReason;
use crate::edm::{EdmCow, EdmDateTime, EdmType, EdmValue};

/// A property as it was read.
#[derive(Debug, Default)]
pub struct RawProperty<'de> {
    /// The annotation, which may come before or after the value.
    pub annotation: Annotation,
    /// The JSON value.
    pub value: RawValue<'de>,
}

/// The annotated type of a property.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Annotation {
    /// No annotation.
    #[default]
    None,
    /// A type of the service.
    Edm(EdmType),
    /// A type that the service does not store.
    Unknown,
}

/// The JSON value of a property.
#[derive(Debug, Default)]
pub enum RawValue<'de> {
    /// The row does not have the property.
    #[default]
    Missing,
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// A number without a fraction or an exponent that is an `i64`.
    Integer(i64),
    /// Any other number.
    Float(f64),
    /// Text, without its escapes.
    Text(Cow<'de, str>),
    /// Text that is not valid Unicode, such as a lone surrogate.
    NoUnicode {
        /// Where, in bytes of the JSON text.
        offset: usize,
    },
    /// An object or an array.
    NoScalar,
}

impl<'de> RawProperty<'de> {
    /// Returns a value in the form that a reply has.
    pub(super) fn of(value: &'de EdmValue) -> Self {
        let raw = match value {
            EdmValue::String(text) => RawValue::Text(Cow::Borrowed(text)),
            EdmValue::Boolean(value) => RawValue::Boolean(*value),
            EdmValue::Int32(value) => RawValue::Integer(i64::from(*value)),
            EdmValue::Int64(value) => RawValue::Integer(*value),
            EdmValue::Double(value) => RawValue::Float(*value),
            EdmValue::DateTime(value) => RawValue::Text(Cow::Owned(value.to_string())),
            EdmValue::Guid(value) => RawValue::Text(Cow::Owned(value.to_string())),
            EdmValue::Binary(bytes) => RawValue::Text(Cow::Owned(STANDARD.encode(bytes))),
        };
        Self { annotation: Annotation::Edm(value.edm_type()), value: raw }
    }
}

impl<'de> RawProperty<'de> {
    /// The value where it is borrowed and shows its type, as nearly all do.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "for a known type the compiler removes most of the branches"
    )]
    pub fn plain(&self) -> Option<EdmCow<'de>> {
        Some(match (self.annotation, &self.value) {
            (
                Annotation::None | Annotation::Edm(EdmType::String),
                RawValue::Text(Cow::Borrowed(text)),
            ) => EdmCow::String(Cow::Borrowed(text)),
            (Annotation::None, RawValue::Boolean(value)) => EdmCow::Boolean(*value),
            (Annotation::None, RawValue::Float(value)) => EdmCow::Double(*value),
            (Annotation::None, RawValue::Integer(value)) => {
                EdmCow::Int32(i32::try_from(*value).ok()?)
            }
            (Annotation::Edm(EdmType::Int64), RawValue::Text(text)) => {
                EdmCow::Int64(text.parse().ok()?)
            }
            _ => return None,
        })
    }
}

impl Annotation {
    /// Returns the annotation with the name of a type, such as `Edm.Int64`.
    pub fn from_name(name: &str) -> Self {
        EdmType::from_name(name).map_or(Self::Unknown, Self::Edm)
    }

    /// Returns the typed value.
    ///
    /// Without an annotation the JSON type decides; in a reply that has no annotations at all
    /// (`typed` is false), text is read as the type that is expected of it.
    pub fn resolve(
        self,
        raw: RawValue<'_>,
        typed: bool,
        expected: Option<EdmType>,
    ) -> Result<EdmCow<'_>, DecodeReason> {
        let ty = match (self, &raw, expected) {
            (Self::Edm(ty), ..) => ty,
            (Self::Unknown, ..) => return Err(DecodeReason::UnknownType),
            (_, RawValue::Boolean(_), _) => EdmType::Boolean,
            (_, RawValue::Float(_), _) => EdmType::Double,
            (_, RawValue::Integer(v), _) if i32::try_from(*v).is_ok() => EdmType::Int32,
            (_, RawValue::Integer(_), _) => EdmType::Int64,
            (_, _, Some(ty)) if !typed && ty != EdmType::Boolean && ty != EdmType::Int32 => ty,
            _ => EdmType::String,
        };
        let malformed = |fault: Fault| DecodeReason::Malformed {
            expected: ty,
            found: fault.found,
            offset: fault.offset,
        };
        Ok(match (ty, raw) {
            (_, RawValue::Missing) => return Err(DecodeReason::Missing),
            (_, RawValue::Null) => return Err(DecodeReason::Null),
            (_, RawValue::NoUnicode { offset }) => return Err(DecodeReason::NoUnicode { offset }),
            (_, RawValue::NoScalar) => return Err(DecodeReason::NoScalar),
            (EdmType::String, RawValue::Text(text)) => EdmCow::String(text),
            (EdmType::Boolean, RawValue::Boolean(v)) => EdmCow::Boolean(v),
            (EdmType::Int32, RawValue::Integer(v)) => {
                EdmCow::Int32(i32::try_from(v).map_err(|_| malformed(Fault::number(v)))?)
            }
            (EdmType::Int64, RawValue::Integer(v)) => EdmCow::Int64(v),
            (EdmType::Double, RawValue::Float(v)) => EdmCow::Double(v),
            #[expect(clippy::cast_precision_loss, reason = "annotated as Double: 5 stands for 5.0")]
            (EdmType::Double, RawValue::Integer(v)) => EdmCow::Double(v as f64),
            (ty, RawValue::Text(text)) => parse(ty, &text).map_err(malformed)?,
            (_, RawValue::Boolean(v)) => return Err(malformed(Fault::number(v))),
            (_, RawValue::Integer(v)) => return Err(malformed(Fault::number(v))),
            (_, RawValue::Float(v)) => return Err(malformed(Fault::number(v))),
        })
    }
}

/// A value that is not of its annotated type.
struct Fault {
    found: String,
    offset: Option<usize>,
}

impl Fault {
    /// A JSON value that is not text.
    fn number(value: impl std::fmt::Display) -> Self {
        Self { found: value.to_string(), offset: None }
    }

    /// A text that is invalid from `offset` on. A long text is cut.
    fn text(text: &str, offset: usize) -> Self {
        const SHOWN: usize = 60;
        let found = match text.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{:?}…", &text[..end]),
            None => format!("{text:?}"),
        };
        Self { found, offset: Some(offset) }
    }
}

/// Parses a text that is annotated with a type other than String.
fn parse<'a>(ty: EdmType, text: &str) -> Result<EdmCow<'a>, Fault> {
    // The offset of the first invalid character, or the length of the text.
    let until = |right: fn(usize, u8) -> bool| {
        let at = text.bytes().enumerate().position(|(at, b)| !right(at, b));
        Fault::text(text, at.unwrap_or(text.len()))
    };
    let of_integer = || until(|at, b| b.is_ascii_digit() || (at == 0 && b == b'-'));
    Ok(match ty {
        EdmType::String => EdmCow::String(Cow::Owned(text.to_owned())),
        EdmType::Boolean => EdmCow::Boolean(match text {
            "true" | "1" => true,
            "false" | "0" => false,
            _ => return Err(Fault::text(text, 0)),
        }),
        EdmType::Int32 => EdmCow::Int32(text.parse().map_err(|_| of_integer())?),
        EdmType::Int64 => EdmCow::Int64(text.parse().map_err(|_| of_integer())?),
        EdmType::Double => EdmCow::Double(match text {
            "NaN" => f64::NAN,
            "Infinity" | "INF" => f64::INFINITY,
            "-Infinity" | "-INF" => f64::NEG_INFINITY,
            _ => {
                let is_figure = |b: u8| matches!(b, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E');
                // Rust's parser also accepts words such as "nan", and reads an overflow as infinity.
                let is_number = |value: &f64| value.is_finite() && text.bytes().all(is_figure);
                text.parse().ok().filter(is_number).ok_or_else(|| {
                    until(|_, b| matches!(b, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E'))
                })?
            }
        }),
        EdmType::DateTime => EdmCow::DateTime(EdmDateTime::parse_lenient(text).map_err(|_| {
            until(|at, b| match at {
                4 | 7 => b == b'-',
                10 => b == b'T',
                13 | 16 => b == b':',
                19 => matches!(b, b'.' | b'Z' | b'z' | b'+' | b'-'),
                20.. => matches!(b, b'0'..=b'9' | b':' | b'Z' | b'z' | b'+' | b'-'),
                _ => b.is_ascii_digit(),
            })
        })?),
        EdmType::Guid => EdmCow::Guid(
            text.parse().map_err(|_| until(|_, b| b.is_ascii_hexdigit() || b == b'-'))?,
        ),
        EdmType::Binary => EdmCow::Binary(Cow::Owned(STANDARD.decode(text).map_err(|error| {
            let offset = match error {
                DecodeError::InvalidByte(offset, _)
                | DecodeError::InvalidLastSymbol { offset, .. } => offset,
                DecodeError::InvalidLength(_) | DecodeError::InvalidPadding => text.len(),
            };
            Fault::text(text, offset)
        })?)),
    })
}
