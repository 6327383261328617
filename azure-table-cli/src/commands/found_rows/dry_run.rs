//! `--dry-run`: the rows that would be written, and the requests for them.

use azure_table_client::Operation;
use futures_util::TryStreamExt as _;

use super::task::{Task, first_pass};
use crate::args::{FoundRows, Globals};
use crate::commands::import::size;
use crate::commands::no_match::note_reasons;
use crate::estimate::Writes;
use crate::failure::Result;
use crate::interrupt::Interrupt;
use crate::output::Out;
use crate::progress::Progress;
use crate::requests::Requests;

pub(super) async fn run(
    task: &Task,
    plan: &str,
    options: &FoundRows,
    globals: &Globals,
) -> Result<()> {
    let progress = first_pass("count", globals);
    let read = Interrupt::install()?.stops(read(task, options, &progress)).await;
    progress.finish();
    let (rows, writes) = read?;
    let limit = task.check_limit(rows, options);
    let mut out = Out::new();
    out.put(&format!("{plan}\n{}\n", task.found(rows)))?;
    if limit.is_ok() {
        let pages = Requests::sent(&globals.connection.requests).of(Operation::Query);
        // The run counts the rows, and then reads them again.
        let reads = if rows == 0 { pages } else { 2 * pages };
        out.put(&writes.requests().with(Operation::Query, reads).estimate())?;
    }
    out.flush()?;
    note_reasons(task.filter.as_deref(), rows, globals);
    limit
}

/// Reads the rows as the run does. Returns their number, and the writes of those that the change is for.
async fn read(task: &Task, options: &FoundRows, progress: &Progress) -> Result<(u64, Writes)> {
    let mut writes = Writes::new(task.change.request(), task.service.dialect(), options.rate);
    let mut found = task.source(options).rows(&task.change);
    let mut count = 0;
    while let Some((row, _)) = found.try_next().await? {
        count += 1;
        progress.add_rows(1);
        if !task.change.is_done(&row) {
            writes.add(&row.key().partition_key, size(&row));
        }
    }
    Ok((count, writes))
}
