//! Splits a filter by the keys that it lists.

use std::collections::{HashMap, HashSet};

use super::{CompareOp, Filter, Plan};
use crate::edm::EdmValue;
use crate::entity::ordinal;
use crate::limits::{PARTITION_KEY, ROW_KEY};

impl Filter {
    /// Splits a filter that lists keys into branches: disjoint filters in key order that together match the same
    /// rows. A row whose keys are listed, and that has no other condition, is a branch that states both keys; any
    /// other branch is a whole partition. Returns `None` if the branches would scan as much as this filter.
    pub(crate) fn branches(&self) -> Option<impl Iterator<Item = Self>> {
        if Plan::point_of(self).is_some() {
            return None;
        }
        let mut filters = Vec::new();
        flatten(self, &mut filters);
        let conjuncts: Vec<_> = filters.into_iter().map(Conjunct::of).collect();
        let listed = conjuncts.iter().filter_map(|one| one.partitions.as_ref());
        let mut partitions: Vec<&str> =
            listed.cloned().reduce(|a, b| &a & &b)?.into_iter().collect();
        partitions.sort_unstable_by(|a, b| ordinal(a, b));
        if let [partition] = partitions[..]
            && Plan::of(Some(self)).partition() == Some(partition)
            && !lists_rows(&conjuncts, partition)
        {
            return None;
        }
        Some(partitions.into_iter().flat_map(move |partition| branches(&conjuncts, partition)))
    }
}

/// A filter that must match.
struct Conjunct<'f> {
    filter: &'f Filter,
    /// The only partitions that it can match; `None` if there may be others.
    partitions: Option<HashSet<&'f str>>,
    /// The alternatives, if it is a list.
    alternatives: Option<Alternatives<'f>>,
}

/// A list of alternatives by partition.
#[derive(Default)]
struct Alternatives<'f> {
    of_partition: HashMap<&'f str, Vec<&'f Filter>>,
    /// The alternatives that can match any partition.
    of_any: Vec<&'f Filter>,
}

impl<'f> Conjunct<'f> {
    fn of(filter: &'f Filter) -> Self {
        let Filter::Or(any) = filter else {
            return Self { filter, partitions: partitions(filter), alternatives: None };
        };
        let mut list = Alternatives::default();
        for one in any {
            match partitions(one) {
                Some(partitions) => {
                    for partition in partitions {
                        list.of_partition.entry(partition).or_default().push(one);
                    }
                }
                None => list.of_any.push(one),
            }
        }
        let partitions =
            list.of_any.is_empty().then(|| list.of_partition.keys().copied().collect());
        Self { filter, partitions, alternatives: Some(list) }
    }

    /// Returns the condition on the rows of a partition.
    fn within(&self, partition: &str) -> Condition {
        match &self.alternatives {
            None => within(self.filter, partition),
            Some(list) => {
                let listed = list.of_partition.get(partition).into_iter().flatten();
                Condition::any(listed.chain(&list.of_any).map(|one| within(one, partition)))
            }
        }
    }
}

/// The condition on the rows of one partition.
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

/// Returns the only partitions that a filter can match; `None` if there may be others.
fn partitions(filter: &Filter) -> Option<HashSet<&str>> {
    listed(filter, PARTITION_KEY, false)
}

/// Returns the only RowKeys that a filter matches; `None` if it has any other condition.
fn rows(filter: &Filter) -> Option<HashSet<&str>> {
    listed(filter, ROW_KEY, true)
}

/// Returns the values of a key that a filter lists. Only an exact list has no other condition.
fn listed<'f>(filter: &'f Filter, key: &str, exact: bool) -> Option<HashSet<&'f str>> {
    match filter {
        Filter::Compare { property, op: CompareOp::Eq, literal: EdmValue::String(value) } => {
            (property == key).then(|| HashSet::from([value.as_str()]))
        }
        Filter::And(all) => {
            let lists: Vec<_> = all.iter().filter_map(|one| listed(one, key, exact)).collect();
            if exact && lists.len() < all.len() {
                return None;
            }
            lists.into_iter().reduce(|a, b| &a & &b)
        }
        Filter::Or(any) => {
            let mut union = HashSet::new();
            for one in any {
                union.extend(listed(one, key, exact)?);
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

/// Evaluates the comparisons with the PartitionKey.
fn within(filter: &Filter, partition: &str) -> Condition {
    match filter {
        Filter::Compare { property, op, literal: EdmValue::String(key) }
            if property == PARTITION_KEY =>
        {
            if op.holds(ordinal(partition, key)) {
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
        Filter::And(all) => Condition::all(all.iter().map(|one| within(one, partition))),
        Filter::Or(any) => Condition::any(any.iter().map(|one| within(one, partition))),
        Filter::Not(inner) => match within(inner, partition) {
            Condition::Never => Condition::Always,
            Condition::Always => Condition::Never,
            Condition::If(filter) => Condition::If(!filter),
        },
    }
}

fn condition(conjuncts: &[Conjunct<'_>], partition: &str) -> Condition {
    Condition::all(conjuncts.iter().map(|one| one.within(partition)))
}

/// Whether the filter states only RowKeys of the partition.
fn lists_rows(conjuncts: &[Conjunct<'_>], partition: &str) -> bool {
    matches!(condition(conjuncts, partition), Condition::If(filter) if rows(&filter).is_some())
}

/// Returns the branches of a partition.
fn branches(conjuncts: &[Conjunct<'_>], partition: &str) -> Vec<Filter> {
    let whole = Filter::partition(partition);
    let filter = match condition(conjuncts, partition) {
        Condition::Never => return Vec::new(),
        Condition::Always => return vec![whole],
        Condition::If(filter) => filter,
    };
    let Some(rows) = rows(&filter) else { return vec![whole & filter] };
    let mut rows: Vec<_> = rows.into_iter().collect();
    rows.sort_unstable_by(|a, b| ordinal(a, b));
    let row = |key: &str| Filter::on_key(ROW_KEY, CompareOp::Eq, key.to_owned());
    rows.into_iter().map(|key| whole.clone() & row(key)).collect()
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
    }
}
