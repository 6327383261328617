//! The rows that a query finds, for `delete --filter`, `update` and `truncate`.
//!
//! A first pass counts the rows, or saves them. After the question, a second pass reads them from the table or from the saved
//! file, and writes them by a bulk run. A repeated command continues without a checkpoint: deleted rows no longer match, and an
//! update skips rows that already have the values.

mod change;
mod conclusion;
mod dry_run;
mod left_rows;
mod run;
mod saved_rows;
mod source;
mod task;

pub(super) use change::Change;
pub(super) use task::{Consent, Task};

use super::no_match::note_reasons;
use crate::args::{FoundRows, Globals};
use crate::failure::Result;
use crate::interrupt::Interrupt;
use crate::output::{message, note};
use crate::progress::Progress;
use crate::table_name;
use left_rows::SharedLeftRows;
use run::Run;
use saved_rows::SavedRows;
use source::saved_rows;

pub(super) async fn run(task: Task, options: FoundRows, globals: &Globals) -> Result<()> {
    table_name::check(&task.service, &task.table)?;
    let plan = task.source(&options).keys().plan()?;
    if options.dry_run {
        return dry_run::run(&task, &plan.to_string(), &options, globals).await;
    }
    task.check_consent(&options, globals)?;
    let left = SharedLeftRows::new(task.open_list(&options, globals)?);
    let interrupt = Interrupt::install()?;
    let (rows, saved) = match &options.save {
        Some(path) => {
            let mut saved = SavedRows::begin(path)?;
            let rows = task.save(&mut saved, &options, &interrupt, globals).await?;
            (rows, Some(saved))
        }
        None => (task.count(&options, &interrupt, globals).await?, None),
    };
    note(globals, &format!("{plan}\n{}", task.found(rows)));
    task.check_limit(rows, &options)?;
    note_reasons(task.filter.as_deref(), rows, globals);
    if rows == 0 {
        return Ok(());
    }
    task.confirm(rows, &interrupt, globals).await?;
    let saved = saved.map(SavedRows::keep).transpose()?;
    let found = match &saved {
        Some(path) => saved_rows(path, rows),
        None => task.source(&options).rows(&task.change),
    };
    let bulk = task.source(&options).table.bulk().concurrency(options.concurrency.into());
    let bulk = options.rate.limit_run(bulk);
    let run = Run {
        // The file has no other version.
        any_version: options.force && options.save.is_none(),
        limit: options.max_rows.filter(|_| task.is_unasked(globals)).unwrap_or(rows),
        left,
        progress: Progress::new(globals.quiet, task.change.verb(), Some(rows))
            .with_requests(&globals.connection.requests),
        change: task.change,
    };
    let advice = match saved {
        Some(_) => "repeat the command with another file for the others",
        None => "repeat the command for the others",
    };
    let summary = run.run(bulk, found, &interrupt).await.report(advice)?;
    if !globals.quiet {
        message(&summary);
    }
    Ok(())
}
