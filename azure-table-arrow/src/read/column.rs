//! The columns of a batch that is read.

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    Float64Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, FixedSizeBinaryArray,
    Float64Array, Int32Array, Int64Array, LargeBinaryArray, LargeStringArray, StringArray,
    StringViewArray,
};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType, TimeUnit};
use azure_table_client::edm::{DateTimeError, EdmDateTime, EdmValue};
use uuid::Uuid;

use crate::{ColumnType, Timestamps, time};

/// The values of a column in one of the layouts of Arrow.
#[derive(Debug, Clone)]
pub(super) enum Values {
    Utf8(StringArray),
    LargeUtf8(LargeStringArray),
    Utf8View(StringViewArray),
    Boolean(BooleanArray),
    Int32(Int32Array),
    Int64(Int64Array),
    Double(Float64Array),
    /// Units since 1970, and the units of a second.
    Time(ArrayRef, ScalarBuffer<i64>, i64),
    Ticks(Int64Array),
    Guid(FixedSizeBinaryArray),
    Binary(BinaryArray),
    LargeBinary(LargeBinaryArray),
    BinaryView(BinaryViewArray),
}

impl Values {
    /// Returns the values of an array; `None` if it is not of the type.
    pub(super) fn new(array: &ArrayRef, column_type: ColumnType) -> Option<Self> {
        match (column_type, array.data_type()) {
            (ColumnType::String, DataType::Utf8) => array.as_string_opt().cloned().map(Self::Utf8),
            (ColumnType::String, DataType::LargeUtf8) => {
                array.as_string_opt().cloned().map(Self::LargeUtf8)
            }
            (ColumnType::String, _) => array.as_string_view_opt().cloned().map(Self::Utf8View),
            (ColumnType::Boolean, _) => array.as_boolean_opt().cloned().map(Self::Boolean),
            (ColumnType::Int32, _) => {
                array.as_primitive_opt::<Int32Type>().cloned().map(Self::Int32)
            }
            (ColumnType::Int64, _) => {
                array.as_primitive_opt::<Int64Type>().cloned().map(Self::Int64)
            }
            (ColumnType::Double, _) => {
                array.as_primitive_opt::<Float64Type>().cloned().map(Self::Double)
            }
            (ColumnType::DateTime(Timestamps::Ticks), _) => {
                array.as_primitive_opt::<Int64Type>().cloned().map(Self::Ticks)
            }
            (ColumnType::DateTime(_), DataType::Timestamp(unit, _)) => {
                let (values, per_second) = times(array, *unit)?;
                Some(Self::Time(array.clone(), values.clone(), per_second))
            }
            (ColumnType::DateTime(_), _) => None,
            (ColumnType::Guid, _) => array.as_fixed_size_binary_opt().cloned().map(Self::Guid),
            (ColumnType::Binary, DataType::Binary) => {
                array.as_binary_opt().cloned().map(Self::Binary)
            }
            (ColumnType::Binary, DataType::LargeBinary) => {
                array.as_binary_opt().cloned().map(Self::LargeBinary)
            }
            (ColumnType::Binary, _) => array.as_binary_view_opt().cloned().map(Self::BinaryView),
        }
    }

    fn array(&self) -> &dyn Array {
        match self {
            Self::Utf8(array) => array,
            Self::LargeUtf8(array) => array,
            Self::Utf8View(array) => array,
            Self::Boolean(array) => array,
            Self::Int32(array) => array,
            Self::Int64(array) | Self::Ticks(array) => array,
            Self::Double(array) => array,
            Self::Time(array, ..) => array,
            Self::Guid(array) => array,
            Self::Binary(array) => array,
            Self::LargeBinary(array) => array,
            Self::BinaryView(array) => array,
        }
    }

    /// Returns the value of a row; `None` if it is null. `row` is less than the number of rows.
    pub(super) fn get(&self, row: usize) -> Result<Option<EdmValue>, DateTimeError> {
        if self.array().is_null(row) {
            return Ok(None);
        }
        Ok(Some(match self {
            Self::Utf8(array) => EdmValue::String(array.value(row).to_owned()),
            Self::LargeUtf8(array) => EdmValue::String(array.value(row).to_owned()),
            Self::Utf8View(array) => EdmValue::String(array.value(row).to_owned()),
            Self::Boolean(array) => EdmValue::Boolean(array.value(row)),
            Self::Int32(array) => EdmValue::Int32(array.value(row)),
            Self::Int64(array) => EdmValue::Int64(array.value(row)),
            Self::Double(array) => EdmValue::Double(array.value(row)),
            Self::Time(_, values, per_second) => {
                EdmValue::DateTime(time::from_unix(values[row], *per_second)?)
            }
            Self::Ticks(array) => EdmValue::DateTime(EdmDateTime::from_ticks(array.value(row))?),
            // The values have 16 bytes.
            Self::Guid(array) => {
                EdmValue::Guid(Uuid::from_slice(array.value(row)).unwrap_or_default())
            }
            Self::Binary(array) => EdmValue::Binary(array.value(row).to_vec().into()),
            Self::LargeBinary(array) => EdmValue::Binary(array.value(row).to_vec().into()),
            Self::BinaryView(array) => EdmValue::Binary(array.value(row).to_vec().into()),
        }))
    }
}

/// Returns the units since 1970, and the units of a second.
fn times(array: &ArrayRef, unit: TimeUnit) -> Option<(&ScalarBuffer<i64>, i64)> {
    Some(match unit {
        TimeUnit::Second => (array.as_primitive_opt::<TimestampSecondType>()?.values(), 1),
        TimeUnit::Millisecond => {
            (array.as_primitive_opt::<TimestampMillisecondType>()?.values(), 1000)
        }
        TimeUnit::Microsecond => {
            (array.as_primitive_opt::<TimestampMicrosecondType>()?.values(), 1_000_000)
        }
        TimeUnit::Nanosecond => {
            (array.as_primitive_opt::<TimestampNanosecondType>()?.values(), 1_000_000_000)
        }
    })
}
