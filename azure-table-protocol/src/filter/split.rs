//! Splits a filter that is too long for one request by its list of alternatives.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::literal::LiteralText;
use super::{CompareOp, Filter, KeyOrder, Plan};
use crate::edm::{EdmType, EdmValue};
use crate::key::ordinal;

/// Filters that together match the same rows as the filter that was split.
#[derive(Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct Split {
    pub filters: Vec<Filter>,
    /// Whether all rows of a filter come before the rows of the next one. Otherwise their rows must be merged,
    /// and several filters may match the same row.
    pub in_order: bool,
}

/// The limit on the queries of a split. Two lists in one filter are split into the product of their lengths.
#[doc(hidden)]
pub const MAX_QUERIES: usize = 1000;

impl Split {
    /// Splits a filter into filters that fit, as few as its longest list allows. A filter that fits, or that has
    /// no alternatives, is returned unchanged. Filters that no key can meet are left out. Returns `None` if there
    /// would be too many filters.
    pub fn of(filter: &Filter, order: KeyOrder, fits: &dyn Fn(&Filter) -> bool) -> Option<Self> {
        let mut filters = Vec::new();
        if !split(filter, order, fits, &mut filters) {
            filters = vec![filter.clone()];
        }
        if filters.len() > MAX_QUERIES {
            return None;
        }
        let plans: Vec<_> = filters.iter().map(|filter| Plan::of(Some(filter))).collect();
        let in_order = plans.windows(2).all(|pair| pair[0].is_before(&pair[1]));
        Some(Self { filters, in_order })
    }

    /// Whether each row matches only one filter, because each filter requires other values of the same property.
    pub fn is_disjoint(&self) -> bool {
        let Some(first) = self.filters.first() else { return true };
        let mut properties = conjuncts(first).iter().filter_map(|one| Some(values(one)?.0));
        properties.any(|property| {
            let mut kind = None;
            let mut known = HashSet::new();
            let mut is_new = |value: &EdmValue| {
                // Doubles have two zeros, and numbers of different types may be equal.
                let is_exact = value.edm_type() != EdmType::Double;
                let is_of_kind = *kind.get_or_insert(value.edm_type()) == value.edm_type();
                is_exact && is_of_kind && known.insert(LiteralText(value).to_string())
            };
            self.filters.iter().all(|filter| {
                let mut lists = conjuncts(filter).iter().filter_map(values);
                let list = lists.find(|(name, _)| *name == property);
                list.is_some_and(|(_, values)| values.into_iter().all(&mut is_new))
            })
        })
    }
}

/// Returns the filters that must all match.
fn conjuncts(filter: &Filter) -> &[Filter] {
    match filter {
        Filter::And(all) => all,
        one => std::slice::from_ref(one),
    }
}

/// Returns the property that must have one of these values; `None` if the filter has another form.
fn values(filter: &Filter) -> Option<(&str, Vec<&EdmValue>)> {
    let any = match filter {
        Filter::Or(any) => any,
        one => std::slice::from_ref(one),
    };
    let mut list: Option<(&str, Vec<&EdmValue>)> = None;
    for one in any {
        let Filter::Compare { property, op: CompareOp::Eq, literal } = one else { return None };
        let (name, values) = list.get_or_insert_with(|| (property, Vec::new()));
        if name != property {
            return None;
        }
        values.push(literal);
    }
    list
}

/// Splits `filter` into `filters`; returns `false` if it does not fit and cannot be split.
fn split(
    filter: &Filter,
    order: KeyOrder,
    fits: &dyn Fn(&Filter) -> bool,
    filters: &mut Vec<Filter>,
) -> bool {
    if fits(filter) {
        if filter.can_match(order) {
            filters.push(filter.clone());
        }
        return true;
    }
    let Some((others, alternatives)) = alternatives(filter) else { return false };
    let with = |some: &[&Filter]| {
        let any = some.iter().copied().cloned().reduce(|a, b| a | b);
        let all = others.iter().copied().cloned().chain(any);
        all.reduce(|a, b| a & b).unwrap_or_else(|| filter.clone())
    };
    let alternatives = in_key_order(alternatives, &others);
    let mut rest = &alternatives[..];
    while !rest.is_empty() && filters.len() <= MAX_QUERIES {
        let count = max_fitting(rest.len(), |count| fits(&with(&rest[..count])));
        let (some, more) = rest.split_at(count.max(1));
        // A single alternative that does not fit may contain another list.
        if !split(&with(some), order, fits, filters) {
            return false;
        }
        rest = more;
    }
    true
}

impl Filter {
    /// Returns the length of the longest list of alternatives by which the filter can be split.
    #[doc(hidden)]
    pub fn alternatives(&self) -> usize {
        alternatives(self).map_or(0, |(_, any)| any.len())
    }
}

/// Returns the filters that must also match, and the longest list of alternatives.
fn alternatives(filter: &Filter) -> Option<(Vec<&Filter>, &[Filter])> {
    match filter {
        Filter::Or(any) => Some((Vec::new(), any)),
        Filter::And(all) => {
            let lists = all.iter().enumerate().filter_map(|(at, filter)| match filter {
                Filter::Or(any) => Some((at, any)),
                _ => None,
            });
            let (longest, any) = lists.max_by_key(|(_, any)| any.len())?;
            let others = all.iter().enumerate().filter(|(at, _)| *at != longest);
            Some((others.map(|(_, filter)| filter).collect(), any))
        }
        _ => None,
    }
}

/// Returns the different alternatives in the order of their first keys, which also match `others`.
fn in_key_order<'f>(alternatives: &'f [Filter], others: &[&Filter]) -> Vec<&'f Filter> {
    let mut known = HashSet::new();
    let others = others.iter().map(|one| Plan::of(Some(one)));
    let others = others.fold(Plan::default(), Plan::and);
    let mut ordered: Vec<_> = alternatives
        .iter()
        .filter(|one| known.insert(one.to_string()))
        .map(|one| {
            let plan = others.clone().and(Plan::of(Some(one)));
            let (partition_key, row_key) = plan.start();
            ((partition_key.to_owned(), row_key.to_owned()), one)
        })
        .collect();
    ordered.sort_by(|((p, r), _), ((q, s), _)| match ordinal(p, q) {
        Ordering::Equal => ordinal(r, s),
        order => order,
    });
    ordered.into_iter().map(|(_, one)| one).collect()
}

/// Returns the greatest count up to `limit` that fits. If a count fits, so do smaller ones.
fn max_fitting(limit: usize, fits: impl Fn(usize) -> bool) -> usize {
    let mut above = 1;
    while above <= limit && fits(above) {
        above *= 2;
    }
    // `low` fits, or is 0; `high` does not, or is beyond the limit.
    let (mut low, mut high) = (above / 2, above.min(limit + 1));
    while high - low > 1 {
        let middle = low.midpoint(high);
        if fits(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, comparisons: usize) -> (Vec<String>, bool) {
        let filter = Filter::parse(text).unwrap();
        let split =
            Split::of(&filter, KeyOrder::Utf16, &|filter| filter.comparisons() <= comparisons)
                .unwrap();
        (split.filters.iter().map(ToString::to_string).collect(), split.in_order)
    }

    #[test]
    fn lists_are_split_into_the_fewest_that_fit() {
        let keys = "PartitionKey eq 'p' and (RowKey eq 'c' or RowKey eq 'a' or RowKey eq 'b')";
        assert_eq!(of(keys, 4), (vec![keys.to_owned()], true));
        let (filters, in_order) = of(keys, 3);
        assert_eq!(
            filters,
            [
                "PartitionKey eq 'p' and (RowKey eq 'a' or RowKey eq 'b')",
                "PartitionKey eq 'p' and RowKey eq 'c'"
            ]
        );
        assert!(in_order);
        let (filters, in_order) = of("A eq 3 or A eq 1 or A eq 3 or A eq 2", 2);
        assert_eq!(filters, ["A eq 3 or A eq 1", "A eq 2"]);
        assert!(!in_order);
    }

    #[test]
    fn partitions_are_in_order_and_rows_of_several_are_not() {
        assert!(of("PartitionKey eq 'b' or PartitionKey eq 'a'", 1).1);
        assert!(!of("RowKey eq 'b' or RowKey eq 'a'", 1).1);
        let ranges = "PartitionKey ge 'b' and PartitionKey lt 'c' or PartitionKey ge 'a' and PartitionKey lt 'b'";
        assert!(of(ranges, 2).1);
        let overlapping = "PartitionKey ge 'a' and PartitionKey le 'b' or PartitionKey ge 'b' and PartitionKey lt 'c'";
        assert!(!of(overlapping, 2).1);
    }

    #[test]
    fn lists_of_values_are_disjoint() {
        let is_disjoint = |text: &str| {
            let filter = Filter::parse(text).unwrap();
            Split::of(&filter, KeyOrder::Utf16, &|filter| filter.comparisons() <= 2)
                .unwrap()
                .is_disjoint()
        };
        assert!(is_disjoint("A eq 3 or A eq 1 or A eq 3 or A eq 2"));
        assert!(is_disjoint("B gt 1 and (A eq 'a' or A eq 'b')"));
        assert!(is_disjoint("B eq 1 and (A eq 'a' or A eq 'b')"));
        assert!(!is_disjoint("A eq 1 or A eq 2L or A eq 3"), "numbers of several types");
        assert!(!is_disjoint("A eq 0.0 or A eq -0.0 or A eq 1.0"));
        assert!(!is_disjoint("A eq 1 or A eq 2 or B eq 3"));
        assert!(!is_disjoint("A eq 1 or A gt 2 or A eq 3"));
        assert!(!is_disjoint("(A eq 1 or A eq 2) and (B eq 1 or B eq 2)"), "not by one of them");
    }

    #[test]
    fn both_of_two_lists_are_split() {
        let (filters, _) = of("(A eq 1 or A eq 2) and (B eq 1 or B eq 2)", 2);
        assert_eq!(
            filters,
            ["B eq 1 and A eq 1", "B eq 1 and A eq 2", "B eq 2 and A eq 1", "B eq 2 and A eq 2"]
        );
    }

    #[test]
    fn a_filter_without_a_list_is_not_split() {
        let filter = "A gt 1 and B gt 1 and not (C eq 1 or C eq 2)";
        assert_eq!(of(filter, 3), (vec![filter.to_owned()], true));
        let filter = "A eq 1 and (B eq 1 and C eq 1 and D eq 1 or B eq 2)";
        assert_eq!(of(filter, 3).0, [filter]);
    }

    #[test]
    fn a_long_list_is_split_into_few_filters() {
        let many = (0..5000).map(|n| Filter::partition(format!("{n:04}"))).reduce(|a, b| a | b);
        let split =
            Split::of(&many.unwrap(), KeyOrder::Utf16, &|filter| filter.comparisons() <= 15)
                .unwrap();
        assert_eq!((split.filters.len(), split.in_order), (334, true));
    }

    #[test]
    fn alternatives_that_no_key_can_meet_are_left_out() {
        let rest = "A ne 1 and A ne 2";
        let filter = format!(
            "(PartitionKey ge 'a' and PartitionKey le 'm' and {rest} \
             or PartitionKey ge 'z' and PartitionKey lt 'c' and {rest}) and A ne 3 \
             or PartitionKey ge 'd' and PartitionKey le 'e' and A eq 1"
        );
        let (filters, in_order) = of(&filter, 5);
        assert_eq!((filters.len(), in_order), (2, false), "{filters:?}");
        let nothing = "PartitionKey eq 'a' and PartitionKey eq 'b' and (A eq 1 or A eq 2)";
        assert_eq!(of(nothing, 3).0, [""; 0]);
    }

    #[test]
    fn a_product_of_long_lists_is_refused() {
        let list = |name: &str| {
            let all = (0..100).map(|n| format!("{name} eq {n}"));
            all.collect::<Vec<_>>().join(" or ")
        };
        let filter = format!("({}) and ({}) and ({})", list("A"), list("B"), list("C"));
        let filter = Filter::parse(&filter).unwrap();
        assert_eq!(Split::of(&filter, KeyOrder::Utf16, &|filter| filter.comparisons() <= 15), None);
    }
}
