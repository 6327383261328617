//! The errors of decoding.

use std::fmt;

use crate::edm::{ConvertError, EdmType};
use crate::key::EntityKey;

/// The error of a row that cannot be read as the entity.
#[derive(Clone, PartialEq, Eq)]
pub struct DecodeError(Box<DecodeErrorInner>);

#[derive(Clone, PartialEq, Eq)]
struct DecodeErrorInner {
    key: Option<EntityKey>,
    property: String,
    reason: DecodeReason,
    expected: Option<EdmType>,
}

impl DecodeError {
    #[doc(hidden)]
    pub fn new(key: Option<EntityKey>, property: &str, reason: DecodeReason) -> Self {
        let property = property.to_owned();
        Self(Box::new(DecodeErrorInner { key, property, reason, expected: None }))
    }

    /// Adds the expected type of the property.
    pub(super) fn expecting(mut self, expected: EdmType) -> Self {
        self.0.expected = Some(expected);
        self
    }

    /// The type that the property should have, where it is one property.
    pub fn expected(&self) -> Option<EdmType> {
        self.0.expected
    }

    /// The entity, where its keys could be read.
    pub fn key(&self) -> Option<&EntityKey> {
        self.0.key.as_ref()
    }

    /// The property; empty if the error concerns the whole entity.
    pub fn property(&self) -> &str {
        &self.0.property
    }

    /// The error in the property.
    pub fn reason(&self) -> &DecodeReason {
        &self.0.reason
    }
}

impl fmt::Debug for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecodeError")
            .field("key", &self.0.key)
            .field("property", &self.0.property)
            .field("reason", &self.0.reason)
            .finish()
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&*self.0.property, &self.0.key) {
            ("", None) => f.write_str("entity")?,
            ("", Some(key)) => write!(f, "entity {key}")?,
            (property, None) => write!(f, "property {property:?}")?,
            (property, Some(key)) => write!(f, "property {property:?} of entity {key}")?,
        }
        write!(f, ": {}", self.0.reason)?;
        match (&self.0.reason, self.0.expected) {
            // These reasons name the type themselves.
            (
                DecodeReason::Malformed { .. }
                | DecodeReason::Convert(ConvertError::WrongType { .. }),
                _,
            )
            | (_, None) => Ok(()),
            (_, Some(expected)) => write!(f, "; expected {expected}"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// The error in a property.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeReason {
    /// The row does not have the property.
    Missing,
    /// The property is null.
    Null,
    /// The property has a type or a value that the field does not accept.
    Convert(ConvertError),
    /// The value does not have the annotated type.
    Malformed {
        /// The annotated type.
        expected: EdmType,
        /// The value, or the beginning of a long text.
        found: String,
        /// The offset of the first byte that is invalid in a text of that type, from 0.
        offset: Option<usize>,
    },
    /// The property is annotated with a type that the service does not store.
    UnknownType,
    /// The text has a lone surrogate.
    NoUnicode {
        /// The offset in bytes of the JSON text with its quotes and escapes.
        offset: usize,
    },
    /// The property is an object or an array.
    NoScalar,
    /// The entity has no such property, and refuses unknown properties.
    Unknown,
    /// The reply has no types (no metadata), and the entity needs them.
    Untyped,
    /// The key is not one that the key field writes.
    Key(String),
    /// The message of a hand-written entity.
    Other(String),
}

impl fmt::Display for DecodeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("missing (make the field an Option or give it a default)"),
            Self::Null => f.write_str("null (make the field an Option or give it a default)"),
            Self::Convert(error) => error.fmt(f),
            Self::Malformed { expected, found, offset } => {
                write!(f, "expected {expected}, found {found}")?;
                match offset {
                    Some(offset) => write!(f, ", which is wrong at offset {offset}"),
                    None => Ok(()),
                }
            }
            Self::UnknownType => f.write_str("annotated with an unknown Edm type"),
            Self::NoUnicode { offset } => {
                write!(
                    f,
                    "the text has a lone surrogate at offset {offset}, which is not valid Unicode"
                )
            }
            Self::NoScalar => f.write_str("an object or an array instead of a value"),
            Self::Unknown => f.write_str("the entity does not know this property"),
            Self::Untyped => f.write_str("the response has no types; request minimal metadata"),
            Self::Key(text) | Self::Other(text) => f.write_str(text),
        }
    }
}
