//! `--dry-run`: the numbers of a pass.

use futures_util::stream::TryStreamExt as _;

use super::deletions::Deletions;
use super::pair::Pair;
use super::pass::{bound, written_since};
use crate::args::{Globals, Sync};
use crate::engine::estimate::{self, Estimate};
use crate::engine::sync_position::SyncFile;
use crate::failure::Result;
use crate::output::Out;
use crate::progress::{counted, grouped};
use crate::requests::Requests;

/// Prints the numbers of rows that a pass would copy and delete, and its requests.
pub(super) async fn run(
    args: &Sync,
    pair: &Pair,
    file: &SyncFile,
    globals: &Globals,
) -> Result<()> {
    let mut keys = written_since(pair, bound(file, args), args).keys();
    let mut found = Estimate::default();
    while let Some(key) = keys.try_next().await? {
        found.add(&key.partition_key);
    }
    let mut requests = found.writes();
    let mut text = format!("{} to copy", counted(found.rows(), "row"));
    if args.delete {
        let missing = Deletions::find(args, &pair.source, &pair.target).await?;
        let all = counted(missing.target, "row");
        let mut found = Estimate::default();
        for row in missing.rows()? {
            found.add(&row?.0.partition_key);
        }
        text = format!("{text}, {} of {all} to delete", grouped(found.rows()));
        // Each key is read in the source once more.
        requests += found.writes() + found.rows();
    }
    // The pass reads the time of the source, and as many pages as this dry run.
    requests += 1 + Requests::sent(&globals.connection.requests).total();
    let mut out = Out::new();
    out.put(&format!("{text} in one pass\n{}", estimate::line(requests)))?;
    out.flush()
}
