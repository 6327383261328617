//! The passes: each copies changed rows and deletes missing ones.

use std::collections::HashSet;
use std::time::Instant;

use azure_table_client::EntityKey;
use azure_table_client::edm::EdmDateTime;

use super::deletions::Deletions;
use super::limit::Limit;
use super::pair::Pair;
use super::removal::Removal;
use super::report::Report;
use super::{interrupted, stopped, stopped_by};
use crate::args::{Globals, Sync};
use crate::engine::copy_rows::{Copied, CopyRows, Frontier, Versions};
use crate::engine::mode::Mode;
use crate::engine::row_list::{Head, RowList};
use crate::engine::scan::Scan;
use crate::engine::sync_position::{Position, SyncFile};
use crate::engine::write_run::SAVE_EVERY;
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::output::note;
use crate::progress::Progress;

/// The state between two passes.
pub(super) struct Passes<'a> {
    args: &'a Sync,
    pair: &'a Pair,
    file: SyncFile,
    versions: Versions,
    interrupt: &'a Interrupt,
    globals: &'a Globals,
    number: u64,
}

impl<'a> Passes<'a> {
    /// Continues at the position in the file, or begins with a pass over all rows.
    pub(super) fn begin(
        args: &'a Sync,
        pair: &'a Pair,
        mut file: SyncFile,
        interrupt: &'a Interrupt,
        globals: &'a Globals,
    ) -> Result<Self> {
        let position = file.position().cloned().unwrap_or_default();
        if position.since.is_none() {
            note(globals, "no complete copy is recorded: the first pass copies all rows");
        }
        file.save(position)?;
        Ok(Self { args, pair, file, versions: Versions::new(), interrupt, globals, number: 0 })
    }

    pub(super) async fn pass(&mut self) -> Result<Report> {
        let start = Instant::now();
        self.number += 1;
        // Rows that change from now on are those of the next pass.
        let began = self.pair.clock.now(&self.pair.source.rows);
        let began = stopped_by(self.interrupt, began).await?;
        if self.number == 1 && began.is_none() {
            self.begin_without_time()?;
        }
        let copied = self.copy(began).await?;
        let is_complete = copied.is_complete();
        let Copied { rows, interrupted: signal, problem, .. } = copied;
        let unresolved = rows.unknown + rows.unsent;
        let (number, copied, refused) = (self.number, rows.done, rows.refused);
        let mut report = Report { number, copied, refused, unresolved, ..Report::default() };
        match (signal, problem) {
            (Some(exit), _) => return Err(interrupted(exit)),
            (None, Some(failure)) => return Err(stopped(&failure, rows.unknown > 0)),
            (None, None) if is_complete => {
                self.versions.complete();
                self.file.save(Position::complete_since(began))?;
                self.delete(&mut report).await?;
            }
            (None, None) => {}
        }
        report.time = start.elapsed();
        Ok(report)
    }

    /// Without a time of the service, no pass knows where the next one begins.
    fn begin_without_time(&self) -> Result<()> {
        let problem = "the source sends no Date header: each pass copies all rows";
        if self.args.until_equal {
            let message = format!("{problem}, so that --until-equal may not end; use `diff`");
            return Err(Failure::usage(message));
        }
        note(self.globals, problem);
        Ok(())
    }

    /// The keys of the rows that were refused.
    pub(super) fn refused(&self) -> HashSet<EntityKey> {
        self.versions.refused()
    }

    /// Copies the rows that changed since the last complete pass.
    async fn copy(&self, began: Option<EdmDateTime>) -> Result<Copied> {
        let bound = bound(&self.file, self.args);
        let next = began.map(|began| overlapped(began, self.args));
        self.versions.begin(bound.unwrap_or(EdmDateTime::MIN), next.unwrap_or(EdmDateTime::MIN));
        let progress = Progress::new(self.globals.quiet, "sync", None)
            .with_requests(&self.globals.connection.requests);
        let run = CopyRows {
            source: written_since(self.pair, bound, self.args),
            target: self.pair.target.rows.clone(),
            // A pass begins again, and has no position.
            has_key_order: false,
            mode: Mode::UpsertReplace,
            concurrency: self.args.writing.concurrency.into(),
            rate: self.args.reading.rate,
            give_up_after: self.args.give_up_after,
            is_resumed: false,
            save_every: SAVE_EVERY,
            checkpoint: None,
            list: self.list()?,
            versions: Some(self.versions.clone()),
            progress: progress.clone(),
        };
        let copied = run.run(Frontier::default(), self.interrupt).await;
        progress.clear();
        copied
    }

    /// The list of failed rows, which each pass continues.
    fn list(&self) -> Result<RowList> {
        RowList::append(self.pair.list.clone(), Head::new("sync", self.pair.target.rows.name()))
    }

    /// Deletes the rows of the target that the source does not have.
    async fn delete(&self, report: &mut Report) -> Result<()> {
        if !self.args.delete {
            return Ok(());
        }
        let found = Deletions::find(self.args, &self.pair.source, &self.pair.target);
        let found = stopped_by(self.interrupt, found).await?;
        if found.count == 0 {
            return Ok(());
        }
        let (source, target) = (&self.pair.source.rows, &self.pair.target.rows);
        let (rows, all, max_deletes) = (found.count, found.target, self.args.max_deletes);
        let limit = Limit { rows, all, max_deletes };
        stopped_by(self.interrupt, limit.check(target.name())).await?;
        let (versions, interrupt) = (&self.versions, self.interrupt);
        let removal = Removal { args: self.args, source, target, versions, interrupt };
        let removed = removal.run(found.rows()?, self.list()?).await?;
        report.deleted = removed.deleted;
        report.left = removed.left;
        report.refused += removed.refused;
        report.unresolved += removed.unresolved;
        Ok(())
    }
}

/// The time from which on a pass reads rows; all rows without one.
pub(super) fn bound(file: &SyncFile, args: &Sync) -> Option<EdmDateTime> {
    let since = file.position().and_then(|position| position.since);
    since.map(|since| overlapped(since, args))
}

/// The time from which on a later pass reads, in whole seconds, since Cosmos DB stamps rows by the second.
fn overlapped(time: EdmDateTime, args: &Sync) -> EdmDateTime {
    time.before(args.overlap).whole_second()
}

/// The rows of the source that were written since a time, or all rows.
pub(super) fn written_since(pair: &Pair, since: Option<EdmDateTime>, args: &Sync) -> Scan {
    // In Cosmos DB, a filter on the Timestamp finds no row: all rows are read.
    let filter = since.filter(|_| pair.source.has_key_order());
    let filter = filter.map(|since| format!("Timestamp ge datetime'{}'", since.trimmed()));
    let ranges = args.reading.parallel.into();
    Scan { filter, since, ranges, ..Scan::of(pair.source.rows.clone(), args.reading.rate) }
}
