//! `--dry-run`: the numbers of a pass.

use azure_table_client::{EntityKey, Operation};
use futures_util::stream::{self, Stream, StreamExt as _, TryStreamExt as _};

use super::deletions::Deletions;
use super::pair::Pair;
use super::pass::bound;
use crate::args::{Globals, Sync};
use crate::commands::copy::{Source, SyncFiles};
use crate::estimate::Writes;
use crate::failure::{Failure, Result};
use crate::output::Out;
use crate::pacer::Pacer;
use crate::progress::{counted, grouped};
use crate::requests::Requests;

/// Prints the numbers of rows that a pass would copy and delete, and its requests.
pub(super) async fn run(
    args: &Sync,
    pair: &Pair,
    files: &SyncFiles,
    globals: &Globals,
) -> Result<()> {
    let source = Source::written_since(&pair.source, bound(files, args), args.parallel.into());
    let keys = Pacer::new(args.rate).stream(source.keys().map_err(Failure::from).boxed());
    let dialect = pair.target.service.dialect();
    let writes = |alone| Writes::new(alone, dialect, args.rate);
    let (rows, mut requests) = count(keys, writes(Operation::InsertOrReplace)).await?;
    let mut text = format!("{} to copy", counted(rows, "row"));
    if args.delete {
        let recorded = files.recorded()?;
        let found = Deletions::find(args, &pair.source, recorded).await?;
        let recorded = counted(found.recorded, "recorded row");
        let keys = found.rows.finish()?.map(|row| Ok(row?.key().clone()));
        let (rows, deletions) = count(stream::iter(keys), writes(Operation::Delete)).await?;
        text = format!("{text}, {} of {recorded} to delete", grouped(rows));
        // Each key is read in the source once more, and the version of its row in the target.
        requests = requests.and(deletions).with(Operation::Query, 2 * rows);
    }
    let requests = requests
        // The pass reads the time of the source.
        .with(Operation::Query, 1)
        .and(Requests::sent(&globals.connection.requests));
    let mut out = Out::new();
    out.put(&format!("{text} in one pass\n{}", requests.estimate()))?;
    out.flush()
}

/// Counts rows, and the requests that write them.
async fn count(
    keys: impl Stream<Item = Result<EntityKey>>,
    writes: Writes,
) -> Result<(u64, Requests)> {
    let add = async |(rows, mut writes): (u64, Writes), key: EntityKey| {
        // The size of the row is unknown.
        writes.add(&key.partition_key, 0);
        Ok((rows + 1, writes))
    };
    let (rows, writes) = keys.try_fold((0, writes), add).await?;
    Ok((rows, writes.requests()))
}
