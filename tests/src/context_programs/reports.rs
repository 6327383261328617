//! What the reports of saves say.

use azure_table_client::client::{WriteOutcome, WriteResult};
use azure_table_client::context::{EntityState, SaveReport};
use azure_table_client::{Confirmation, Error, ErrorCode, Operation};

use super::Lie;
use super::steps::Save;

/// What a report says about a change.
#[derive(Debug, Clone)]
pub(super) struct Result {
    pub(super) row: usize,
    pub(super) operation: Operation,
    pub(super) outcome: Outcome,
    /// The ETag of a write that was applied.
    pub(super) etag: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    Applied(Confirmation),
    Unknown,
    /// Failed, not attempted or discarded: the change was not applied.
    NotApplied {
        name: &'static str,
        /// Whether the error is the refusal because of another program.
        is_conflict: bool,
    },
}

/// A save that has ended or was dropped.
#[derive(Debug)]
pub(super) struct Saved {
    pub(super) step: usize,
    pub(super) save: Save,
    pub(super) results: Vec<Result>,
    pub(super) end: u64,
    pub(super) is_dropped: bool,
    /// The number of its requests.
    pub(super) requests: usize,
    /// The state of each row's entity after it.
    pub(super) states: Vec<Option<EntityState>>,
    /// The rows with a conflict that a resolver decided.
    pub(super) conflicts: Vec<usize>,
    /// The rows whose entities the program has released since the save before.
    pub(super) released: Vec<usize>,
    /// The rows that may be in a conflict: another program wrote them, or the context does not know all of them.
    pub(super) is_disturbed: Vec<bool>,
}

/// Reads a report.
pub(super) fn results(report: &SaveReport) -> Vec<Result> {
    let of = |result: &WriteResult| {
        let row = result.key.as_ref()?.row_key.parse().ok()?;
        let not_applied = |name, error: &Error| {
            let is_missing = error.code().is_some_and(ErrorCode::is_missing_entity);
            let exists = error.code() == Some(&ErrorCode::EntityAlreadyExists);
            let is_conflict = error.is_precondition_failed() || is_missing || exists;
            Outcome::NotApplied { name, is_conflict }
        };
        let outcome = match &result.outcome {
            WriteOutcome::Applied { confirmation, .. } => Outcome::Applied(*confirmation),
            WriteOutcome::Unknown(_) => Outcome::Unknown,
            WriteOutcome::Failed(error) => not_applied("failed", error),
            WriteOutcome::Discarded(error) => not_applied("discarded", error),
            WriteOutcome::NotAttempted(_) => {
                Outcome::NotApplied { name: "not attempted", is_conflict: false }
            }
            other => panic!("an outcome that the oracle does not know: {other:?}"),
        };
        let etag = match &result.outcome {
            WriteOutcome::Applied { etag: Some(etag), .. } => Some(etag.to_string()),
            _ => None,
        };
        Some(Result { row, operation: result.operation, outcome, etag })
    };
    report.results.iter().filter_map(of).collect()
}

/// Puts a lie in place of each unknown outcome.
pub(super) fn falsify(results: &mut Vec<Result>, lie: Lie) {
    results.retain(|result| lie != Lie::Missing || result.outcome != Outcome::Unknown);
    for result in results.iter_mut().filter(|result| result.outcome == Outcome::Unknown) {
        result.outcome = match lie {
            Lie::Applied => Outcome::Applied(Confirmation::Response),
            _ => Outcome::NotApplied { name: "failed", is_conflict: false },
        };
    }
}
