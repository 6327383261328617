//! Whether the keys of a row contradict a filter.

use super::{CompareOp, Filter, KeyOrder};
use crate::edm::EdmValue;
use crate::key::ordinal;
use crate::limits::{PARTITION_KEY, ROW_KEY};

impl Filter {
    /// Whether no row with these keys can match this filter, whatever its other properties are. `None` is a key that is not
    /// known.
    #[doc(hidden)]
    pub fn excludes(
        &self,
        partition_key: Option<&str>,
        row_key: Option<&str>,
        order: KeyOrder,
    ) -> bool {
        KnownKeys { partition_key, row_key, order }.decide(self) == Some(false)
    }
}

/// The keys of a row, in the order in which its service compares them.
#[derive(Clone, Copy)]
struct KnownKeys<'k> {
    partition_key: Option<&'k str>,
    row_key: Option<&'k str>,
    order: KeyOrder,
}

impl KnownKeys<'_> {
    /// Whether a row with these keys matches; `None` if that depends on something else than the keys.
    fn decide(self, filter: &Filter) -> Option<bool> {
        match filter {
            Filter::Compare { property, op, literal: EdmValue::String(text) } => {
                let key = match property.as_str() {
                    PARTITION_KEY => self.partition_key?,
                    ROW_KEY => self.row_key?,
                    _ => return None,
                };
                self.order.decides(*op, text).then(|| match op {
                    CompareOp::Eq => key == text,
                    CompareOp::Ne => key != text,
                    op => op.holds(ordinal(key, text)),
                })
            }
            Filter::And(all) => self.first(all, false),
            Filter::Or(any) => self.first(any, true),
            Filter::Not(inner) => self.decide(inner).map(|matches| !matches),
            Filter::Constant(value) => Some(*value),
            Filter::Compare { .. } | Filter::IsTrue(_) | Filter::TooDeep => None,
        }
    }

    /// Combines filters, of which one with the result `decisive` decides all.
    fn first(self, filters: &[Filter], decisive: bool) -> Option<bool> {
        let mut all = Some(!decisive);
        for filter in filters {
            match self.decide(filter) {
                Some(result) if result == decisive => return Some(decisive),
                Some(_) => {}
                None => all = None,
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excludes(text: &str, keys: [&str; 2], order: KeyOrder) -> bool {
        let [partition_key, row_key] = keys.map(|key| (key != "?").then_some(key));
        Filter::parse(text).unwrap().excludes(partition_key, row_key, order)
    }

    #[test]
    fn a_row_is_excluded_by_its_keys() {
        for (text, keys) in [
            ("PartitionKey eq 'p'", ["q", "r"]),
            ("PartitionKey eq 'p' and A eq 1", ["P", "r"]),
            ("PartitionKey eq 'p' and RowKey eq 'r'", ["p", "s"]),
            ("PartitionKey eq 'p' and RowKey eq 'r'", ["?", "s"]),
            ("PartitionKey eq 'p' and (RowKey eq 'a' or RowKey eq 'b')", ["p", "c"]),
            ("(PartitionKey eq 'p' and A eq 1) or PartitionKey eq 'q'", ["r", "?"]),
            ("RowKey ge 'b' and RowKey lt 'c'", ["p", "c"]),
            ("RowKey ge '\u{ffff}'", ["p", "\u{10000}"]),
            ("not (RowKey le 'b')", ["p", "b"]),
            ("not (PartitionKey ne 'p' or A eq 1)", ["q", "r"]),
            ("PartitionKey ne 'p'", ["p", "r"]),
            ("false", ["?", "?"]),
        ] {
            assert!(excludes(text, keys, KeyOrder::Utf16), "{text} {keys:?}");
        }
    }

    #[test]
    fn a_row_that_may_match_is_not_excluded() {
        for (text, keys) in [
            ("PartitionKey eq 'p' and RowKey eq 'r' and A eq 1", ["p", "r"]),
            ("PartitionKey eq 'p' or A eq 1", ["q", "r"]),
            ("PartitionKey eq 'p' and RowKey eq 'r'", ["p", "?"]),
            ("PartitionKey eq 'p' and RowKey eq 'r'", ["?", "?"]),
            ("not (PartitionKey eq 'p' and A eq 1)", ["p", "r"]),
            ("PartitionKey eq 5", ["p", "r"]),
            ("RowKey ge 'b' and RowKey lt 'c'", ["p", "b\u{ffff}"]),
            ("A or true", ["p", "r"]),
        ] {
            assert!(!excludes(text, keys, KeyOrder::Utf16), "{text} {keys:?}");
        }
    }

    #[test]
    fn an_unknown_order_excludes_by_equality_only() {
        assert!(!excludes("RowKey ge 'b'", ["p", "a"], KeyOrder::Unknown));
        assert!(excludes("RowKey gt ''", ["p", ""], KeyOrder::Unknown));
        assert!(excludes("RowKey ge 'b' and PartitionKey eq 'q'", ["p", "a"], KeyOrder::Unknown));
    }
}
