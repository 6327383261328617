//! The choices that a schema leaves open.

use crate::Timestamps;

/// The treatment of properties that a schema has no column for, or whose value is not of the column's type.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mixed {
    /// They are an error that names the row and the property. When a schema is inferred, a property with values of several
    /// types is an error.
    #[default]
    Error,
    /// They go to the JSON column with this name; see [`ColumnKind::Rest`](crate::ColumnKind::Rest). When a schema is
    /// inferred, all values of a property with several types go there, and also a property with the name of the column.
    Rest(String),
    /// They are left out, so that the rows that are read back lack them. When a schema is inferred, a property with values
    /// of several types gets no column.
    Omit,
}

impl Mixed {
    /// The JSON column with the name `rest`.
    pub fn rest() -> Self {
        Self::Rest("rest".to_owned())
    }
}

/// The choices of a schema besides its properties.
///
/// ```
/// use azure_table_arrow::{Mixed, SchemaOptions, Timestamps};
///
/// let options = SchemaOptions::new().timestamps(Timestamps::Ticks).mixed(Mixed::rest());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct SchemaOptions {
    pub(crate) timestamps: Timestamps,
    pub(crate) mixed: Mixed,
    pub(crate) has_timestamp: bool,
    pub(crate) has_etag: bool,
}

impl SchemaOptions {
    /// Returns the defaults: times in nanoseconds, mixed columns are an error, no columns for the Timestamp and the ETag.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the form of date-times, for the Timestamp and for properties whose columns are not declared.
    #[must_use]
    pub const fn timestamps(mut self, timestamps: Timestamps) -> Self {
        self.timestamps = timestamps;
        self
    }

    /// Sets the treatment of properties without a suitable column.
    #[must_use]
    pub fn mixed(mut self, mixed: Mixed) -> Self {
        self.mixed = mixed;
        self
    }

    /// Adds or omits the column `Timestamp`. Rows without a Timestamp are then an error.
    #[must_use]
    pub const fn with_timestamp(mut self, is_included: bool) -> Self {
        self.has_timestamp = is_included;
        self
    }

    /// Adds or omits the column `odata.etag`, which is null in rows without an ETag.
    #[must_use]
    pub const fn with_etag(mut self, is_included: bool) -> Self {
        self.has_etag = is_included;
        self
    }
}
