//! The ranges of keys that a filter allows, and so the rows that the service must scan. The service has
//! no other index.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use super::{CompareOp, Filter};
use crate::edm::EdmValue;
use crate::entity::ordinal;
use crate::limits::{PARTITION_KEY, ROW_KEY};

/// The part of a table that a query scans, from the smallest to the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PlanKind {
    /// One row, addressed by both keys.
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

impl PlanKind {
    /// Returns the part of a table that the service scans for one query with this filter, or without a
    /// filter.
    ///
    /// ```
    /// use azure_table_client::filter::{Filter, PlanKind};
    ///
    /// let filter = Filter::parse("PartitionKey eq 'Channel9' and Rating ge 3")?;
    /// assert_eq!(PlanKind::of(Some(&filter)), PlanKind::Partition);
    /// assert_eq!(PlanKind::of(None), PlanKind::TableScan);
    /// # Ok::<(), azure_table_client::filter::FilterError>(())
    /// ```
    pub fn of(filter: Option<&Filter>) -> Self {
        Plan::of(filter).kind()
    }
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

/// The keys that a filter can match: the keys in both ranges.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Plan<'f> {
    partition: Range<'f>,
    row: Range<'f>,
}

/// A range of keys; `None` stands for a missing bound.
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
    pub(crate) fn of(filter: Option<&'f Filter>) -> Self {
        filter.map_or_else(Self::default, Self::of_filter)
    }

    fn of_filter(filter: &'f Filter) -> Self {
        match filter {
            Filter::Compare { property, op, literal: EdmValue::String(key) } => {
                let range = Range::of(*op, key);
                match property.as_str() {
                    PARTITION_KEY => Self { partition: range, row: Range::default() },
                    ROW_KEY => Self { partition: Range::default(), row: range },
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
            Filter::Compare { .. }
            | Filter::IsTrue(_)
            | Filter::Constant(_)
            | Filter::Not(_)
            | Filter::TooDeep => Self::default(),
        }
    }

    pub(crate) fn kind(&self) -> PlanKind {
        match (self.partition.is_exact(), self.row.is_exact()) {
            (true, true) => PlanKind::Point,
            (true, false) if !self.row.is_unbounded() => PlanKind::RowRange,
            (true, false) => PlanKind::Partition,
            (false, _) if !self.partition.is_unbounded() => PlanKind::PartitionRange,
            (false, _) => PlanKind::TableScan,
        }
    }

    /// Returns the first key to scan.
    pub(crate) fn start(&self) -> (&str, &str) {
        // The range of rows has a first key only within one partition.
        let row = if self.partition.is_exact() { self.row.low.as_deref() } else { None };
        (self.partition.low.as_deref().unwrap_or_default(), row.unwrap_or_default())
    }

    /// Whether this key and all keys after it are out of range.
    #[cfg(feature = "mock")]
    pub(crate) fn is_past(&self, partition_key: &str, row_key: &str) -> bool {
        self.partition.is_past(partition_key)
            || (self.partition.is_exact() && self.row.is_past(row_key))
    }

    /// Whether the plans prove that all keys are before the keys of `other`.
    pub(super) fn is_before(&self, other: &Self) -> bool {
        self.partition.is_before(&other.partition)
            || (self.partition.is_exact()
                && self.partition == other.partition
                && self.row.is_before(&other.row))
    }

    /// Whether no key is in both ranges.
    pub(super) fn is_empty(&self) -> bool {
        self.partition.is_empty() || self.row.is_empty()
    }

    /// Returns the partition, if there is only one.
    pub(crate) fn partition(&self) -> Option<&str> {
        self.partition.low.as_deref().filter(|_| self.partition.is_exact())
    }

    /// Returns the bounds of both ranges as a filter, if there are any. A RowKey limits the scan only within
    /// one partition, so the filter omits its bounds otherwise.
    pub(crate) fn keys_as_filter(&self) -> Option<Filter> {
        let partition = self.partition.bounds(PARTITION_KEY);
        let row = self.partition.is_exact().then(|| self.row.bounds(ROW_KEY));
        partition.chain(row.into_iter().flatten()).reduce(|a, b| a & b)
    }

    /// Returns both keys of a filter that states them and has no other condition.
    pub(crate) fn point_of(filter: &Filter) -> Option<(&str, &str)> {
        let Filter::And(all) = filter else { return None };
        let [a, b] = all.as_slice() else { return None };
        let key = |name| equals(a, name).or_else(|| equals(b, name));
        key(PARTITION_KEY).zip(key(ROW_KEY))
    }

    /// Returns the reason for the kind, for messages.
    pub(crate) fn reason(&self, filter: Option<&Filter>) -> &'static str {
        match (self.kind(), filter) {
            (PlanKind::Point, _) => "the filter states both keys",
            (PlanKind::RowRange, _) => "the filter states the PartitionKey and bounds the RowKey",
            (PlanKind::Partition, _) => {
                "the filter states the PartitionKey and does not bound the RowKey"
            }
            (PlanKind::PartitionRange, _) => {
                "the filter bounds the PartitionKey and does not state a single one"
            }
            (PlanKind::TableScan, None) => "there is no filter",
            (PlanKind::TableScan, Some(_)) if !self.row.is_unbounded() => {
                "the filter bounds the RowKey and not the PartitionKey, by which rows are found"
            }
            (PlanKind::TableScan, Some(_)) => "the filter does not bound the PartitionKey",
        }
    }
}

/// Returns the comparison for a lower bound. A bound that ends with NUL, which no key can contain, excludes the key
/// before the NUL.
pub(crate) fn lower_bound(low: &str) -> (CompareOp, &str) {
    match low.strip_suffix('\0') {
        Some(key) => (CompareOp::Gt, key),
        None => (CompareOp::Ge, low),
    }
}

/// Returns the text that the property `name` must equal, if the filter has no other condition.
fn equals<'f>(filter: &'f Filter, name: &str) -> Option<&'f str> {
    match filter {
        Filter::Compare { property, op: CompareOp::Eq, literal: EdmValue::String(text) }
            if property == name =>
        {
            Some(text)
        }
        _ => None,
    }
}

impl<'f> Range<'f> {
    fn of(op: CompareOp, key: &'f str) -> Self {
        let upper = |inclusive| Some(Upper { key, inclusive });
        match op {
            CompareOp::Eq => Self { low: Some(key.into()), high: upper(true) },
            CompareOp::Ge => Self { low: Some(key.into()), high: None },
            // No key is between a key and the same key followed by NUL.
            CompareOp::Gt => Self { low: Some(format!("{key}\0").into()), high: None },
            CompareOp::Le => Self { low: None, high: upper(true) },
            CompareOp::Lt => Self { low: None, high: upper(false) },
            CompareOp::Ne => Self::default(),
        }
    }

    fn bounds(&self, property: &str) -> impl Iterator<Item = Filter> {
        let low = self.low.as_deref().map(lower_bound);
        let high = self
            .high
            .as_ref()
            .map(|high| (if high.inclusive { CompareOp::Le } else { CompareOp::Lt }, high.key));
        low.into_iter().chain(high).map(|(op, key)| Filter::on_key(property, op, key.to_owned()))
    }

    fn is_empty(&self) -> bool {
        self.low.as_ref().is_some_and(|low| self.is_past(low))
    }

    fn is_exact(&self) -> bool {
        match (&self.low, &self.high) {
            (Some(low), Some(high)) => high.inclusive && *low == high.key,
            _ => false,
        }
    }

    /// Whether the range has no upper bound, and excludes at most the empty key.
    fn is_unbounded(&self) -> bool {
        self.high.is_none() && self.low.as_deref().is_none_or(|low| matches!(low, "" | "\0"))
    }

    fn is_past(&self, key: &str) -> bool {
        self.high.as_ref().is_some_and(|high| high.excludes(key))
    }

    fn is_before(&self, other: &Self) -> bool {
        other.low.as_ref().is_some_and(|low| self.is_past(low))
    }

    fn intersect(self, other: Self) -> Self {
        let low = match (self.low, other.low) {
            (Some(a), Some(b)) => Some(if ordinal(&a, &b).is_ge() { a } else { b }),
            (a, b) => a.or(b),
        };
        let high = match (self.high, other.high) {
            (Some(a), Some(b)) => Some(if a.excludes(b.key) { a } else { b }),
            (a, b) => a.or(b),
        };
        Self { low, high }
    }

    /// Returns the smallest range that contains both.
    fn hull(self, other: Self) -> Self {
        let low = self.low.zip(other.low).map(|(a, b)| if ordinal(&a, &b).is_le() { a } else { b });
        let high = self.high.zip(other.high).map(|(a, b)| if a.excludes(b.key) { b } else { a });
        Self { low, high }
    }
}

impl Upper<'_> {
    /// Whether `key` is above this bound.
    fn excludes(&self, key: &str) -> bool {
        match ordinal(self.key, key) {
            Ordering::Less => true,
            Ordering::Equal => !self.inclusive,
            Ordering::Greater => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_determines_the_kind_of_its_plan() {
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
            ("PartitionKey ge ''", PlanKind::TableScan),
            ("PartitionKey gt ''", PlanKind::TableScan),
            ("PartitionKey ge '' and RowKey eq 'x'", PlanKind::TableScan),
            ("PartitionKey eq '' or PartitionKey gt ''", PlanKind::TableScan),
            ("PartitionKey lt ''", PlanKind::PartitionRange),
            ("PartitionKey ge '' and PartitionKey lt 'a'", PlanKind::PartitionRange),
            ("PartitionKey eq ''", PlanKind::Partition),
            ("PartitionKey eq 'p' and RowKey ge ''", PlanKind::Partition),
        ] {
            assert_eq!(Plan::of(Some(&Filter::parse(text).unwrap())).kind(), kind, "{text}");
        }
        assert_eq!(Plan::of(None).kind(), PlanKind::TableScan);
    }
}
