//! Splits a filter by the keys that it lists.

use std::collections::{HashMap, HashSet};

use super::{CompareOp, Filter, KeyOrder, Plan};
use crate::edm::EdmValue;
use crate::key::ordinal;
use crate::limits::{PARTITION_KEY, ROW_KEY};

impl Filter {
    /// Splits a filter that lists values of the PartitionKey into its partitions, in key order. Returns `None` if the
    /// filter lists none, or states both keys and nothing else. No partition is returned if no key is in all lists.
    #[doc(hidden)]
    pub fn listed_partitions(
        &self,
        order: KeyOrder,
    ) -> Option<impl Iterator<Item = ListedPartition>> {
        if Plan::point_of(self).is_some() {
            return None;
        }
        let by_partition = ByKey::of(self, PARTITION_KEY, order);
        let partitions = by_partition.listed()?;
        let of_partition = move |key: &str| {
            let condition = by_partition.condition(key);
            let is_possible = !matches!(condition, BranchCondition::Never);
            is_possible.then(|| ListedPartition {
                partition: Self::partition(key),
                condition,
                order,
            })
        };
        Some(partitions.into_iter().filter_map(of_partition))
    }
}

/// A partition that a filter lists.
#[doc(hidden)]
#[derive(Debug)]
pub struct ListedPartition {
    partition: Filter,
    /// The condition on the rows of the partition.
    condition: BranchCondition,
    order: KeyOrder,
}

impl ListedPartition {
    /// Returns the filter for all rows of the partition.
    pub fn filter(&self) -> Filter {
        match &self.condition {
            BranchCondition::If(condition) => self.partition.clone() & condition.clone(),
            BranchCondition::Never | BranchCondition::Always => self.partition.clone(),
        }
    }

    /// Returns a filter for each row that is listed, in key order; `None` if no rows are listed. Each filter states
    /// both keys. They are built one by one, because each may have a copy of the other conditions.
    pub fn rows(&self) -> Option<impl Iterator<Item = Filter>> {
        let BranchCondition::If(condition) = &self.condition else { return None };
        let by_row = ByKey::of(condition, ROW_KEY, self.order);
        let rows = by_row.listed()?;
        Some(rows.into_iter().filter_map(move |key| {
            let row = Filter::on_key(ROW_KEY, CompareOp::Eq, key.to_owned());
            by_row.condition(key).added_to(self.partition.clone() & row)
        }))
    }
}

/// A filter by the values of one key.
struct ByKey<'f> {
    /// The name of the key.
    key: &'static str,
    order: KeyOrder,
    /// The filters that must all match.
    conjuncts: Vec<Conjunct<'f>>,
}

impl<'f> ByKey<'f> {
    fn of(filter: &'f Filter, key: &'static str, order: KeyOrder) -> Self {
        let mut filters = Vec::new();
        flatten(filter, &mut filters);
        let conjuncts = filters.into_iter().map(|one| Conjunct::of(one, key));
        Self { key, order, conjuncts: conjuncts.collect() }
    }

    /// Returns the only values of the key that the filter can match, in key order; `None` if it lists none.
    fn listed(&self) -> Option<Vec<&'f str>> {
        let lists = self.conjuncts.iter().filter_map(|one| one.listed.as_ref());
        let mut values: Vec<_> = lists.cloned().reduce(|a, b| &a & &b)?.into_iter().collect();
        values.sort_unstable_by(|a, b| ordinal(a, b));
        Some(values)
    }

    /// Returns the condition on the rows whose key has this value.
    fn condition(&self, value: &str) -> BranchCondition {
        let key = KeyValue { key: self.key, value, order: self.order };
        BranchCondition::all(self.conjuncts.iter().map(|one| one.with(key)))
    }
}

/// A filter that must match.
struct Conjunct<'f> {
    filter: &'f Filter,
    /// The only values of the key that it can match; `None` if there may be others.
    listed: Option<HashSet<&'f str>>,
    /// The alternatives, if it is a list.
    alternatives: Option<Alternatives<'f>>,
}

/// A list of alternatives by the value of the key.
#[derive(Default)]
struct Alternatives<'f> {
    of_value: HashMap<&'f str, Vec<&'f Filter>>,
    /// The alternatives that can match any value.
    of_any: Vec<&'f Filter>,
}

impl<'f> Conjunct<'f> {
    fn of(filter: &'f Filter, key: &str) -> Self {
        let Filter::Or(any) = filter else {
            return Self { filter, listed: listed(filter, key), alternatives: None };
        };
        let mut list = Alternatives::default();
        for one in any {
            match listed(one, key) {
                Some(values) => {
                    for value in values {
                        list.of_value.entry(value).or_default().push(one);
                    }
                }
                None => list.of_any.push(one),
            }
        }
        let listed = list.of_any.is_empty().then(|| list.of_value.keys().copied().collect());
        Self { filter, listed, alternatives: Some(list) }
    }

    /// Returns the condition on the rows whose key has this value.
    fn with(&self, key: KeyValue<'_>) -> BranchCondition {
        match &self.alternatives {
            None => key.evaluate(self.filter),
            Some(list) => {
                let listed = list.of_value.get(key.value).into_iter().flatten();
                BranchCondition::any(listed.chain(&list.of_any).map(|one| key.evaluate(one)))
            }
        }
    }
}

/// The condition on the rows with one value of a key.
#[derive(Debug)]
enum BranchCondition {
    Never,
    Always,
    If(Filter),
}

impl BranchCondition {
    /// Adds this condition to `keys`; returns `None` if no row meets it.
    fn added_to(self, keys: Filter) -> Option<Filter> {
        match self {
            Self::Never => None,
            Self::Always => Some(keys),
            Self::If(filter) => Some(keys & filter),
        }
    }

    fn all(conditions: impl Iterator<Item = Self>) -> Self {
        let mut all = Vec::new();
        for condition in conditions {
            match condition {
                Self::Never => return Self::Never,
                Self::Always => {}
                Self::If(filter) => all.push(filter),
            }
        }
        all.into_iter().reduce(|a, b| a & b).map_or(Self::Always, Self::If)
    }

    fn any(conditions: impl Iterator<Item = Self>) -> Self {
        let mut any = Vec::new();
        for condition in conditions {
            match condition {
                Self::Never => {}
                Self::Always => return Self::Always,
                Self::If(filter) => any.push(filter),
            }
        }
        any.into_iter().reduce(|a, b| a | b).map_or(Self::Never, Self::If)
    }
}

/// Collects the filters that must all match.
fn flatten<'f>(filter: &'f Filter, conjuncts: &mut Vec<&'f Filter>) {
    match filter {
        Filter::And(all) => all.iter().for_each(|one| flatten(one, conjuncts)),
        one => conjuncts.push(one),
    }
}

/// Returns the only values of a key that a filter can match; `None` if there may be others.
fn listed<'f>(filter: &'f Filter, key: &str) -> Option<HashSet<&'f str>> {
    match filter {
        Filter::Compare { property, op: CompareOp::Eq, literal: EdmValue::String(value) } => {
            (property == key).then(|| HashSet::from([value.as_str()]))
        }
        Filter::And(all) => all.iter().filter_map(|one| listed(one, key)).reduce(|a, b| &a & &b),
        Filter::Or(any) => {
            let mut union = HashSet::new();
            for one in any {
                union.extend(listed(one, key)?);
            }
            Some(union)
        }
        Filter::Compare { .. }
        | Filter::IsTrue(_)
        | Filter::Constant(_)
        | Filter::Not(_)
        | Filter::TooDeep => None,
    }
}

/// A key and its value.
#[derive(Clone, Copy)]
struct KeyValue<'k> {
    key: &'static str,
    value: &'k str,
    order: KeyOrder,
}

impl KeyValue<'_> {
    /// Evaluates the comparisons with the key.
    fn evaluate(self, filter: &Filter) -> BranchCondition {
        match filter {
            Filter::Compare { property, op, literal: EdmValue::String(text) }
                if property == self.key && self.order.decides(*op, text) =>
            {
                if op.holds(ordinal(self.value, text)) {
                    BranchCondition::Always
                } else {
                    BranchCondition::Never
                }
            }
            Filter::Constant(true) => BranchCondition::Always,
            Filter::Constant(false) => BranchCondition::Never,
            Filter::Compare { .. } | Filter::IsTrue(_) | Filter::TooDeep => {
                BranchCondition::If(filter.clone())
            }
            Filter::And(all) => BranchCondition::all(all.iter().map(|one| self.evaluate(one))),
            Filter::Or(any) => BranchCondition::any(any.iter().map(|one| self.evaluate(one))),
            Filter::Not(inner) => match self.evaluate(inner) {
                BranchCondition::Never => BranchCondition::Always,
                BranchCondition::Always => BranchCondition::Never,
                BranchCondition::If(filter) => BranchCondition::If(!filter),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each listed row, and each partition without listed rows.
    fn in_order(text: &str, order: KeyOrder) -> Option<Vec<String>> {
        let filter = Filter::parse(text).unwrap();
        let mut texts = Vec::new();
        for partition in filter.listed_partitions(order)? {
            match partition.rows() {
                Some(rows) => texts.extend(rows.map(|row| row.to_string())),
                None => texts.push(partition.filter().to_string()),
            }
        }
        Some(texts)
    }

    fn of(text: &str) -> Option<Vec<String>> {
        in_order(text, KeyOrder::Utf16)
    }

    #[test]
    fn lists_of_partitions_are_branches_in_key_order() {
        let of = |text: &str| of(text).unwrap();
        let list = "(PartitionKey eq 'b' or PartitionKey eq 'a' or PartitionKey eq 'b')";
        assert_eq!(of(list), ["PartitionKey eq 'a'", "PartitionKey eq 'b'"]);
        assert_eq!(
            of(&format!("A eq 1 and {list} and (B eq 1 or C eq 2)")),
            ["a", "b"].map(|p| format!("PartitionKey eq '{p}' and A eq 1 and (B eq 1 or C eq 2)"))
        );
        assert_eq!(
            of(
                "PartitionKey eq 'a' and A eq 1 or PartitionKey eq 'b' or PartitionKey eq 'a' and A eq 2"
            ),
            ["PartitionKey eq 'a' and (A eq 1 or A eq 2)", "PartitionKey eq 'b'"]
        );
        // In the order of UTF-16 code units.
        assert_eq!(
            of("PartitionKey eq '\u{ffff}' or PartitionKey eq '\u{10000}'"),
            ["PartitionKey eq '\u{10000}'", "PartitionKey eq '\u{ffff}'"]
        );
    }

    #[test]
    fn listed_rows_are_branches_that_state_both_keys() {
        let of = |text: &str| of(text).unwrap();
        let point = |p, r| format!("PartitionKey eq '{p}' and RowKey eq '{r}'");
        assert_eq!(
            of("PartitionKey eq 'p' and (RowKey eq 'b' or RowKey eq 'a' or RowKey eq 'b')"),
            [point('p', 'a'), point('p', 'b')]
        );
        assert_eq!(
            of("(RowKey eq '1' or RowKey eq '2') and (PartitionKey eq 'b' or PartitionKey eq 'a')"),
            [point('a', '1'), point('a', '2'), point('b', '1'), point('b', '2')]
        );
        let pairs = format!("{} or {} or {}", point('b', '1'), point('a', '9'), point('b', '1'));
        assert_eq!(of(&pairs), [point('a', '9'), point('b', '1')]);
        // Another condition is left to the service.
        let pairs = format!("{} or {}", point('b', '1'), point('a', '9'));
        assert_eq!(
            of(&format!("({pairs}) and A eq 1")),
            [format!("{} and A eq 1", point('a', '9')), format!("{} and A eq 1", point('b', '1'))]
        );
        assert_eq!(
            of(&format!("{pairs} or PartitionKey eq 'b' and A eq 1")),
            [point('a', '9'), "PartitionKey eq 'b' and (RowKey eq '1' or A eq 1)".into()]
        );
    }

    #[test]
    fn other_conditions_are_sent_with_each_listed_row() {
        let of = |text: &str| of(text).unwrap();
        let row = |r, rest| format!("PartitionKey eq 'p' and RowKey eq '{r}'{rest}");
        let rows = "PartitionKey eq 'p' and (RowKey eq 'b' or RowKey eq 'a')";
        assert_eq!(
            of(&format!("{rows} and A eq 1")),
            [row('a', " and A eq 1"), row('b', " and A eq 1")]
        );
        assert_eq!(
            of(&format!("{rows} and (RowKey ge 'b' or A eq 1) and not (RowKey eq 'c')")),
            [row('a', " and A eq 1"), row('b', "")]
        );
        let each = "PartitionKey eq 'p' and (RowKey eq 'a' and A eq 1 or RowKey eq 'b' and B eq 2)";
        assert_eq!(of(each), [row('a', " and A eq 1"), row('b', " and B eq 2")]);
        assert_eq!(of(&format!("{each} and RowKey gt 'b'")), [""; 0]);
    }

    #[test]
    fn conditions_on_the_partition_key_are_evaluated() {
        let of = |text: &str| of(text).unwrap();
        let list = "(PartitionKey eq 'a' or PartitionKey eq 'b' or PartitionKey eq 'c')";
        assert_eq!(
            of(&format!("{list} and PartitionKey gt 'a' and not (PartitionKey eq 'c')")),
            ["PartitionKey eq 'b'"]
        );
        assert_eq!(
            of(&format!("{list} and (PartitionKey eq 'a' and A eq 1 or B eq 2)")),
            [
                "PartitionKey eq 'a' and (A eq 1 or B eq 2)",
                "PartitionKey eq 'b' and B eq 2",
                "PartitionKey eq 'c' and B eq 2"
            ]
        );
        assert_eq!(of(&format!("{list} and PartitionKey eq 'x'")), [""; 0]);
    }

    #[test]
    fn an_unknown_order_leaves_ranges_to_the_service() {
        let of = |text: &str| in_order(text, KeyOrder::Unknown).unwrap();
        let rows = "PartitionKey eq 'p' and (RowKey eq '\u{ffff}' or RowKey eq '\u{10000}')";
        let row = |r: char| format!("PartitionKey eq 'p' and RowKey eq '{r}'");
        let range = " and RowKey lt '\u{ffff}'";
        assert_eq!(
            of(&format!("{rows}{range} and RowKey ge ''")),
            ['\u{10000}', '\u{ffff}'].map(|r| row(r) + range)
        );
        assert_eq!(of(&format!("{rows} and RowKey ne '\u{ffff}'")), [row('\u{10000}')]);
        assert_eq!(of(&format!("{rows} and RowKey lt ''")), [""; 0]);
    }

    #[test]
    fn a_filter_without_a_list_of_keys_has_no_partitions() {
        for text in [
            "A eq 1",
            "PartitionKey eq 'p' and RowKey eq 'r'",
            "PartitionKey eq 'a' or A eq 1",
            "PartitionKey eq 'a' or PartitionKey gt 'b'",
            "not (PartitionKey eq 'a' or PartitionKey eq 'b')",
            "PartitionKey eq 1 or PartitionKey eq 2",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn a_long_list_takes_no_quadratic_time() {
        let row = |n: u32| {
            Filter::partition(format!("{n:06}"))
                & Filter::on_key(ROW_KEY, CompareOp::Eq, n.to_string())
        };
        let list = (0..30_000).map(row).reduce(|a, b| a | b).unwrap();
        let partitions =
            |filter: &Filter| filter.listed_partitions(KeyOrder::Utf16).unwrap().count();
        assert_eq!(partitions(&list), 30_000);
        let row = |n: u32| Filter::on_key(ROW_KEY, CompareOp::Eq, n.to_string());
        let rows = (0..30_000).map(row).reduce(|a, b| a | b).unwrap();
        let filter = Filter::partition("p") & rows;
        let partition = filter.listed_partitions(KeyOrder::Utf16).unwrap().next().unwrap();
        assert_eq!(partition.rows().unwrap().count(), 30_000);
    }
}
