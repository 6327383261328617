//! `--dry-run`: the rows that would be copied, and the requests for them.

use futures_util::TryStreamExt as _;

use super::is_missing;
use crate::args::{Copy as Arguments, Globals};
use crate::engine::estimate::{self, Estimate};
use crate::engine::no_match::note_reasons;
use crate::engine::scan::Scan;
use crate::failure::{Exit, Failure, Result};
use crate::interrupt::Interrupt;
use crate::output::{Out, note};
use crate::progress::Progress;
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
    let found = estimate(args, source, globals).await?;
    let [source, target] =
        [source, target].map(|side| format!("{} ({})", side.rows.name(), side.service.endpoint()));
    let created = if exists { "" } else { ", which the run would create" };
    let mut out = Out::new();
    out.put(&format!("{found} of {source} for {target}{created}\n"))?;
    // It looks whether the source exists, and creates the target.
    let creates = 2 * u64::from(args.create);
    out.put(&estimate::line(found.reads() + found.writes() + creates))?;
    out.flush()?;
    note_reasons(args.filter.as_deref(), found.rows(), globals);
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

/// Reads the keys of the rows.
pub(super) async fn estimate(
    args: &Arguments,
    source: &SideTable,
    globals: &Globals,
) -> Result<Estimate> {
    let progress = Progress::new(globals.quiet, args.label("count"), args.expect);
    let (filter, ranges) = (args.filter.clone(), args.reading.parallel.into());
    let mut keys =
        Scan { filter, ranges, ..Scan::of(source.rows.clone(), args.reading.rate) }.keys();
    let mut found = Estimate::default();
    let count = async {
        while let Some(key) = keys.try_next().await? {
            found.add(&key.partition_key);
            progress.add_rows(1);
        }
        Ok(())
    };
    let counted = Interrupt::install()?.stops(count).await;
    progress.finish();
    counted?;
    Ok(found)
}
