//! Splits a filter by the keys that it lists.

use std::collections::{HashMap, HashSet};

use super::{CompareOp, Filter, Plan};
use crate::edm::EdmValue;
use crate::entity::ordinal;
use crate::limits::{PARTITION_KEY, ROW_KEY};

impl Filter {
    /// Splits a filter that lists keys into branches: disjoint filters in key order that together match the same
    /// rows. A branch states both keys of a listed row, or is a whole partition. Returns `None` if the filter lists
    /// no keys, or if the branches would scan as much as this filter. No branch is returned if no key is in all lists.
    pub(crate) fn branches(&self) -> Option<impl Iterator<Item = Self>> {
        if Plan::point_of(self).is_some() {
            return None;
        }
        let by_partition = ByKey::of(self, PARTITION_KEY);
        let partitions = by_partition.listed()?;
        if let [partition] = partitions[..]
            && let [only] = &branches(&by_partition, partition)[..]
            && Plan::of(Some(only)) == Plan::of(Some(self))
            && Plan::point_of(only).is_none()
        {
            return None;
        }
        let of_partition = move |partition| branches(&by_partition, partition);
        Some(partitions.into_iter().flat_map(of_partition))
    }
}

/// Returns the branches of a partition.
fn branches(by_partition: &ByKey<'_>, partition: &str) -> Vec<Filter> {
    let whole = Filter::partition(partition);
    let filter = match by_partition.condition(partition) {
        Condition::Never => return Vec::new(),
        Condition::Always => return vec![whole],
        Condition::If(filter) => filter,
    };
    let by_row = ByKey::of(&filter, ROW_KEY);
    let Some(rows) = by_row.listed() else { return vec![whole & filter] };
    let branch = |key: &str| {
        let row = Filter::on_key(ROW_KEY, CompareOp::Eq, key.to_owned());
        let row = whole.clone() & row;
        match by_row.condition(key) {
            Condition::Never => None,
            Condition::Always => Some(row),
            Condition::If(filter) => Some(row & filter),
        }
    };
    rows.into_iter().filter_map(branch).collect()
}

/// A filter by the values of one key.
struct ByKey<'f> {
    /// The name of the key.
    key: &'static str,
    /// The filters that must all match.
    conjuncts: Vec<Conjunct<'f>>,
}

impl<'f> ByKey<'f> {
    fn of(filter: &'f Filter, key: &'static str) -> Self {
        let mut filters = Vec::new();
        flatten(filter, &mut filters);
        Self { key, conjuncts: filters.into_iter().map(|one| Conjunct::of(one, key)).collect() }
    }

    /// Returns the only values of the key that the filter can match, in key order; `None` if it lists none.
    fn listed(&self) -> Option<Vec<&'f str>> {
        let lists = self.conjuncts.iter().filter_map(|one| one.listed.as_ref());
        let mut values: Vec<_> = lists.cloned().reduce(|a, b| &a & &b)?.into_iter().collect();
        values.sort_unstable_by(|a, b| ordinal(a, b));
        Some(values)
    }

    /// Returns the condition on the rows whose key has this value.
    fn condition(&self, value: &str) -> Condition {
        Condition::all(self.conjuncts.iter().map(|one| one.with(self.key, value)))
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
    fn with(&self, key: &str, value: &str) -> Condition {
        match &self.alternatives {
            None => with(self.filter, key, value),
            Some(list) => {
                let listed = list.of_value.get(value).into_iter().flatten();
                Condition::any(listed.chain(&list.of_any).map(|one| with(one, key, value)))
            }
        }
    }
}

/// The condition on the rows with one value of a key.
enum Condition {
    Never,
    Always,
    If(Filter),
}

impl Condition {
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

/// Evaluates the comparisons with a key that has this value.
fn with(filter: &Filter, key: &str, value: &str) -> Condition {
    match filter {
        Filter::Compare { property, op, literal: EdmValue::String(text) } if property == key => {
            if op.holds(ordinal(value, text)) {
                Condition::Always
            } else {
                Condition::Never
            }
        }
        Filter::Constant(true) => Condition::Always,
        Filter::Constant(false) => Condition::Never,
        Filter::Compare { .. } | Filter::IsTrue(_) | Filter::TooDeep => {
            Condition::If(filter.clone())
        }
        Filter::And(all) => Condition::all(all.iter().map(|one| with(one, key, value))),
        Filter::Or(any) => Condition::any(any.iter().map(|one| with(one, key, value))),
        Filter::Not(inner) => match with(inner, key, value) {
            Condition::Never => Condition::Always,
            Condition::Always => Condition::Never,
            Condition::If(filter) => Condition::If(!filter),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<Vec<String>> {
        let filter = Filter::parse(text).unwrap();
        let branches = filter.branches()?;
        Some(branches.map(|branch| branch.to_string()).collect())
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
    fn a_filter_without_a_list_of_keys_has_no_branches() {
        for text in [
            "A eq 1",
            "PartitionKey eq 'p'",
            "PartitionKey eq 'p' and A eq 1",
            "PartitionKey eq 'p' and RowKey eq 'r'",
            "PartitionKey eq 'p' and RowKey eq 'r' and A eq 1",
            "PartitionKey eq 'p' and (RowKey eq 'r' or A eq 1)",
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
        assert_eq!(list.branches().unwrap().count(), 30_000);
        let row = |n: u32| Filter::on_key(ROW_KEY, CompareOp::Eq, n.to_string());
        let rows = (0..30_000).map(row).reduce(|a, b| a | b).unwrap();
        assert_eq!((Filter::partition("p") & rows).branches().unwrap().count(), 30_000);
    }
}
