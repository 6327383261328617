//! The columns of a batch that is being built.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, FixedSizeBinaryBuilder, Float64Builder, Int32Builder,
    Int64Builder, StringBuilder, TimestampMicrosecondBuilder, TimestampNanosecondBuilder,
};
use azure_table_client::EntityKey;
use azure_table_client::edm::{EdmDateTime, EdmValue};
use uuid::Uuid;

use crate::column::UTC;
use crate::{ColumnType, Error, Timestamps, time};

/// A value of a row for a column.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cell<'r> {
    Null,
    Text(&'r str),
    Boolean(bool),
    Int32(i32),
    Int64(i64),
    Double(f64),
    Time(EdmDateTime),
    Guid(Uuid),
    Binary(&'r [u8]),
}

impl<'r> Cell<'r> {
    pub(super) fn of(value: &'r EdmValue) -> Self {
        match value {
            EdmValue::String(v) => Self::Text(v),
            EdmValue::Boolean(v) => Self::Boolean(*v),
            EdmValue::Int32(v) => Self::Int32(*v),
            EdmValue::Int64(v) => Self::Int64(*v),
            EdmValue::Double(v) => Self::Double(*v),
            EdmValue::DateTime(v) => Self::Time(*v),
            EdmValue::Guid(v) => Self::Guid(*v),
            EdmValue::Binary(v) => Self::Binary(v),
        }
    }

    pub(super) const fn is_null(self) -> bool {
        matches!(self, Self::Null)
    }

    /// The approximate number of bytes in the batch.
    pub(super) const fn size(self) -> usize {
        match self {
            Self::Text(v) => v.len() + 4,
            Self::Binary(v) => v.len() + 4,
            Self::Guid(_) => 16,
            _ => 8,
        }
    }
}

/// The reason why a column cannot hold a value of its type.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    /// The time is outside the range of nanoseconds.
    Time(EdmDateTime),
    /// The column would have more bytes than its offsets of 32 bits allow.
    Length { used: usize, added: usize },
}

impl Unfit {
    pub(super) fn of(self, key: &EntityKey, column: &str) -> Error {
        match self {
            Self::Time(time) => {
                Error::TimeOutOfRange { key: key.clone(), column: column.to_owned(), time }
            }
            Self::Length { used, added } => {
                let reason = "is too long for the batch, finish it first";
                Error::row(
                    key,
                    column,
                    format!("{reason} ({used} + {added} bytes, limit {})", i32::MAX),
                )
            }
        }
    }
}

fn check_length(used: usize, added: usize) -> Result<(), Unfit> {
    match used.checked_add(added).map(i32::try_from) {
        Some(Ok(_)) => Ok(()),
        _ => Err(Unfit::Length { used, added }),
    }
}

/// A column. The types of its values are those of its schema.
pub(super) enum ColumnBuilder {
    String(StringBuilder),
    Boolean(BooleanBuilder),
    Int32(Int32Builder),
    Int64(Int64Builder),
    Double(Float64Builder),
    Nanos(TimestampNanosecondBuilder),
    Micros(TimestampMicrosecondBuilder),
    Ticks(Int64Builder),
    Guid(FixedSizeBinaryBuilder),
    Binary(BinaryBuilder),
}

impl ColumnBuilder {
    pub(super) fn new(column_type: ColumnType) -> Self {
        match column_type {
            ColumnType::String => Self::String(StringBuilder::new()),
            ColumnType::Boolean => Self::Boolean(BooleanBuilder::new()),
            ColumnType::Int32 => Self::Int32(Int32Builder::new()),
            ColumnType::Int64 => Self::Int64(Int64Builder::new()),
            ColumnType::Double => Self::Double(Float64Builder::new()),
            ColumnType::DateTime(Timestamps::Nanos) => {
                Self::Nanos(TimestampNanosecondBuilder::new().with_timezone(UTC))
            }
            ColumnType::DateTime(Timestamps::Micros) => {
                Self::Micros(TimestampMicrosecondBuilder::new().with_timezone(UTC))
            }
            ColumnType::DateTime(Timestamps::Ticks) => Self::Ticks(Int64Builder::new()),
            ColumnType::Guid => Self::Guid(FixedSizeBinaryBuilder::new(16)),
            ColumnType::Binary => Self::Binary(BinaryBuilder::new()),
        }
    }

    /// Checks that the column can hold a value of its type.
    pub(super) fn check(&self, cell: Cell<'_>) -> Result<(), Unfit> {
        match (self, cell) {
            (Self::Nanos(_), Cell::Time(time)) if time::to_nanos(time).is_none() => {
                Err(Unfit::Time(time))
            }
            (Self::String(builder), Cell::Text(text)) => {
                check_length(builder.values_slice().len(), text.len())
            }
            (Self::Binary(builder), Cell::Binary(bytes)) => {
                check_length(builder.values_slice().len(), bytes.len())
            }
            _ => Ok(()),
        }
    }

    /// Adds a checked value, or null.
    pub(super) fn push(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (Self::String(builder), Cell::Text(v)) => builder.append_value(v),
            (Self::String(builder), _) => builder.append_null(),
            (Self::Boolean(builder), Cell::Boolean(v)) => builder.append_value(v),
            (Self::Boolean(builder), _) => builder.append_null(),
            (Self::Int32(builder), Cell::Int32(v)) => builder.append_value(v),
            (Self::Int32(builder), _) => builder.append_null(),
            (Self::Int64(builder), Cell::Int64(v)) => builder.append_value(v),
            (Self::Ticks(builder), Cell::Time(v)) => builder.append_value(v.ticks()),
            (Self::Int64(builder) | Self::Ticks(builder), _) => builder.append_null(),
            (Self::Double(builder), Cell::Double(v)) => builder.append_value(v),
            (Self::Double(builder), _) => builder.append_null(),
            (Self::Nanos(builder), Cell::Time(v)) => builder.append_option(time::to_nanos(v)),
            (Self::Nanos(builder), _) => builder.append_null(),
            (Self::Micros(builder), Cell::Time(v)) => builder.append_value(time::to_micros(v)),
            (Self::Micros(builder), _) => builder.append_null(),
            // 16 bytes are never refused.
            (Self::Guid(builder), Cell::Guid(v)) => _ = builder.append_value(v.as_bytes()),
            (Self::Guid(builder), _) => builder.append_null(),
            (Self::Binary(builder), Cell::Binary(v)) => builder.append_value(v),
            (Self::Binary(builder), _) => builder.append_null(),
        }
    }

    /// Returns the values so far.
    pub(super) fn finish(&mut self) -> ArrayRef {
        match self {
            Self::String(builder) => Arc::new(builder.finish()),
            Self::Boolean(builder) => Arc::new(builder.finish()),
            Self::Int32(builder) => Arc::new(builder.finish()),
            Self::Int64(builder) | Self::Ticks(builder) => Arc::new(builder.finish()),
            Self::Double(builder) => Arc::new(builder.finish()),
            Self::Nanos(builder) => Arc::new(builder.finish()),
            Self::Micros(builder) => Arc::new(builder.finish()),
            Self::Guid(builder) => Arc::new(builder.finish()),
            Self::Binary(builder) => Arc::new(builder.finish()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_at_most_two_gib() {
        let limit = usize::try_from(i32::MAX).unwrap();
        assert_eq!(check_length(limit - 1, 1), Ok(()));
        assert_eq!(check_length(limit, 1), Err(Unfit::Length { used: limit, added: 1 }));
        assert!(check_length(1, usize::MAX).is_err());
        let error = Unfit::Length { used: limit, added: 1 }.of(&EntityKey::new("p", "1"), "Data");
        assert!(error.to_string().contains("(2147483647 + 1 bytes, limit 2147483647)"), "{error}");
    }
}
