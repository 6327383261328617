//! Filters on keys, for example on the ranges of `T::partition_prefix(…)` and `T::row_prefix(…)`.

use super::{CompareOp, Filter};
use crate::edm::EdmValue;
use crate::key::KeyRange;
use crate::limits::{PARTITION_KEY, ROW_KEY};

impl Filter {
    /// Matches one partition.
    pub fn partition(partition_key: impl Into<String>) -> Self {
        Self::on_key(PARTITION_KEY, CompareOp::Eq, partition_key.into())
    }

    /// Matches the partitions of a range; without an upper end, all partitions from the lower end.
    pub fn partitions_in(range: &KeyRange) -> Self {
        Self::in_range(PARTITION_KEY, range)
    }

    /// Matches the rows of a range in every partition; combine it with [`partition`](Self::partition) for one.
    pub fn rows_in(range: &KeyRange) -> Self {
        Self::in_range(ROW_KEY, range)
    }
}

#[doc(hidden)]
impl Filter {
    pub fn in_range(property: &str, range: &KeyRange) -> Self {
        let from = Self::on_key(property, CompareOp::Ge, range.lower().to_owned());
        match range.upper() {
            Some(upper) => from & Self::on_key(property, CompareOp::Lt, upper.to_owned()),
            None => from,
        }
    }

    /// Matches the rows of a partition with these RowKeys; `None` without one.
    pub fn rows<'k>(
        partition_key: &str,
        row_keys: impl IntoIterator<Item = &'k str>,
    ) -> Option<Self> {
        let row = |key: &str| Self::on_key(ROW_KEY, CompareOp::Eq, key.to_owned());
        let rows = row_keys.into_iter().map(row).reduce(|a, b| a | b)?;
        Some(Self::partition(partition_key) & rows)
    }

    pub fn on_key(property: &str, op: CompareOp, key: String) -> Self {
        Self::Compare { property: property.to_owned(), op, literal: EdmValue::String(key) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_as_filters() {
        let range = KeyRange::of_prefix("PDC");
        let filter = Filter::partition("it's") & Filter::rows_in(&range);
        assert_eq!(
            filter.to_string(),
            "PartitionKey eq 'it''s' and RowKey ge 'PDC' and RowKey lt 'PDD'"
        );
        assert_eq!(Filter::parse(&filter.to_string()).unwrap(), filter);
        let all = Filter::partitions_in(&KeyRange::of_prefix(""));
        assert_eq!(all.to_string(), "PartitionKey ge ''");
    }
}
