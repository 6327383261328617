//! A row of a reply, from which entities are built.

use std::borrow::Cow;

use super::decode_error::{DecodeError, DecodeReason};
use super::raw::{Annotation, RawProperty, RawValue};
use super::reading::{Policy, Reading};
use super::{Columns, EntityKey, KeyLayout, KeyPart, TableEntity};
use crate::edm::{ConvertError, EdmCow, EdmDateTime, EdmType, EdmValue, FromEdm};
use crate::etag::ETag;
use crate::limits::SYSTEM_PROPERTIES;

/// Slots before those of the columns: PartitionKey, RowKey and Timestamp.
pub(crate) const SYSTEM_SLOTS: usize = SYSTEM_PROPERTIES.len();
const PARTITION_KEY: usize = 0;
const ROW_KEY: usize = 1;
const TIMESTAMP: usize = 2;
/// More properties without a column than any service stores; keeps the search among them short on
/// hostile input.
pub(crate) const MAX_OTHERS: usize = 1024;

/// One entity of a reply, still in the form of the wire.
///
/// A page is read through a single `Row` that is filled anew for each entity: values are borrowed
/// from the reply's bytes, and nothing but the entity itself is allocated.
#[derive(Debug)]
pub struct Row<'de> {
    columns: Columns,
    keeps_others: bool,
    form: Form,
    pub(crate) etag: Option<RawText<'de>>,
    slots: Vec<RawProperty<'de>>,
    others: Vec<(Cow<'de, str>, RawProperty<'de>)>,
    /// What fields could not read and left at their defaults.
    problems: Vec<DecodeError>,
    /// Whether a property was there twice: the last one counts, but the service refuses that.
    #[cfg(feature = "mock")]
    pub(crate) repeated: bool,
}

/// How the properties of a row are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    /// Types are annotated (minimal and full metadata).
    pub(crate) typed: bool,
    /// The request named the properties: the service writes those that a row does not have as null.
    pub(crate) selected: bool,
}

impl Form {
    /// All properties with their types.
    pub(crate) const WHOLE: Self = Self { typed: true, selected: false };
}

/// Text that few ask for.
#[derive(Debug)]
pub(crate) enum RawText<'de> {
    /// With its quotes and escapes.
    Json(&'de str),
    Plain(Cow<'de, str>),
}

impl<'de> Row<'de> {
    /// A row from which entities of type `T` are built.
    pub(crate) fn of<T: TableEntity>(form: Form) -> Self {
        Self::with(Columns::of::<T>(), T::KEEPS_OTHERS, form)
    }

    /// A row with these columns and nothing else.
    #[cfg(feature = "mock")]
    pub(crate) fn of_columns(columns: &'static [&'static str]) -> Self {
        Self::with(Columns::new(columns), false, Form::WHOLE)
    }

    pub(crate) fn with(columns: Columns, keeps_others: bool, form: Form) -> Self {
        let mut slots = Vec::new();
        slots.resize_with(SYSTEM_SLOTS + columns.len_with_aliases(), RawProperty::default);
        Self {
            columns,
            keeps_others,
            form,
            etag: None,
            slots,
            others: Vec::new(),
            problems: Vec::new(),
            #[cfg(feature = "mock")]
            repeated: false,
        }
    }

    /// Empties the row for the next entity.
    pub(crate) fn clear(&mut self) {
        self.etag = None;
        self.slots.fill_with(RawProperty::default);
        self.others.clear();
        self.problems.clear();
        #[cfg(feature = "mock")]
        {
            self.repeated = false;
        }
    }

    /// The name of a slot.
    pub(crate) fn name(&self, slot: usize) -> &str {
        match SYSTEM_PROPERTIES.get(slot) {
            Some(name) => name,
            None => self.columns.name(slot - SYSTEM_SLOTS),
        }
    }

    /// The slot of a key.
    pub(crate) fn key_slot(key: &str) -> usize {
        if key == SYSTEM_PROPERTIES[PARTITION_KEY] { PARTITION_KEY } else { ROW_KEY }
    }

    /// The slot of a property, if it is read.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.columns
            .find(name)
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

    /// The value of the column at `index`.
    ///
    /// # Errors
    /// The property is missing or null and `T` has no value for that, or its type or its value is
    /// not what `T` reads.
    #[inline]
    pub fn property<T: FromEdm>(&mut self, index: usize) -> Result<T, DecodeError> {
        match self.optional(index)? {
            Some(value) => Ok(value),
            None => T::from_missing().ok_or_else(|| {
                self.column_error(index, self.absence(index)).expecting(T::EDM_TYPE)
            }),
        }
    }

    /// The value of the column at `index`, or `None` if it is missing or null.
    ///
    /// # Errors
    /// The property's type or its value is not what `T` reads.
    #[inline]
    pub fn optional<T: FromEdm>(&mut self, index: usize) -> Result<Option<T>, DecodeError> {
        let plain = self.slots.get(SYSTEM_SLOTS + index).and_then(RawProperty::plain);
        match plain.and_then(|value| T::from_edm(value).ok()) {
            Some(value) => Ok(Some(value)),
            None => self.optional_of_any(index),
        }
    }

    /// As [`optional`](Self::optional), for every value that there can be.
    #[inline(never)]
    fn optional_of_any<T: FromEdm>(&mut self, index: usize) -> Result<Option<T>, DecodeError> {
        let Some(slot) = self.slot_of(index) else { return Ok(None) };
        self.value(slot, T::EDM_TYPE)
            .and_then(|value| T::from_edm(value).map_err(DecodeReason::Convert))
            .map(Some)
            .map_err(|reason| self.error(slot, reason).expecting(T::EDM_TYPE))
    }

    /// The value of the column at `index`, read as a stored `R` and decoded, by the policies of
    /// `reading`. Where these take the default, `default` has to have one.
    pub(crate) fn read<R: FromEdm, T>(
        &mut self,
        index: usize,
        reading: Reading,
        decode: impl FnOnce(R) -> Result<T, ConvertError>,
        default: impl FnOnce() -> Option<T>,
    ) -> Result<T, DecodeError> {
        let (policy, error) = match self.slot_of(index) {
            None => {
                let reason = self.absence(index);
                let policy = match reason {
                    DecodeReason::Null => reading.null,
                    _ => reading.missing,
                };
                if policy == Policy::OfType
                    && let Some(value) = R::from_missing()
                    && let Ok(value) = decode(value)
                {
                    return Ok(value);
                }
                (policy, self.column_error(index, reason).expecting(R::EDM_TYPE))
            }
            Some(slot) => {
                let read = self.value(slot, R::EDM_TYPE).and_then(|value| {
                    R::from_edm(reading.accept.convert(value, R::EDM_TYPE))
                        .and_then(decode)
                        .map_err(DecodeReason::Convert)
                });
                match read {
                    Ok(value) => return Ok(value),
                    Err(reason) => {
                        (reading.mistyped, self.error(slot, reason).expecting(R::EDM_TYPE))
                    }
                }
            }
        };
        let default = match policy {
            Policy::OfType | Policy::Error => None,
            Policy::UseDefault | Policy::Collect => default(),
        };
        let Some(value) = default else { return Err(error) };
        if policy == Policy::Collect {
            self.problems.push(error);
        }
        Ok(value)
    }

    /// Whether the column at `index` is there and not null.
    pub fn has(&self, index: usize) -> bool {
        self.slot_of(index).is_some()
    }

    /// The slot in which the value of a column is: that of its name, else that of an alias.
    fn slot_of(&self, index: usize) -> Option<usize> {
        let own = SYSTEM_SLOTS + index;
        if self.has_value(own) { Some(own) } else { self.alias_of(index) }
    }

    #[cold]
    fn alias_of(&self, index: usize) -> Option<usize> {
        let mut aliases = self.columns.aliases_of(index).map(|at| SYSTEM_SLOTS + at);
        aliases.find(|slot| self.has_value(*slot))
    }

    fn has_value(&self, slot: usize) -> bool {
        let value = self.slots.get(slot).map(|slot| &slot.value);
        !matches!(value, None | Some(RawValue::Missing | RawValue::Null))
    }

    fn value(&mut self, slot: usize, wanted: EdmType) -> Result<EdmCow<'de>, DecodeReason> {
        let raw = std::mem::take(&mut self.slots[slot].value);
        self.slots[slot].annotation.resolve(raw, self.form.typed, Some(wanted))
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
        let text = self.key_text(slot)?;
        K::from_key(text).map_err(|error| self.error(slot, DecodeReason::Key(error.0)))
    }

    /// The text of a key. It stays in the row, so that later errors can name the entity.
    fn key_text(&self, slot: usize) -> Result<Cow<'de, str>, DecodeError> {
        let reason = match &self.slots[slot].value {
            RawValue::Text(text) => return Ok(text.clone()),
            RawValue::Missing => DecodeReason::Missing,
            RawValue::Null => DecodeReason::Null,
            RawValue::NoUnicode { offset } => DecodeReason::NoUnicode { offset: *offset },
            _ => DecodeReason::Key("a key must be text".to_owned()),
        };
        Err(self.error(slot, reason))
    }

    /// The texts of the parts of the PartitionKey.
    pub(crate) fn partition_key_parts<const N: usize>(
        &self,
        layout: KeyLayout,
    ) -> Result<[String; N], DecodeError> {
        self.key_parts(PARTITION_KEY, layout)
    }

    /// The texts of the parts of the RowKey.
    pub(crate) fn row_key_parts<const N: usize>(
        &self,
        layout: KeyLayout,
    ) -> Result<[String; N], DecodeError> {
        self.key_parts(ROW_KEY, layout)
    }

    /// The texts of the parts of the key in this slot.
    pub(crate) fn key_parts<const N: usize>(
        &self,
        slot: usize,
        layout: KeyLayout,
    ) -> Result<[String; N], DecodeError> {
        let text = self.key_text(slot)?;
        match layout.read(&text) {
            Ok(parts) => Ok(parts.map(Cow::into_owned)),
            Err(error) => Err(self.error(slot, DecodeReason::Key(error.0))),
        }
    }

    /// A part of the PartitionKey from its text.
    pub(crate) fn partition_key_part<K: KeyPart>(&self, text: &str) -> Result<K, DecodeError> {
        self.key_part(PARTITION_KEY, text)
    }

    /// A part of the RowKey from its text.
    pub(crate) fn row_key_part<K: KeyPart>(&self, text: &str) -> Result<K, DecodeError> {
        self.key_part(ROW_KEY, text)
    }

    /// A part of the key in this slot from its text.
    pub(crate) fn key_part<K: KeyPart>(&self, slot: usize, text: &str) -> Result<K, DecodeError> {
        K::from_key(Cow::Borrowed(text))
            .map_err(|error| self.error(slot, DecodeReason::Key(error.0)))
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
        match self.etag.as_ref()? {
            RawText::Json(json) => {
                serde_json::from_str::<String>(json).ok().map(|tag| ETag::from(&*tag))
            }
            RawText::Plain(text) => Some(ETag::from(&**text)),
        }
    }

    /// The properties that have no column, in the order of the reply; nulls are left out.
    ///
    /// Empty unless the entity sets [`KEEPS_OTHERS`](super::TableEntity::KEEPS_OTHERS).
    ///
    /// # Errors
    /// A value is not of its annotated type, or the reply has no types (no metadata).
    pub fn take_others(&mut self) -> Result<Vec<(String, EdmValue)>, DecodeError> {
        let (values, errors) = self.take_readable_others();
        errors.into_iter().next().map_or(Ok(values), Err)
    }

    /// The same properties, and the errors of those that cannot be read.
    pub(super) fn take_readable_others(&mut self) -> (Vec<(String, EdmValue)>, Vec<DecodeError>) {
        let others = std::mem::take(&mut self.others);
        let mut values = Vec::with_capacity(others.len());
        let mut errors = Vec::new();
        for (name, property) in others {
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
                Err(reason) => errors.push(self.error_about(&name, reason)),
            }
        }
        (values, errors)
    }

    /// Makes the first property that has no column an error.
    ///
    /// # Errors
    /// There is one that is not null.
    pub(crate) fn refuse_others(&self) -> Result<(), DecodeError> {
        let mut others = self.others.iter();
        match others
            .find(|(_, property)| !matches!(property.value, RawValue::Missing | RawValue::Null))
        {
            Some((name, _)) => Err(self.error_about(name, DecodeReason::Unknown)),
            None => Ok(()),
        }
    }

    /// What the fields have left at their defaults by [`Policy::Collect`].
    pub(crate) fn take_problems(&mut self) -> Vec<DecodeError> {
        std::mem::take(&mut self.problems)
    }

    /// Both keys, where they are text.
    pub(crate) fn key_texts(&self) -> Option<(&str, &str)> {
        match (&self.slots[PARTITION_KEY].value, &self.slots[ROW_KEY].value) {
            (RawValue::Text(p), RawValue::Text(r)) => Some((p, r)),
            _ => None,
        }
    }

    /// The text of a property that has no column; `None` if it is missing or null.
    pub(crate) fn other_text(&self, name: &str) -> Result<Option<&str>, DecodeError> {
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

    /// The error of an entity of no known kind; `property` is what tells them apart.
    pub(crate) fn unknown_kind(&self, property: &str, known: &str) -> DecodeError {
        let reason = match self.other_text(property) {
            Err(error) => return error,
            Ok(Some(kind)) => DecodeReason::Other(format!("{kind:?} is none of {known}")),
            Ok(None) if SYSTEM_PROPERTIES.contains(&property) => {
                DecodeReason::Key(format!("the key is of none of the forms of {known}"))
            }
            Ok(None) => DecodeReason::Missing,
        };
        self.error_about(property, reason)
    }

    /// Builds the entity of another type from this row, which must keep the others and have no
    /// columns; `without` is not handed on.
    pub(crate) fn read_as<V: TableEntity>(
        &mut self,
        without: Option<&str>,
    ) -> Result<V, DecodeError> {
        let mut row = Row::of::<V>(self.form);
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
                None if V::KEEPS_OTHERS => row.others.push((name, property)),
                None => {}
            }
        }
        let entity = V::from_row(&mut row);
        self.slots.resize_with(SYSTEM_SLOTS, RawProperty::default);
        entity
    }

    /// Fills the row of an entity that is at hand with its properties.
    pub(crate) fn fill(
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
    #[cfg(feature = "mock")]
    pub(crate) fn take_raw_others(&mut self) -> Vec<(Cow<'de, str>, RawProperty<'de>)> {
        std::mem::take(&mut self.others)
    }

    fn absence(&self, index: usize) -> DecodeReason {
        match self.slots.get(SYSTEM_SLOTS + index).map(|slot| &slot.value) {
            Some(RawValue::Null) if !self.form.selected => DecodeReason::Null,
            _ => DecodeReason::Missing,
        }
    }

    /// An error about the column at `index`.
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

    /// Both keys, where they are text.
    pub(crate) fn entity_key(&self) -> Option<EntityKey> {
        self.key_texts().map(|(partition_key, row_key)| EntityKey::new(partition_key, row_key))
    }
}
