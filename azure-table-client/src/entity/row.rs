use std::borrow::Cow;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{EntityKey, KeyPart};
use crate::edm::{ConvertError, EdmCow, EdmDateTime, EdmType, EdmValue, FromEdm};
use crate::etag::ETag;
use crate::limits::SYSTEM_PROPERTIES;

/// Slots before those of the columns: PartitionKey, RowKey and Timestamp.
pub(crate) const SYSTEM_SLOTS: usize = SYSTEM_PROPERTIES.len();
const PARTITION_KEY: usize = 0;
const ROW_KEY: usize = 1;
const TIMESTAMP: usize = 2;

/// One entity of a reply, still in the form of the wire.
///
/// A page is read through a single `Row` that is filled anew for each entity: values are borrowed
/// from the reply's bytes, and nothing but the entity itself is allocated.
#[derive(Debug)]
pub struct Row<'de> {
    columns: &'static [&'static str],
    keeps_others: bool,
    /// Whether the reply annotates types (minimal and full metadata).
    typed: bool,
    pub(crate) etag: Option<Cow<'de, str>>,
    slots: Vec<RawProperty<'de>>,
    others: Vec<(Cow<'de, str>, RawProperty<'de>)>,
    /// Whether a property was there twice: the last one counts, but the service refuses that.
    #[cfg(feature = "mock")]
    pub(crate) repeated: bool,
}

/// A property as it was read: its annotation, wherever that stood, and its JSON value.
#[derive(Debug, Default)]
pub(crate) struct RawProperty<'de> {
    pub(crate) annotation: Annotation,
    pub(crate) value: RawValue<'de>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Annotation {
    #[default]
    None,
    Edm(EdmType),
    /// A type that the service does not store.
    Unknown,
}

#[derive(Debug, Default)]
pub(crate) enum RawValue<'de> {
    #[default]
    Missing,
    Null,
    Boolean(bool),
    Integer(i64),
    Float(f64),
    Text(Cow<'de, str>),
    /// Text that is no Unicode, such as a lone surrogate.
    NoUnicode,
    /// An object or an array.
    NoScalar,
}

impl<'de> Row<'de> {
    pub(crate) fn new(columns: &'static [&'static str], keeps_others: bool, typed: bool) -> Self {
        let mut slots = Vec::new();
        slots.resize_with(SYSTEM_SLOTS + columns.len(), RawProperty::default);
        Self {
            columns,
            keeps_others,
            typed,
            etag: None,
            slots,
            others: Vec::new(),
            #[cfg(feature = "mock")]
            repeated: false,
        }
    }

    /// Empties the row for the next entity.
    pub(crate) fn clear(&mut self) {
        self.etag = None;
        self.slots.fill_with(RawProperty::default);
        self.others.clear();
        #[cfg(feature = "mock")]
        {
            self.repeated = false;
        }
    }

    /// The name of a slot.
    pub(crate) fn name(&self, slot: usize) -> &'static str {
        SYSTEM_PROPERTIES.get(slot).copied().unwrap_or_else(|| self.columns[slot - SYSTEM_SLOTS])
    }

    /// The slot of a property, if it is read.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.columns
            .iter()
            .position(|column| *column == name)
            .map(|column| column + SYSTEM_SLOTS)
            .or_else(|| SYSTEM_PROPERTIES.iter().position(|system| *system == name))
    }

    pub(crate) fn slot(&mut self, slot: usize) -> &mut RawProperty<'de> {
        &mut self.slots[slot]
    }

    pub(crate) const fn keeps_others(&self) -> bool {
        self.keeps_others
    }

    /// The place for a property that has no slot.
    pub(crate) fn other(&mut self, name: Cow<'de, str>) -> &mut RawProperty<'de> {
        // An annotation and its value are neighbours as a rule, hence from the end.
        let at = self.others.iter().rposition(|(known, _)| *known == name).unwrap_or_else(|| {
            self.others.push((name, RawProperty::default()));
            self.others.len() - 1
        });
        &mut self.others[at].1
    }

    pub(crate) fn other_count(&self) -> usize {
        self.others.len()
    }

    /// The value of the column at `index` in `COLUMNS`.
    ///
    /// # Errors
    /// The property is missing or null and `T` has no value for that, or its type or its value is
    /// not what `T` reads.
    pub fn property<T: FromEdm>(&mut self, index: usize) -> Result<T, DecodeError> {
        match self.optional(index)? {
            Some(value) => Ok(value),
            None => T::from_missing().ok_or_else(|| {
                self.error(SYSTEM_SLOTS + index, self.absence(SYSTEM_SLOTS + index))
            }),
        }
    }

    /// The value of the column at `index` in `COLUMNS`, or `None` if it is missing or null.
    ///
    /// # Errors
    /// The property's type or its value is not what `T` reads.
    pub fn optional<T: FromEdm>(&mut self, index: usize) -> Result<Option<T>, DecodeError> {
        let slot = SYSTEM_SLOTS + index;
        let raw = std::mem::take(&mut self.slots[slot].value);
        if matches!(raw, RawValue::Missing | RawValue::Null) {
            // Put back, so that an error can tell the one from the other.
            self.slots[slot].value = raw;
            return Ok(None);
        }
        self.slots[slot]
            .annotation
            .resolve(raw, self.typed, Some(T::EDM_TYPE))
            .and_then(|value| T::from_edm(value).map_err(DecodeReason::Convert))
            .map(Some)
            .map_err(|reason| self.error(slot, reason))
    }

    /// The PartitionKey. Read it after the properties: their errors name it.
    ///
    /// # Errors
    /// The key is missing, or not one that `K` writes.
    pub fn partition_key<K: KeyPart>(&mut self) -> Result<K, DecodeError> {
        self.key(PARTITION_KEY)
    }

    /// The RowKey. Read it after the properties: their errors name it.
    ///
    /// # Errors
    /// The key is missing, or not one that `K` writes.
    pub fn row_key<K: KeyPart>(&mut self) -> Result<K, DecodeError> {
        self.key(ROW_KEY)
    }

    fn key<K: KeyPart>(&mut self, slot: usize) -> Result<K, DecodeError> {
        let reason = match std::mem::take(&mut self.slots[slot].value) {
            RawValue::Text(text) => match K::from_key(text) {
                Ok(key) => return Ok(key),
                Err(error) => DecodeReason::Key(error.0),
            },
            RawValue::Missing => DecodeReason::Missing,
            RawValue::Null => DecodeReason::Null,
            RawValue::NoUnicode => DecodeReason::NoUnicode,
            _ => DecodeReason::Key("a key must be text".to_owned()),
        };
        Err(self.error(slot, reason))
    }

    /// The Timestamp, or `None` if the reply has none.
    ///
    /// # Errors
    /// The Timestamp is not a date-time.
    pub fn timestamp(&mut self) -> Result<Option<EdmDateTime>, DecodeError> {
        match std::mem::take(&mut self.slots[TIMESTAMP].value) {
            RawValue::Missing | RawValue::Null => Ok(None),
            // The service annotates it at full metadata only.
            raw => Annotation::Edm(EdmType::DateTime)
                .resolve(raw, true, None)
                .and_then(|value| EdmDateTime::from_edm(value).map_err(DecodeReason::Convert))
                .map(Some)
                .map_err(|reason| self.error(TIMESTAMP, reason)),
        }
    }

    /// The entity's version, or `None` if the reply has none (no metadata).
    pub fn etag(&self) -> Option<ETag> {
        self.etag.as_ref().map(ETag::from)
    }

    /// The properties that have no column, in the order of the reply; nulls are left out.
    ///
    /// Empty unless the entity sets [`KEEPS_OTHERS`](super::TableEntity::KEEPS_OTHERS).
    ///
    /// # Errors
    /// A value is not of its annotated type, or the reply has no types (no metadata).
    pub fn take_others(&mut self) -> Result<Vec<(String, EdmValue)>, DecodeError> {
        let others = std::mem::take(&mut self.others);
        let mut values = Vec::with_capacity(others.len());
        for (name, property) in others {
            if matches!(property.value, RawValue::Missing | RawValue::Null) {
                continue;
            }
            let resolved = if self.typed {
                property.annotation.resolve(property.value, true, None)
            } else {
                Err(DecodeReason::Untyped)
            };
            match resolved {
                Ok(value) => values.push((name.into_owned(), value.into_value())),
                Err(reason) => return Err(self.error_about(&name, reason)),
            }
        }
        Ok(values)
    }

    /// The properties that have no column, as they were read.
    #[cfg(feature = "mock")]
    pub(crate) fn take_raw_others(&mut self) -> Vec<(Cow<'de, str>, RawProperty<'de>)> {
        std::mem::take(&mut self.others)
    }

    fn absence(&self, slot: usize) -> DecodeReason {
        match self.slots[slot].value {
            RawValue::Null => DecodeReason::Null,
            _ => DecodeReason::Missing,
        }
    }

    /// An error about the column at `index` of `COLUMNS`.
    pub fn column_error(&self, index: usize, reason: DecodeReason) -> DecodeError {
        self.error(SYSTEM_SLOTS + index, reason)
    }

    /// An error about one of the service's own values that the reply does not have.
    pub(crate) fn missing(&self, name: &str) -> DecodeError {
        self.error_about(name, DecodeReason::Missing)
    }

    fn error(&self, slot: usize, reason: DecodeReason) -> DecodeError {
        self.error_about(self.name(slot), reason)
    }

    fn error_about(&self, name: &str, reason: DecodeReason) -> DecodeError {
        DecodeError(Box::new(DecodeErrorInner {
            key: self.entity_key(),
            property: name.to_owned(),
            reason,
        }))
    }

    fn entity_key(&self) -> Option<EntityKey> {
        match (&self.slots[PARTITION_KEY].value, &self.slots[ROW_KEY].value) {
            (RawValue::Text(p), RawValue::Text(r)) => Some(EntityKey::new(&**p, &**r)),
            _ => None,
        }
    }
}

impl Annotation {
    pub(crate) fn from_name(name: &str) -> Self {
        EdmType::from_name(name).map_or(Self::Unknown, Self::Edm)
    }

    /// The typed value of what was read.
    ///
    /// Without an annotation the JSON type decides; in a reply that has no annotations at all
    /// (`typed` is false), text is read as the type that is expected of it.
    pub(crate) fn resolve(
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
        let malformed = |detail: String| DecodeReason::Malformed { expected: ty, detail };
        Ok(match (ty, raw) {
            (_, RawValue::Missing) => return Err(DecodeReason::Missing),
            (_, RawValue::Null) => return Err(DecodeReason::Null),
            (_, RawValue::NoUnicode) => return Err(DecodeReason::NoUnicode),
            (_, RawValue::NoScalar) => return Err(DecodeReason::NoScalar),
            (EdmType::String, RawValue::Text(text)) => EdmCow::String(text),
            (EdmType::Boolean, RawValue::Boolean(v)) => EdmCow::Boolean(v),
            (EdmType::Int32, RawValue::Integer(v)) => {
                EdmCow::Int32(i32::try_from(v).map_err(|_| malformed(v.to_string()))?)
            }
            (EdmType::Int64, RawValue::Integer(v)) => EdmCow::Int64(v),
            (EdmType::Double, RawValue::Float(v)) => EdmCow::Double(v),
            #[expect(clippy::cast_precision_loss, reason = "annotated as Double: 5 stands for 5.0")]
            (EdmType::Double, RawValue::Integer(v)) => EdmCow::Double(v as f64),
            (ty, RawValue::Text(text)) => parse(ty, &text).map_err(malformed)?,
            (_, other) => return Err(malformed(format!("{other:?}"))),
        })
    }
}

/// The value of a text that is annotated as something other than a String.
fn parse<'a>(ty: EdmType, text: &str) -> Result<EdmCow<'a>, String> {
    let quoted = || format!("{text:?}");
    Ok(match ty {
        EdmType::String => EdmCow::String(Cow::Owned(text.to_owned())),
        EdmType::Boolean => EdmCow::Boolean(match text {
            "true" | "1" => true,
            "false" | "0" => false,
            _ => return Err(quoted()),
        }),
        EdmType::Int32 => EdmCow::Int32(text.parse().map_err(|_| quoted())?),
        EdmType::Int64 => EdmCow::Int64(text.parse().map_err(|_| quoted())?),
        EdmType::Double => EdmCow::Double(match text {
            "NaN" => f64::NAN,
            "Infinity" | "INF" => f64::INFINITY,
            "-Infinity" | "-INF" => f64::NEG_INFINITY,
            _ if text
                .bytes()
                .all(|b| matches!(b, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E')) =>
            {
                text.parse().map_err(|_| quoted())?
            }
            _ => return Err(quoted()),
        }),
        EdmType::DateTime => {
            EdmCow::DateTime(text.parse().map_err(|error| format!("{text:?}: {error}"))?)
        }
        EdmType::Guid => EdmCow::Guid(text.parse().map_err(|error| format!("{text:?}: {error}"))?),
        EdmType::Binary => EdmCow::Binary(Cow::Owned(
            STANDARD.decode(text).map_err(|error| format!("base64: {error}"))?,
        )),
    })
}

/// A row that does not fit the struct it was to be read into.
#[derive(Clone, PartialEq, Eq)]
pub struct DecodeError(Box<DecodeErrorInner>);

#[derive(Clone, PartialEq, Eq)]
struct DecodeErrorInner {
    key: Option<EntityKey>,
    property: String,
    reason: DecodeReason,
}

impl DecodeError {
    /// The entity, where its keys could be read.
    pub fn key(&self) -> Option<&EntityKey> {
        self.0.key.as_ref()
    }

    /// The property.
    pub fn property(&self) -> &str {
        &self.0.property
    }

    /// What is wrong with it.
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
        write!(f, "property {:?}", self.0.property)?;
        if let Some(key) = &self.0.key {
            write!(f, " of entity {key}")?;
        }
        write!(f, ": {}", self.0.reason)
    }
}

impl std::error::Error for DecodeError {}

/// What is wrong with a property.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeReason {
    /// The row does not have it.
    Missing,
    /// It is null.
    Null,
    /// Its type or its value is not what the field reads.
    Convert(ConvertError),
    /// Its value is not of the type it is annotated with.
    Malformed {
        /// The annotated type.
        expected: EdmType,
        /// The value, and where it is wrong.
        detail: String,
    },
    /// It is annotated with a type that the service does not store.
    UnknownType,
    /// Its text has a lone surrogate.
    NoUnicode,
    /// It is an object or an array.
    NoScalar,
    /// The reply has no types (no metadata), and the entity needs them.
    Untyped,
    /// The key is not one that the key field writes.
    Key(String),
    /// Whatever else a hand-written entity has to say.
    Other(String),
}

impl fmt::Display for DecodeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("missing (make the field an Option or give it a default)"),
            Self::Null => f.write_str("null (make the field an Option or give it a default)"),
            Self::Convert(error) => error.fmt(f),
            Self::Malformed { expected, detail } => write!(f, "not a valid {expected}: {detail}"),
            Self::UnknownType => f.write_str("annotated with an unknown Edm type"),
            Self::NoUnicode => f.write_str("the text has a lone surrogate, which is no Unicode"),
            Self::NoScalar => f.write_str("an object or an array instead of a value"),
            Self::Untyped => f.write_str("the reply has no types; ask for minimal metadata"),
            Self::Key(text) | Self::Other(text) => f.write_str(text),
        }
    }
}
