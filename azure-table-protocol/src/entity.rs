//! Entities: the trait that maps a struct to rows, and entities without a struct.

#[allow(missing_debug_implementations)]
mod decode;
mod dynamic;
mod ownership;
mod rows;
pub mod schema;
mod write;

use std::borrow::Cow;

#[doc(hidden)]
pub use decode::{
    Accept, Annotation, EachResult, Elements, Field, Form, KeysOnly, MAX_OTHERS, PARTS, Policy,
    RawProperty, RawText, RawValue, ReadRow, Reading, RowConsumer, StoredType, WithETag,
    guid_texts,
};
pub use decode::{Columns, DecodeError, DecodeReason, Row};
pub use dynamic::{DynamicEntity, IntoProperty};
#[doc(hidden)]
pub use dynamic::{Lenient, Readable};
#[doc(hidden)]
pub use ownership::Ownership;
#[doc(hidden)]
pub use rows::Entities;
pub use write::{EncodeError, PropertyWriter};
#[doc(hidden)]
pub use write::{PropertyName, PropertySink};

use crate::etag::ETag;
use crate::key::{EntityKey, KeyError, KeyLayout};
use crate::limits::LimitError;

/// A struct that maps to the rows of a table.
///
/// Implemented by `#[derive(TableEntity)]`; see there for the attributes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a table entity",
    label = "not a table entity",
    note = "write #[derive(TableEntity)] on the struct, and #[table(partition_key)] and #[table(row_key)] on its key fields",
    note = "for rows without a struct, use `DynamicEntity`"
)]
pub trait TableEntity: Sized + Send {
    /// The names of the properties that are read, in the order in which [`Row`] numbers them.
    const COLUMNS: &'static [&'static str];

    /// Whether properties without a column are kept for [`Row::take_others`] instead of being
    /// ignored.
    const KEEPS_OTHERS: bool = false;

    /// The discriminator property, which is read even if a query does not select it.
    const DISCRIMINATOR: Option<&'static str> = None;

    /// The name of the table, if the type names it.
    #[doc(hidden)]
    const TABLE: Option<&'static str> = None;

    /// The layouts of the PartitionKey and the RowKey.
    #[doc(hidden)]
    const KEYS: [KeyLayout; 2] = [KeyLayout::ANY; 2];

    /// The fields that are not keys. Those in [`COLUMNS`](Self::COLUMNS) come first.
    #[doc(hidden)]
    const FIELDS: &'static [Field] = &[];

    /// The treatment of properties without a column.
    #[doc(hidden)]
    const OTHERS: schema::Others =
        if Self::KEEPS_OTHERS { schema::Others::Kept } else { schema::Others::Ignored };

    /// Checks that no two properties have the same name, including groups and series.
    ///
    /// # Errors
    /// Two properties have the same name; every call about the entity ends with this error.
    fn check_columns() -> Result<(), LimitError> {
        Columns::of::<Self>().check()
    }

    /// Adds the columns whose names are not constants, and aliases of columns. The derive does not need it.
    fn columns(columns: &mut Columns) {
        let _ = columns;
    }

    /// The PartitionKey.
    ///
    /// # Errors
    /// The field's value cannot be stored as a key.
    fn partition_key(&self) -> Result<Cow<'_, str>, KeyError>;

    /// The RowKey.
    ///
    /// # Errors
    /// The field's value cannot be stored as a key.
    fn row_key(&self) -> Result<Cow<'_, str>, KeyError>;

    /// Writes every property except the keys.
    ///
    /// # Errors
    /// A value is outside the limits of the service; the error names the property.
    fn write_properties(&self, writer: &mut PropertyWriter<'_>) -> Result<(), EncodeError>;

    /// Builds the entity from a row.
    ///
    /// # Errors
    /// A property is missing, null, of another type or out of range; the error names the entity
    /// and the property.
    fn from_row(row: &mut Row<'_>) -> Result<Self, DecodeError>;

    /// Whether a row with these keys could be read as this type.
    #[doc(hidden)]
    fn reads_keys(partition_key: &str, row_key: &str) -> bool {
        Self::reads_partition_key(partition_key) && Self::KEYS[1].recognizes(row_key)
    }

    /// Whether an entity of this type can have this PartitionKey.
    #[doc(hidden)]
    fn reads_partition_key(partition_key: &str) -> bool {
        Self::KEYS[0].recognizes(partition_key)
    }

    /// Adds the names of the types whose functions `key` and `partition` create the keys of this type.
    #[doc(hidden)]
    fn key_types(names: &mut Vec<&'static str>) {
        let _ = names;
    }

    /// Sets the field for the version, if the entity has one, after a write.
    fn set_etag(&mut self, etag: &ETag) {
        let _ = etag;
    }

    /// Describes the stored form. An implementation without this function describes the names of the properties only.
    fn schema() -> schema::Schema {
        schema::Schema::of::<Self>()
    }

    /// The properties that the entity owns.
    #[doc(hidden)]
    fn ownership(&self) -> Ownership {
        Ownership::of::<Self>()
    }

    /// Both keys.
    ///
    /// A module that calls it needs `use azure_table_client::TableEntity as _`.
    ///
    /// # Errors
    /// A key field's value cannot be stored as a key.
    fn entity_key(&self) -> Result<EntityKey, KeyError> {
        Ok(EntityKey {
            partition_key: self.partition_key()?.into_owned(),
            row_key: self.row_key()?.into_owned(),
        })
    }
}
