//! The evaluation of filters on rows.

use std::cmp::Ordering;

use crate::edm::{EdmCow, EdmValue};
use crate::entity::ordinal;
use crate::filter::{CompareOp, Filter};

/// Returns `true` if `filter` matches a row whose properties `property` returns.
pub(super) fn holds<'r>(filter: &Filter, property: &impl Fn(&str) -> Option<EdmCow<'r>>) -> bool {
    match filter {
        Filter::Compare { property: name, op, literal } => compares(property(name), *op, literal),
        Filter::IsTrue(name) => matches!(property(name), Some(EdmCow::Boolean(true))),
        Filter::And(all) => all.iter().all(|filter| holds(filter, property)),
        Filter::Or(any) => any.iter().any(|filter| holds(filter, property)),
        Filter::Not(inner) => !holds(inner, property),
    }
}

/// Compares a property with a literal. If the property is missing or has another type, the result is
/// false for every operator.
///
/// The documentation states that "the service ignores the entity" for `eq`, `gt` and `ge`. For `ne`, `lt`
/// and `le` the sources contradict each other, so the mock uses the same rule for all six.
fn compares(value: Option<EdmCow<'_>>, op: CompareOp, literal: &EdmValue) -> bool {
    let order = value.and_then(|value| compare(&value, literal));
    order.is_some_and(|order| op.holds(order))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(text: &str) -> bool {
        let bytes = [1_u8, 2];
        let property = |name: &str| {
            Some(match name {
                "I" => EdmCow::Int32(5),
                "L" => EdmCow::Int64(5),
                "D" => EdmCow::Double(5.0),
                "N" => EdmCow::Double(f64::NAN),
                "T" => EdmCow::Boolean(true),
                "S" => EdmCow::String("\u{1f600}".into()),
                "X" => EdmCow::Binary(bytes[..].into()),
                _ => return None,
            })
        };
        holds(&Filter::parse(text).unwrap(), &property)
    }

    #[test]
    fn a_very_long_filter_is_evaluated() {
        let long: Vec<String> = (5..100_000).rev().map(|n| format!("I eq {n}")).collect();
        assert!(matches(&long.join(" or ")));
        assert!(!matches(&long[..long.len() - 1].join(" or ")));
    }

    #[test]
    fn values_match_literals_of_their_own_type_only() {
        for text in [
            "I eq 5",
            "I le 5",
            "I lt 6",
            "L eq 5L",
            "D eq 5.0",
            "D ge 5e0",
            "T",
            "T eq true",
            "T gt false",
            "X eq X'0102'",
            "X gt X'01'",
            "S lt '\u{ffff}'",
            "5 ge I",
            "not (I ne 5)",
        ] {
            assert!(matches(text), "{text}");
        }
        for text in [
            "I eq 5L",
            "I eq 5.0",
            "L eq 5",
            "D eq 5",
            "T eq 1",
            "S eq 5",
            "S gt '\u{ffff}'",
            "N eq 5.0",
            "N ne 5.0",
            "I",
            "not T",
        ] {
            assert!(!matches(text), "{text}");
        }
    }

    /// The rule of the mock: no source decides it for `ne`, `lt` and `le`.
    #[test]
    fn missing_and_differently_typed_properties_match_no_comparison() {
        for op in ["eq", "ne", "gt", "ge", "lt", "le"] {
            assert!(!matches(&format!("Missing {op} 5")), "{op}");
            assert!(!matches(&format!("S {op} 5")), "{op}");
            assert!(matches(&format!("not (Missing {op} 5)")), "not is plain negation");
        }
        assert!(!matches("Missing") && matches("not Missing"));
    }
}
