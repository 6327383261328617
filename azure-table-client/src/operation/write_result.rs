//! The results of writes that were requested together: of the changes of a save, and of the rows of a bulk run.

use std::fmt;
use std::sync::Arc;

use super::Confirmation;
use crate::ETag;
use crate::entity::EntityKey;
use crate::error::Error;
use crate::wire::Operation;

/// The result of one write of several: of a change of a [save](crate::context::SaveReport), or of a row of a
/// [bulk run](crate::bulk::BulkReport).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WriteResult {
    /// The index among the operations of the run, from 0; the changes of a save are in their order.
    pub index: u64,
    /// The table.
    pub table: Arc<str>,
    /// The operation.
    pub operation: Operation,
    /// The key; `None` if the row of a bulk run has no valid key.
    pub key: Option<EntityKey>,
    /// The outcome.
    pub outcome: WriteOutcome,
}

impl WriteResult {
    /// Whether the write was applied.
    pub const fn is_applied(&self) -> bool {
        matches!(self.outcome, WriteOutcome::Applied { .. })
    }

    /// Whether the write was sent and may or may not have been applied.
    pub(crate) const fn is_unknown(&self) -> bool {
        matches!(self.outcome, WriteOutcome::Unknown(_))
    }
}

impl WriteOutcome {
    /// The error of a write that failed, or whose outcome is unknown.
    pub(crate) fn error(&self) -> Option<&Error> {
        match self {
            Self::Failed(error) | Self::Unknown(error) => Some(error),
            Self::Applied { .. } | Self::NotAttempted(_) | Self::Discarded(_) => None,
        }
    }

    /// The error of a write that was not applied, or may not have been.
    pub(crate) const fn cause(&self) -> Option<&Arc<Error>> {
        match self {
            Self::Applied { .. } => None,
            Self::Failed(error)
            | Self::NotAttempted(error)
            | Self::Unknown(error)
            | Self::Discarded(error) => Some(error),
        }
    }
}

impl fmt::Display for WriteResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {}", self.index)?;
        if let Some(key) = &self.key {
            write!(f, " {key}")?;
        }
        match &self.outcome {
            WriteOutcome::Applied { .. } => f.write_str(": applied"),
            WriteOutcome::Failed(error) => write!(f, ": failed: {error}"),
            WriteOutcome::NotAttempted(cause) => write!(f, ": not attempted: {cause}"),
            WriteOutcome::Unknown(error) => write!(f, ": unknown: {error}"),
            WriteOutcome::Discarded(error) => write!(f, ": discarded: {error}"),
        }
    }
}

/// The outcome of one write of several.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum WriteOutcome {
    /// The write was applied.
    Applied {
        /// The entity's new ETag; `None` for a delete.
        etag: Option<ETag>,
        /// The evidence of the success.
        confirmation: Confirmation,
    },
    /// The write was not applied. A change of a context is still pending.
    Failed(Arc<Error>),
    /// The write was not sent because of this error, or was rolled back with the rest of its transaction.
    ///
    /// A change of a context is still pending. A bulk run ended early, gave up the partition, or could not resolve an
    /// earlier operation on the same entity; a resumed run reports such rows as unknown.
    NotAttempted(Arc<Error>),
    /// The write was sent, or the run that a bulk run resumes may have sent it. It may have been applied, or may be
    /// applied later.
    ///
    /// A change of a context stays pending; the next save repeats the request. Read the row of a bulk run to resolve it.
    Unknown(Arc<Error>),
    /// The change of a context conflicted with another writer's, and was discarded when the
    /// [`ConflictResolver`](crate::context::ConflictResolver) resolved the conflict; it is not pending any more.
    /// Either the server's row won, or it left nothing to do: it has the same values, or the row to be
    /// deleted is gone. Holds the error of the conflict.
    Discarded(Arc<Error>),
}
