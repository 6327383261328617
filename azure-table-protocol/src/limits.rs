//! The service's limits, checked before anything is sent.
//!
//! Source: [Understanding the Table service data model][model].
//!
//! [model]: https://learn.microsoft.com/rest/api/storageservices/understanding-the-table-service-data-model

mod error;

use crate::edm::EdmCow;

pub use error::LimitError;

/// The number of characters of a table name: 3 to 63.
pub const TABLE_NAME_CHARS: std::ops::RangeInclusive<usize> = 3..=63;
/// The limit on the UTF-16 code units of a PartitionKey or RowKey.
///
/// Source: [Scalability targets][targets], "a string up to 1,024 characters in size". The data model used to state
/// 1 KiB.
///
/// [targets]: https://learn.microsoft.com/azure/storage/tables/scalability-targets
pub const KEY_UTF16_UNITS: usize = 1024;
/// The limit on the characters of a property name.
pub const PROPERTY_NAME_CHARS: usize = 255;
/// The limit on the properties of an entity besides PartitionKey, RowKey and Timestamp.
pub const PROPERTIES: usize = 252;
/// The limit on the UTF-16 code units of a String property (64 KiB).
pub const STRING_UTF16_UNITS: usize = 32_768;
/// The limit on the bytes of a Binary property (64 KiB).
pub const BINARY_BYTES: usize = 65_536;
/// The limit on the bytes of an entity, with names and strings counted as UTF-16.
pub const ENTITY_BYTES: usize = 1024 * 1024;
/// The limit on the operations of an entity group transaction.
pub const TRANSACTION_OPERATIONS: usize = 100;
/// The limit on the bytes of the body of an entity group transaction.
pub const TRANSACTION_BYTES: usize = 4 * 1024 * 1024;
/// The documented limit of Azure Storage on the comparisons of a filter. It is unknown whether the service enforces it.
pub const COMPARISONS: usize = 15;
/// The limit on the entities of one page.
pub const PAGE_ENTITIES: u32 = 1000;

#[doc(hidden)]
pub const PARTITION_KEY: &str = "PartitionKey";
#[doc(hidden)]
pub const ROW_KEY: &str = "RowKey";
#[doc(hidden)]
pub const TIMESTAMP: &str = "Timestamp";
/// The properties that the service reserves.
#[doc(hidden)]
pub const SYSTEM_PROPERTIES: [&str; 3] = [PARTITION_KEY, ROW_KEY, TIMESTAMP];

/// Checks the name of a table before it is created or deleted.
///
/// Only the service creates and deletes its system tables ([About Storage Analytics metrics][metrics]). Its
/// response to a client that tries is not recorded, so the client refuses.
///
/// # Errors
/// The errors of [`check_table_name`], and the name belongs to a system table.
///
/// [metrics]: https://learn.microsoft.com/rest/api/storageservices/about-storage-analytics-metrics
pub fn check_own_table_name(name: &str) -> Result<(), LimitError> {
    check_table_name(name)?;
    if is_system_table(name) {
        return Err(LimitError::TableOfService { name: name.to_owned() });
    }
    Ok(())
}

fn is_system_table(table: &str) -> bool {
    table.starts_with("$Metrics")
}

/// Checks the name of a table.
///
/// # Errors
/// The name does not match `^[A-Za-z][A-Za-z0-9]{2,62}$`, or is `tables`. Names that start with
/// `$Metrics` are allowed, because they belong to system tables of the service.
pub fn check_table_name(name: &str) -> Result<(), LimitError> {
    let plain = if is_system_table(name) { &name[1..] } else { name };
    for (position, character) in plain.chars().enumerate() {
        let allowed = match character {
            '0'..='9' => position > 0,
            other => other.is_ascii_alphabetic(),
        };
        if !allowed {
            return Err(LimitError::TableNameCharacter {
                name: name.to_owned(),
                character,
                position,
            });
        }
    }
    if !TABLE_NAME_CHARS.contains(&plain.len()) {
        return Err(LimitError::TableNameLength { name: name.to_owned() });
    }
    if name.eq_ignore_ascii_case("tables") {
        return Err(LimitError::TableNameReserved);
    }
    Ok(())
}

/// Checks a PartitionKey or RowKey; `property` is its name, for the error.
///
/// # Errors
/// A character of `/ \ # ?`, U+0000 to U+001F or U+007F to U+009F, or more than
/// [`KEY_UTF16_UNITS`]. The empty key is allowed.
pub fn check_key(property: &'static str, key: &str) -> Result<(), LimitError> {
    // Most keys are ASCII without a forbidden character.
    if !key.bytes().all(|byte| PLAIN_IN_KEYS[usize::from(byte)])
        && let Some((position, character)) =
            key.chars().enumerate().find(|&(_, c)| is_forbidden_in_keys(c))
    {
        return Err(LimitError::KeyCharacter { property, character, position });
    }
    match longer_than(key, KEY_UTF16_UNITS) {
        Some(units) => Err(LimitError::KeyTooLong { property, units }),
        None => Ok(()),
    }
}

/// The ASCII characters that keys can have.
const PLAIN_IN_KEYS: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0;
    while byte < 128_u8 {
        plain[byte as usize] = !is_forbidden_in_keys(byte as char);
        byte += 1;
    }
    plain
};

pub(crate) const fn is_forbidden_in_keys(c: char) -> bool {
    matches!(c, '/' | '\\' | '#' | '?' | '\0'..='\x1f' | '\x7f'..='\u{9f}')
}

/// Checks the name of a property that the caller chooses.
///
/// The service requires an identifier of C#: letters of all scripts, `_`, and after the first character digits,
/// combining marks, connectors and format characters (Unicode categories Nd, Mn, Mc, Pc and Cf).
///
/// # Errors
/// The name is empty, longer than [`PROPERTY_NAME_CHARS`], not an identifier, or one of PartitionKey,
/// RowKey and Timestamp.
pub fn check_property_name(name: &str) -> Result<(), LimitError> {
    // Most names are ASCII.
    let is_plain = name.bytes().all(|byte| NAME_BYTES[usize::from(byte)]);
    let begins_plain = name.bytes().next().is_some_and(|first| !first.is_ascii_digit());
    if !begins_plain || name.len() > PROPERTY_NAME_CHARS || !is_plain {
        check_property_characters(name)?;
    }
    if SYSTEM_PROPERTIES.contains(&name) {
        return Err(LimitError::PropertyNameReserved { property: name.to_owned() });
    }
    Ok(())
}

/// Whether an ASCII name can have each byte.
const NAME_BYTES: [bool; 256] = {
    let mut known = [false; 256];
    let mut byte = 0;
    while byte < 128_u8 {
        known[byte as usize] = byte == b'_' || byte.is_ascii_alphanumeric();
        byte += 1;
    }
    known
};

fn check_property_characters(name: &str) -> Result<(), LimitError> {
    if name.is_empty() {
        return Err(LimitError::PropertyNameEmpty);
    }
    let mut characters = 0;
    for (position, character) in name.chars().enumerate() {
        let allowed =
            if position == 0 { begins_name(character) } else { continues_name(character) };
        if !allowed {
            return Err(LimitError::PropertyNameCharacter {
                property: name.to_owned(),
                character,
                position,
            });
        }
        characters = position + 1;
    }
    if characters > PROPERTY_NAME_CHARS {
        return Err(LimitError::PropertyNameTooLong { property: name.to_owned(), characters });
    }
    Ok(())
}

/// Whether a C# identifier, and with it a property name, can begin with this character.
pub(crate) fn begins_name(c: char) -> bool {
    c == '_' || unicode_ident::is_xid_start(c)
}

/// Whether a C# identifier, and with it a property name, can have this character after the first.
pub(crate) fn continues_name(c: char) -> bool {
    unicode_ident::is_xid_continue(c) || is_format(c)
}

/// Whether the character is of the Unicode category Cf (format), which no property of Rust's `char` covers.
const fn is_format(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}'
            | '\u{8e2}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
    )
}

/// Checks the size of a value.
///
/// # Errors
/// A String of more than [`STRING_UTF16_UNITS`] or a Binary of more than [`BINARY_BYTES`].
#[inline]
pub fn check_value(property: &str, value: &EdmCow<'_>) -> Result<(), LimitError> {
    let is_short = match value {
        EdmCow::String(text) => text.len() <= STRING_UTF16_UNITS,
        EdmCow::Binary(bytes) => bytes.len() <= BINARY_BYTES,
        _ => true,
    };
    if is_short { Ok(()) } else { check_long_value(property, value) }
}

/// Checks a value whose bytes are more than the limit.
#[cold]
fn check_long_value(property: &str, value: &EdmCow<'_>) -> Result<(), LimitError> {
    match value {
        EdmCow::String(text) => match longer_than(text, STRING_UTF16_UNITS) {
            Some(units) => Err(LimitError::StringTooLong { property: property.to_owned(), units }),
            None => Ok(()),
        },
        EdmCow::Binary(bytes) => {
            Err(LimitError::BinaryTooLong { property: property.to_owned(), bytes: bytes.len() })
        }
        _ => Ok(()),
    }
}

/// Returns the UTF-16 length of `text` if it exceeds `limit`. A text of fewer bytes is not counted.
fn longer_than(text: &str, limit: usize) -> Option<usize> {
    if text.len() <= limit {
        return None;
    }
    let units = utf16_units(text);
    (units > limit).then_some(units)
}

/// The size of an entity by the service's formula, summed property by property.
///
/// Source: the formula of the storage team, "How we count the size of an entity": 4 bytes, the
/// keys as UTF-16, and for each property 8 bytes, its name as UTF-16 and its value.
#[derive(Debug, Default, Clone, Copy)]
#[doc(hidden)]
pub struct EntitySize(usize);

impl EntitySize {
    pub fn of_keys(partition_key: &str, row_key: &str) -> Self {
        Self(4 + 2 * (utf16_units(partition_key) + utf16_units(row_key)))
    }

    pub fn add(&mut self, name: &str, value: &EdmCow<'_>) {
        self.add_named(utf16_units(name), value);
    }

    /// Adds a property whose name has this length in UTF-16 code units.
    #[inline]
    pub(crate) fn add_named(&mut self, name_units: usize, value: &EdmCow<'_>) {
        let of_value = match value {
            EdmCow::String(text) => 4 + 2 * utf16_units(text),
            EdmCow::Binary(bytes) => 4 + bytes.len(),
            EdmCow::Boolean(_) => 1,
            EdmCow::Int32(_) => 4,
            EdmCow::Int64(_) | EdmCow::Double(_) | EdmCow::DateTime(_) => 8,
            EdmCow::Guid(_) => 16,
        };
        self.0 += 8 + 2 * name_units + of_value;
    }

    pub(crate) const fn bytes(self) -> usize {
        self.0
    }
}

pub(crate) const fn utf16_units(text: &str) -> usize {
    // Most text is ASCII, which has one unit per byte.
    if text.is_ascii() {
        return text.len();
    }
    let bytes = text.as_bytes();
    let (mut at, mut units) = (0, 0);
    while at < bytes.len() {
        units += match bytes[at] {
            // These bytes continue a character.
            0x80..=0xbf => 0,
            // A character of four bytes is a surrogate pair.
            0xf0.. => 2,
            _ => 1,
        };
        at += 1;
    }
    units
}

#[cfg(test)]
mod tests;
