//! The setting that compares Int32 literals with wider numbers.

use crate::edm::EdmValue;
use crate::filter::Filter;

/// Extends the comparisons with an Int32 literal to Int64 and Double values. A comparison is false for a value of
/// another type, so at most one of the three comparisons holds.
pub(super) fn int32_literals(filter: Filter) -> Filter {
    filter.with_literals(&|literal| match *literal {
        EdmValue::Int32(number) => {
            vec![number.into(), i64::from(number).into(), f64::from(number).into()]
        }
        _ => Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_int32_literals_are_promoted() {
        for (text, expected) in [
            ("A eq 5", "A eq 5 or A eq 5L or A eq 5.0"),
            ("not (A lt -1)", "not (A lt -1 or A lt -1L or A lt -1.0)"),
            ("A ne 5 and B eq 'b'", "(A ne 5 or A ne 5L or A ne 5.0) and B eq 'b'"),
            ("A eq 5L", "A eq 5L"),
            ("A eq 5.0 or B", "A eq 5.0 or B"),
        ] {
            let promoted = int32_literals(Filter::parse(text).unwrap());
            assert_eq!(promoted, Filter::parse(expected).unwrap(), "{text}");
        }
    }
}
