//! The question before a pass deletes many rows.

use crate::confirm::{has_terminal, is_answered_yes};
use crate::failure::{Exit, Failure, Result};
use crate::progress::{counted, grouped};

/// One row of the target of this many may be deleted without a question.
const ONE_OF: u64 = 10;

/// The number of rows that a pass is about to delete.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    pub(super) rows: u64,
    /// The rows of the target.
    pub(super) all: u64,
    pub(super) max_deletes: Option<u64>,
}

impl Limit {
    /// Whether the rows are few, or the user has permitted their number.
    fn is_permitted(self) -> bool {
        let is_small = self.rows.saturating_mul(ONE_OF) <= self.all;
        is_small || self.max_deletes.is_some_and(|limit| self.rows <= limit)
    }

    /// Returns if the rows may be deleted, by a question at the terminal if they are many. Without one, it is a usage error.
    pub(super) async fn check(self, table: &str) -> Result<()> {
        if self.is_permitted() {
            return Ok(());
        }
        let (rows, all) = (grouped(self.rows), counted(self.all, "row"));
        let question = format!("delete {rows} of {all} of {table}?");
        if !has_terminal() {
            return Err(Failure::usage(format!(
                "not confirmed: {question} (pass --max-deletes ROWS to do it without a terminal). No row was deleted"
            )));
        }
        let asked = question.clone();
        let answer = tokio::task::spawn_blocking(move || is_answered_yes(&asked)).await;
        let failed = |_| Failure::new(Exit::Failed, "the question failed");
        if answer.map_err(failed)?? {
            return Ok(());
        }
        Err(Failure::usage(format!("not confirmed: {question} No row was deleted")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_a_tenth_needs_a_permission() {
        for (rows, all, max_deletes, is_permitted) in [
            (0, 0, None, true),
            (1, 10, None, true),
            (2, 10, None, false),
            (2, 10, Some(1), false),
            (2, 10, Some(2), true),
            (1, 10, Some(0), true),
            (u64::MAX, u64::MAX - 1, None, false),
        ] {
            let limit = Limit { rows, all, max_deletes };
            assert_eq!(limit.is_permitted(), is_permitted, "{limit:?}");
        }
    }
}
