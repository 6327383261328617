//! Items for the code that `#[derive(TableEntity)]` generates. They are not part of the public interface.
//!
//! Each field trait is for one use of a field. The traits exist for their messages: the compiler reports an invalid
//! type once, for writing and reading together, at the field's type.

#[path = "private/choices.rs"]
mod choices;
#[path = "private/keys.rs"]
mod keys;
#[path = "private/kinds.rs"]
mod kinds;
#[path = "private/schema.rs"]
mod schema;
#[path = "private/tables.rs"]
mod tables;

use std::borrow::Cow;
pub use std::convert::{From, Into};
pub use std::default::Default;
use std::marker::PhantomData;
pub use std::option::Option::{self, None, Some};
pub use std::primitive::{bool, i32, i64, i128, str, usize};
pub use std::result::Result::{self, Err, Ok};
pub use std::string::String;
pub use std::vec::Vec;

use chrono::{DateTime, Utc};

pub use self::choices::*;
pub use self::keys::*;
pub use self::kinds::*;
pub use self::schema::*;
pub use self::tables::*;
pub use crate::client::TableSet;
pub use crate::client::service::TableServiceClient;
pub use crate::client::table::TableClient;
use crate::edm::EdmDateTime;
pub use crate::edm::{ConvertError, DateTimeValue, EdmCow, EdmType, EdmValue, FromEdm, ToEdm};
use crate::entity::DecodeReason;
pub use crate::entity::schema::{Others, Schema, ValueForm};
pub use crate::entity::{
    Accept, Columns, DecodeError, EncodeError, ExtraField, Field, HasIndexes, HasKind,
    IndexDefinition, IntoKey, KeyArgument, KeyError, KeyNumber, KeyPart, KeyRange, NamedTable,
    Ownership, Policy, PropertyGroup, PropertyWriter, ReadGroup, Reading, Row, SeriesField,
    SplitField, StoredType, TypedKeys, codec,
};
pub use crate::filter::{
    AsIs, Column, ColumnCodec, ETagColumn, FieldColumns, HasColumns, KeyColumn, MultiColumn,
    OrderedEdm, PartitionKeyPart, Projection, ProjectionOf, RowKeyPart, Selection, SeriesColumns,
    project, stored,
};
pub use crate::key::{
    BoundArgument, ExactTime, Inverse, KeyBound, KeyLayout, KeyParts, KeyPiece, LeadingKeys,
    OnlyPart, Parts, ReversedPart, WholeKey,
};
pub use crate::limits::LimitError;
pub use crate::{DynamicEntity, ETag, EntityKey, TableEntity, TableValue};

pub use azure_table_derive::filter;

/// Text that is borrowed where it can be.
pub type Text<'a> = Cow<'a, str>;

/// The text of a key.
pub type KeyText<'a> = Result<Cow<'a, str>, KeyError>;

/// A field that is a property.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored as a table property",
    label = "not an Edm property type",
    note = "types that are properties: String, bool, i32, i64, f64, DateTime<Utc>, EdmDateTime, Uuid, Vec<u8>, bytes::Bytes, smaller integers, and an Option of one",
    note = "u64 and usize: write on the field #[table(as_i64)] for an Int64 up to i64::MAX, #[table(as_padded)] for text that sorts as the number, or #[table(as_string)]",
    note = "an enum: write #[derive(TableEnum)] on the enum",
    note = "a struct of one unnamed field, `struct Id(String)`: write #[derive(TableValue)] on that struct",
    note = "a struct of named fields: write #[derive(PropertyGroup)] on that struct, and #[table(flatten)] on the field",
    note = "a list of up to 252 values, with a property for each: write #[table(series)] on the field",
    note = "anything with serde's derives, as text that filters cannot search: write #[table(as_json)] on the field",
    note = "a format of your own: #[table(with = \"module\")]; #[table(skip)] leaves the field out"
)]
pub trait PropertyField: Sized {
    /// The stored values.
    const STORED: StoredType;

    /// Returns the stored value.
    fn stored(&self) -> Result<Option<EdmValue>, ConvertError>;

    /// Writes the property unless there is nothing to write.
    fn write(&self, writer: &mut PropertyWriter<'_>, field: &Field) -> Result<(), EncodeError>;

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
    const STORED: StoredType = StoredType::of::<T>();

    fn stored(&self) -> Result<Option<EdmValue>, ConvertError> {
        stored(self)
    }

    fn write(&self, writer: &mut PropertyWriter<'_>, field: &Field) -> Result<(), EncodeError> {
        writer.column(field.into(), self)
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

/// A value that a module of the user's stores instead of a field's value.
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
    field: &Field,
    encoded: Result<R, ConvertError>,
) -> Result<(), EncodeError> {
    match encoded {
        Ok(stored) => writer.column(field.into(), &stored),
        Err(reason) => Err(writer.refusal(field.name, reason)),
    }
}

/// Returns the value that a module of the user's stores, for conditions.
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

/// Refuses a value whose property would differ from the property of the value that the key holds, because the row could
/// not be read.
pub fn check_held<T: KeyField>(
    writer: &PropertyWriter<'_>,
    name: &str,
    value: &T,
    stored: impl Fn(&T) -> Result<Option<EdmValue>, ConvertError>,
) -> Result<(), EncodeError> {
    let refusal = |reason| writer.refusal(name, reason);
    let of_value = stored(value).map_err(refusal)?;
    let of_key = stored(&value.held()?).map_err(refusal)?;
    if of_value == of_key {
        return Ok(());
    }
    let text = |value: Option<EdmValue>| value.map_or_else(String::new, |value| value.to_string());
    Err(refusal(ConvertError::Other(format!(
        "the property would be {:?}, and the key holds {:?} only",
        text(of_value),
        text(of_key)
    ))))
}

/// Compares a property with the value of the key that it is a copy of. Older rows may lack it.
pub fn check_copy<R: ToEdm + FromEdm>(
    row: &mut Row<'_>,
    index: usize,
    of_key: &R,
) -> Result<(), DecodeError> {
    let Some(copy) = row.optional::<R>(index)? else { return Ok(()) };
    if let (Ok(copy), Ok(of_key)) = (stored(&copy), stored(of_key))
        && copy != of_key
    {
        let text = |value: Option<EdmValue>| value.map(|value| value.to_string());
        let reason = format!(
            "the property is {:?} and the key has {:?}: another program has changed it",
            text(copy).unwrap_or_default(),
            text(of_key).unwrap_or_default()
        );
        return Err(row.column_error(index, DecodeReason::Other(reason)));
    }
    Ok(())
}

/// Compares a property that a codec stores with the value of the key.
pub fn check_encoded_copy<R: StoredValue>(
    row: &mut Row<'_>,
    index: usize,
    of_key: Result<R, ConvertError>,
) -> Result<(), DecodeError> {
    match of_key {
        Ok(of_key) => check_copy(row, index, &of_key),
        Err(reason) => Err(row.column_error(index, DecodeReason::Convert(reason))),
    }
}

/// Reads a field that is several properties, or returns the default if the row has no such property.
pub fn read_block_or<T>(
    row: &mut Row<'_>,
    first: usize,
    field: &Field,
    read: impl FnOnce(&mut Row<'_>, usize) -> Result<T, DecodeError>,
    default: impl FnOnce() -> T,
) -> Result<T, DecodeError> {
    let mut columns = first..first + field.size();
    if columns.any(|column| row.has(column)) { read(row, first) } else { Ok(default()) }
}

/// Refuses properties that the entity does not have.
pub fn refuse_others(row: &Row<'_>) -> Result<(), DecodeError> {
    row.refuse_others()
}

/// Reserves the names of an entity's columns, so that its other fields cannot use them.
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
    /// Receives the errors.
    fn read(row: &mut Row<'_>) -> Self;
}

#[diagnostic::do_not_recommend]
impl ErrorsField for Vec<DecodeError> {
    fn read(row: &mut Row<'_>) -> Self {
        row.take_problems()
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

/// Selects the version of the row for a field of type `T`.
pub fn etag<E: 'static, T: ETagField + 'static>() -> impl Projection<E, Output = T> {
    ETagAs(PhantomData)
}

struct ETagAs<T>(PhantomData<fn() -> T>);

impl<E: 'static, T: ETagField + 'static> Projection<E> for ETagAs<T> {
    type Output = T;

    fn select(&self, _: &mut Selection) {}

    fn read(&self, row: &mut Row<'_>, _: &mut usize) -> Result<T, DecodeError> {
        T::read(row)
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

    /// Holds this one.
    fn of(etag: &ETag) -> Self;
}

#[diagnostic::do_not_recommend]
impl ETagField for Option<ETag> {
    fn read(row: &mut Row<'_>) -> Result<Self, DecodeError> {
        Ok(row.etag())
    }

    fn of(etag: &ETag) -> Self {
        Some(etag.clone())
    }
}

#[diagnostic::do_not_recommend]
impl ETagField for ETag {
    fn read(row: &mut Row<'_>) -> Result<Self, DecodeError> {
        row.etag().ok_or_else(|| row.missing("odata.etag"))
    }

    fn of(etag: &ETag) -> Self {
        etag.clone()
    }
}
