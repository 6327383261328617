//! What code that `#[derive(TableEntity)]` generates names; no part of the public interface.
//!
//! The field traits stand for one way to use a field each. They exist for their messages: a type
//! that does not fit is reported once, for writing and reading together, at the field's type.

use std::borrow::Cow;
pub use std::convert::{From, Into};
pub use std::default::Default;
pub use std::option::Option::{self, None, Some};
pub use std::primitive::{bool, i32, i64, i128, str, usize};
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
pub use crate::filter::{AsIs, Column, ColumnCodec, HasColumns, KeyColumn, SeriesColumns, stored};
pub use crate::limits::LimitError;

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

/// What a module of the user's stores in place of a field's value.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a property can hold",
    label = "`encode` returns it, or `decode` takes it",
    note = "`encode` of the module in `with` returns, and `decode` takes, an owned type such as String, bool, i32, i64, f64, DateTime<Utc>, Uuid or Vec<u8>"
)]
pub trait StoredValue: ToEdm + FromEdm {}

#[diagnostic::do_not_recommend]
impl<T: ToEdm + FromEdm> StoredValue for T {}

/// Writes a property that was encoded by a module of the user's.
pub fn write_encoded<R: StoredValue>(
    writer: &mut PropertyWriter<'_>,
    name: &str,
    encoded: Result<R, ConvertError>,
) -> Result<(), EncodeError> {
    match encoded {
        Ok(stored) => writer.column(name, &stored),
        Err(reason) => Err(writer.refusal(name, reason)),
    }
}

/// What a module of the user's stores, for conditions.
pub fn stored_of<R: StoredValue>(
    encoded: Result<R, ConvertError>,
) -> Result<Option<EdmValue>, ConvertError> {
    stored(&encoded?)
}

/// Reads a property that is decoded by a module of the user's.
pub fn read_decoded<R: StoredValue, T>(
    row: &mut Row<'_>,
    index: usize,
    reading: Reading,
    decode: impl FnOnce(R) -> Result<T, ConvertError>,
    default: impl FnOnce() -> Option<T>,
) -> Result<T, DecodeError> {
    row.read(index, reading, decode, default)
}

/// Reads a field that is several properties, or takes the default where the row has none of them.
pub fn read_block_or<T>(
    row: &mut Row<'_>,
    columns: std::ops::Range<usize>,
    read: impl FnOnce(&mut Row<'_>, usize) -> Result<T, DecodeError>,
    default: impl FnOnce() -> T,
) -> Result<T, DecodeError> {
    let first = columns.start;
    if columns.into_iter().any(|column| row.has(column)) { read(row, first) } else { Ok(default()) }
}

/// An entity that refuses properties which it does not know.
pub fn refuse_others(row: &Row<'_>) -> Result<(), DecodeError> {
    row.refuse_others()
}

/// Keeps the names of an entity's columns from being used by its other fields.
pub fn reserve<T: TableEntity>(writer: &mut PropertyWriter<'_>) {
    writer.reserve(Columns::of::<T>());
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

    /// Finds two properties of one name, that which tells the kinds apart among them.
    fn check_columns(discriminator: Option<&str>) -> Result<(), LimitError>;

    /// Writes the properties.
    fn write(&self, writer: &mut PropertyWriter<'_>) -> Result<(), EncodeError>;

    /// Reads the entity, without the property that tells the kinds apart.
    fn read(row: &mut Row<'_>, property: Option<&str>) -> Result<Self, DecodeError>;
}

#[diagnostic::do_not_recommend]
impl<T: TableEntity> KindField for T {
    const COLUMNS: &'static [&'static str] = T::COLUMNS;

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

/// Whether a key is of a layout, and each of its parts of the part's type.
pub fn is_key<const N: usize>(layout: KeyLayout, key: &str, parts: [fn(&str) -> bool; N]) -> bool {
    layout.read::<N>(key).is_ok_and(|texts| parts.iter().zip(&texts).all(|(is, text)| is(text)))
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

/// What the variant for all other values of an enum holds.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold the other values of an enum that is stored as `{V}`",
    label = "not `{V}`",
    note = "write `{V}`, as the enum is stored; #[table(as_i32)] on the enum stores it as i32"
)]
pub trait OtherValue<V> {
    /// The value.
    fn into_value(self) -> V;

    /// The value.
    fn as_value(&self) -> &V;

    /// The variant's content.
    fn from_value(value: V) -> Self;
}

#[diagnostic::do_not_recommend]
impl<V> OtherValue<V> for V {
    fn into_value(self) -> V {
        self
    }

    fn as_value(&self) -> &V {
        self
    }

    fn from_value(value: V) -> Self {
        value
    }
}

/// The number of a variant, for the compiler.
pub const fn variant_number(number: i128) -> i32 {
    assert!(
        number >= i32::MIN as i128 && number <= i32::MAX as i128,
        "the number of a variant does not fit i32"
    );
    #[expect(clippy::cast_possible_truncation, reason = "checked")]
    let number = number as i32;
    number
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

    /// Whether this is the text of a part.
    fn is_part(text: &str) -> bool;

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

    fn is_part(text: &str) -> bool {
        T::from_key(Cow::Borrowed(text)).is_ok()
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
