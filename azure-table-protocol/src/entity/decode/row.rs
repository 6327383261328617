//! A row of a reply, from which entities are built.

mod keys;
mod others;

use std::borrow::Cow;

use super::Columns;
use super::error::{DecodeError, DecodeReason};
use super::raw::{Annotation, RawProperty, RawValue};
use super::reading::{Policy, Reading};
use crate::edm::{ConvertError, EdmCow, EdmDateTime, EdmType, FromEdm};
use crate::etag::ETag;
use crate::limits::SYSTEM_PROPERTIES;

/// Slots before those of the columns: PartitionKey, RowKey and Timestamp.
pub(super) const SYSTEM_SLOTS: usize = SYSTEM_PROPERTIES.len();
const PARTITION_KEY: usize = 0;
const ROW_KEY: usize = 1;
const TIMESTAMP: usize = 2;
/// More properties without a column than any service stores; keeps the search among them short on
/// hostile input.
pub const MAX_OTHERS: usize = 1024;

/// One entity of a response, before decoding.
///
/// One `Row` is reused for all entities of a page. It borrows its values from the bytes of the response, so only the
/// entity itself is allocated.
#[derive(Debug)]
pub struct Row<'de> {
    columns: Columns,
    keeps_others: bool,
    #[doc(hidden)]
    pub form: Form,
    #[doc(hidden)]
    pub etag: Option<RawText<'de>>,
    slots: Vec<RawProperty<'de>>,
    others: Vec<(Cow<'de, str>, RawProperty<'de>)>,
    /// The errors of fields that were left at their defaults.
    problems: Vec<DecodeError>,
    /// Whether a property or another member occurred twice.
    #[doc(hidden)]
    pub repeated: bool,
}

/// The form of the properties of a row.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// Types are annotated (minimal and full metadata).
    pub typed: bool,
    /// The request named the properties: the service writes those that a row does not have as null.
    pub selected: bool,
}

impl Form {
    /// All properties with their types.
    pub const WHOLE: Self = Self { typed: true, selected: false };
}

/// Text that is decoded on demand.
#[derive(Debug)]
pub enum RawText<'de> {
    /// With its quotes and escapes.
    Json(&'de str),
    /// Without escapes.
    Plain(Cow<'de, str>),
}

impl RawText<'_> {
    /// The text, or `None` if the JSON is not text.
    fn decode(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Plain(text) => Some(Cow::Borrowed(text)),
            Self::Json(json) => with_escaped_quotes(json)
                .or_else(|| serde_json::from_str(json).ok())
                .map(Cow::Owned),
        }
    }
}

/// Decodes JSON text whose only escapes are those of quotes, as ETags are.
fn with_escaped_quotes(json: &str) -> Option<String> {
    let mut parts = json.strip_prefix('"')?.strip_suffix('"')?.split('\\');
    let mut text = String::with_capacity(json.len());
    text.push_str(parts.next()?);
    for part in parts {
        text.push_str(part.starts_with('"').then_some(part)?);
    }
    Some(text)
}

impl<'de> Row<'de> {
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

    /// Does the same as [`optional`](Self::optional), for all values.
    #[inline(never)]
    fn optional_of_any<T: FromEdm>(&mut self, index: usize) -> Result<Option<T>, DecodeError> {
        let Some(slot) = self.slot_of(index) else { return Ok(None) };
        self.value(slot, T::EDM_TYPE)
            .and_then(|value| T::from_edm(value).map_err(DecodeReason::Convert))
            .map(Some)
            .map_err(|reason| self.error(slot, reason).expecting(T::EDM_TYPE))
    }

    /// Whether the row has a value in the column at `index`.
    pub fn has(&self, index: usize) -> bool {
        self.slot_of(index).is_some()
    }

    /// The slot with the value of a column: the slot of its name, or of an alias.
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

    /// The Timestamp, or `None` if the reply has none.
    ///
    /// # Errors
    /// The Timestamp is not a date-time.
    pub fn timestamp(&mut self) -> Result<Option<EdmDateTime>, DecodeError> {
        match std::mem::take(&mut self.slots[TIMESTAMP].value) {
            RawValue::Missing | RawValue::Null => Ok(None),
            // The service annotates the Timestamp only with full metadata.
            raw => Annotation::Edm(EdmType::DateTime)
                .resolve(raw, true, None)
                .and_then(|value| EdmDateTime::from_edm(value).map_err(DecodeReason::Convert))
                .map(Some)
                .map_err(|reason| self.error(TIMESTAMP, reason)),
        }
    }

    /// The entity's version, or `None` if the reply has none (no metadata).
    pub fn etag(&self) -> Option<ETag> {
        self.etag.as_ref()?.decode().map(|tag| ETag::from(&*tag))
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

    fn error(&self, slot: usize, reason: DecodeReason) -> DecodeError {
        self.error_about(self.name(slot), reason)
    }

    fn error_about(&self, name: &str, reason: DecodeReason) -> DecodeError {
        DecodeError::new(self.entity_key(), name, reason)
    }
}

#[doc(hidden)]
impl<'de> Row<'de> {
    pub fn with(columns: Columns, keeps_others: bool, form: Form) -> Self {
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
            repeated: false,
        }
    }

    /// Empties the row for the next entity.
    pub fn clear(&mut self) {
        self.etag = None;
        self.slots.fill_with(RawProperty::default);
        self.others.clear();
        self.problems.clear();
        self.repeated = false;
    }

    /// The name of a slot.
    pub fn name(&self, slot: usize) -> &str {
        match SYSTEM_PROPERTIES.get(slot) {
            Some(name) => name,
            None => self.columns.name(slot - SYSTEM_SLOTS),
        }
    }

    /// The slot of a property, if it is read.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.columns
            .find(name)
            .map(|column| column + SYSTEM_SLOTS)
            .or_else(|| SYSTEM_PROPERTIES.iter().position(|system| *system == name))
    }

    pub fn slot(&mut self, slot: usize) -> &mut RawProperty<'de> {
        &mut self.slots[slot]
    }

    /// Whether there is a slot with this number that has no value, not even null.
    pub fn is_empty(&self, slot: usize) -> bool {
        self.slots.get(slot).is_some_and(|slot| matches!(slot.value, RawValue::Missing))
    }

    /// The value of the column at `index`, read as a stored `R` and decoded, by the policies of
    /// `reading`. If these use the default, `default` must have one.
    pub fn read<R: FromEdm, T>(
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

    /// Returns the errors of fields with [`Policy::Collect`].
    pub fn take_problems(&mut self) -> Vec<DecodeError> {
        std::mem::take(&mut self.problems)
    }

    /// An error about one of the service's own values that the reply does not have.
    pub fn missing(&self, name: &str) -> DecodeError {
        self.error_about(name, DecodeReason::Missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_etag_of_json_is_read_as_serde_json_reads_it() {
        for json in [
            r#""""#,
            r#""1""#,
            r#""W/\"datetime'2017-11-10T02%3A43%3A55.7662669Z'\"""#,
            r#""\"\"""#,
            r#""\\""#,
            r#""\\\"""#,
            r#""\"\\""#,
            r#""\n""#,
            r#""\u00e9\"""#,
            r#""\ud800""#,
            "null",
            "5",
            "{}",
        ] {
            let read = RawText::Json(json).decode().map(Cow::into_owned);
            assert_eq!(read, serde_json::from_str(json).ok(), "{json}");
        }
    }
}
