//! The ranges that the executors read, and the proof that they are parts of one query.

use std::collections::HashSet;

use azure_table_client::filter::Filter;
use azure_table_client::{DynamicEntity, TableClient};
use futures_util::TryStreamExt as _;

use crate::Error;

/// A range that an executor read to its end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RangeRead {
    executor: u16,
    rows: u64,
    filter: String,
}

impl RangeRead {
    /// Reads a line of [`log`](crate::log).
    pub(crate) fn parse(executor: u16, line: &str) -> Option<Self> {
        let (rows, filter) = line.strip_prefix("range read: ")?.split_once(" rows, ")?;
        Some(Self { executor, rows: rows.parse().ok()?, filter: filter.to_owned() })
    }
}

/// Checks that each executor read a range, that the ranges have no row in common, and that they have all `rows`.
pub(crate) async fn check(
    ranges: &[RangeRead],
    executors: &[u16],
    rows: u64,
    table: &TableClient<DynamicEntity>,
) -> Result<(), Error> {
    if let Some(idle) =
        executors.iter().find(|port| ranges.iter().all(|one| one.executor != **port))
    {
        return Err(format!("executor {idle} read no range").into());
    }
    let mut keys = HashSet::new();
    for RangeRead { filter, rows, .. } in ranges {
        let query = table.query().matching(&Filter::parse(filter)?).select_names::<String>([]);
        let found: Vec<_> = query.stream().try_collect().await?;
        if found.len() as u64 != *rows {
            return Err(format!("range {filter} has {} rows, {rows} were read", found.len()).into());
        }
        if let Some(row) = found.iter().find(|row| !keys.insert(row.key().clone())) {
            return Err(format!("row {} is in two ranges, one is {filter}", row.key()).into());
        }
    }
    if keys.len() as u64 != rows {
        return Err(format!("the ranges have {} rows instead of {rows}", keys.len()).into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use azure_table_client::mock::MockTableService;

    use super::*;

    async fn message(lines: &[(u16, &str)]) -> Option<String> {
        let table = MockTableService::new().client().table_named::<DynamicEntity>("Sales");
        table.create().await.unwrap();
        for row in 0..9 {
            table.insert(&DynamicEntity::new("p", format!("{row}"))).await.unwrap();
        }
        let ranges = lines.iter().filter_map(|(port, line)| RangeRead::parse(*port, line));
        let ranges: Vec<_> = ranges.collect();
        check(&ranges, &[1, 2], 9, &table).await.err().map(|error| error.to_string())
    }

    #[tokio::test]
    async fn each_executor_reads_ranges_that_are_disjoint_and_complete() {
        let all = "range read: 9 rows, PartitionKey eq 'p'";
        let (low, high) =
            ("range read: 4 rows, RowKey lt '4'", "range read: 5 rows, RowKey ge '4'");
        assert_eq!(message(&[(1, low), (2, high)]).await, None);
        assert_eq!(message(&[(1, low), (1, high)]).await.unwrap(), "executor 2 read no range");
        let other = "range read in part: 5 rows, RowKey ge '4'";
        assert_eq!(message(&[(1, low), (2, other)]).await.unwrap(), "executor 2 read no range");
        let twice = message(&[(1, all), (2, low)]).await.unwrap();
        assert!(twice.contains("is in two ranges"), "{twice}");
        let less = message(&[(1, low), (2, "range read: 4 rows, RowKey gt '4'")]).await.unwrap();
        assert_eq!(less, "the ranges have 8 rows instead of 9");
        let fewer = message(&[(1, low), (2, "range read: 3 rows, RowKey ge '4'")]).await.unwrap();
        assert_eq!(fewer, "range RowKey ge '4' has 5 rows, 3 were read");
    }
}
