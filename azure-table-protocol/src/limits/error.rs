//! The error of input beyond the service's limits.

use std::fmt;

use super::{
    BINARY_BYTES, KEY_UTF16_UNITS, PROPERTIES, PROPERTY_NAME_CHARS, STRING_UTF16_UNITS,
    TABLE_NAME_CHARS,
};

/// Input that the service would refuse, found before it is sent.
///
/// Positions count characters from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitError {
    /// A table name of the wrong length.
    TableNameLength {
        /// The name.
        name: String,
    },
    /// A table name with a character other than ASCII letters and digits, or a digit first.
    TableNameCharacter {
        /// The name.
        name: String,
        /// The first offending character.
        character: char,
        /// The position of the character.
        position: usize,
    },
    /// The table name `tables`, which is the list of tables itself.
    TableNameReserved,
    /// A system table, which the client can neither create nor delete.
    TableOfService {
        /// The name.
        name: String,
    },
    /// A key with one of `/ \ # ?` or a control character.
    KeyCharacter {
        /// `PartitionKey` or `RowKey`.
        property: &'static str,
        /// The first offending character.
        character: char,
        /// The position of the character.
        position: usize,
    },
    /// A key of more than [`KEY_UTF16_UNITS`].
    KeyTooLong {
        /// `PartitionKey` or `RowKey`.
        property: &'static str,
        /// Its length in UTF-16 code units.
        units: usize,
    },
    /// An empty property name.
    PropertyNameEmpty,
    /// A property name of more than [`PROPERTY_NAME_CHARS`] characters.
    PropertyNameTooLong {
        /// The name.
        property: String,
        /// Its length in characters.
        characters: usize,
    },
    /// A property name that is not an identifier.
    PropertyNameCharacter {
        /// The name.
        property: String,
        /// The first offending character.
        character: char,
        /// The position of the character.
        position: usize,
    },
    /// A property with the name of a system property.
    PropertyNameReserved {
        /// The name.
        property: String,
    },
    /// Two properties with the same name.
    DuplicateProperty {
        /// The name.
        property: String,
    },
    /// More than [`PROPERTIES`] properties.
    TooManyProperties {
        /// The first property beyond the limit.
        property: String,
        /// The number of properties.
        count: usize,
    },
    /// A column beyond the end of a series.
    SeriesIndex {
        /// The beginning of the names of the series.
        series: String,
        /// The index.
        index: usize,
        /// The number of elements.
        size: usize,
    },
    /// A string of more than [`STRING_UTF16_UNITS`].
    StringTooLong {
        /// The property.
        property: String,
        /// The length in UTF-16 code units.
        units: usize,
    },
    /// A binary value of more than [`BINARY_BYTES`].
    BinaryTooLong {
        /// The property.
        property: String,
        /// The length in bytes.
        bytes: usize,
    },
    /// An entity of more than [`ENTITY_BYTES`](super::ENTITY_BYTES), or of more than 2 MiB for Cosmos DB.
    EntityTooLarge {
        /// The size by the service's formula.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// A table name that Cosmos DB does not accept.
    TableNameForCosmos {
        /// The name.
        name: String,
    },
    /// A key of more bytes than Cosmos DB accepts.
    KeyTooLongForCosmos {
        /// `PartitionKey` or `RowKey`.
        property: &'static str,
        /// Its length in bytes of UTF-8.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// A text that is not a version of the service, or a version that is older than the supported ones.
    ServiceVersion {
        /// The text.
        text: String,
        /// The oldest supported version.
        oldest: &'static str,
    },
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TableNameLength { name } => {
                let length = name.chars().count();
                let characters = if length == 1 { "character" } else { "characters" };
                write!(
                    f,
                    "table name {name:?} has {length} {characters}; {} to {} are allowed",
                    TABLE_NAME_CHARS.start(),
                    TABLE_NAME_CHARS.end()
                )
            }
            Self::TableNameCharacter { name, character, position } => write!(
                f,
                "table name {name:?} has {character:?} at position {position}; \
                 only ASCII letters and digits are allowed, a letter first"
            ),
            Self::TableNameReserved => f.write_str("the table name \"tables\" is reserved"),
            Self::TableOfService { name } => write!(
                f,
                "the table {name:?} belongs to the service: it can only be read, \
                 neither created nor deleted"
            ),
            Self::KeyCharacter { property, character, position } => write!(
                f,
                "{property} has {character:?} at position {position}; \
                 / \\ # ? and control characters are not allowed in keys"
            ),
            Self::KeyTooLong { property, units } => {
                write!(
                    f,
                    "{property} has {units} UTF-16 units; at most {KEY_UTF16_UNITS} are allowed"
                )
            }
            Self::PropertyNameEmpty => f.write_str("a property name is empty"),
            Self::PropertyNameTooLong { property, characters } => write!(
                f,
                "property name {property:?} has {characters} characters; \
                 at most {PROPERTY_NAME_CHARS} are allowed"
            ),
            Self::PropertyNameCharacter { property, character, position } => write!(
                f,
                "property name {property:?} has {character:?} at position {position}; \
                 names are identifiers: letters, digits and _, no digit first"
            ),
            Self::PropertyNameReserved { property } => {
                write!(f, "property name {property:?} is reserved: it belongs to the service")
            }
            Self::DuplicateProperty { property } => {
                write!(f, "property {property:?} appears twice")
            }
            Self::TooManyProperties { property, count } => write!(
                f,
                "the entity has {count} properties; at most {PROPERTIES} are allowed \
                 ({property:?} is beyond the limit)"
            ),
            Self::SeriesIndex { series, index, size } => write!(
                f,
                "the index {index} of the series {series:?} is out of bounds; it has {size} elements"
            ),
            Self::StringTooLong { property, units } => write!(
                f,
                "property {property:?} has {units} UTF-16 units; \
                 at most {STRING_UTF16_UNITS} are allowed in a String"
            ),
            Self::BinaryTooLong { property, bytes } => write!(
                f,
                "property {property:?} has {bytes} bytes; at most {BINARY_BYTES} are allowed in a Binary"
            ),
            Self::EntityTooLarge { bytes, most } => {
                write!(f, "the entity has {bytes} bytes; at most {most} are allowed")
            }
            Self::TableNameForCosmos { name } => write!(
                f,
                "table name {name:?} is not valid: Cosmos DB accepts 1 to 254 characters without / \\ # ?, \
                 no space at the end, and not Tables, $batch, . or .."
            ),
            Self::KeyTooLongForCosmos { property, bytes, most } => {
                write!(f, "{property} has {bytes} bytes; Cosmos DB allows at most {most}")
            }
            Self::ServiceVersion { text, oldest } => write!(
                f,
                "{text:?} is not a supported version of the service: versions are dates from {oldest} on"
            ),
        }
    }
}

impl std::error::Error for LimitError {}
