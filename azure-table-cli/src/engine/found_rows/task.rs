//! The task of a command, and the steps before its first write.

use std::path::PathBuf;

use azure_table_client::TableServiceClient;

use super::change::Change;
use super::saved_rows::{self, SavedRows};
use super::source;
use crate::args::{FoundRows, Globals};
use crate::confirm::{confirm, confirm_by_name, has_terminal};
use crate::engine::files::{check_distinct, note_current_folder};
use crate::engine::row_list::{self, Head, RowList, SUFFIX, lock_of};
use crate::engine::scan::Scan;
use crate::failure::{Exit, Failure, Result};
use crate::interrupt::Interrupt;
use crate::progress::{Progress, counted};

/// A change of the rows that a query finds.
pub(crate) struct Task {
    /// The name of the command.
    pub(crate) command: &'static str,
    pub(crate) service: TableServiceClient,
    pub(crate) table: String,
    /// `None` for all rows.
    pub(crate) filter: Option<String>,
    pub(crate) change: Change,
    pub(crate) consent: Consent,
}

/// The answer to the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    /// `y`, or the option `--yes`.
    Yes,
    /// The name of the table, at a terminal.
    Name,
}

impl Task {
    pub(super) fn scan(&self, options: &FoundRows) -> Scan {
        let table = self.service.table_named(&self.table);
        Scan { filter: self.filter.clone(), ..Scan::of(table, options.rate) }
    }

    /// Checks that the question can be answered, and that `--yes` has a limit.
    pub(super) fn check_consent(&self, options: &FoundRows, globals: &Globals) -> Result<()> {
        if !self.is_unasked(globals) && !has_terminal() {
            let (verb, table) = (self.change.verb(), &self.table);
            let name = match self.consent {
                Consent::Name => format!("--confirm {table} "),
                Consent::Yes => String::new(),
            };
            return Err(Failure::usage(format!(
                "not confirmed: {verb} rows of {table}? (pass {name}--yes --max-rows ROWS to do it without a terminal)"
            )));
        }
        if globals.yes && options.max_rows.is_none() {
            return Err(Failure::usage("--yes requires --max-rows ROWS, the limit on the rows"));
        }
        Ok(())
    }

    /// Whether `--yes` answers the question.
    pub(super) fn is_unasked(&self, globals: &Globals) -> bool {
        globals.yes && self.consent == Consent::Yes
    }

    /// Checks the paths of the files, and begins the list of rows that are left.
    pub(super) fn open_list(&self, options: &FoundRows, globals: &Globals) -> Result<RowList> {
        let list = options.failed.clone();
        let list = list.unwrap_or_else(|| PathBuf::from(format!("{}{SUFFIX}", self.table)));
        row_list::check(&list)?;
        if let Some(save) = &options.save {
            saved_rows::check(save)?;
            let lock = lock_of(&list);
            check_distinct(&[
                ("the saved rows", save),
                ("the list of failed rows", &list),
                ("the lock of that list", &lock),
            ])?;
        }
        note_current_folder(&[&list], globals);
        RowList::begin(list, Head::new(self.command, &self.table), globals)
    }

    /// Counts the rows.
    pub(super) async fn count(
        &self,
        options: &FoundRows,
        interrupt: &Interrupt,
        globals: &Globals,
    ) -> Result<u64> {
        let progress = first_pass("count", globals);
        let scan = self.scan(options);
        let rows = interrupt.stops(source::count(&scan, &progress)).await;
        progress.finish();
        rows
    }

    /// Counts the rows, and saves those that may be written.
    pub(super) async fn save(
        &self,
        file: &mut SavedRows,
        options: &FoundRows,
        interrupt: &Interrupt,
        globals: &Globals,
    ) -> Result<u64> {
        let progress = first_pass("save", globals);
        let scan = self.scan(options);
        let rows = source::save(&scan, file, options.max_rows, &progress);
        let rows = interrupt.stops(rows).await;
        progress.finish();
        rows
    }

    /// Writes `7 rows of Blogs match (https://…)`.
    pub(super) fn found(&self, rows: u64) -> String {
        let verb = if rows == 1 { "matches" } else { "match" };
        format!("{} of {} {verb} ({})", counted(rows, "row"), self.table, self.service.endpoint())
    }

    /// Checks that the rows are not more than the limit of the user.
    pub(super) fn check_limit(&self, rows: u64, options: &FoundRows) -> Result<()> {
        match options.max_rows {
            Some(limit) if rows > limit => {
                let (rows, limit) = (counted(rows, "row"), counted(limit, "row"));
                let done = self.change.done();
                let message = format!("{rows} are more than the limit of {limit}: none was {done}");
                Err(Failure::new(Exit::Failed, message))
            }
            _ => Ok(()),
        }
    }

    /// Asks the question. A Ctrl-C ends it.
    pub(super) async fn confirm(
        &self,
        rows: u64,
        interrupt: &Interrupt,
        globals: &Globals,
    ) -> Result<()> {
        let rows = counted(rows, "row");
        let question = format!("{} {rows} of {}?", self.change.verb(), self.table);
        let (consent, table, is_confirmed) = (self.consent, self.table.clone(), globals.yes);
        let answer = tokio::task::spawn_blocking(move || match consent {
            Consent::Yes => confirm(is_confirmed, &question),
            Consent::Name => confirm_by_name(&table, &question),
        });
        let answer = async {
            let failed = |_| Failure::new(Exit::Failed, "the question could not be asked");
            answer.await.map_err(failed)?
        };
        interrupt.stops(answer).await
    }
}

pub(super) fn first_pass(label: &'static str, globals: &Globals) -> Progress {
    Progress::new(globals.quiet, label, None).with_requests(&globals.connection.requests)
}
