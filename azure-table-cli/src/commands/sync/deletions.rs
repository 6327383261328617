//! The recorded rows that the source has no more.

use azure_table_client::{DynamicEntity, EntityKey};
use futures_util::stream::{StreamExt as _, TryStreamExt as _};

use crate::args::Sync;
use crate::commands::diff::{Rows, in_order, sorted};
use crate::commands::keys::Keys;
use crate::failure::{Exit, Failure, Result};
use crate::key_order::{advice, compare};
use crate::pacer::Pacer;
use crate::side_table::SideTable;
use crate::sort::Sorter;

/// The rows to delete, before any is deleted.
#[derive(Debug)]
pub(super) struct Deletions {
    pub(super) rows: Sorter,
    pub(super) count: u64,
    /// The number of recorded rows.
    pub(super) recorded: u64,
}

impl Deletions {
    /// Compares the recorded keys, in key order, with all keys of the source.
    pub(super) async fn find(
        args: &Sync,
        source: &SideTable,
        recorded: impl Iterator<Item = Result<EntityKey>>,
    ) -> Result<Self> {
        find(keys_of(args, source).await?, recorded, source.rows.name()).await
    }
}

async fn find(
    mut source: Rows,
    recorded: impl Iterator<Item = Result<EntityKey>>,
    name: &str,
) -> Result<Deletions> {
    let mut found = Deletions { rows: Sorter::new(), count: 0, recorded: 0 };
    let mut next = source.try_next().await?;
    let is_empty = next.is_none();
    for key in recorded {
        let key = key?;
        found.recorded += 1;
        while let Some(row) = &next
            && compare(row.key(), &key).is_lt()
        {
            next = source.try_next().await?;
        }
        if next.as_ref().is_none_or(|row| *row.key() != key) {
            found.rows.push(&DynamicEntity::new(key.partition_key, key.row_key))?;
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

/// Reads the keys of the source, in key order.
async fn keys_of(args: &Sync, source: &SideTable) -> Result<Rows> {
    let keys = source.rows.with_entity::<Keys>().query().allow_scan();
    let keys = keys.select(|keys| (keys.partition, keys.row));
    let keys = match usize::from(args.parallel) {
        1 => keys.stream(),
        ranges => keys.parallel(ranges).stream(),
    };
    let keys = Pacer::new(args.rate).stream(keys.map_err(Failure::from).boxed());
    let rows = keys.map_ok(|(partition, row)| DynamicEntity::new(partition, row)).boxed();
    let rows = if source.has_key_order() { rows } else { sorted(rows).await? };
    Ok(in_order(rows, format!("table {}", source.rows.name()), advice("--from-dialect")))
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    async fn run(source: &[&str], recorded: &[&str]) -> Result<Vec<String>> {
        let rows: Vec<_> = source.iter().map(|row| Ok(DynamicEntity::new("p", *row))).collect();
        let rows = in_order(stream::iter(rows).boxed(), "table Blogs".into(), String::new());
        let recorded = recorded.iter().map(|row| Ok(EntityKey::new("p", *row)));
        let found = find(rows, recorded, "Blogs").await?;
        found.rows.finish()?.map(|row| Ok(row?.key().row_key.clone())).collect()
    }

    #[tokio::test]
    async fn only_recorded_rows_that_the_source_lacks_are_deleted() {
        for (source, recorded, expected) in [
            (&["a", "b"][..], &[][..], &[][..]),
            (&["a", "b"], &["a", "b"], &[]),
            (&["b", "d"], &["a", "b", "c", "d", "e"], &["a", "c", "e"]),
            (&["0", "z"], &["a"], &["a"]),
            (&[], &[], &[]),
        ] {
            assert_eq!(run(source, recorded).await.unwrap(), expected, "{source:?}");
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
