//! Which rows a query must look at: the ranges of keys that its filter leaves.

use std::borrow::Cow;
use std::fmt;

use super::order::StoredKey;
use crate::edm::EdmValue;
use crate::entity::ordinal;
use crate::filter::{CompareOp, Filter};

/// How much of a table a query looks at, from the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PlanKind {
    /// One row, by both keys.
    Point,
    /// Some rows of one partition.
    RowRange,
    /// One partition.
    Partition,
    /// Some partitions.
    PartitionRange,
    /// The whole table.
    TableScan,
}

impl fmt::Display for PlanKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Point => "point",
            Self::RowRange => "row range",
            Self::Partition => "partition",
            Self::PartitionRange => "partition range",
            Self::TableScan => "table scan",
        })
    }
}

/// The keys that can satisfy a filter: those in both ranges.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Plan<'f> {
    partition: Range<'f>,
    row: Range<'f>,
}

/// From a key on, and up to a key; where a key is left out, no bound.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Range<'f> {
    low: Option<Cow<'f, str>>,
    high: Option<Upper<'f>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Upper<'f> {
    key: &'f str,
    inclusive: bool,
}

impl<'f> Plan<'f> {
    pub(super) fn of(filter: Option<&'f Filter>) -> Self {
        filter.map_or_else(Self::default, Self::of_filter)
    }

    fn of_filter(filter: &'f Filter) -> Self {
        match filter {
            Filter::Compare { property, op, literal: EdmValue::String(key) } => {
                let range = Range::of(*op, key);
                match property.as_str() {
                    "PartitionKey" => Self { partition: range, row: Range::default() },
                    "RowKey" => Self { partition: Range::default(), row: range },
                    _ => Self::default(),
                }
            }
            Filter::And(all) => all.iter().map(Self::of_filter).fold(Self::default(), |a, b| {
                Self { partition: a.partition.intersect(b.partition), row: a.row.intersect(b.row) }
            }),
            Filter::Or(any) => {
                let hull = any.iter().map(Self::of_filter).reduce(|a, b| Self {
                    partition: a.partition.hull(b.partition),
                    row: a.row.hull(b.row),
                });
                hull.unwrap_or_default()
            }
            Filter::Compare { .. } | Filter::IsTrue(_) | Filter::Not(_) => Self::default(),
        }
    }

    pub(super) fn kind(&self) -> PlanKind {
        match (self.partition.is_exact(), self.row.is_exact()) {
            (true, true) => PlanKind::Point,
            (true, false) if !self.row.is_unbounded() => PlanKind::RowRange,
            (true, false) => PlanKind::Partition,
            (false, _) if !self.partition.is_unbounded() => PlanKind::PartitionRange,
            (false, _) => PlanKind::TableScan,
        }
    }

    /// The first key to look at.
    pub(super) fn start(&self) -> (&str, &str) {
        // The row's range says where to begin only if the partition is known.
        let row = if self.partition.is_exact() { self.row.low.as_deref() } else { None };
        (self.partition.low.as_deref().unwrap_or_default(), row.unwrap_or_default())
    }

    /// Whether this key and all behind it are out of range.
    pub(super) fn is_past(&self, key: &StoredKey) -> bool {
        self.partition.is_past(&key.partition)
            || (self.partition.is_exact() && self.row.is_past(&key.row))
    }
}

impl<'f> Range<'f> {
    fn of(op: CompareOp, key: &'f str) -> Self {
        let upper = |inclusive| Some(Upper { key, inclusive });
        match op {
            CompareOp::Eq => Self { low: Some(key.into()), high: upper(true) },
            CompareOp::Ge => Self { low: Some(key.into()), high: None },
            // Nothing lies between a key and the same key with a NUL behind it.
            CompareOp::Gt => Self { low: Some(format!("{key}\0").into()), high: None },
            CompareOp::Le => Self { low: None, high: upper(true) },
            CompareOp::Lt => Self { low: None, high: upper(false) },
            CompareOp::Ne => Self::default(),
        }
    }

    fn is_exact(&self) -> bool {
        match (&self.low, &self.high) {
            (Some(low), Some(high)) => high.inclusive && *low == high.key,
            _ => false,
        }
    }

    fn is_unbounded(&self) -> bool {
        self.low.is_none() && self.high.is_none()
    }

    fn is_past(&self, key: &str) -> bool {
        self.high.as_ref().is_some_and(|high| match ordinal(key, high.key) {
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Equal => !high.inclusive,
            std::cmp::Ordering::Greater => true,
        })
    }

    fn intersect(self, other: Self) -> Self {
        let low = match (self.low, other.low) {
            (Some(a), Some(b)) => Some(if ordinal(&a, &b).is_ge() { a } else { b }),
            (a, b) => a.or(b),
        };
        let high = match (self.high, other.high) {
            (Some(a), Some(b)) => Some(if a.is_below(&b) { a } else { b }),
            (a, b) => a.or(b),
        };
        Self { low, high }
    }

    /// The smallest range around both.
    fn hull(self, other: Self) -> Self {
        let low = self.low.zip(other.low).map(|(a, b)| if ordinal(&a, &b).is_le() { a } else { b });
        let high = self.high.zip(other.high).map(|(a, b)| if a.is_below(&b) { b } else { a });
        Self { low, high }
    }
}

impl Upper<'_> {
    fn is_below(&self, other: &Self) -> bool {
        match ordinal(self.key, other.key) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => !self.inclusive,
            std::cmp::Ordering::Greater => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::edm::EdmCow;
    use crate::mock::evaluate::holds;
    use crate::mock::order::Keys;

    #[test]
    fn kinds() {
        for (text, kind) in [
            ("PartitionKey eq 'p' and RowKey eq 'r'", PlanKind::Point),
            ("PartitionKey eq 'p' and RowKey ge 'r'", PlanKind::RowRange),
            (
                "PartitionKey eq 'p' and (RowKey eq 'a' or RowKey eq 'c') and A eq 1",
                PlanKind::RowRange,
            ),
            ("PartitionKey eq 'p' and Rating ge 3", PlanKind::Partition),
            ("PartitionKey eq 'p' and (RowKey eq 'a' or Rating eq 3)", PlanKind::Partition),
            ("PartitionKey ge 'a' and PartitionKey lt 'b'", PlanKind::PartitionRange),
            ("PartitionKey eq 'a' or PartitionKey eq 'b'", PlanKind::PartitionRange),
            ("PartitionKey eq 'a' or RowKey eq 'b'", PlanKind::TableScan),
            ("not (PartitionKey eq 'a')", PlanKind::TableScan),
            ("PartitionKey ne 'a'", PlanKind::TableScan),
            ("PartitionKey eq 5", PlanKind::TableScan),
            ("RowKey eq 'a'", PlanKind::TableScan),
        ] {
            assert_eq!(Plan::of(Some(&Filter::parse(text).unwrap())).kind(), kind, "{text}");
        }
        assert_eq!(Plan::of(None).kind(), PlanKind::TableScan);
    }

    fn key_filter() -> impl Strategy<Value = Filter> {
        let ops = ["eq", "ne", "gt", "ge", "lt", "le"];
        let leaf = (
            proptest::sample::select(vec!["PartitionKey", "RowKey", "Other"]),
            proptest::sample::select(ops.to_vec()),
            "[ab\u{e000}\u{1f600}]{0,2}",
        )
            .prop_map(|(name, op, key)| Filter::parse(&format!("{name} {op} '{key}'")).unwrap());
        leaf.prop_recursive(4, 16, 2, |inner| {
            let pair = (inner.clone(), inner.clone());
            prop_oneof![
                pair.clone().prop_map(|(a, b)| a & b),
                pair.prop_map(|(a, b)| a | b),
                inner.prop_map(|filter| !filter),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn no_row_that_matches_is_out_of_range(
            filter in key_filter(),
            partition in "[ab\u{e000}\u{1f600}]{0,2}",
            row in "[ab\u{e000}\u{1f600}]{0,2}",
        ) {
            let plan = Plan::of(Some(&filter));
            let key = StoredKey::new(partition, row);
            let property = |name: &str| match name {
                "PartitionKey" => Some(EdmCow::String((&*key.partition).into())),
                "RowKey" => Some(EdmCow::String((&*key.row).into())),
                _ => None,
            };
            if holds(&filter, &property) {
                let start: &dyn Keys = &plan.start();
                prop_assert!(start <= &key as &dyn Keys && !plan.is_past(&key), "{filter}");
            }
        }
    }
}
