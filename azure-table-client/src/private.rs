//! What code that `#[derive(TableEntity)]` generates names; no part of the public interface.
//!
//! The field traits stand for one way to use a field each. They exist for their messages: a type
//! that does not fit is reported once, for writing and reading together, at the field's type.

use std::borrow::Cow;
pub use std::convert::{From, Into};
pub use std::default::Default;
pub use std::option::Option::{self, None, Some};
pub use std::primitive::{bool, i32, str, usize};
pub use std::result::Result::{self, Err, Ok};
pub use std::string::String;
pub use std::vec::Vec;

use chrono::{DateTime, Utc};

pub use crate::client::{TableClient, TableServiceClient, TableSet};
use crate::edm::EdmDateTime;
pub use crate::edm::{ConvertError, EdmCow, EdmType, EdmValue, FromEdm, ToEdm};
pub use crate::entity::{
    Accept, Columns, DecodeError, DynamicEntity, EncodeError, EntityKey, ExtraField, KeyArgument,
    KeyError, KeyForm, KeyLayout, KeyNumber, KeyPart, KeyParts, KeyPiece, KeyRange, NamedTable,
    Policy, PropertyGroup, PropertyWriter, Reading, Row, SeriesField, SeriesName, SplitField,
    TableEntity, TypedKeys, codec,
};
use crate::etag::ETag;

/// Text that is borrowed where it can be.
pub type Text<'a> = Cow<'a, str>;

/// What a key is written as.
pub type KeyText<'a> = Result<Cow<'a, str>, KeyError>;

/// A field that is a property.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored as a table property",
    label = "not an Edm property type",
    note = "use String, bool, i32, i64, f64, DateTime<Utc>, EdmDateTime, Uuid, Vec<u8>, bytes::Bytes, an integer that fits Int64, or an Option of one; u64 and usize do not fit: choose i64 or String",
    note = "a field that is not to be stored takes #[table(skip)]",
    note = "a type of your own implements both `ToEdm` and `FromEdm`"
)]
pub trait PropertyField: Sized {
    /// Writes the property unless there is nothing to write.
    fn write(&self, writer: &mut PropertyWriter<'_>, name: &str) -> Result<(), EncodeError>;

    /// Reads the column at `index`.
    fn read(row: &mut Row<'_>, index: usize) -> Result<Self, DecodeError>;

    /// Reads the column at `index`; `default` makes up for a missing or null property.
    fn read_or(
        row: &mut Row<'_>,
        index: usize,
        default: impl FnOnce() -> Self,
    ) -> Result<Self, DecodeError>;

    /// Reads the column at `index` by other policies than the type's.
    fn read_by(
        row: &mut Row<'_>,
        index: usize,
        reading: Reading,
        default: impl FnOnce() -> Option<Self>,
    ) -> Result<Self, DecodeError>;
}

#[diagnostic::do_not_recommend]
impl<T: ToEdm + FromEdm> PropertyField for T {
    fn write(&self, writer: &mut PropertyWriter<'_>, name: &str) -> Result<(), EncodeError> {
        writer.column(name, self)
    }

    fn read(row: &mut Row<'_>, index: usize) -> Result<Self, DecodeError> {
        row.property(index)
    }

    fn read_or(
        row: &mut Row<'_>,
        index: usize,
        default: impl FnOnce() -> Self,
    ) -> Result<Self, DecodeError> {
        Ok(row.optional(index)?.unwrap_or_else(default))
    }

    fn read_by(
        row: &mut Row<'_>,
        index: usize,
        reading: Reading,
        default: impl FnOnce() -> Option<Self>,
    ) -> Result<Self, DecodeError> {
        row.read(index, reading, Ok, default)
    }
}

/// Writes a property that was encoded by a module of the user's.
pub fn write_encoded<R: ToEdm>(
    writer: &mut PropertyWriter<'_>,
    name: &str,
    encoded: Result<R, ConvertError>,
) -> Result<(), EncodeError> {
    match encoded {
        Ok(stored) => writer.column(name, &stored),
        Err(reason) => Err(EncodeError::Convert { property: name.to_owned(), reason }),
    }
}

/// Reads a property that is decoded by a module of the user's.
pub fn read_decoded<R: FromEdm, T>(
    row: &mut Row<'_>,
    index: usize,
    reading: Reading,
    decode: impl FnOnce(R) -> Result<T, ConvertError>,
    default: impl FnOnce() -> Option<T>,
) -> Result<T, DecodeError> {
    row.read(index, reading, decode, default)
}

/// An entity that refuses properties which it does not know.
pub fn refuse_others(row: &Row<'_>) -> Result<(), DecodeError> {
    row.refuse_others()
}

/// Keeps the names of an entity's columns from being used by its other fields.
pub fn reserve(writer: &mut PropertyWriter<'_>, columns: &[&str]) {
    writer.reserve(columns);
}

/// A field that receives what could not be read.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot receive the errors",
    label = "not a list of errors",
    note = "use Vec<DecodeError>, from azure_table_client::entity"
)]
pub trait ErrorsField: Sized {
    /// Takes the errors over.
    fn read(row: &mut Row<'_>) -> Self;
}

#[diagnostic::do_not_recommend]
impl ErrorsField for Vec<DecodeError> {
    fn read(row: &mut Row<'_>) -> Self {
        row.take_problems()
    }
}

/// A key of an entity from the texts of its parts.
pub fn write_key<const N: usize>(layout: KeyLayout, texts: &[Text<'_>; N]) -> KeyText<'static> {
    layout.write(texts).map(Cow::Owned)
}

/// A key from the texts of its parts.
pub fn key<const N: usize>(layout: KeyLayout, texts: &[Text<'_>; N]) -> Result<String, KeyError> {
    layout.write(texts)
}

/// A part of a key; `width` is that of its type.
pub const fn part(field: &'static str, width: Option<usize>, form: KeyForm) -> KeyPiece {
    KeyPiece::Part { field, width, form }
}

/// A part of a key that a format writes as digits.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be written as digits in a key",
    label = "not an integer",
    note = "a number of digits in a key format is for integers: leave it out for other types"
)]
pub trait NumberField: Sized {
    /// The number of characters of every text.
    const WIDTH: Option<usize>;
}

#[diagnostic::do_not_recommend]
impl<T: KeyNumber> NumberField for T {
    const WIDTH: Option<usize> = <T as KeyPart>::WIDTH;
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

/// The text of the property that tells the kinds of entities apart.
pub fn kind<'r>(row: &'r Row<'_>, property: &str) -> Result<Option<&'r str>, DecodeError> {
    row.other_text(property)
}

/// What a variant holds that is a kind of entity.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a kind of table entity",
    label = "not a table entity",
    note = "write #[derive(TableEntity)] on the struct; for the variant with #[table(other)], use DynamicEntity"
)]
pub trait KindField: Sized {
    /// The names of its properties.
    const COLUMNS: &'static [&'static str];

    /// The PartitionKey.
    fn partition_key(&self) -> KeyText<'_>;

    /// The RowKey.
    fn row_key(&self) -> KeyText<'_>;

    /// Writes the properties.
    fn write(&self, writer: &mut PropertyWriter<'_>) -> Result<(), EncodeError>;

    /// Reads the entity, without the property that tells the kinds apart.
    fn read(row: &mut Row<'_>, property: Option<&str>) -> Result<Self, DecodeError>;
}

#[diagnostic::do_not_recommend]
impl<T: TableEntity> KindField for T {
    const COLUMNS: &'static [&'static str] = T::COLUMNS;

    fn partition_key(&self) -> KeyText<'_> {
        TableEntity::partition_key(self)
    }

    fn row_key(&self) -> KeyText<'_> {
        TableEntity::row_key(self)
    }

    fn write(&self, writer: &mut PropertyWriter<'_>) -> Result<(), EncodeError> {
        self.write_properties(writer)
    }

    fn read(row: &mut Row<'_>, property: Option<&str>) -> Result<Self, DecodeError> {
        row.read_as(property)
    }
}

/// What a variant holds whose row key tells that it is of this kind.
#[diagnostic::on_unimplemented(
    message = "the keys of `{Self}` do not tell its kind",
    label = "no form of its keys",
    note = "write #[derive(TableEntity)] on the struct; rows of other forms go to a variant with #[table(other)]"
)]
pub trait KeyedKindField {
    /// Whether the keys of a row are of this form.
    fn has_keys_of(row: &Row<'_>) -> bool;
}

#[diagnostic::do_not_recommend]
impl<T: TypedKeys> KeyedKindField for T {
    fn has_keys_of(row: &Row<'_>) -> bool {
        row.key_texts().is_some_and(|(partition_key, row_key)| {
            T::PARTITION_KEY.matches(partition_key) && T::ROW_KEY.matches(row_key)
        })
    }
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

/// An error about a variant's value, for the conversions of enums.
pub fn no_variant(found: impl std::fmt::Debug, known: &str) -> ConvertError {
    ConvertError::Other(format!("{found:?} is none of {known}"))
}

/// A field that is the PartitionKey or the RowKey.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a PartitionKey or RowKey",
    label = "not a key type",
    note = "use a String (or another string type), an integer, bool, Uuid, DateTime<Utc>, NaiveDate, or Descending of a number or time; or implement `KeyPart` for your own type"
)]
pub trait KeyField: Sized {
    /// The number of characters of every text, if they all have the same.
    const WIDTH: Option<usize>;

    /// The key's text.
    fn text(&self) -> KeyText<'_>;

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
    const WIDTH: Option<usize> = T::WIDTH;

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

/// A field that receives the Timestamp.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot receive the Timestamp",
    label = "not a timestamp type",
    note = "use DateTime<Utc> or EdmDateTime, or an Option of one: a query that selects properties may leave the Timestamp out"
)]
pub trait TimestampField: Sized {
    /// Reads the Timestamp.
    fn read(row: &mut Row<'_>) -> Result<Self, DecodeError>;
}

#[diagnostic::do_not_recommend]
impl TimestampField for Option<EdmDateTime> {
    fn read(row: &mut Row<'_>) -> Result<Self, DecodeError> {
        row.timestamp()
    }
}

#[diagnostic::do_not_recommend]
impl TimestampField for EdmDateTime {
    fn read(row: &mut Row<'_>) -> Result<Self, DecodeError> {
        row.timestamp()?.ok_or_else(|| row.missing("Timestamp"))
    }
}

#[diagnostic::do_not_recommend]
impl TimestampField for Option<DateTime<Utc>> {
    fn read(row: &mut Row<'_>) -> Result<Self, DecodeError> {
        Ok(row.timestamp()?.map(EdmDateTime::to_chrono))
    }
}

#[diagnostic::do_not_recommend]
impl TimestampField for DateTime<Utc> {
    fn read(row: &mut Row<'_>) -> Result<Self, DecodeError> {
        <EdmDateTime as TimestampField>::read(row).map(EdmDateTime::to_chrono)
    }
}

/// A field that receives the ETag.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot receive the ETag",
    label = "not an ETag type",
    note = "use ETag, or Option<ETag>: a reply without metadata has none"
)]
pub trait ETagField: Sized {
    /// Reads the ETag.
    fn read(row: &mut Row<'_>) -> Result<Self, DecodeError>;
}

#[diagnostic::do_not_recommend]
impl ETagField for Option<ETag> {
    fn read(row: &mut Row<'_>) -> Result<Self, DecodeError> {
        Ok(row.etag())
    }
}

#[diagnostic::do_not_recommend]
impl ETagField for ETag {
    fn read(row: &mut Row<'_>) -> Result<Self, DecodeError> {
        row.etag().ok_or_else(|| row.missing("odata.etag"))
    }
}

/// The text of a property that an enum reads.
pub fn text_of(value: EdmCow<'_>) -> Result<Text<'_>, ConvertError> {
    match value {
        EdmCow::String(text) => Ok(text),
        other => {
            Err(ConvertError::WrongType { expected: EdmType::String, found: other.edm_type() })
        }
    }
}

/// The key of an enum that is stored as text.
pub fn text_key<T: ToEdm>(value: &T) -> KeyText<'_> {
    match value.to_edm() {
        Ok(Some(EdmCow::String(text))) => Ok(text),
        _ => Err(KeyError::new("the value has no text")),
    }
}

/// The key of an enum that is stored as a number.
pub fn number_key<T: ToEdm>(value: &T) -> KeyText<'_> {
    match value.to_edm() {
        Ok(Some(EdmCow::Int32(number))) => number.to_key().map(|text| text.into_owned().into()),
        _ => Err(KeyError::new("the value has no number")),
    }
}

/// The enum of a key that is a number.
pub fn from_number_key<T: FromEdm>(text: Text<'_>) -> Result<T, KeyError> {
    T::from_edm(EdmCow::Int32(i32::from_key(text)?))
        .map_err(|error| KeyError::new(error.to_string()))
}

/// An error about a key that is no variant.
pub fn no_key(found: &str, known: &str) -> KeyError {
    KeyError::new(format!("{found:?} is none of {known}"))
}

/// A field that is a table which its entity names.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a table whose entity names it",
    label = "not a named table",
    note = "use TableClient<T> of a T with #[table(name = \"…\")], or write #[table(name = \"…\")] on this field"
)]
pub trait NamedTableField: Sized {
    /// Opens the table.
    fn open(service: &TableServiceClient) -> Self;

    /// The same table without a type.
    fn untyped(&self) -> TableClient<DynamicEntity>;
}

#[diagnostic::do_not_recommend]
impl<T: NamedTable> NamedTableField for TableClient<T> {
    fn open(service: &TableServiceClient) -> Self {
        service.table()
    }

    fn untyped(&self) -> TableClient<DynamicEntity> {
        self.with_entity()
    }
}

/// A field that is a table.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a table",
    label = "not a table",
    note = "use TableClient<T> of a T with #[derive(TableEntity)]"
)]
pub trait TableField: Sized {
    /// Opens the table of this name.
    fn open(service: &TableServiceClient, name: &str) -> Self;

    /// The same table without a type.
    fn untyped(&self) -> TableClient<DynamicEntity>;
}

#[diagnostic::do_not_recommend]
impl<T: TableEntity> TableField for TableClient<T> {
    fn open(service: &TableServiceClient, name: &str) -> Self {
        service.table_named(name)
    }

    fn untyped(&self) -> TableClient<DynamicEntity> {
        self.with_entity()
    }
}
