//! The passes: each copies changed rows and deletes missing ones.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

use azure_table_client::EntityKey;
use azure_table_client::edm::EdmDateTime;

use super::deletions::Deletions;
use super::limit::Limit;
use super::pair::Pair;
use super::removal::Removal;
use super::report::Report;
use super::{interrupted, stopped, stopped_by};
use crate::args::{Globals, Sync};
use crate::commands::copy::{
    Ended, Frontier, Position, Reason, Run, Saved, SentRows, Source, SyncFiles,
};
use crate::commands::import::Mode;
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::output::note;
use crate::progress::Progress;
use crate::run_files::row_list::RowList;

/// The time between two saves of the list and the record.
const SAVE_EVERY: Duration = Duration::from_secs(5);

/// The state between two passes.
pub(super) struct Passes<'a> {
    args: &'a Sync,
    pair: &'a Pair,
    files: SyncFiles,
    sent: SentRows,
    interrupt: &'a Interrupt,
    globals: &'a Globals,
    number: u64,
}

impl<'a> Passes<'a> {
    /// Continues at the position in the files, or begins with a pass over all rows.
    pub(super) fn begin(
        args: &'a Sync,
        pair: &'a Pair,
        mut files: SyncFiles,
        interrupt: &'a Interrupt,
        globals: &'a Globals,
    ) -> Result<Self> {
        let position = files.position().cloned().unwrap_or_default();
        if position.since.is_none() {
            note(globals, "no complete copy is recorded: the first pass copies all rows");
        }
        files.save(position)?;
        let sent = SentRows::new(files.open_record()?);
        Ok(Self { args, pair, files, sent, interrupt, globals, number: 0 })
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
        let ended = self.copy(began).await?;
        let is_complete = ended.is_complete();
        let Saved { copied, refused, unresolved, .. } = ended.saved;
        let unresolved = unresolved.len() as u64;
        let number = self.number;
        let mut report = Report { number, copied, refused, unresolved, ..Report::default() };
        match ended.reason {
            Reason::Interrupted(exit) => return Err(interrupted(exit)),
            Reason::Stopped(cause) => {
                return Err(stopped(&Failure::of_cause(&*cause), ended.is_unknown));
            }
            Reason::Complete if is_complete => {
                self.sent.complete();
                self.files.save(Position::complete_since(began))?;
                self.delete(&mut report).await?;
            }
            Reason::Complete => {}
        }
        stopped_by(self.interrupt, self.sent.compact(false)).await?;
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
        self.sent.refused()
    }

    /// Copies the rows that changed since the last complete pass.
    async fn copy(&self, began: Option<EdmDateTime>) -> Result<Ended> {
        let bound = bound(&self.files, self.args);
        let next = began.map(|began| overlapped(began, self.args));
        self.sent.begin(bound.unwrap_or(EdmDateTime::MIN), next.unwrap_or(EdmDateTime::MIN));
        let progress = Progress::new(self.globals.quiet, "sync", None)
            .with_requests(&self.globals.connection.requests);
        let run = Run {
            source: Source::written_since(&self.pair.source, bound, self.args.parallel.into()),
            target: self.pair.target.rows.clone(),
            // A pass begins again, and has no position.
            has_key_order: false,
            mode: Mode::UpsertReplace,
            concurrency: self.args.concurrency.into(),
            rate: self.args.rate,
            give_up_after: self.args.give_up_after,
            is_resumed: false,
            save_every: SAVE_EVERY,
            checkpoint: None,
            refused: self.list()?,
            sent: Some(self.sent.clone()),
            progress: progress.clone(),
        };
        let ended = run.run(Frontier::default(), self.interrupt).await;
        progress.clear();
        ended
    }

    /// The list of refused rows, which each pass continues.
    fn list(&self) -> Result<RowList> {
        let path = &self.pair.refused;
        let bytes = match fs::metadata(path) {
            Ok(file) => file.len(),
            Err(error) if error.kind() == ErrorKind::NotFound => 0,
            Err(error) => return Err(Failure::file("read", path, error)),
        };
        RowList::resume(path.clone(), bytes)
    }

    /// Deletes the recorded rows that the source has no more.
    async fn delete(&self, report: &mut Report) -> Result<()> {
        if !self.args.delete {
            return Ok(());
        }
        stopped_by(self.interrupt, self.sent.compact(true)).await?;
        let recorded = self.sent.with_record(|record| record.keys())?;
        let found = Deletions::find(self.args, &self.pair.source, recorded);
        let Deletions { rows, count, recorded } = stopped_by(self.interrupt, found).await?;
        if count == 0 {
            return Ok(());
        }
        let (source, target) = (&self.pair.source.rows, &self.pair.target.rows);
        let limit = Limit { rows: count, recorded, max_deletes: self.args.max_deletes };
        stopped_by(self.interrupt, limit.check(target.name())).await?;
        let (sent, interrupt) = (&self.sent, self.interrupt);
        let removal = Removal { args: self.args, source, target, sent, interrupt };
        let removed = removal.run(rows.finish()?, self.list()?).await?;
        report.deleted = removed.deleted;
        report.left = removed.left;
        report.refused += removed.refused;
        report.unresolved += removed.unresolved;
        Ok(())
    }
}

/// The time from which on a pass reads rows; all rows without one.
pub(super) fn bound(files: &SyncFiles, args: &Sync) -> Option<EdmDateTime> {
    let since = files.position().and_then(|position| position.since);
    since.map(|since| overlapped(since, args))
}

/// The time from which on a later pass reads, in whole seconds, since Cosmos DB stamps rows by the second.
fn overlapped(time: EdmDateTime, args: &Sync) -> EdmDateTime {
    time.before(args.overlap).whole_second()
}
