//! `--dry-run`: the rows that would be copied, and the requests for them.

use azure_table_client::{Dialect, Operation};
use futures_util::TryStreamExt as _;

use super::{Source, is_missing};
use crate::args::{Copy as Arguments, Globals};
use crate::commands::no_match::note_reasons;
use crate::estimate::Writes;
use crate::failure::{Exit, Failure, Result};
use crate::interrupt::Interrupt;
use crate::output::{Out, note};
use crate::pacer::Pacer;
use crate::progress::{Progress, counted};
use crate::requests::Requests;
use crate::side_table::SideTable;

/// Prints the rows and the requests. It is an error if the run would refuse a missing target.
pub(super) async fn run(
    args: &Arguments,
    source: &SideTable,
    target: &SideTable,
    globals: &Globals,
) -> Result<()> {
    let exists = Interrupt::install()?.stops(exists(target, globals)).await?;
    if !exists && !args.create {
        return Err(is_missing(target));
    }
    let Estimate { rows, requests } = estimate(args, source, target, globals).await?;
    let reads = Requests::sent(&globals.connection.requests).of(Operation::Query);
    let counted = counted(rows, "row");
    let [source, target] =
        [source, target].map(|side| format!("{} ({})", side.rows.name(), side.service.endpoint()));
    let creates = if exists { "" } else { ", which the run would create" };
    let mut out = Out::new();
    out.put(&format!("{counted} of {source} for {target}{creates}\n"))?;
    out.put(&requests.with(Operation::Query, reads).estimate())?;
    out.flush()?;
    note_reasons(args.filter.as_deref(), rows, globals);
    Ok(())
}

/// Whether the target exists. A signature for its rows does not permit this request; then the table counts as existing.
async fn exists(target: &SideTable, globals: &Globals) -> Result<bool> {
    match target.rows.table_exists().await.map_err(Failure::from) {
        Err(failure) if failure.exit() == Exit::Denied => {
            let name = target.rows.name();
            note(globals, &format!("it is unknown whether the table {name} exists: {failure}"));
            Ok(true)
        }
        exists => exists,
    }
}

/// The rows of a copy, and its requests without those that read the rows.
pub(in crate::commands) struct Estimate {
    pub(in crate::commands) rows: u64,
    pub(in crate::commands) requests: Requests,
}

/// Reads the keys of the rows by the queries of the run, which then are as many, unless the rows are large.
pub(in crate::commands) async fn estimate(
    args: &Arguments,
    source: &SideTable,
    target: &SideTable,
    globals: &Globals,
) -> Result<Estimate> {
    let dialect = target.service.dialect();
    let progress = Progress::new(globals.quiet, args.label("count"), args.expect);
    let (filter, ranges) = (args.filter.clone(), args.parallel.into());
    let keys = Source { table: source.rows.clone(), filter, since: None, ranges }.keys();
    let mut keys = Pacer::new(args.rate).stream(keys);
    let mut writes = Writes::new(args.mode.request(), dialect, args.rate);
    let mut rows = 0;
    let count = async {
        while let Some(key) = keys.try_next().await? {
            // The size of the row is unknown.
            writes.add(&key.partition_key, 0);
            rows += 1;
            progress.add_rows(1);
        }
        Ok(())
    };
    let counted = Interrupt::install()?.stops(count).await;
    progress.finish();
    counted?;
    let is_looked_up = !args.create && dialect == Dialect::CosmosDb;
    let requests = writes
        .requests()
        .with(Operation::CreateTable, args.create.into())
        .with(Operation::GetTable, is_looked_up.into())
        // The run reads the time of the source.
        .with(Operation::Query, args.for_sync.into());
    Ok(Estimate { rows, requests })
}
