//! The properties of a row that have no column.

use std::borrow::Cow;
use std::collections::HashMap;

use super::{PARTITION_KEY, ROW_KEY, RawText, Row, SYSTEM_SLOTS, TIMESTAMP};
use crate::edm::{ConvertError, EdmDateTime, EdmType, EdmValue};
use crate::entity::decode::raw::{Annotation, RawProperty, RawValue};
use crate::entity::decode::{DecodeError, DecodeReason};
use crate::etag::ETag;
use crate::key::EntityKey;
use crate::limits::SYSTEM_PROPERTIES;

/// The first capacity of the list.
const USUAL_OTHERS: usize = 16;

impl Row<'_> {
    /// The properties that have no column, in the order of the reply; nulls are left out.
    ///
    /// Empty unless the entity sets [`KEEPS_OTHERS`](crate::entity::TableEntity::KEEPS_OTHERS).
    ///
    /// # Errors
    /// A value is not of its annotated type, or the reply has no types (no metadata).
    pub fn take_others(&mut self) -> Result<Vec<(String, EdmValue)>, DecodeError> {
        let (values, errors) = self.take_readable_others();
        errors.into_iter().next().map_or(Ok(values), Err)
    }
}

#[doc(hidden)]
impl<'de> Row<'de> {
    pub const fn keeps_others(&self) -> bool {
        self.keeps_others
    }

    /// The place for a property that has no slot.
    pub fn other(&mut self, name: Cow<'de, str>) -> &mut RawProperty<'de> {
        let at = self.others.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            self.others.push((name, RawProperty::default()));
            self.others.len() - 1
        });
        &mut self.others[at].1
    }

    /// The place for a member about a property that has no slot: its value or its type, which are neighbours as a rule.
    /// [`join_others`](Self::join_others) must follow the last one.
    pub fn next_other(&mut self, name: Cow<'de, str>) -> &mut RawProperty<'de> {
        if self.others.last().is_none_or(|(last, _)| *last != name) {
            if self.others.capacity() == 0 {
                self.others.reserve(USUAL_OTHERS);
            }
            self.others.push((name, RawProperty::default()));
        }
        let last = self.others.len() - 1;
        &mut self.others[last].1
    }

    /// Joins values and types that are not neighbours. A search at each member would be quadratic on hostile input.
    pub fn join_others(&mut self) {
        let is_type = |property: &RawProperty<'_>| matches!(property.value, RawValue::Missing);
        if !self.others.iter().any(|(_, property)| is_type(property)) {
            return;
        }
        let mut places = HashMap::with_capacity(self.others.len());
        for (name, property) in std::mem::take(&mut self.others) {
            let place = *places.entry(name.clone()).or_insert(self.others.len());
            match self.others.get_mut(place) {
                Some((_, known)) if is_type(&property) => known.annotation = property.annotation,
                Some((_, known)) => known.value = property.value,
                None => self.others.push((name, property)),
            }
        }
    }

    pub fn other_count(&self) -> usize {
        self.others.len()
    }

    /// The same properties, and the errors of those that cannot be read.
    pub fn take_readable_others(&mut self) -> (Vec<(String, EdmValue)>, Vec<DecodeError>) {
        let mut values = Vec::with_capacity(self.others.len());
        let mut errors = Vec::new();
        for (name, property) in self.others.drain(..) {
            if matches!(property.value, RawValue::Missing | RawValue::Null) {
                continue;
            }
            let resolved = if self.form.typed {
                property.annotation.resolve(property.value, true, None)
            } else {
                Err(DecodeReason::Untyped)
            };
            match resolved {
                Ok(value) => values.push((name.into_owned(), value.into_value())),
                Err(reason) => errors.push((name, reason)),
            }
        }
        let errors = errors.into_iter().map(|(name, reason)| self.error_about(&name, reason));
        (values, errors.collect())
    }

    /// Makes the first property that has no column an error.
    ///
    /// # Errors
    /// There is one that is not null.
    pub fn refuse_others(&self) -> Result<(), DecodeError> {
        let mut others = self.others.iter();
        match others
            .find(|(_, property)| !matches!(property.value, RawValue::Missing | RawValue::Null))
        {
            Some((name, _)) => Err(self.error_about(name, DecodeReason::Unknown)),
            None => Ok(()),
        }
    }

    /// The text of a property that has no column; `None` if it is missing or null.
    pub fn other_text(&self, name: &str) -> Result<Option<&str>, DecodeError> {
        let Some((_, property)) = self.others.iter().find(|(known, _)| known == name) else {
            return Ok(None);
        };
        let found = match (&property.value, property.annotation) {
            (RawValue::Missing | RawValue::Null, _) => return Ok(None),
            (RawValue::Text(text), Annotation::None | Annotation::Edm(EdmType::String)) => {
                return Ok(Some(text));
            }
            (RawValue::NoUnicode { offset }, _) => {
                return Err(self.error_about(name, DecodeReason::NoUnicode { offset: *offset }));
            }
            (_, Annotation::Edm(found)) => found,
            (RawValue::Boolean(_), _) => EdmType::Boolean,
            (RawValue::Integer(_), _) => EdmType::Int32,
            (RawValue::Float(_), _) => EdmType::Double,
            _ => return Err(self.error_about(name, DecodeReason::NoScalar)),
        };
        let reason = ConvertError::WrongType { expected: EdmType::String, found };
        Err(self.error_about(name, DecodeReason::Convert(reason)))
    }

    /// The error of an entity of an unknown kind; `property` is the discriminator.
    pub fn unknown_kind(&self, property: &str, known: &str) -> DecodeError {
        let reason = match self.other_text(property) {
            Err(error) => return error,
            Ok(Some(kind)) => DecodeReason::Other(format!("{kind:?} is not one of {known}")),
            Ok(None) if SYSTEM_PROPERTIES.contains(&property) => {
                DecodeReason::Key(format!("the key is of none of the forms of {known}"))
            }
            Ok(None) => DecodeReason::Missing,
        };
        self.error_about(property, reason)
    }

    /// Moves the properties except `without` to a row with other columns. This row must have been
    /// read without columns, so that it keeps every property.
    pub fn move_to(&mut self, row: &mut Self, without: Option<&str>) {
        row.etag = self.etag.take();
        for (to, from) in row.slots.iter_mut().zip(self.slots.drain(..)) {
            *to = from;
        }
        for (name, property) in self.others.drain(..) {
            if without == Some(&*name) {
                continue;
            }
            match row.columns.find(&name) {
                Some(column) => row.slots[SYSTEM_SLOTS + column] = property,
                None if row.keeps_others => row.others.push((name, property)),
                None => {}
            }
        }
        self.slots.resize_with(SYSTEM_SLOTS, RawProperty::default);
    }

    /// Fills the row of an entity that is at hand with its properties.
    pub fn fill(
        &mut self,
        key: &'de EntityKey,
        etag: Option<&'de ETag>,
        timestamp: Option<EdmDateTime>,
        properties: impl Iterator<Item = (&'de str, &'de EdmValue)>,
    ) {
        self.clear();
        self.etag = etag.map(|etag| RawText::Plain(Cow::Borrowed(etag.as_str())));
        let text = |text: &'de str| RawProperty {
            annotation: Annotation::None,
            value: RawValue::Text(Cow::Borrowed(text)),
        };
        self.slots[PARTITION_KEY] = text(&key.partition_key);
        self.slots[ROW_KEY] = text(&key.row_key);
        if let Some(timestamp) = timestamp {
            let value = RawValue::Text(Cow::Owned(timestamp.to_string()));
            self.slots[TIMESTAMP] = RawProperty { annotation: Annotation::None, value };
        }
        for (name, value) in properties {
            let property = RawProperty::of(value);
            match self.columns.find(name) {
                Some(column) => self.slots[SYSTEM_SLOTS + column] = property,
                None if self.keeps_others => self.others.push((Cow::Borrowed(name), property)),
                None => {}
            }
        }
    }

    /// The properties that have no column, as they were read.
    pub fn take_raw_others(&mut self) -> Vec<(Cow<'de, str>, RawProperty<'de>)> {
        std::mem::take(&mut self.others)
    }
}
