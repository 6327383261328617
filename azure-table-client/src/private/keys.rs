//! Keys and their parts.

use std::borrow::Cow;

use super::{KeyText, Text};
use crate::entity::{DecodeError, KeyError, KeyNumber, KeyPart, Row, TickKey};
use crate::key::{KeyLayout, PartTexts};

/// A field that is the PartitionKey or the RowKey.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a PartitionKey or RowKey",
    label = "not a key type",
    note = "use a String (or another string type), an integer, bool, Uuid, DateTime<Utc>, NaiveDate, or Descending of a number or time; or implement `KeyPart` for your own type"
)]
pub trait KeyField: Sized {
    /// The texts of the type.
    const TEXTS: PartTexts;

    /// The key's text.
    fn text(&self) -> KeyText<'_>;

    /// Returns the value that is read from the key of this one.
    fn held(&self) -> Result<Self, KeyError>;

    /// Reads a part of the key with this name.
    fn parse(key: &str, text: Text<'_>) -> Result<Self, KeyError>;

    /// Reads a part of the PartitionKey.
    fn read_partition_key_part(row: &Row<'_>, text: &str) -> Result<Self, DecodeError>;

    /// Reads a part of the RowKey.
    fn read_row_key_part(row: &Row<'_>, text: &str) -> Result<Self, DecodeError>;

    /// Reads the PartitionKey.
    fn read_partition_key(row: &mut Row<'_>) -> Result<Self, DecodeError>;

    /// Reads the RowKey.
    fn read_row_key(row: &mut Row<'_>) -> Result<Self, DecodeError>;
}

#[diagnostic::do_not_recommend]
impl<T: KeyPart> KeyField for T {
    const TEXTS: PartTexts = PartTexts::of::<T>();

    fn held(&self) -> Result<Self, KeyError> {
        T::from_key(self.to_key()?)
    }

    fn parse(key: &str, text: Text<'_>) -> Result<Self, KeyError> {
        T::from_key(text).map_err(|error| invalid(key, &error))
    }

    fn read_partition_key_part(row: &Row<'_>, text: &str) -> Result<Self, DecodeError> {
        row.partition_key_part(text)
    }

    fn read_row_key_part(row: &Row<'_>, text: &str) -> Result<Self, DecodeError> {
        row.row_key_part(text)
    }

    fn text(&self) -> KeyText<'_> {
        self.to_key()
    }

    fn read_partition_key(row: &mut Row<'_>) -> Result<Self, DecodeError> {
        row.partition_key()
    }

    fn read_row_key(row: &mut Row<'_>) -> Result<Self, DecodeError> {
        row.row_key()
    }
}

/// Refuses a time that a key would not hold.
pub fn check_ticks<T: TickKey>(field: &str, value: &T) -> Result<(), KeyError> {
    value.check_ticks(&format!("`{field}`"))
}

/// Refuses a row whose two keys have different values of a field that is in both.
pub fn check_both_keys(
    row: &Row<'_>,
    field: &str,
    in_partition_key: Option<&str>,
    in_row_key: Option<&str>,
) -> Result<(), DecodeError> {
    row.check_both_keys(field, in_partition_key, in_row_key)
}

/// A key of an entity from the texts of its parts.
pub fn write_key<const N: usize>(layout: KeyLayout, texts: &[Text<'_>; N]) -> KeyText<'static> {
    layout.write(texts).map(Cow::Owned)
}

/// A key from the texts of its parts.
pub fn key<const N: usize>(layout: KeyLayout, texts: &[Text<'_>; N]) -> Result<String, KeyError> {
    layout.write(texts)
}

/// A part of a key that a format writes as digits.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be written as digits in a key",
    label = "not an integer",
    note = "a number of digits in a key format is for integers: leave it out for other types"
)]
pub trait NumberField: Sized {
    /// The texts of the type.
    const TEXTS: PartTexts;
}

#[diagnostic::do_not_recommend]
impl<T: KeyNumber> NumberField for T {
    const TEXTS: PartTexts = PartTexts::of::<T>();
}

/// The texts of the parts of the PartitionKey.
pub fn partition_key_parts<const N: usize>(
    row: &Row<'_>,
    layout: KeyLayout,
) -> Result<[String; N], DecodeError> {
    row.partition_key_parts(layout)
}

/// The texts of the parts of the RowKey.
pub fn row_key_parts<const N: usize>(
    row: &Row<'_>,
    layout: KeyLayout,
) -> Result<[String; N], DecodeError> {
    row.row_key_parts(layout)
}

/// The texts of the parts of the key with this name.
pub fn key_parts<'t, const N: usize>(
    layout: KeyLayout,
    key: &str,
    text: &'t str,
) -> Result<[Text<'t>; N], KeyError> {
    layout.read(text).map_err(|error| invalid(key, &error))
}

fn invalid(key: &str, error: &KeyError) -> KeyError {
    KeyError::new(format!("invalid {key}: {error}"))
}

/// Refuses keys that differ in a part that is in both.
pub fn check_shared_part<T: KeyField>(
    field: &str,
    in_partition_key: &T,
    in_row_key: &T,
) -> Result<(), KeyError> {
    KeyError::unless_equal(field, &in_partition_key.text()?, &in_row_key.text()?)
}
