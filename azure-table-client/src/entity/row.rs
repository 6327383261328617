//! A row of a reply, from which entities are built.

use std::borrow::Cow;

use super::decode_error::{DecodeError, DecodeReason};
use super::raw::{Annotation, RawProperty, RawValue};
use super::{EntityKey, KeyPart};
use crate::edm::{EdmDateTime, EdmType, EdmValue, FromEdm};
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
        DecodeError::new(self.entity_key(), name, reason)
    }

    fn entity_key(&self) -> Option<EntityKey> {
        match (&self.slots[PARTITION_KEY].value, &self.slots[ROW_KEY].value) {
            (RawValue::Text(p), RawValue::Text(r)) => Some(EntityKey::new(&**p, &**r)),
            _ => None,
        }
    }
}
