//! A stored row.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::version::Version;
use crate::edm::EdmCow;
#[cfg(feature = "disk")]
use crate::edm::EdmDateTime;
use crate::row::{Properties, StoredProperties, push_property};

/// The RowKey and the properties of a row. A clone shares the text.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct RowText {
    key_len: u32,
    /// The RowKey, followed by the properties in their stored form: one allocation for each row.
    text: Arc<str>,
}

/// Builds the text of a row property by property.
pub(crate) struct RowWriter {
    key_len: usize,
    text: Vec<u8>,
}

/// A row without its PartitionKey. A clone shares the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredEntity {
    pub(crate) version: Version,
    text: RowText,
}

impl RowText {
    pub(crate) fn new(row_key: &str, properties: &Properties<'_>) -> Self {
        let mut writer = RowWriter::new(row_key, row_key.len() + 48 * properties.len());
        for (name, value) in properties {
            writer.push(name, value);
        }
        writer.finish()
    }

    /// The text of a row that begins with a RowKey of this length.
    fn of(key_len: usize, text: &str) -> Self {
        // Keys have at most 1,024 UTF-16 units.
        Self { key_len: u32::try_from(key_len).unwrap_or_default(), text: text.into() }
    }

    #[cfg(test)]
    pub(crate) fn written_at(self, time: EdmDateTime) -> StoredEntity {
        self.at(Version::at(time))
    }

    pub(crate) fn at(self, version: Version) -> StoredEntity {
        StoredEntity { version, text: self }
    }
}

impl RowWriter {
    pub(crate) fn new(row_key: &str, capacity: usize) -> Self {
        let mut text = Vec::with_capacity(capacity);
        text.extend_from_slice(row_key.as_bytes());
        Self { key_len: row_key.len(), text }
    }

    pub(crate) fn push(&mut self, name: &str, value: &EdmCow<'_>) {
        push_property(&mut self.text, name, value);
    }

    /// Writes a property that was sent without a type. `json` is its `"name":value` as sent, without escapes in the name and
    /// without white space. It is copied if the stored form is the same.
    pub(crate) fn push_sent(&mut self, name: &str, value: &EdmCow<'_>, json: &str) {
        let is_stored_as_sent = match value {
            // A borrowed text has no escapes.
            EdmCow::String(text) => matches!(text, Cow::Borrowed(_)),
            EdmCow::Boolean(_) | EdmCow::Int32(_) => true,
            _ => false,
        };
        if is_stored_as_sent && json.is_ascii() {
            self.text.extend_from_slice(json.as_bytes());
            self.text.push(b',');
        } else {
            self.push(name, value);
        }
    }

    pub(crate) fn finish(self) -> RowText {
        // The key is a text, and stored properties are ASCII.
        RowText::of(self.key_len, &String::from_utf8(self.text).unwrap_or_default())
    }
}

impl StoredEntity {
    /// A row that was read from disk.
    #[cfg(feature = "disk")]
    pub(super) fn from_parts(time: EdmDateTime, row_key: &str, properties: &str) -> Self {
        RowText::of(row_key.len(), &format!("{row_key}{properties}")).at(Version::at(time))
    }

    pub(crate) fn row_key(&self) -> &str {
        self.split().0
    }

    pub(crate) fn properties(&self) -> StoredProperties<'_> {
        StoredProperties::from_text(self.split().1)
    }

    fn split(&self) -> (&str, &str) {
        self.text.text.split_at(self.text.key_len as usize)
    }
}

impl fmt::Debug for RowText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}
