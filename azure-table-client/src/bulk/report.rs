use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{Checkpoint, failure};
use crate::error::Error;
use crate::operation::{WriteOutcome, WriteResult};

/// The error that ended a run early: an error of this crate, or of the input.
pub type Cause = Arc<dyn StdError + Send + Sync>;

impl WriteOutcome {
    /// Whether a resumed bulk run skips the row: it was applied, or refused because of its content. A refusal because of
    /// a missing permission does not count.
    pub fn is_resolved(&self) -> bool {
        match self {
            Self::Applied { .. } => true,
            Self::Failed(error) => failure::is_of_row(error),
            Self::NotAttempted(_) | Self::Unknown(_) | Self::Discarded(_) => false,
        }
    }
}

/// The progress of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The number of rows that were read, including the skipped rows of a resumed run.
    pub read: u64,
    /// The number of rows that an earlier run resolved, by the checkpoint.
    pub skipped: u64,
    /// The number of rows that were applied.
    pub applied: u64,
    /// The number of rows that were not applied.
    pub failed: u64,
    /// The number of rows whose outcome is unknown.
    pub unknown: u64,
    /// The number of rows that were read and not sent; 0 in a resumed run.
    pub not_attempted: u64,
    /// The number of requests that got a response or were given up.
    pub requests: u64,
    /// The number of requests that the service throttled (429, 503).
    pub throttled: u64,
    /// The size of the bodies of all requests.
    pub bytes: u64,
    /// The number of requests in flight, now or when the run was dropped.
    pub in_flight: usize,
    /// The time since the run began.
    pub elapsed: Duration,
}

impl Progress {
    /// The number of rows that have an outcome, including the skipped rows of a resumed run.
    pub const fn finished(&self) -> u64 {
        self.skipped + self.applied + self.failed + self.unknown + self.not_attempted
    }

    /// The number of rows in the window, which have no outcome yet.
    pub const fn held(&self) -> u64 {
        self.read - self.finished()
    }

    /// The number of rows that were applied per second.
    #[expect(clippy::cast_precision_loss, reason = "a figure to be shown")]
    pub fn rows_per_second(&self) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 { self.applied as f64 / seconds } else { 0.0 }
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows: {} applied", self.read, self.applied)?;
        for (count, outcome) in [
            (self.skipped, "resolved before"),
            (self.failed, "failed"),
            (self.unknown, "unknown"),
            (self.not_attempted, "not attempted"),
        ] {
            if count > 0 {
                write!(f, ", {count} {outcome}")?;
            }
        }
        write!(f, "; {} requests", self.requests)?;
        if self.throttled > 0 {
            write!(f, ", {} throttled", self.throttled)?;
        }
        Ok(())
    }
}

/// The report of a run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BulkReport {
    /// The counts.
    pub progress: Progress,
    /// The rows that were not applied, by index, but no more than
    /// [`KEPT_RESULTS`](super::KEPT_RESULTS); all rows with
    /// [`keep_results`](super::Bulk::keep_results).
    pub results: Vec<WriteResult>,
    /// The resolved rows, for a run that resumes this one.
    pub checkpoint: Checkpoint,
    /// The error that ended the run before its input ended.
    pub stopped: Option<Cause>,
}

impl BulkReport {
    /// Whether the whole input was read and applied, by this run and those that it resumed.
    pub fn is_complete(&self) -> bool {
        let Progress { failed, unknown, not_attempted, .. } = self.progress;
        let is_all = failed == 0 && unknown == 0 && not_attempted == 0 && self.stopped.is_none();
        is_all && self.checkpoint.refused() == 0
    }

    /// The error that ended the run before its input ended, if it is an error of this crate.
    pub fn stopped_by(&self) -> Option<&Error> {
        self.stopped.as_deref()?.downcast_ref()
    }

    /// The listed rows that were not applied.
    pub fn failures(&self) -> impl Iterator<Item = &WriteResult> {
        self.results.iter().filter(|result| !result.is_applied())
    }

    /// The listed rows that may or may not have been applied.
    pub fn unknown(&self) -> impl Iterator<Item = &WriteResult> {
        self.results.iter().filter(|result| result.is_unknown())
    }

    pub(super) fn into_result(self) -> Result<Self, BulkError> {
        if self.is_complete() { Ok(self) } else { Err(BulkError(Box::new(self))) }
    }
}

impl fmt::Display for BulkReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.progress.fmt(f)?;
        let before = self.checkpoint.refused().saturating_sub(self.progress.failed);
        if before > 0 {
            write!(f, "; {before} refused before")?;
        }
        match &self.stopped {
            Some(cause) => write!(f, "; stopped: {cause}"),
            None => Ok(()),
        }
    }
}

/// The error of a run that did not apply all rows, with the report.
pub struct BulkError(Box<BulkReport>);

impl BulkError {
    /// The report of the run.
    pub fn report(&self) -> &BulkReport {
        &self.0
    }

    /// Returns the report of the run.
    pub fn into_report(self) -> BulkReport {
        *self.0
    }
}

impl fmt::Display for BulkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)?;
        match self.0.failures().next() {
            Some(result) if self.0.stopped.is_none() => write!(f, "; {result}"),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for BulkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BulkError").field(&self.0).finish()
    }
}

impl StdError for BulkError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        if let Some(cause) = &self.0.stopped {
            return Some(&**cause);
        }
        self.0.failures().next()?.outcome.cause().map(|error| &**error as _)
    }
}
