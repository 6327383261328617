//! `--dry-run`: the numbers of a pass.

use azure_table_client::EntityKey;
use futures_util::stream::{self, Stream, StreamExt as _, TryStreamExt as _};

use super::deletions::Deletions;
use super::pair::Pair;
use super::pass::changed_since;
use crate::args::{Globals, Sync};
use crate::commands::copy::SyncFiles;
use crate::commands::keys::Keys;
use crate::failure::{Failure, Result};
use crate::output::Out;
use crate::pacer::Pacer;
use crate::progress::{counted, grouped};
use crate::requests::Requests;

/// The maximum number of rows of a transaction.
const TRANSACTION_ROWS: u64 = 100;

/// Rows, and the transactions that write them.
#[derive(Debug, Default, PartialEq)]
struct Writes {
    rows: u64,
    transactions: u64,
}

/// Prints the numbers of rows that a pass would copy and delete.
pub(super) async fn run(
    args: &Sync,
    pair: &Pair,
    files: &SyncFiles,
    globals: &Globals,
) -> Result<()> {
    let since = files.position().and_then(|position| position.since);
    let mut query = pair.source.rows.with_entity::<Keys>().query().allow_scan();
    if let Some(filter) = changed_since(since, args.overlap) {
        query = query.filter_text(&filter);
    }
    let keys = query.select(|keys| (keys.partition, keys.row)).stream();
    let keys = keys.map_ok(|(partition, row)| EntityKey::new(partition, row));
    let keys = Pacer::new(args.rate).stream(keys.map_err(Failure::from).boxed());
    let copied = count(keys).await?;
    let mut text = format!("{} to copy", counted(copied.rows, "row"));
    let mut requests = copied.transactions;
    if args.delete {
        let recorded = files.open_record()?.keys()?;
        let found = Deletions::find(args, &pair.source, recorded).await?;
        let (rows, recorded) = (grouped(found.count), counted(found.recorded, "recorded row"));
        text = format!("{text}, {rows} of {recorded} to delete");
        let keys = found.rows.finish()?.map(|row| Ok(row?.key().clone()));
        let deleted = count(stream::iter(keys)).await?;
        // The version of each row is read.
        requests += deleted.rows + deleted.transactions;
    }
    requests += Requests::sent(&globals.connection.requests).total();
    let mut out = Out::new();
    out.put(&format!("{text}: about {}\n", counted(requests, "billable request")))?;
    out.flush()
}

async fn count(keys: impl Stream<Item = Result<EntityKey>>) -> Result<Writes> {
    let count = async |(mut writes, last): (Writes, Option<(String, u64)>), key: EntityKey| {
        let in_partition = match last {
            Some((partition, rows)) if partition == key.partition_key => rows,
            _ => 0,
        };
        writes.rows += 1;
        writes.transactions += u64::from(in_partition.is_multiple_of(TRANSACTION_ROWS));
        Ok((writes, Some((key.partition_key, in_partition + 1))))
    };
    let (writes, _) = keys.try_fold((Writes::default(), None), count).await?;
    Ok(writes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn transactions_have_one_partition_and_up_to_100_rows() {
        let keys = |partition: &'static str, rows: u32| {
            (0..rows).map(move |row| Ok(EntityKey::new(partition, row.to_string())))
        };
        let keys = keys("a", 100).chain(keys("b", 201)).chain(keys("c", 1));
        let writes = count(stream::iter(keys)).await.unwrap();
        assert_eq!(writes, Writes { rows: 302, transactions: 5 });
    }
}
