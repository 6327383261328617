//! Filters over rows.

use std::cmp::Ordering;

use super::order::ordinal;
use crate::edm::{EdmCow, EdmValue};
use crate::filter::{CompareOp, Filter};

/// Whether `filter` holds for a row whose properties `property` gives.
pub(super) fn holds<'r>(filter: &Filter, property: &impl Fn(&str) -> Option<EdmCow<'r>>) -> bool {
    match filter {
        Filter::Compare { property: name, op, literal } => compares(property(name), *op, literal),
        Filter::IsTrue(name) => matches!(property(name), Some(EdmCow::Boolean(true))),
        Filter::And(left, right) => holds(left, property) && holds(right, property),
        Filter::Or(left, right) => holds(left, property) || holds(right, property),
        Filter::Not(inner) => !holds(inner, property),
    }
}

/// A comparison with a missing or differently typed property is false, whatever the operator.
///
/// That is what "the service ignores the entity" means for `eq`, `gt` and `ge`. For `ne`, `lt` and
/// `le` the sources contradict each other; this one rule is used for all six.
fn compares(value: Option<EdmCow<'_>>, op: CompareOp, literal: &EdmValue) -> bool {
    let Some(order) = value.and_then(|value| compare(&value, literal)) else {
        return false;
    };
    match op {
        CompareOp::Eq => order.is_eq(),
        CompareOp::Ne => order.is_ne(),
        CompareOp::Gt => order.is_gt(),
        CompareOp::Ge => order.is_ge(),
        CompareOp::Lt => order.is_lt(),
        CompareOp::Le => order.is_le(),
    }
}

/// The order of two values of one type; `None` across types and for NaN.
fn compare(value: &EdmCow<'_>, literal: &EdmValue) -> Option<Ordering> {
    match (value, literal) {
        (EdmCow::String(a), EdmValue::String(b)) => Some(ordinal(a, b)),
        (EdmCow::Boolean(a), EdmValue::Boolean(b)) => Some(a.cmp(b)),
        (EdmCow::Int32(a), EdmValue::Int32(b)) => Some(a.cmp(b)),
        (EdmCow::Int64(a), EdmValue::Int64(b)) => Some(a.cmp(b)),
        (EdmCow::Double(a), EdmValue::Double(b)) => a.partial_cmp(b),
        (EdmCow::DateTime(a), EdmValue::DateTime(b)) => Some(a.cmp(b)),
        (EdmCow::Guid(a), EdmValue::Guid(b)) => Some(a.cmp(b)),
        (EdmCow::Binary(a), EdmValue::Binary(b)) => Some(a.as_ref().cmp(b.as_ref())),
        _ => None,
    }
}
