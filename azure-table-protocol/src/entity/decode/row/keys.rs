//! The keys of a row.

use std::borrow::Cow;

use super::{PARTITION_KEY, ROW_KEY, Row};
use crate::entity::decode::raw::RawValue;
use crate::entity::decode::{DecodeError, DecodeReason};
use crate::key::{EntityKey, KeyError, KeyLayout, KeyPart};
use crate::limits::SYSTEM_PROPERTIES;

impl<'de> Row<'de> {
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
}

#[doc(hidden)]
impl Row<'_> {
    /// The slot of a key.
    pub fn key_slot(key: &str) -> usize {
        if key == SYSTEM_PROPERTIES[PARTITION_KEY] { PARTITION_KEY } else { ROW_KEY }
    }

    /// Compares the texts of a field that is in both keys. `None` is the text of a whole key.
    pub fn check_both_keys(
        &self,
        field: &str,
        in_partition_key: Option<&str>,
        in_row_key: Option<&str>,
    ) -> Result<(), DecodeError> {
        let text = |part: Option<&str>, slot| match part {
            Some(text) => Ok(Cow::Owned(text.to_owned())),
            None => self.key_text(slot),
        };
        let in_partition_key = text(in_partition_key, PARTITION_KEY)?;
        let in_row_key = text(in_row_key, ROW_KEY)?;
        KeyError::unless_equal(field, &in_partition_key, &in_row_key)
            .map_err(|error| self.error(ROW_KEY, DecodeReason::Key(error.0)))
    }

    /// The texts of the parts of the PartitionKey.
    pub fn partition_key_parts<const N: usize>(
        &self,
        layout: KeyLayout,
    ) -> Result<[String; N], DecodeError> {
        self.key_parts(PARTITION_KEY, layout)
    }

    /// The texts of the parts of the RowKey.
    pub fn row_key_parts<const N: usize>(
        &self,
        layout: KeyLayout,
    ) -> Result<[String; N], DecodeError> {
        self.key_parts(ROW_KEY, layout)
    }

    /// The texts of the parts of the key in this slot.
    pub fn key_parts<const N: usize>(
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
    pub fn partition_key_part<K: KeyPart>(&self, text: &str) -> Result<K, DecodeError> {
        self.key_part(PARTITION_KEY, text)
    }

    /// A part of the RowKey from its text.
    pub fn row_key_part<K: KeyPart>(&self, text: &str) -> Result<K, DecodeError> {
        self.key_part(ROW_KEY, text)
    }

    /// A part of the key in this slot from its text.
    pub fn key_part<K: KeyPart>(&self, slot: usize, text: &str) -> Result<K, DecodeError> {
        K::from_key(Cow::Borrowed(text))
            .map_err(|error| self.error(slot, DecodeReason::Key(error.0)))
    }

    /// The PartitionKey and the RowKey, each if the row has it as text.
    pub fn known_keys(&self) -> [Option<&str>; 2] {
        [PARTITION_KEY, ROW_KEY].map(|slot| match &self.slots[slot].value {
            RawValue::Text(text) => Some(&**text),
            _ => None,
        })
    }

    /// Both keys, where they are text.
    pub fn key_texts(&self) -> Option<(&str, &str)> {
        let [partition_key, row_key] = self.known_keys();
        partition_key.zip(row_key)
    }

    /// Both keys, where they are text.
    pub fn entity_key(&self) -> Option<EntityKey> {
        self.key_texts().map(|(partition_key, row_key)| EntityKey::new(partition_key, row_key))
    }
}
