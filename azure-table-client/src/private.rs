//! What code that `#[derive(TableEntity)]` generates names; no part of the public interface.
//!
//! The four field traits stand for one way to use a field each. They exist for their messages: a
//! type that does not fit is reported once, for writing and reading together, at the field's type.

use std::borrow::Cow;
pub use std::default::Default;
pub use std::primitive::str;
pub use std::result::Result::{self, Ok};

use chrono::{DateTime, Utc};

use crate::edm::EdmDateTime;
pub use crate::edm::{FromEdm, ToEdm};
use crate::entity::KeyError;
pub use crate::entity::{
    DecodeError, EncodeError, KeyPart, NamedTable, PropertyWriter, Row, TableEntity,
};
use crate::etag::ETag;

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
}

#[diagnostic::do_not_recommend]
impl<T: ToEdm + FromEdm> PropertyField for T {
    fn write(&self, writer: &mut PropertyWriter<'_>, name: &str) -> Result<(), EncodeError> {
        writer.property(name, self)
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
}

/// A field that is the PartitionKey or the RowKey.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a PartitionKey or RowKey",
    label = "not a key type",
    note = "use a String (or another string type), Uuid, or Descending<DateTime<Utc>>; or implement `KeyPart` for your own type"
)]
pub trait KeyField: Sized {
    /// The key's text.
    fn text(&self) -> KeyText<'_>;

    /// Reads the PartitionKey.
    fn read_partition_key(row: &mut Row<'_>) -> Result<Self, DecodeError>;

    /// Reads the RowKey.
    fn read_row_key(row: &mut Row<'_>) -> Result<Self, DecodeError>;
}

#[diagnostic::do_not_recommend]
impl<T: KeyPart> KeyField for T {
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
