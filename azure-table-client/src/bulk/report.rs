use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{Checkpoint, verdict};
use crate::entity::EntityKey;
use crate::error::Error;
use crate::etag::ETag;
use crate::operation::Confirmation;

/// Why a run ended early: an error of this crate, or of the input.
pub type Cause = Arc<dyn StdError + Send + Sync>;

/// What became of a row.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum RowOutcome {
    /// It was applied.
    Applied {
        /// The entity's new ETag; `None` for a delete.
        etag: Option<ETag>,
        /// How that is known.
        confirmation: Confirmation,
    },
    /// It was not done.
    Failed(Arc<Error>),
    /// It was read but not sent, for this reason: the run ended early, or gave its partition up, or
    /// could not settle an earlier operation on the same entity.
    NotAttempted(Arc<Error>),
    /// It was sent, and may or may not have been done, or may still be. Read back to find out.
    Unknown(Arc<Error>),
}

impl RowOutcome {
    /// Whether that is the last word, so that a resumed run leaves the row out: it was done, or
    /// refused for what it is. A refusal for want of permission is not.
    pub fn is_settled(&self) -> bool {
        match self {
            Self::Applied { .. } => true,
            Self::Failed(error) => verdict::is_of_row(error),
            Self::NotAttempted(_) | Self::Unknown(_) => false,
        }
    }
}

/// A row of the input with what became of it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RowResult {
    /// Where it stood in the input, from 0.
    pub index: u64,
    /// Its key; `None` if it has none that could be told.
    pub key: Option<EntityKey>,
    /// What became of it.
    pub outcome: RowOutcome,
}

impl RowResult {
    /// Whether it was done.
    pub fn is_applied(&self) -> bool {
        matches!(self.outcome, RowOutcome::Applied { .. })
    }
}

impl fmt::Display for RowResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {}", self.index)?;
        if let Some(key) = &self.key {
            write!(f, " {key}")?;
        }
        match &self.outcome {
            RowOutcome::Applied { .. } => f.write_str(": applied"),
            RowOutcome::Failed(error) => write!(f, ": failed: {error}"),
            RowOutcome::NotAttempted(cause) => write!(f, ": not attempted: {cause}"),
            RowOutcome::Unknown(error) => write!(f, ": unknown: {error}"),
        }
    }
}

/// How far a run is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Rows that were read of the input, those of a resumed run that were settled before included.
    pub read: u64,
    /// Rows that were settled before, by the checkpoint.
    pub skipped: u64,
    /// Rows that were done.
    pub applied: u64,
    /// Rows that were not done.
    pub failed: u64,
    /// Rows of which it is not known.
    pub unknown: u64,
    /// Rows that were read and not sent.
    pub not_attempted: u64,
    /// Requests that were answered or given up.
    pub requests: u64,
    /// Those of them that the service throttled (429, 503).
    pub throttled: u64,
    /// The bytes of their bodies.
    pub bytes: u64,
    /// Requests that are on their way; of a run that was dropped, those that were.
    pub in_flight: usize,
    /// The time since the run began.
    pub elapsed: Duration,
}

impl Progress {
    /// Rows that have their outcome, those of a resumed run that had it before included.
    pub const fn finished(&self) -> u64 {
        self.skipped + self.applied + self.failed + self.unknown + self.not_attempted
    }

    /// Rows that are kept, since they have no outcome yet.
    pub const fn held(&self) -> u64 {
        self.read - self.finished()
    }

    /// Rows that were done, a second.
    #[expect(clippy::cast_precision_loss, reason = "a figure to be shown")]
    pub fn rows_per_second(&self) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 { self.applied as f64 / seconds } else { 0.0 }
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows: {} applied", self.read, self.applied)?;
        for (count, what) in [
            (self.skipped, "settled before"),
            (self.failed, "failed"),
            (self.unknown, "unknown"),
            (self.not_attempted, "not attempted"),
        ] {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        write!(f, "; {} requests", self.requests)?;
        if self.throttled > 0 {
            write!(f, ", {} throttled", self.throttled)?;
        }
        Ok(())
    }
}

/// What became of a run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BulkReport {
    /// The counts.
    pub progress: Progress,
    /// The rows that were not applied, by index, but no more than
    /// [`KEPT_RESULTS`](super::KEPT_RESULTS); all rows with
    /// [`keep_results`](super::Bulk::keep_results).
    pub results: Vec<RowResult>,
    /// What is settled, to go on from.
    pub checkpoint: Checkpoint,
    /// Why the run ended before its input did.
    pub stopped: Option<Cause>,
}

impl BulkReport {
    /// Whether the whole input was read and applied, by this run and those that it resumed.
    pub fn is_complete(&self) -> bool {
        let Progress { failed, unknown, not_attempted, .. } = self.progress;
        let is_all = failed == 0 && unknown == 0 && not_attempted == 0 && self.stopped.is_none();
        is_all && self.checkpoint.refused() == 0
    }

    /// Why the run ended before its input did, if that was an error of this crate.
    pub fn stopped_by(&self) -> Option<&Error> {
        self.stopped.as_deref()?.downcast_ref()
    }

    /// The rows that were not applied, as far as they were kept.
    pub fn failures(&self) -> impl Iterator<Item = &RowResult> {
        self.results.iter().filter(|result| !result.is_applied())
    }

    /// The rows that were sent and may or may not have been applied, as far as they were kept.
    pub fn unknown(&self) -> impl Iterator<Item = &RowResult> {
        let is_unknown = |result: &&RowResult| matches!(result.outcome, RowOutcome::Unknown(_));
        self.results.iter().filter(is_unknown)
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

/// A run of which not all was applied. It has the report of what was.
pub struct BulkError(Box<BulkReport>);

impl BulkError {
    /// What became of the run.
    pub fn report(&self) -> &BulkReport {
        &self.0
    }

    /// What became of the run.
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
        match &self.0.failures().next()?.outcome {
            RowOutcome::Failed(error)
            | RowOutcome::Unknown(error)
            | RowOutcome::NotAttempted(error) => Some(&**error),
            RowOutcome::Applied { .. } => None,
        }
    }
}
