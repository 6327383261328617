//! Enums of entities.

use super::{KeyText, PropertyField};
use crate::ETag;
use crate::entity::schema::Schema;
use crate::entity::{
    Columns, DecodeError, EncodeError, KeyError, Ownership, PropertyWriter, Row, TableEntity,
    TypedKeys,
};
use crate::entity::{Policy, Reading};
use crate::limits::LimitError;

/// The text of the discriminator property.
pub fn kind<'r>(row: &'r Row<'_>, property: &str) -> Result<Option<&'r str>, DecodeError> {
    row.other_text(property)
}

/// Reads the kind of a row. A row without a text has the kind `other` with an empty name.
pub fn read_kind<K: PropertyField>(
    row: &mut Row<'_>,
    index: usize,
    other: impl FnOnce(String) -> K,
) -> Result<K, DecodeError> {
    let policy = Policy::UseDefault;
    let reading = Reading { missing: policy, null: policy, mistyped: policy, ..Reading::default() };
    K::read_by(row, index, reading, || Some(other(String::new())))
}

/// The content of a variant that is an entity kind.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a kind of table entity",
    label = "not a table entity",
    note = "write #[derive(TableEntity)] on the struct; for the variant with #[table(other)], use DynamicEntity"
)]
pub trait KindField: Sized {
    /// The names of its properties.
    const COLUMNS: &'static [&'static str];

    /// The stored form.
    fn schema() -> Schema;

    /// The PartitionKey.
    fn partition_key(&self) -> KeyText<'_>;

    /// The RowKey.
    fn row_key(&self) -> KeyText<'_>;

    /// Refuses two properties with the same name, including the discriminator.
    fn check_columns(discriminator: Option<&str>) -> Result<(), LimitError>;

    /// The properties that the entity owns.
    fn ownership(&self) -> Ownership;

    /// Whether an entity of this kind can have these keys.
    fn reads_keys(partition_key: &str, row_key: &str) -> bool;

    /// Whether an entity of this kind can have this PartitionKey.
    fn reads_partition_key(partition_key: &str) -> bool;

    /// Adds the names of the types whose functions create the keys of this kind.
    fn key_types(names: &mut Vec<&'static str>);

    /// Stores the version that a write returned.
    fn set_etag(&mut self, etag: &ETag);

    /// Writes the properties.
    fn write(&self, writer: &mut PropertyWriter<'_>) -> Result<(), EncodeError>;

    /// Reads the entity without the discriminator property.
    fn read(row: &mut Row<'_>, property: Option<&str>) -> Result<Self, DecodeError>;
}

#[diagnostic::do_not_recommend]
impl<T: TableEntity> KindField for T {
    const COLUMNS: &'static [&'static str] = T::COLUMNS;

    fn schema() -> Schema {
        T::schema()
    }

    fn check_columns(discriminator: Option<&str>) -> Result<(), LimitError> {
        T::check_columns()?;
        match discriminator {
            Some(property) if Columns::of::<T>().has(property) => {
                Err(LimitError::DuplicateProperty { property: property.to_owned() })
            }
            _ => Ok(()),
        }
    }

    fn partition_key(&self) -> KeyText<'_> {
        TableEntity::partition_key(self)
    }

    fn row_key(&self) -> KeyText<'_> {
        TableEntity::row_key(self)
    }

    fn ownership(&self) -> Ownership {
        TableEntity::ownership(self)
    }

    fn reads_keys(partition_key: &str, row_key: &str) -> bool {
        T::reads_keys(partition_key, row_key)
    }

    fn reads_partition_key(partition_key: &str) -> bool {
        T::reads_partition_key(partition_key)
    }

    fn key_types(names: &mut Vec<&'static str>) {
        T::key_types(names);
    }

    fn set_etag(&mut self, etag: &ETag) {
        TableEntity::set_etag(self, etag);
    }

    fn write(&self, writer: &mut PropertyWriter<'_>) -> Result<(), EncodeError> {
        self.write_properties(writer)
    }

    fn read(row: &mut Row<'_>, property: Option<&str>) -> Result<Self, DecodeError> {
        row.read_as(property)
    }
}

/// The content of a variant whose discriminator is the row key.
#[diagnostic::on_unimplemented(
    message = "the keys of `{Self}` do not tell its kind",
    label = "no form of its keys",
    note = "write #[derive(TableEntity)] on the struct; rows of other forms go to a variant with #[table(other)]"
)]
pub trait KeyedKindField {
    /// Whether these are keys of this kind.
    fn recognizes(keys: Option<(&str, &str)>) -> bool;
}

#[diagnostic::do_not_recommend]
impl<T: TypedKeys> KeyedKindField for T {
    fn recognizes(keys: Option<(&str, &str)>) -> bool {
        keys.is_some_and(|(partition_key, row_key)| {
            <T as TypedKeys>::recognizes(partition_key, row_key)
        })
    }
}

/// Both keys of a row, where they are text.
pub fn keys<'r>(row: &'r Row<'_>) -> Option<(&'r str, &'r str)> {
    row.key_texts()
}

/// Refuses an entity whose keys are those of another kind, as which it would be read.
pub fn check_kind(
    written: usize,
    read: usize,
    kinds: &[&str],
    keys: (&str, &str),
) -> Result<(), EncodeError> {
    if written == read {
        return Ok(());
    }
    let kind = |at: usize| kinds.get(at).copied().unwrap_or("another kind");
    Err(EncodeError::Key(KeyError::new(format!(
        "the keys {:?} and {:?} of {} would be read as those of {}",
        keys.0,
        keys.1,
        kind(written),
        kind(read)
    ))))
}

/// The error of an entity of no kind.
pub fn unknown_kind(row: &Row<'_>, property: &str, known: &str) -> DecodeError {
    row.unknown_kind(property, known)
}

/// Whether `name` is among the columns of an entity; for the compiler.
pub const fn has_column(columns: &[&str], name: &str) -> bool {
    let mut at = 0;
    while at < columns.len() {
        if are_equal(columns[at].as_bytes(), name.as_bytes()) {
            return true;
        }
        at += 1;
    }
    false
}

const fn are_equal(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}
