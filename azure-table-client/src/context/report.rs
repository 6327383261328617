use std::fmt;

use crate::ETag;
use crate::entity::EntityKey;
use crate::error::Error;
use crate::operation::Confirmation;
use crate::wire::Operation;

/// The outcome of each change of a save.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SaveReport {
    /// The changes in their order.
    pub results: Vec<SaveResult>,
}

/// The result of one change.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SaveResult {
    /// The table.
    pub table: String,
    /// The entity.
    pub key: EntityKey,
    /// The operation.
    pub operation: Operation,
    /// The outcome.
    pub outcome: SaveOutcome,
}

impl SaveResult {
    /// Whether the change was applied.
    pub const fn is_applied(&self) -> bool {
        matches!(self.outcome, SaveOutcome::Applied { .. })
    }
}

/// The outcome of a change.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum SaveOutcome {
    /// The change was applied.
    Applied {
        /// The HTTP status; `None` if it was found by reading back.
        status: Option<u16>,
        /// The entity's new ETag; `None` for a delete.
        etag: Option<ETag>,
        /// The evidence of the success.
        confirmation: Confirmation,
    },
    /// The change was not applied, and is still pending.
    Failed(Error),
    /// The change was not sent, or was rolled back with the rest of its transaction; it is still pending.
    NotAttempted,
    /// The change was sent. It may have been applied, or may be applied later. It stays pending; the next save
    /// repeats the request.
    Unknown(Error),
    /// The change conflicted with another writer's, and was discarded when the
    /// [`ConflictResolver`](super::ConflictResolver) resolved the conflict; it is not pending any more.
    /// Either the server's row won, or it left nothing to do: it has the same values, or the row to be
    /// deleted is gone. Holds the error of the conflict.
    Discarded(Error),
}

impl SaveOutcome {
    /// The error of a change that failed, or whose outcome is unknown.
    pub(super) const fn error(&self) -> Option<&Error> {
        match self {
            Self::Failed(error) | Self::Unknown(error) => Some(error),
            Self::Applied { .. } | Self::NotAttempted | Self::Discarded(_) => None,
        }
    }
}

impl SaveReport {
    /// The number of changes that were applied.
    pub fn applied(&self) -> usize {
        self.count(|outcome| matches!(outcome, SaveOutcome::Applied { .. }))
    }

    /// The number of changes that were refused.
    pub fn failed(&self) -> usize {
        self.count(|outcome| matches!(outcome, SaveOutcome::Failed(_)))
    }

    /// The number of changes that were not sent, or were rolled back.
    pub fn not_attempted(&self) -> usize {
        self.count(|outcome| matches!(outcome, SaveOutcome::NotAttempted))
    }

    /// The changes that were not applied, for any reason.
    pub fn failures(&self) -> impl Iterator<Item = &SaveResult> {
        self.results.iter().filter(|result| !result.is_applied())
    }

    /// The changes that were sent and may or may not have been applied.
    pub fn unknown(&self) -> impl Iterator<Item = &SaveResult> {
        let is_unknown = |result: &&SaveResult| matches!(result.outcome, SaveOutcome::Unknown(_));
        self.results.iter().filter(is_unknown)
    }

    /// The changes that were [discarded](SaveOutcome::Discarded) when their conflicts were resolved.
    pub fn discarded(&self) -> impl Iterator<Item = &SaveResult> {
        let is_discarded =
            |result: &&SaveResult| matches!(result.outcome, SaveOutcome::Discarded(_));
        self.results.iter().filter(is_discarded)
    }

    /// Whether all changes were applied.
    pub fn is_complete(&self) -> bool {
        self.applied() == self.results.len()
    }

    /// The first error.
    pub fn error(&self) -> Option<&Error> {
        self.results.iter().find_map(|result| result.outcome.error())
    }

    /// Adds the key of the entity to each error.
    pub(super) fn name_entities(&mut self) {
        for SaveResult { key, outcome, .. } in &mut self.results {
            if let SaveOutcome::Failed(error) | SaveOutcome::Unknown(error) = outcome
                && error.entity_key().is_none()
            {
                *error = error.clone().with_entity_key(|| Some(key.clone()));
            }
        }
    }

    fn count(&self, is: impl Fn(&SaveOutcome) -> bool) -> usize {
        self.results.iter().filter(|result| is(&result.outcome)).count()
    }
}

impl fmt::Display for SaveReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} applied, {} failed, {} not attempted, {} unknown",
            self.applied(),
            self.failed(),
            self.not_attempted(),
            self.unknown().count()
        )?;
        match self.discarded().count() {
            0 => Ok(()),
            discarded => write!(f, ", {discarded} discarded"),
        }
    }
}

/// The error of a save that did not apply all changes.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SaveError {
    /// The outcome of each change.
    pub report: SaveReport,
    /// The first error, or the reason why nothing was sent.
    pub error: Error,
}

impl fmt::Display for SaveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not all changes were saved: {}", self.report)
    }
}

impl std::error::Error for SaveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl From<SaveError> for Error {
    fn from(error: SaveError) -> Self {
        error.error
    }
}
