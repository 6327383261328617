//! The ranges of keys that a filter allows, and so the rows that the service must scan. The service has
//! no other index.

use std::fmt;

use super::range::Range;
use super::{CompareOp, Filter, KeyOrder};
use crate::edm::EdmValue;
use crate::limits::{PARTITION_KEY, ROW_KEY};

/// The part of a table that a query scans, from the smallest to the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PlanKind {
    /// No row: no key can meet the filter, such as an empty list, two lists without a common key, or (on Azure Storage
    /// only) a range that ends before it starts. A query sends no request, so it does not notice a missing table. A
    /// filter that is only `false` is sent, for health checks.
    Nothing,
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
    /// filter; [`Nothing`](Self::Nothing) if no key can meet the filter in the key order of Azure Storage.
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
        Self::in_order(filter, KeyOrder::Utf16)
    }

    /// Returns the part of a table that a service with this order of keys scans.
    #[doc(hidden)]
    pub fn in_order(filter: Option<&Filter>, order: KeyOrder) -> Self {
        if filter.is_some_and(|filter| !filter.can_match(order)) {
            return Self::Nothing;
        }
        Plan::of(filter).kind()
    }
}

impl fmt::Display for PlanKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "nothing",
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
#[doc(hidden)]
pub struct Plan<'f> {
    partition: Range<'f>,
    row: Range<'f>,
}

impl<'f> Plan<'f> {
    pub fn of(filter: Option<&'f Filter>) -> Self {
        filter.map_or_else(Self::default, Self::of_filter)
    }

    fn of_filter(filter: &'f Filter) -> Self {
        match filter {
            Filter::Compare { property, op, literal: EdmValue::String(key) } => {
                Self::of_comparison(property, *op, key)
            }
            Filter::And(all) => all.iter().map(Self::of_filter).fold(Self::default(), Self::and),
            Filter::Or(any) => {
                any.iter().map(Self::of_filter).reduce(Self::hull).unwrap_or_default()
            }
            Filter::Compare { .. }
            | Filter::IsTrue(_)
            | Filter::Constant(_)
            | Filter::Not(_)
            | Filter::TooDeep => Self::default(),
        }
    }

    /// Returns the keys that a comparison with a text can match.
    pub(super) fn of_comparison(property: &str, op: CompareOp, text: &'f str) -> Self {
        let range = Range::of(op, text);
        match property {
            PARTITION_KEY => Self { partition: range, row: Range::default() },
            ROW_KEY => Self { partition: Range::default(), row: range },
            _ => Self::default(),
        }
    }

    /// Returns the keys that are in both plans.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            partition: self.partition.intersect(other.partition),
            row: self.row.intersect(other.row),
        }
    }

    /// Returns the smallest ranges that contain the keys of both plans.
    pub(super) fn hull(self, other: Self) -> Self {
        Self { partition: self.partition.hull(other.partition), row: self.row.hull(other.row) }
    }

    pub fn kind(&self) -> PlanKind {
        match (self.partition.is_exact(), self.row.is_exact()) {
            (true, true) => PlanKind::Point,
            (true, false) if !self.row.is_unbounded() => PlanKind::RowRange,
            (true, false) => PlanKind::Partition,
            (false, _) if !self.partition.is_unbounded() => PlanKind::PartitionRange,
            (false, _) => PlanKind::TableScan,
        }
    }

    /// Returns the first key to scan.
    pub fn start(&self) -> (&str, &str) {
        // The range of rows has a first key only within one partition.
        let row = if self.partition.is_exact() { self.row.low.as_deref() } else { None };
        (self.partition.low.as_deref().unwrap_or_default(), row.unwrap_or_default())
    }

    /// Whether this key and all keys after it are out of range.
    pub fn is_past(&self, partition_key: &str, row_key: &str) -> bool {
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

    /// Whether `value` is the only value of a key.
    pub(super) fn has_only(&self, key: &str, value: &str) -> bool {
        let range = if key == PARTITION_KEY { &self.partition } else { &self.row };
        range.has_only(value)
    }

    /// Whether no key is in both ranges.
    pub(super) fn is_empty(&self) -> bool {
        self.partition.is_empty() || self.row.is_empty()
    }

    /// Returns the partition, if there is only one.
    pub fn partition(&self) -> Option<&str> {
        self.partition.low.as_deref().filter(|_| self.partition.is_exact())
    }

    /// Returns the bounds of both ranges as a filter, if there are any. A RowKey limits the scan only within
    /// one partition, so the filter omits its bounds otherwise.
    pub fn keys_as_filter(&self) -> Option<Filter> {
        let partition = self.partition.bounds(PARTITION_KEY);
        let row = self.partition.is_exact().then(|| self.row.bounds(ROW_KEY));
        partition.chain(row.into_iter().flatten()).reduce(|a, b| a & b)
    }

    /// Returns both keys of a filter that states them and has no other condition.
    pub fn point_of(filter: &Filter) -> Option<(&str, &str)> {
        let Filter::And(all) = filter else { return None };
        let [a, b] = all.as_slice() else { return None };
        let key = |name| equals(a, name).or_else(|| equals(b, name));
        key(PARTITION_KEY).zip(key(ROW_KEY))
    }

    /// Returns the reason for the kind, for messages.
    pub fn reason(&self, filter: Option<&Filter>) -> &'static str {
        match (self.kind(), filter) {
            (PlanKind::Nothing, _) => "no key can meet the filter",
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
