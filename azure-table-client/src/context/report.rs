use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, LazyLock};

use super::doubt::Candidate;
use crate::error::Error;
use crate::operation::{WriteOutcome, WriteResult};
use crate::outcome::{not_applied, unknown};

/// The outcome of each change of a save.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SaveReport {
    /// The changes in their order.
    pub results: Vec<WriteResult>,
}

impl SaveReport {
    /// The number of changes that were applied.
    pub fn applied(&self) -> usize {
        self.count(|outcome| matches!(outcome, WriteOutcome::Applied { .. }))
    }

    /// The number of changes that were refused.
    pub fn failed(&self) -> usize {
        self.count(|outcome| matches!(outcome, WriteOutcome::Failed(_)))
    }

    /// The number of changes that were not sent, or were rolled back.
    pub fn not_attempted(&self) -> usize {
        self.count(|outcome| matches!(outcome, WriteOutcome::NotAttempted(_)))
    }

    /// The changes that were not applied, for any reason.
    pub fn failures(&self) -> impl Iterator<Item = &WriteResult> {
        self.results.iter().filter(|result| !result.is_applied())
    }

    /// The changes that were sent and may or may not have been applied.
    pub fn unknown(&self) -> impl Iterator<Item = &WriteResult> {
        self.results.iter().filter(|result| result.is_unknown())
    }

    /// The changes that were [discarded](WriteOutcome::Discarded) when their conflicts were resolved.
    pub fn discarded(&self) -> impl Iterator<Item = &WriteResult> {
        let is_discarded =
            |result: &&WriteResult| matches!(result.outcome, WriteOutcome::Discarded(_));
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

    pub(super) fn push(&mut self, result: WriteResult) {
        let index = self.results.len() as u64;
        self.results.push(WriteResult { index, ..result });
    }

    /// Adds the result of a change, and returns its index.
    pub(super) fn add(&mut self, change: &Candidate, outcome: WriteOutcome) -> usize {
        let Candidate { table, key, .. } = change;
        let (table, key, operation) = (Arc::clone(table), key.clone(), change.change.operation());
        self.push(WriteResult { index: 0, table, operation, key: Some(key), outcome });
        self.results.len() - 1
    }

    pub(super) fn set(&mut self, at: usize, outcome: WriteOutcome) {
        if let Some(result) = self.results.get_mut(at) {
            result.outcome = outcome;
        }
    }

    /// Removes the results at these indexes.
    pub(super) fn remove(&mut self, gone: &BTreeSet<usize>) {
        let results = std::mem::take(&mut self.results).into_iter().enumerate();
        results.filter(|(at, _)| !gone.contains(at)).for_each(|(_, result)| self.push(result));
    }

    /// Gives the first error as the reason to the changes that were not sent because of it. `unsent` is their error so far.
    pub(super) fn explain(&mut self, unsent: &Arc<Error>) {
        let Some(first) = self.error() else { return };
        let reason = Arc::new(not_applied(first.clone()));
        for result in &mut self.results {
            if let WriteOutcome::NotAttempted(error) = &mut result.outcome
                && Arc::ptr_eq(error, unsent)
            {
                *error = Arc::clone(&reason);
            }
        }
    }

    /// Adds the key of the entity to each error.
    pub(super) fn name_entities(&mut self) {
        for WriteResult { key, outcome, .. } in &mut self.results {
            if let WriteOutcome::Failed(error) | WriteOutcome::Unknown(error) = outcome
                && error.entity_key().is_none()
            {
                *error = Arc::new(Error::clone(error).with_entity_key(|| key.clone()));
            }
        }
    }

    fn count(&self, is: impl Fn(&WriteOutcome) -> bool) -> usize {
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

/// The error of a change whose save was dropped before the response came.
pub(super) fn dropped() -> Error {
    unknown(Error::timeout("the save was dropped before the response came"))
}

static NOT_SENT: LazyLock<Arc<Error>> = LazyLock::new(|| {
    let error = Error::timeout("the save ended before the change was sent");
    not_applied(error).into()
});

/// The error of a change that was not sent.
pub(super) fn not_sent() -> Arc<Error> {
    Arc::clone(&NOT_SENT)
}

/// The error of a change that was not found in the row, and may still be applied.
pub(super) fn may_still_be_applied() -> Error {
    unknown(Error::timeout("an earlier attempt may still be applied"))
}
