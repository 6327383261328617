//! The result of a run: its message and its exit code.

use std::fmt::Write as _;

use azure_table_client::Error;
use azure_table_client::bulk::BulkReport;
use azure_table_client::client::WriteOutcome;

use super::left_rows::SharedLeftRows;
use crate::failure::{Exit, Failure, Result};
use crate::progress::{counted, grouped};

/// A run that has ended.
pub(super) struct Conclusion {
    pub(super) report: BulkReport,
    pub(super) left: SharedLeftRows,
    /// The exit code of a signal that ended it.
    pub(super) interrupted: Option<Exit>,
    /// The verb of the rows that were written.
    pub(super) done: &'static str,
}

impl Conclusion {
    /// Completes the list, and returns the message of a run that wrote all rows. `advice` states the next step after
    /// any other run.
    pub(super) fn report(&self, advice: &str) -> Result<String> {
        let (exit, reason) = match self.interrupted {
            Some(exit) => (exit, self.interruption()),
            None => self.problem(),
        };
        let mut summary = self.summary();
        let list = self.save_list();
        if let Err(failure) = &list {
            let _ = write!(summary, "; the list is incomplete: {}", failure.message());
        }
        let exit = match exit {
            Exit::Done | Exit::Partial if list.is_err() => Exit::Failed,
            exit => exit,
        };
        match exit {
            Exit::Done => Ok(summary),
            Exit::Partial => Err(Failure::new(exit, summary)),
            _ if reason.is_empty() => Err(Failure::new(exit, format!("{summary}; {advice}"))),
            _ => Err(Failure::new(exit, format!("{reason}; {summary}; {advice}"))),
        }
    }

    /// The state of the rows that were read and have no result yet.
    fn interruption(&self) -> String {
        match self.report.progress.held() {
            0 => "interrupted".to_owned(),
            rows => {
                let rows = counted(rows, "row");
                format!(
                    "interrupted: {rows} without an outcome, of which some may be {}",
                    self.done
                )
            }
        }
    }

    fn save_list(&self) -> Result<()> {
        self.left.lock().list.save().map(drop)
    }

    /// Returns the exit code of a run that was not interrupted, and the error that ended it or kept rows from being sent.
    fn problem(&self) -> (Exit, String) {
        let stopped = self.report.stopped.as_ref().map(|cause| Failure::of_cause(&**cause));
        let unsent = || {
            self.report.failures().find_map(|result| match &result.outcome {
                WriteOutcome::Failed(error) | WriteOutcome::NotAttempted(error)
                    if !result.outcome.is_resolved() =>
                {
                    Some(Failure::from(Error::clone(error)))
                }
                _ => None,
            })
        };
        let reason = stopped.clone().or_else(unsent);
        let reason = reason.map(|failure| failure.message().to_owned()).unwrap_or_default();
        let exit = match stopped {
            _ if self.report.progress.unknown > 0 => Exit::Unknown,
            Some(failure) => failure.exit(),
            None if self.not_written() > 0 => Exit::Failed,
            None if self.report.progress.failed > 0 => Exit::Partial,
            None => Exit::Done,
        };
        (exit, reason)
    }

    /// The number of rows that were not written for a reason that is not about them.
    fn not_written(&self) -> u64 {
        let (left, progress) = (self.left.lock(), &self.report.progress);
        progress.not_attempted + progress.failed - left.changed - left.refused
    }

    /// Writes `7 rows deleted, 1 changed meanwhile and left; see Blogs.refused`.
    fn summary(&self) -> String {
        let progress = &self.report.progress;
        let mut summary = format!("{} {}", counted(progress.applied, "row"), self.done);
        let not_written = self.not_written();
        let left = self.left.lock();
        for (rows, state) in [
            (left.unchanged, "had the values already"),
            (left.changed, "changed meanwhile and left"),
            (left.refused, "refused"),
            (progress.unknown, "with an unknown outcome"),
            (not_written, &*format!("not {}", self.done)),
        ] {
            if rows > 0 {
                // Writing to a String cannot fail.
                let _ = write!(summary, ", {} {state}", grouped(rows));
            }
        }
        if left.changed + left.refused + progress.unknown > 0 {
            let _ = write!(summary, "; see {}", left.list.path().display());
        }
        summary
    }
}
