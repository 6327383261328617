//! `--dry-run`: the rows that would be written, and the requests for them.

use futures_util::TryStreamExt as _;

use super::source;
use super::task::{Task, first_pass};
use crate::args::{FoundRows, Globals};
use crate::engine::estimate::{self, Estimate};
use crate::engine::no_match::note_reasons;
use crate::engine::scan::Scan;
use crate::failure::Result;
use crate::interrupt::Interrupt;
use crate::output::Out;
use crate::progress::Progress;

pub(super) async fn run(
    task: &Task,
    scan: &Scan,
    options: &FoundRows,
    globals: &Globals,
) -> Result<()> {
    let progress = first_pass("count", globals);
    let read = Interrupt::install()?.stops(read(task, scan, &progress)).await;
    progress.finish();
    let (rows, found) = read?;
    let limit = task.check_limit(rows, options);
    let mut out = Out::new();
    out.put(&format!("{}\n{}\n", scan.plan()?, task.found(rows)))?;
    if limit.is_ok() {
        // The run counts the rows, and then reads them again.
        let reads = if rows == 0 { 1 } else { 2 * estimate::pages(rows) };
        out.put(&estimate::line(reads + found.writes()))?;
    }
    out.flush()?;
    note_reasons(task.filter.as_deref(), rows, globals);
    limit
}

/// Reads the rows as the run does. Returns their number, and those that the change is for.
async fn read(task: &Task, scan: &Scan, progress: &Progress) -> Result<(u64, Estimate)> {
    let mut to_write = Estimate::default();
    let mut found = source::rows(scan, &task.change);
    let mut count = 0;
    while let Some((row, _)) = found.try_next().await? {
        count += 1;
        progress.add_rows(1);
        if !task.change.is_done(&row) {
            to_write.add(&row.key().partition_key);
        }
    }
    Ok((count, to_write))
}
