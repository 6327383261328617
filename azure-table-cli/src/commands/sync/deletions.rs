//! The rows of the target that the source does not have.

use azure_table_client::{DynamicEntity, ETag, EntityKey};
use futures_util::future;
use futures_util::stream::{StreamExt as _, TryStreamExt as _};

use crate::args::Sync;
use crate::engine::compare::{in_order, sorted};
use crate::engine::scan::{Rows, Scan};
use crate::failure::{Exit, Failure, Result};
use crate::key_order::{advice, compare};
use crate::side_table::SideTable;
use crate::sort::{SortedRows, Sorter};

/// The property that keeps the version of a row while the keys are sorted.
const VERSION: &str = "Version";

/// The rows to delete, before any is deleted.
#[derive(Debug)]
pub(super) struct Deletions {
    rows: Sorter,
    pub(super) count: u64,
    /// The number of rows of the target.
    pub(super) target: u64,
}

impl Deletions {
    /// Compares all keys of both sides.
    pub(super) async fn find(args: &Sync, source: &SideTable, target: &SideTable) -> Result<Self> {
        let sides = future::try_join(
            keys_of(args, source, "--from-dialect"),
            keys_of(args, target, "--to-dialect"),
        );
        find(sides.await?, source.rows.name()).await
    }

    /// The rows, with the versions that the comparison found.
    pub(super) fn rows(self) -> Result<impl Iterator<Item = Result<(EntityKey, ETag)>> + Send> {
        let rows: SortedRows = self.rows.finish()?;
        Ok(rows.map(|row| {
            let row = row?;
            let version = row.value(VERSION).map(ToString::to_string).unwrap_or_default();
            Ok((row.key().clone(), ETag::from(&*version)))
        }))
    }
}

async fn find((mut source, mut target): (Rows, Rows), name: &str) -> Result<Deletions> {
    let mut found = Deletions { rows: Sorter::new(), count: 0, target: 0 };
    let mut next = source.try_next().await?;
    let is_empty = next.is_none();
    while let Some(row) = target.try_next().await? {
        found.target += 1;
        while let Some(other) = &next
            && compare(other.key(), row.key()).is_lt()
        {
            next = source.try_next().await?;
        }
        if next.as_ref().is_none_or(|other| other.key() != row.key()) {
            found.rows.push(&row)?;
            found.count += 1;
        }
    }
    // A later key in another order, or an error, makes the comparison worthless.
    while source.try_next().await?.is_some() {}
    if is_empty && found.count > 0 {
        let message =
            format!("table {name} has no row: no row is deleted; `truncate` empties the target");
        return Err(Failure::new(Exit::Failed, message));
    }
    Ok(found)
}

/// Reads the keys of a side with the versions of the rows, in key order.
async fn keys_of(args: &Sync, side: &SideTable, option: &str) -> Result<Rows> {
    let scan = Scan {
        ranges: args.reading.parallel.into(),
        ..Scan::of(side.rows.clone(), args.reading.rate)
    };
    let row = |(EntityKey { partition_key, row_key }, version): (EntityKey, ETag)| {
        DynamicEntity::new(partition_key, row_key).with(VERSION, version.as_str())
    };
    let rows = scan.key_versions().map_ok(row).boxed();
    let rows = if side.has_key_order() { rows } else { sorted(rows).await? };
    Ok(in_order(rows, format!("table {}", side.rows.name()), advice(option)))
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    fn side(keys: &[&str]) -> Rows {
        let row = |key: &&str| Ok(DynamicEntity::new("p", *key).with(VERSION, format!("v{key}")));
        let rows: Vec<_> = keys.iter().map(row).collect();
        in_order(stream::iter(rows).boxed(), "table Blogs".into(), String::new())
    }

    async fn run(source: &[&str], target: &[&str]) -> Result<Vec<String>> {
        let found = find((side(source), side(target)), "Blogs").await?;
        assert_eq!(found.target, target.len() as u64);
        let rows = found.rows()?.map(|row| {
            let (key, version) = row?;
            assert_eq!(version.as_str(), format!("v{}", key.row_key));
            Ok(key.row_key)
        });
        rows.collect()
    }

    #[tokio::test]
    async fn the_rows_that_only_the_target_has_are_found() {
        for (source, target, expected) in [
            (&["a", "b"][..], &[][..], &[][..]),
            (&["a", "b"], &["a", "b"], &[]),
            (&["b", "d"], &["a", "b", "c", "d", "e"], &["a", "c", "e"]),
            (&["0", "z"], &["a"], &["a"]),
            (&[], &[], &[]),
        ] {
            assert_eq!(run(source, target).await.unwrap(), expected, "{source:?}");
        }
    }

    #[tokio::test]
    async fn an_empty_or_unordered_source_deletes_nothing() {
        let error = run(&[], &["a"]).await.unwrap_err();
        assert!(error.message().starts_with("table Blogs has no row"), "{error}");
        // The last key is smaller, so that `b` may come later too.
        let error = run(&["a", "c", "b"], &["a", "b"]).await.unwrap_err();
        assert!(error.message().contains("after a larger key"), "{error}");
    }
}
