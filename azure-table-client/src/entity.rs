//! Entities: the trait that maps a struct to rows, keys, and entities without a struct. See the
//! [guide](crate::guide::entities).

pub mod codec;
mod dynamic;
mod extra;
mod group;
mod index;
mod ownership;
mod rows;
pub mod schema;
mod series;
mod write;

use std::borrow::Cow;

pub use azure_table_derive::PropertyGroup;
pub use dynamic::{DynamicEntity, IntoProperty};
pub(crate) use dynamic::{Lenient, Readable};
#[doc(hidden)]
pub use extra::ExtraField;
pub use group::PropertyGroup;
#[doc(hidden)]
pub use group::ReadGroup;
pub use index::{HasIndexes, IndexDefinition};
#[doc(hidden)]
pub use ownership::Ownership;
pub(crate) use rows::{Entities, OfKind};
#[doc(hidden)]
pub use series::{SeriesField, SeriesName, SplitField};
pub use write::{EncodeError, PropertyWriter};
pub(crate) use write::{PropertyName, PropertySink};

pub(crate) use crate::decode::{
    Annotation, EachResult, Form, Keyed, KeysOnly, MAX_OTHERS, RawProperty, RawText, RawValue,
    ReadRow, WithETag,
};
pub use crate::decode::{Columns, DecodeError, DecodeReason, Row};
use crate::etag::ETag;
#[doc(hidden)]
pub use crate::key::TickKey;
pub use crate::key::{
    Bucketed, Descending, EntityKey, Escaped, IntoKey, KeyArgument, KeyError, KeyNumber, KeyPart,
    KeyRange,
};
pub(crate) use crate::key::{KeyLayout, after_prefix, by_keys, ordinal};
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

    /// Checks that no two properties have the same name, including groups and series.
    ///
    /// # Errors
    /// Two properties have the same name; every call about the entity ends with this error.
    fn check_columns() -> Result<(), LimitError> {
        Columns::of::<Self>().check()
    }

    /// Adds the columns whose names are not constants, and aliases of columns.
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
        let _ = (partition_key, row_key);
        true
    }

    /// Whether an entity of this type can have this PartitionKey.
    #[doc(hidden)]
    fn reads_partition_key(partition_key: &str) -> bool {
        let _ = partition_key;
        true
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
        schema::Schema::of_columns::<Self>()
    }

    /// The properties that the entity owns.
    #[doc(hidden)]
    fn ownership(&self) -> Ownership {
        Ownership::of::<Self>()
    }

    /// Both keys.
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

/// A [`TableEntity`] whose keys are made of typed parts; the derive implements it.
#[diagnostic::on_unimplemented(
    message = "the keys of `{Self}` have no form",
    label = "no form of its keys",
    note = "write #[derive(TableEntity)] on the struct"
)]
pub trait TypedKeys: TableEntity {
    #[doc(hidden)]
    const PARTITION_KEY: KeyLayout;
    #[doc(hidden)]
    const ROW_KEY: KeyLayout;

    /// Whether an entity of this type can have these keys.
    ///
    /// It distinguishes the entity kinds in one table whose row keys have different forms.
    fn recognizes(partition_key: &str, row_key: &str) -> bool;
}

/// An enum of entities in which `K` is the struct of a kind; the derive implements it.
///
/// See [`Query::of_kind`](crate::client::Query::of_kind).
#[diagnostic::on_unimplemented(
    message = "a filter cannot find the rows of `{Self}` that are a `{K}`",
    label = "not a kind of `{Self}` with a discriminator property",
    note = "`of_kind` accepts the struct in a variant of an enum with #[derive(TableEntity)] and #[table(discriminator = \"…\")]",
    note = "with `discriminator_in_row_key`, write a condition on the row key"
)]
pub trait HasKind<K>: TableEntity {
    /// The kinds whose struct is `K`, as the discriminator property holds them.
    #[doc(hidden)]
    const KINDS: &'static [&'static str];
}

/// A [`TableEntity`] that names its table.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name its table",
    label = "no table name",
    note = "write #[derive(TableEntity)] and #[table(name = \"…\")] on the struct, or open the table with `table_named::<T>(\"…\")`"
)]
pub trait NamedTable: TableEntity {
    /// The table's name.
    const TABLE_NAME: &'static str;
}
