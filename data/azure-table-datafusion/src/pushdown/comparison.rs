//! Comparisons of a column with a literal.

use azure_table_arrow::{Column, ColumnKind, ColumnType};
use azure_table_client::edm::EdmValue;
use azure_table_client::filter::{CompareOp, Filter};
use bytes::Bytes;
use datafusion_common::ScalarValue;
use uuid::Uuid;

use super::{Forbidden, Pushed, text, time};

/// Translates a comparison.
pub(super) fn of(
    column: &Column,
    op: CompareOp,
    literal: &ScalarValue,
    forbidden: Forbidden,
) -> Option<Pushed> {
    let is_range = !matches!(op, CompareOp::Eq | CompareOp::Ne);
    let value: EdmValue = match (column.kind(), column.column_type()) {
        (ColumnKind::ETag, _) => return None,
        (ColumnKind::Rest, _) if !forbidden.rest => return None,
        (_, ColumnType::String) => {
            let text = literal.try_as_str()??;
            let is_key = matches!(column.kind(), ColumnKind::PartitionKey | ColumnKind::RowKey);
            if !text::is_sendable(text)
                || is_range && !(forbidden.surrogates || text::has_same_order(text))
                || is_key && !is_range && !text::is_key(text)
            {
                return None;
            }
            text.into()
        }
        (_, ColumnType::Boolean) => {
            let ScalarValue::Boolean(Some(value)) = *literal else { return None };
            return match op {
                CompareOp::Eq => of_boolean(column, value, forbidden),
                CompareOp::Ne => of_boolean(column, !value, forbidden),
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
        (_, ColumnType::Double) => match *literal {
            ScalarValue::Float64(Some(value)) if forbidden.doubles => value.into(),
            _ => return None,
        },
        (_, ColumnType::DateTime(form)) => {
            return time::compare(column, form, op, literal, forbidden);
        }
        (_, ColumnType::Guid) => {
            if op != CompareOp::Eq && !forbidden.guid_ranges {
                return None;
            }
            Uuid::from_slice(bytes(literal)?).ok()?.into()
        }
        (_, ColumnType::Binary) => {
            if op != CompareOp::Eq && !forbidden.binary_ranges {
                return None;
            }
            Bytes::copy_from_slice(bytes(literal)?).into()
        }
    };
    compare(column, op, &value, forbidden)
}

/// Builds the comparison of a column with a value of its type.
pub(super) fn compare(
    column: &Column,
    op: CompareOp,
    value: &EdmValue,
    forbidden: Forbidden,
) -> Option<Pushed> {
    let filter = Filter::compare(column.name(), op, value.clone()).ok()?;
    let may_match_missing = matches!(op, CompareOp::Ne | CompareOp::Lt | CompareOp::Le);
    let is_forced = if may_match_missing {
        forbidden.missing_as_exact
    } else {
        forbidden.other_types_as_exact == Some(value.edm_type())
    };
    // A service may return rows without the property, or with a value of another type: their column is null.
    Some(Pushed { filter, is_exact: !column.is_nullable() || is_forced })
}

/// Requires a value of a Boolean column.
pub(super) fn of_boolean(column: &Column, value: bool, forbidden: Forbidden) -> Option<Pushed> {
    if column.column_type() != ColumnType::Boolean {
        return None;
    }
    compare(column, CompareOp::Eq, &value.into(), forbidden)
}

/// A missing property as the default value of its type: the wrong translation of `IS NULL`, for a test.
pub(super) fn with_default(column: &Column) -> Option<Pushed> {
    let value: EdmValue = match column.column_type() {
        ColumnType::String => "".into(),
        ColumnType::Boolean => false.into(),
        ColumnType::Int32 => 0.into(),
        ColumnType::Int64 => 0_i64.into(),
        ColumnType::Double => 0.0.into(),
        ColumnType::DateTime(_) | ColumnType::Guid | ColumnType::Binary => return None,
    };
    let filter = Filter::compare(column.name(), CompareOp::Eq, value).ok()?;
    Some(Pushed { filter, is_exact: true })
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
