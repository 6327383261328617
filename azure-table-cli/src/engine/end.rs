//! The end of a run that writes rows: one message and one exit code, whatever the command.
//!
//! `1,200 rows imported, 3 refused (blogs.jsonl.failed.jsonl), 1 unknown`

use std::fmt::Write as _;
use std::path::PathBuf;

use azure_table_client::bulk::BulkReport;
use azure_table_client::client::WriteOutcome;
use azure_table_client::{Error, ErrorKind};

use crate::args::Globals;
use crate::failure::{Exit, Failure, Result};
use crate::output::note;
use crate::progress::{counted, grouped};

/// The numbers of rows, each of which has one outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) done: u64,
    /// The rows that had the values already.
    pub(crate) unchanged: u64,
    /// The rows that another program changed meanwhile.
    pub(crate) changed: u64,
    pub(crate) refused: u64,
    pub(crate) unknown: u64,
    /// The rows that were not sent, or refused for a reason that is not about them.
    pub(crate) unsent: u64,
}

/// A run that has ended. Its files are saved.
#[derive(Debug)]
pub(crate) struct End {
    /// The verb of the rows that were written.
    pub(crate) verb: &'static str,
    pub(crate) rows: Tally,
    /// The rows of an interrupted run that have no outcome yet.
    pub(crate) in_flight: u64,
    /// The list of the rows that did not get through.
    pub(crate) list: PathBuf,
    /// The exit code of a signal that ended the run.
    pub(crate) interrupted: Option<Exit>,
    /// What ended the run, or kept rows from being sent.
    pub(crate) problem: Option<Failure>,
    /// What the user does to get the other rows.
    pub(crate) next: String,
}

impl End {
    /// Prints the message of a run that is complete, or returns its failure.
    pub(crate) fn report(self, globals: &Globals) -> Result<()> {
        note(globals, &self.result()?);
        Ok(())
    }

    /// Returns the message of a run that wrote all rows, or the failure of any other one.
    pub(crate) fn result(self) -> Result<String> {
        let Tally { refused, changed, unknown, unsent, .. } = self.rows;
        let summary = self.summary();
        let exit = match (self.interrupted, &self.problem) {
            (Some(exit), _) => exit,
            _ if unknown > 0 => Exit::Unknown,
            (_, Some(problem)) => problem.exit(),
            _ if unsent > 0 => Exit::Failed,
            _ if refused + changed > 0 => Exit::Partial,
            _ => return Ok(summary),
        };
        if exit == Exit::Partial && self.problem.is_none() {
            return Err(Failure::new(exit, summary));
        }
        let mut reason = match self.interrupted {
            Some(_) if self.in_flight > 0 => {
                format!("interrupted with {} in flight; ", counted(self.in_flight, "row"))
            }
            Some(_) => "interrupted; ".to_owned(),
            None => String::new(),
        };
        if let Some(problem) = &self.problem {
            reason = format!("{reason}{}; ", problem.message());
        }
        let next = if self.next.is_empty() { String::new() } else { format!("; {}", self.next) };
        Err(Failure::new(exit, format!("{reason}{summary}{next}")))
    }

    fn summary(&self) -> String {
        let Tally { done, unchanged, changed, refused, unknown, unsent } = self.rows;
        let mut summary = format!("{} {}", counted(done, "row"), self.verb);
        let unsent_state = format!("not {}", self.verb);
        // The list follows the last number that it explains, unless unknown rows are the only ones.
        let list = format!(" ({})", self.list.display());
        let of = |is_last: bool| if is_last { &*list } else { "" };
        for (rows, state, list) in [
            (unchanged, "had the values already", ""),
            (changed, "changed meanwhile", of(refused == 0)),
            (refused, "refused", of(true)),
            (unknown, "unknown", of(refused + changed == 0)),
            (unsent, &*unsent_state, ""),
        ] {
            if rows > 0 {
                // Writing to a String cannot fail.
                let _ = write!(summary, ", {} {state}{list}", grouped(rows));
            }
        }
        summary
    }
}

/// Returns what ended a bulk run, or the first error that kept a row from being sent.
pub(crate) fn problem_of(report: &BulkReport) -> Option<Failure> {
    let stopped = report.stopped.as_ref().map(|cause| Failure::of_cause(&**cause));
    let unsent = || {
        report.failures().find_map(|result| match &result.outcome {
            WriteOutcome::Failed(error) | WriteOutcome::NotAttempted(error)
                if !result.outcome.is_resolved() =>
            {
                let failure = Failure::from(Error::clone(error));
                Some(Failure::new(Exit::Failed, failure.message()))
            }
            _ => None,
        })
    };
    stopped.or_else(unsent)
}

/// Whether the service would refuse the same row again.
pub(crate) fn is_of_content(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::InvalidInput => true,
        ErrorKind::Service => matches!(error.status(), Some(400 | 413)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(rows: Tally) -> End {
        End {
            verb: "imported",
            rows,
            in_flight: 0,
            list: "a.failed.jsonl".into(),
            interrupted: None,
            problem: None,
            next: "add --resume to import the others".to_owned(),
        }
    }

    #[test]
    fn the_message_has_each_number_and_the_list() {
        let done = 1_200;
        let rows = Tally { done, ..Tally::default() };
        assert_eq!(end(rows).result().unwrap(), "1,200 rows imported");
        let next = "; add --resume to import the others";
        for (rows, exit, message) in [
            (
                Tally { refused: 3, ..rows },
                4,
                "1,200 rows imported, 3 refused (a.failed.jsonl)".to_owned(),
            ),
            (
                Tally { refused: 3, unknown: 1, ..rows },
                5,
                format!("1,200 rows imported, 3 refused (a.failed.jsonl), 1 unknown{next}"),
            ),
            (
                Tally { changed: 2, unknown: 1, ..rows },
                5,
                format!(
                    "1,200 rows imported, 2 changed meanwhile (a.failed.jsonl), 1 unknown{next}"
                ),
            ),
            (
                Tally { unknown: 1, ..rows },
                5,
                format!("1,200 rows imported, 1 unknown (a.failed.jsonl){next}"),
            ),
            (Tally { unsent: 7, ..rows }, 1, format!("1,200 rows imported, 7 not imported{next}")),
        ] {
            let failure = end(rows).result().unwrap_err();
            assert_eq!((failure.exit() as i32, failure.message()), (exit, &*message));
        }
    }

    #[test]
    fn the_reason_precedes_the_numbers() {
        let rows = Tally { done: 1, ..Tally::default() };
        let problem = Some(Failure::new(Exit::NotFound, "TableNotFound"));
        let failure = End { problem, next: String::new(), ..end(rows) }.result().unwrap_err();
        assert_eq!(
            (failure.exit(), failure.message()),
            (Exit::NotFound, "TableNotFound; 1 row imported")
        );
        let interrupted = Some(Exit::Terminated);
        let failure = End { interrupted, in_flight: 2, ..end(rows) }.result().unwrap_err();
        let message =
            "interrupted with 2 rows in flight; 1 row imported; add --resume to import the others";
        assert_eq!((failure.exit(), failure.message()), (Exit::Terminated, message));
    }
}
