//! Comparisons of a column with a literal.

use azure_table_arrow::{Column, ColumnKind, ColumnType};
use azure_table_client::edm::EdmValue;
use azure_table_client::filter::{CompareOp, Filter};
use bytes::Bytes;
use datafusion_common::ScalarValue;
use uuid::Uuid;

use super::{Pushed, text, time};

/// Translates a comparison.
pub(super) fn of(column: &Column, op: CompareOp, literal: &ScalarValue) -> Option<Pushed> {
    let is_range = !matches!(op, CompareOp::Eq | CompareOp::Ne);
    let value: EdmValue = match (column.kind(), column.column_type()) {
        // The rest column holds the values of mixed columns. SQL has NaN as the highest Double, and two zeros.
        (ColumnKind::ETag | ColumnKind::Rest, _) | (_, ColumnType::Double) => return None,
        (_, ColumnType::String) => {
            let text = literal.try_as_str()??;
            let is_key = matches!(column.kind(), ColumnKind::PartitionKey | ColumnKind::RowKey);
            if !text::is_sendable(text)
                || is_range && !text::has_same_order(text)
                || is_key && !is_range && !text::is_key(text)
            {
                return None;
            }
            text.into()
        }
        (_, ColumnType::Boolean) => {
            let ScalarValue::Boolean(Some(value)) = *literal else { return None };
            return match op {
                CompareOp::Eq => of_boolean(column, value),
                CompareOp::Ne => of_boolean(column, !value),
                _ => None,
            };
        }
        (_, ColumnType::Int32) => match *literal {
            ScalarValue::Int32(Some(value)) => value.into(),
            _ => return None,
        },
        (_, ColumnType::Int64) => match *literal {
            ScalarValue::Int64(Some(value)) => value.into(),
            _ => return None,
        },
        (_, ColumnType::DateTime(form)) => {
            let times = time::comparisons(form, op, literal)?;
            let parts = times.into_iter().map(|(op, time)| compare(column, op, &time.into()));
            return parts.collect::<Option<Vec<_>>>()?.into_iter().reduce(|all, part| Pushed {
                filter: all.filter & part.filter,
                is_exact: all.is_exact && part.is_exact,
            });
        }
        // The order of Guids and Binaries is not documented.
        (_, ColumnType::Guid) => {
            if op != CompareOp::Eq {
                return None;
            }
            Uuid::from_slice(bytes(literal)?).ok()?.into()
        }
        (_, ColumnType::Binary) => {
            if op != CompareOp::Eq {
                return None;
            }
            Bytes::copy_from_slice(bytes(literal)?).into()
        }
    };
    compare(column, op, &value)
}

/// Builds the comparison of a column with a value of its type.
pub(super) fn compare(column: &Column, op: CompareOp, value: &EdmValue) -> Option<Pushed> {
    let filter = Filter::compare(column.name(), op, value.clone()).ok()?;
    // A service may return rows without the property, or with a value of another type: their column is null.
    Some(Pushed { filter, is_exact: !column.is_nullable() })
}

/// Requires a value of a Boolean column.
pub(super) fn of_boolean(column: &Column, value: bool) -> Option<Pushed> {
    if column.column_type() != ColumnType::Boolean {
        return None;
    }
    compare(column, CompareOp::Eq, &value.into())
}

fn bytes(literal: &ScalarValue) -> Option<&[u8]> {
    match literal {
        ScalarValue::Binary(bytes)
        | ScalarValue::LargeBinary(bytes)
        | ScalarValue::BinaryView(bytes)
        | ScalarValue::FixedSizeBinary(_, bytes) => bytes.as_deref(),
        _ => None,
    }
}
