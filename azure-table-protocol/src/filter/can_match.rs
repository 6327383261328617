//! Whether the keys of a row can meet a filter.

use super::{CompareOp, Filter, KeyOrder, Plan};
use crate::edm::EdmValue;
use crate::limits::{PARTITION_KEY, ROW_KEY};

/// The limit on the steps of a search, which bounds its time for long lists that contradict each other.
const MAX_STEPS: usize = 20_000;
/// The limit on the lists whose alternatives are combined, which bounds the depth of the search.
const MAX_LISTS: usize = 100;

impl Filter {
    /// Whether a key can meet this filter, whatever the other properties of its row are. A filter whose lists are too
    /// long to search counts as one that can match.
    pub(crate) fn can_match(&self, order: KeyOrder) -> bool {
        // Health checks query for `false` alone, to send a request that costs little and is answered without rows.
        if *self == Self::Constant(false) {
            return true;
        }
        let whole = FilterPart { filter: self, is_negated: false };
        Search { order, steps: 0 }.finds(Candidates::default(), whole)
    }
}

/// A filter that must match, or must not.
#[derive(Clone, Copy)]
struct FilterPart<'f> {
    filter: &'f Filter,
    is_negated: bool,
}

/// Alternatives, one of which must match, or must not.
#[derive(Clone, Copy)]
struct List<'f> {
    any: &'f [Filter],
    is_negated: bool,
}

/// The keys that meet some parts of a filter, and its other parts.
#[derive(Clone, Default)]
struct Candidates<'f> {
    keys: Plan<'f>,
    /// Values that a key must not have, with the name of the key.
    excluded: Vec<(&'f str, &'f str)>,
    /// The lists whose alternatives are not tried yet.
    lists: Vec<List<'f>>,
    /// The number of lists from which an alternative was chosen.
    depth: usize,
    /// Whether a part of the filter is the constant `false`.
    has_false: bool,
}

impl<'f> Candidates<'f> {
    fn add(&mut self, FilterPart { filter, is_negated }: FilterPart<'f>, order: KeyOrder) {
        match filter {
            Filter::Compare { property, op, literal: EdmValue::String(value) }
                if is_key(property) && order.decides(*op, value) =>
            {
                match if is_negated { op.negated() } else { *op } {
                    CompareOp::Ne => self.excluded.push((property, value)),
                    op => {
                        let keys = std::mem::take(&mut self.keys);
                        self.keys = keys.and(Plan::of_comparison(property, op, value));
                    }
                }
            }
            Filter::And(all) if !is_negated => self.add_all(all, is_negated, order),
            Filter::Or(all) if is_negated => self.add_all(all, is_negated, order),
            Filter::And(any) | Filter::Or(any) => {
                // An alternative that has neither keys nor constants can always match.
                if any.iter().all(is_decidable) {
                    self.lists.push(List { any, is_negated });
                }
            }
            Filter::Not(inner) => {
                self.add(FilterPart { filter: inner, is_negated: !is_negated }, order);
            }
            Filter::Constant(value) => self.has_false |= *value == is_negated,
            Filter::Compare { .. } | Filter::IsTrue(_) | Filter::TooDeep => {}
        }
    }

    fn add_all(&mut self, filters: &'f [Filter], is_negated: bool, order: KeyOrder) {
        for filter in filters {
            self.add(FilterPart { filter, is_negated }, order);
        }
    }

    fn are_none(&self) -> bool {
        let mut excluded = self.excluded.iter();
        self.has_false
            || self.keys.is_empty()
            || excluded.any(|(key, value)| self.keys.has_only(key, value))
    }

    /// Removes the shortest list.
    fn next_list(&mut self) -> Option<List<'f>> {
        let lists = self.lists.iter().enumerate();
        let (shortest, _) = lists.min_by_key(|(_, list)| list.any.len())?;
        Some(self.lists.swap_remove(shortest))
    }
}

fn is_key(property: &str) -> bool {
    property == PARTITION_KEY || property == ROW_KEY
}

/// Whether the filter compares a key or has a constant.
fn is_decidable(filter: &Filter) -> bool {
    match filter {
        Filter::Compare { property, .. } => is_key(property),
        Filter::And(parts) | Filter::Or(parts) => parts.iter().any(is_decidable),
        Filter::Not(inner) => is_decidable(inner),
        Filter::Constant(_) => true,
        Filter::IsTrue(_) | Filter::TooDeep => false,
    }
}

/// A search for a key that meets a filter.
struct Search {
    order: KeyOrder,
    steps: usize,
}

impl Search {
    /// Whether one of the candidates meets `part`; `true` if the search ends early.
    fn finds<'f>(&mut self, mut candidates: Candidates<'f>, part: FilterPart<'f>) -> bool {
        candidates.add(part, self.order);
        if candidates.are_none() {
            return false;
        }
        let Some(List { any, is_negated }) = candidates.next_list() else { return true };
        candidates.depth += 1;
        any.iter().any(|filter| {
            self.steps += 1 + candidates.lists.len() + candidates.excluded.len();
            self.steps > MAX_STEPS
                || candidates.depth > MAX_LISTS
                || self.finds(candidates.clone(), FilterPart { filter, is_negated })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn can_match(text: &str) -> bool {
        Filter::parse(text).unwrap().can_match(KeyOrder::Utf16)
    }

    #[test]
    fn keys_that_contradict_each_other_cannot_match() {
        for text in [
            "PartitionKey lt ''",
            "PartitionKey eq 'a' and PartitionKey eq 'b'",
            "PartitionKey eq 'a' and PartitionKey ne 'a'",
            "PartitionKey gt 'b' and PartitionKey lt 'a'",
            "PartitionKey gt 'b' and PartitionKey le 'b'",
            "RowKey ge 'b' and A eq 1 and RowKey lt 'b'",
            "RowKey le '' and RowKey ne ''",
            "RowKey ge '\u{ffff}' and RowKey lt '\u{10000}'",
            "not (PartitionKey ge '')",
            "not (PartitionKey eq 'a' or PartitionKey ne 'a' and A eq 1) and PartitionKey eq 'a'",
            "(RowKey eq '00' or RowKey eq '99') and (RowKey eq '01' or RowKey eq '98')",
            "PartitionKey eq 'a' and false",
            "A eq 1 and not true",
            "A eq 1 and false or PartitionKey lt ''",
            "not (A eq 1 or true)",
            "(PartitionKey lt 'c' and RowKey eq '1' or PartitionKey gt 'x' and RowKey eq '2') and RowKey eq '15'",
            "(PartitionKey eq 'a' or PartitionKey gt 'm') and PartitionKey eq 'c'",
            "(PartitionKey eq 'a' and RowKey eq '1' or PartitionKey eq 'b' and RowKey eq '2') \
             and (PartitionKey eq 'a' and RowKey eq '2' or PartitionKey eq 'b' and RowKey eq '1')",
        ] {
            assert!(!can_match(text), "{text}");
        }
    }

    #[test]
    fn other_filters_can_match() {
        for text in [
            "A eq 1 and A eq 2",
            "false",
            "true",
            "A eq 1 or false",
            "not (A eq 1 and true)",
            "PartitionKey eq 5",
            "PartitionKey le ''",
            "PartitionKey gt 'a' and PartitionKey lt 'a!'",
            "RowKey ge '\u{10000}' and RowKey lt '\u{ffff}'",
            "PartitionKey eq 'a' and PartitionKey eq 'b' or A eq 1",
            "not (PartitionKey eq 'a' and A eq 1) and PartitionKey eq 'a'",
            "(RowKey eq '00' or RowKey eq '50') and (RowKey eq '01' or RowKey eq '50')",
        ] {
            assert!(can_match(text), "{text}");
        }
    }

    #[test]
    fn an_unknown_order_decides_equality_only() {
        let can_match = |text: &str| Filter::parse(text).unwrap().can_match(KeyOrder::Unknown);
        for text in [
            "PartitionKey gt 'b' and PartitionKey lt 'a'",
            "RowKey ge '\u{ffff}' and RowKey lt '\u{10000}'",
            "RowKey eq 'a' and RowKey gt 'b'",
            "not (RowKey le 'b' or RowKey gt 'b')",
            "(RowKey eq '1' and PartitionKey lt 'c' or RowKey eq '2') and RowKey eq '1' and PartitionKey gt 'd'",
        ] {
            assert!(can_match(text), "{text}");
        }
        for text in [
            "PartitionKey lt ''",
            "RowKey eq 'a' and RowKey le ''",
            "RowKey eq '' and RowKey gt ''",
            "PartitionKey eq 'a' and PartitionKey eq 'b'",
            "PartitionKey eq 'a' and PartitionKey ne 'a' and PartitionKey lt 'b'",
            "(RowKey eq '00' or RowKey eq '99') and (RowKey eq '01' or RowKey eq '98')",
            "PartitionKey gt 'a' and false",
        ] {
            assert!(!can_match(text), "{text}");
        }
    }

    #[test]
    fn long_lists_take_no_quadratic_time() {
        let can_match = |filter: Filter| filter.can_match(KeyOrder::Utf16);
        let key = |op, n: u32| Filter::on_key(ROW_KEY, op, format!("{n:06}"));
        let list = |numbers: std::ops::Range<u32>, op, join: fn(Filter, Filter) -> Filter| {
            numbers.map(|n| key(op, n)).reduce(join).unwrap()
        };
        let any = |numbers| list(numbers, CompareOp::Eq, |a, b| a | b);
        assert!(!can_match(any(0..100) & any(100..200)));
        assert!(can_match(any(0..30_000) & any(40_000..70_000)), "too long to search");
        assert!(can_match(!any(0..30_000) & any(0..30_000)), "too long to search");
        assert!(can_match(list(0..30_000, CompareOp::Ne, |a, b| a & b)));
        assert!(can_match(!any(0..30_000)));
        let pairs = (0..30_000).map(|n| key(CompareOp::Eq, n) | key(CompareOp::Eq, n + 1));
        assert!(can_match(pairs.reduce(|a, b| a & b).unwrap()), "too many lists to search");
    }
}
