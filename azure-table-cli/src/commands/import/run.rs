//! The bulk run of an import, with its checkpoint and its result.

use std::fmt::Write as _;
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use azure_table_client::DynamicEntity;
use azure_table_client::bulk::{Bulk, BulkError, BulkMonitor, BulkReport, Checkpoint};
use futures_util::Stream;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, interval_at};

use super::source::SharedRows;
use crate::failure::{Exit, Failure, Result};
use crate::interrupt::Interrupt;
use crate::progress::counted;
use crate::run_files::checkpoint::CheckpointFile;
use crate::run_files::checksum::Checksum;

/// The number of rows that a message lists.
const LISTED: usize = 5;

/// The position of an unfinished import.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Position {
    pub(super) bulk: Checkpoint,
    /// The size of the file of refused rows, up to those that `bulk` counts.
    pub(super) refused_bytes: u64,
    /// The size and the hash of the imported file, whose rows `bulk` counts.
    pub(super) content: String,
}

/// A run and the state that it shares with its callbacks. Clones share it.
#[derive(Clone)]
pub(super) struct Run {
    pub(super) monitor: BulkMonitor,
    pub(super) rows: SharedRows,
    /// `None` for standard input, which cannot be read again.
    pub(super) checkpoint: Option<CheckpointFile>,
    /// The content of the imported file.
    pub(super) content: String,
    /// Whether an earlier run may have applied rows.
    pub(super) is_resumed: bool,
    /// The time between two saves.
    pub(super) save_every: Duration,
}

impl Run {
    /// Writes the refused rows, then the checkpoint that counts them.
    pub(super) fn save(&self) -> Result<()> {
        let refused_bytes = {
            let mut rows = self.rows.lock();
            rows.unknown.save()?;
            rows.refused.save()?
        };
        let Some(checkpoint) = &self.checkpoint else { return Ok(()) };
        let (bulk, content) = (self.monitor.checkpoint(), self.content.clone());
        checkpoint.save(&Position { bulk, refused_bytes, content })
    }

    /// Applies the operations. Saves every few seconds, and when the user interrupts.
    pub(super) async fn drive(
        &self,
        bulk: Bulk<DynamicEntity>,
        operations: impl Stream<
            Item = std::result::Result<
                azure_table_client::bulk::BulkOperation<DynamicEntity>,
                String,
            >,
        >,
        interrupt: &Interrupt,
    ) -> Result<BulkReport> {
        let rows = self.rows.clone();
        let bulk = bulk.on_row(move |result| rows.resolve(result));
        let mut run = pin!(bulk.try_run_stream(operations));
        let mut stop = pin!(interrupt.wait());
        let mut save = interval_at(Instant::now() + self.save_every, self.save_every);
        loop {
            tokio::select! {
                biased;
                exit = &mut stop => {
                    self.save()?;
                    return Err(self.interrupted(exit));
                }
                report = &mut run => {
                    return Ok(report.unwrap_or_else(BulkError::into_report));
                }
                _ = save.tick() => self.save()?,
            }
        }
    }

    fn interrupted(&self, exit: Exit) -> Failure {
        let done = counted(self.monitor.progress().finished(), "row");
        let next = match &self.checkpoint {
            Some(_) => "add --resume to import the other rows",
            None => "this input has no checkpoint: import it again",
        };
        let message = format!("interrupted after {done}: {next}");
        Failure::new(exit, message)
    }

    /// Removes the checkpoint if every row is resolved, and reports the others.
    pub(super) fn conclude(&self, report: &BulkReport) -> Result<()> {
        self.save()?;
        let progress = &report.progress;
        let (refused, input_error) = {
            let mut rows = self.rows.lock();
            (rows.refused_now, rows.input_error.take())
        };
        let unresolved = progress.unknown + progress.not_attempted + (progress.failed - refused);
        let is_over = unresolved == 0 && report.stopped.is_none();
        // Without it, no row can have been applied, and there is nothing to resume.
        let has_begun = self.is_resumed || report.checkpoint.resolved() > 0 || progress.unknown > 0;
        if let Some(checkpoint) = &self.checkpoint
            && (is_over || !has_begun)
        {
            checkpoint.remove()?;
        }
        if has_begun {
            let rows = self.rows.lock();
            rows.refused.remove_old()?;
            rows.unknown.remove_old()?;
        }
        let service_error = || report.stopped_by().map(|error| Failure::from(error.clone()));
        if let Some(failure) = input_error.or_else(service_error) {
            let next = if has_begun { self.how_to_continue(report) } else { String::new() };
            return Err(Failure::new(failure.exit(), format!("{}{next}", failure.message())));
        }
        if progress.unknown > 0 {
            let file = self.rows.lock().unknown.path().display().to_string();
            let list = format!("; {file} lists the unknown rows");
            return Err(self.partly(Exit::Unknown, report, &list));
        }
        if unresolved > 0 {
            return Err(self.partly(Exit::Failed, report, ""));
        }
        let all = report.checkpoint.refused();
        if all > 0 {
            let file = self.rows.lock().refused.path().display().to_string();
            let (rows, were) = (counted(all, "row"), if all == 1 { "was" } else { "were" });
            let message = format!("{rows} {were} refused; {file} lists them with the reasons");
            return Err(Failure::new(Exit::Partial, message));
        }
        Ok(())
    }
}

impl Run {
    /// The failure of rows whose outcome is unknown, or that were not applied for another reason than their content.
    fn partly(&self, exit: Exit, report: &BulkReport, list: &str) -> Failure {
        // The counts are those of the library, without separators.
        let next =
            if self.checkpoint.is_some() { " (add --resume to import the others)" } else { "" };
        let mut message = format!("{}{next}{list}", report.progress);
        let open = report.failures().filter(|result| !result.outcome.is_resolved());
        for result in open.take(LISTED) {
            // Writing to a String cannot fail.
            let _ = write!(message, "\n{result}");
        }
        Failure::new(exit, message)
    }

    /// Whether the file has another content than the one that was checked. Its rows may then be those of either.
    pub(super) fn has_changed(&self, file: &Path, interrupt: &Interrupt) -> Result<bool> {
        let is_stored = self.checkpoint.is_some();
        Ok(is_stored && Checksum::of_file(file, interrupt)?.to_string() != self.content)
    }

    /// Lets a resumed run begin with the first row. Returns the failure of a file that has changed.
    pub(super) fn restart(&self, file: &Path) -> Result<Failure> {
        if let Some(checkpoint) = &self.checkpoint {
            checkpoint.save(&Position::default())?;
        }
        let file = file.display();
        let message = format!(
            "{file} was changed during the import, and its rows may be those before or after the change; --resume imports all of them again"
        );
        Ok(Failure::new(Exit::Different, message))
    }

    fn how_to_continue(&self, report: &BulkReport) -> String {
        let applied = report.progress.applied;
        let (rows, were) = (counted(applied, "row"), if applied == 1 { "was" } else { "were" });
        match &self.checkpoint {
            Some(_) => format!(" ({rows} {were} applied; add --resume to import the others)"),
            None => format!(" ({rows} {were} applied)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_positions_of_earlier_versions_are_read() {
        let text = r#"{"bulk":"1.0-5;2","refused_bytes":70,"content":"9 ab"}"#;
        let position: Position = serde_json::from_str(text).unwrap();
        assert_eq!((position.bulk.resolved(), position.bulk.refused()), (5, 2));
        assert_eq!((position.refused_bytes, &*position.content), (70, "9 ab"));
        assert_eq!(serde_json::to_string(&position).unwrap(), text);
        assert!(serde_json::from_str::<Position>(&text.replace("1.0-5", "5")).is_err());
    }
}
