//! Decoding: from the properties of a row to an entity.

mod columns;
mod error;
mod field;
mod raw;
mod read_row;
mod reading;
mod row;

pub use columns::Columns;
pub use error::{DecodeError, DecodeReason};
pub(crate) use field::FieldKind;
pub use field::{Elements, Field, PARTS, StoredType};
pub use raw::{Annotation, RawProperty, RawValue};
pub use read_row::{EachResult, KeysOnly, ReadRow, RowConsumer, WithETag};
pub use reading::guid_texts;
pub use reading::{Accept, Policy, Reading};
pub use row::Row;
pub use row::{Form, MAX_OTHERS, RawText};
