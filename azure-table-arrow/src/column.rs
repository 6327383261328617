//! The columns of a table in Arrow.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::extension::{Json, Uuid};
use arrow_schema::{DataType, Field, TimeUnit};
use azure_table_client::edm::EdmType;

/// The name of the column of the PartitionKey.
pub(crate) const PARTITION_KEY: &str = "PartitionKey";
/// The name of the column of the RowKey.
pub(crate) const ROW_KEY: &str = "RowKey";
/// The name of the column of the Timestamp.
pub(crate) const TIMESTAMP: &str = "Timestamp";
/// The name of the column of the ETag: the name in the JSON of the service, which no property can have.
pub(crate) const ETAG: &str = "odata.etag";

/// The key of a field's metadata that holds the Edm type of a property, for example `Edm.Int64`.
pub(crate) const EDM_TYPE: &str = "azure.edm_type";
/// The key of a field's metadata that marks the rest column; see [`ColumnKind::Rest`].
pub(crate) const COLUMN_KIND: &str = "azure.column";
/// Its value for the rest column.
pub(crate) const REST: &str = "rest";

/// The time zone of every time column.
pub(crate) const UTC: &str = "UTC";

/// The Arrow type of `Edm.DateTime`, whose values are 100 ns ticks of the years 1601 to 9999.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Timestamps {
    /// `Timestamp(ns, "UTC")`: lossless from 1677-09-21T00:12:43.1452242Z to 2262-04-11T23:47:16.8547758Z. A value outside
    /// is an error that names the row.
    #[default]
    Nanos,
    /// `Timestamp(µs, "UTC")`: all years; the seventh digit of the fraction is dropped.
    Micros,
    /// `Int64`: lossless, the ticks of 100 ns since 0001-01-01T00:00:00Z, as .NET counts them.
    Ticks,
}

/// The type of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// `Edm.String` as `Utf8`.
    String,
    /// `Edm.Boolean` as `Boolean`.
    Boolean,
    /// `Edm.Int32` as `Int32`.
    Int32,
    /// `Edm.Int64` as `Int64`.
    Int64,
    /// `Edm.Double` as `Float64`, to the last bit.
    Double,
    /// `Edm.DateTime` in one of three forms.
    DateTime(Timestamps),
    /// `Edm.Guid` as `FixedSizeBinary(16)` with the extension type `arrow.uuid`: the bytes in the order of the text.
    Guid,
    /// `Edm.Binary` as `Binary`.
    Binary,
}

impl ColumnType {
    /// Returns the type of columns of an Edm type, with date-times in the form `timestamps`.
    pub const fn new(edm_type: EdmType, timestamps: Timestamps) -> Self {
        match edm_type {
            EdmType::String => Self::String,
            EdmType::Boolean => Self::Boolean,
            EdmType::Int32 => Self::Int32,
            EdmType::Int64 => Self::Int64,
            EdmType::Double => Self::Double,
            EdmType::DateTime => Self::DateTime(timestamps),
            EdmType::Guid => Self::Guid,
            EdmType::Binary => Self::Binary,
        }
    }

    /// The Edm type of the values.
    pub const fn edm_type(self) -> EdmType {
        match self {
            Self::String => EdmType::String,
            Self::Boolean => EdmType::Boolean,
            Self::Int32 => EdmType::Int32,
            Self::Int64 => EdmType::Int64,
            Self::Double => EdmType::Double,
            Self::DateTime(_) => EdmType::DateTime,
            Self::Guid => EdmType::Guid,
            Self::Binary => EdmType::Binary,
        }
    }

    /// The Arrow type of the column.
    pub fn data_type(self) -> DataType {
        match self {
            Self::String => DataType::Utf8,
            Self::Boolean => DataType::Boolean,
            Self::Int32 => DataType::Int32,
            Self::Int64 | Self::DateTime(Timestamps::Ticks) => DataType::Int64,
            Self::Double => DataType::Float64,
            Self::DateTime(Timestamps::Nanos) => time(TimeUnit::Nanosecond),
            Self::DateTime(Timestamps::Micros) => time(TimeUnit::Microsecond),
            Self::Guid => DataType::FixedSizeBinary(16),
            Self::Binary => DataType::Binary,
        }
    }
}

/// Date-times as [`Timestamps::Nanos`].
impl From<EdmType> for ColumnType {
    fn from(edm_type: EdmType) -> Self {
        Self::new(edm_type, Timestamps::Nanos)
    }
}

fn time(unit: TimeUnit) -> DataType {
    DataType::Timestamp(unit, Some(Arc::from(UTC)))
}

/// The part of a row that a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnKind {
    /// The PartitionKey; never null.
    PartitionKey,
    /// The RowKey; never null.
    RowKey,
    /// The time of the last write; never null.
    Timestamp,
    /// The ETag, in the column `odata.etag`.
    ETag,
    /// A property; null if the row does not have it.
    Property,
    /// The properties that have no column or are not of its type, as JSON: each name with the Edm type and the value, for
    /// example `{"Value":{"Int64":7}}`. Null if there are none.
    Rest,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Column {
    name: String,
    kind: ColumnKind,
    values: ColumnType,
}

impl Column {
    pub(crate) fn new(name: impl Into<String>, kind: ColumnKind, column_type: ColumnType) -> Self {
        Self { name: name.into(), kind, values: column_type }
    }

    /// The name: of a property, its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The part of a row that the column holds.
    pub const fn kind(&self) -> ColumnKind {
        self.kind
    }

    /// The type of the values.
    pub const fn column_type(&self) -> ColumnType {
        self.values
    }

    /// Whether the column may hold nulls: the keys and the Timestamp may not.
    pub const fn is_nullable(&self) -> bool {
        matches!(self.kind, ColumnKind::ETag | ColumnKind::Property | ColumnKind::Rest)
    }

    /// Returns the field in Arrow, with the metadata of [`TableSchema::arrow`](crate::TableSchema::arrow).
    pub fn field(&self) -> Field {
        let field = Field::new(&self.name, self.values.data_type(), self.is_nullable());
        let (key, value) = match self.kind {
            ColumnKind::Rest => (COLUMN_KIND, REST),
            _ => (EDM_TYPE, self.values.edm_type().as_str()),
        };
        let mut field = field.with_metadata(HashMap::from([(key.to_owned(), value.to_owned())]));
        // Both storage types support their extension type.
        if self.kind == ColumnKind::Rest {
            _ = field.try_with_extension_type(Json::default());
        } else if self.values == ColumnType::Guid {
            _ = field.try_with_extension_type(Uuid);
        }
        field
    }
}
