//! The rows that a query finds, for `delete --filter`, `update` and `truncate`.
//!
//! A first pass counts the rows, or saves them. After the question, a second pass reads them from the table or from the saved
//! file, and writes them by a bulk run. A repeated command continues without a checkpoint: deleted rows no longer match, and an
//! update skips rows that already have the values.

mod change;
mod dry_run;
mod saved_rows;
mod source;
mod task;

pub(crate) use change::Change;
pub(crate) use task::{Consent, Task};

use azure_table_client::bulk::BulkOperation;
use azure_table_client::{DynamicEntity, IfMatch};
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, future};
use tokio::sync::Notify;

use crate::args::{FoundRows, Globals};
use crate::engine::end::{End, problem_of};
use crate::engine::no_match::note_reasons;
use crate::engine::write_run::{Driven, Ledger, SAVE_EVERY, Saving, drive, show};
use crate::failure::{Exit, Failure, Result};
use crate::interrupt::Interrupt;
use crate::output::note;
use crate::progress::{Progress, counted};
use crate::table_name;
use saved_rows::SavedRows;
use source::{Found, saved_rows};

pub(crate) async fn run(task: Task, options: FoundRows, globals: &Globals) -> Result<()> {
    table_name::check(&task.service, &task.table)?;
    let scan = task.scan(&options);
    let plan = scan.plan()?;
    if options.dry_run {
        return dry_run::run(&task, &scan, &options, globals).await;
    }
    task.check_consent(&options, globals)?;
    let ledger = Ledger::new(task.open_list(&options, globals)?);
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
        None => source::rows(&scan, &task.change),
    };
    let bulk = scan.table.bulk().concurrency(options.writing.concurrency.into());
    let bulk = options.rate.limit_run(bulk);
    let progress = Progress::new(globals.quiet, task.change.verb(), Some(rows))
        .with_requests(&globals.connection.requests);
    let outcomes = ledger.clone();
    let bulk = show(bulk, progress.clone()).on_row(move |result| outcomes.end(result));
    let run = Run {
        // The file has no other version.
        any_version: options.force && options.save.is_none(),
        limit: options.max_rows.filter(|_| task.is_unasked(globals)).unwrap_or(rows),
        ledger: ledger.clone(),
        progress: progress.clone(),
        change: task.change,
    };
    let verb = run.change.done();
    // A list that cannot be written does not stop the run, whose result it would hide.
    let mut save = || {
        let _ = ledger.lock().list.save();
        Ok(())
    };
    let saving = Saving { every: SAVE_EVERY, early: &Notify::new(), save: &mut save };
    let driven = drive(bulk, run.operations(found), &interrupt, saving).await;
    progress.finish();
    let next = match saved {
        Some(_) => "repeat the command with another file for the others",
        None => "repeat the command for the others",
    };
    conclude(driven, &ledger, verb, next, globals)
}

/// Completes the list, and reports the end of the run. An incomplete list is a failure too.
fn conclude(
    driven: Result<Driven>,
    ledger: &Ledger,
    verb: &'static str,
    next: &str,
    globals: &Globals,
) -> Result<()> {
    let mut outcomes = ledger.lock();
    let finished = outcomes.list.finish();
    let Driven { report, interrupted } = driven?;
    let problem = match finished {
        Ok(()) => problem_of(&report),
        Err(failure) => {
            let message = format!("the list is incomplete: {}", failure.message());
            Some(Failure::new(failure.exit(), message))
        }
    };
    let end = End {
        verb,
        rows: outcomes.tally,
        in_flight: report.progress.held(),
        list: outcomes.list.path().to_owned(),
        interrupted,
        problem,
        next: next.to_owned(),
    };
    end.report(globals)
}

/// A run that is about to write rows.
struct Run {
    change: Change,
    /// Whether rows are written in any version.
    any_version: bool,
    /// The limit on the rows that are written.
    limit: u64,
    ledger: Ledger,
    progress: Progress,
}

impl Run {
    /// The operations on the rows, without those that have the values already. A row beyond the limit is an error.
    fn operations(
        self,
        rows: Found,
    ) -> impl Stream<Item = Result<BulkOperation<DynamicEntity>>> + use<> {
        let Self { change, any_version, limit, ledger, progress } = self;
        let mut count = 0;
        rows.map(move |row| {
            let (row, etag) = row?;
            if change.is_done(&row) {
                ledger.lock().tally.unchanged += 1;
                progress.add_earlier_rows(1);
                return Ok(None);
            }
            if count == limit {
                let limit = counted(limit, "row");
                let message =
                    format!("more rows match now: the run stopped at the limit of {limit}");
                return Err(Failure::new(Exit::Failed, message));
            }
            count += 1;
            let version = if any_version { IfMatch::Any } else { IfMatch::Tag(etag) };
            Ok(Some(change.operation(row, version)))
        })
        .try_filter_map(future::ok)
    }
}
