//! The comparison of both tables at the end.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use azure_table_client::EntityKey;

use super::pair::Pair;
use crate::args::{Globals, Sync};
use crate::engine::compare::{self, Difference, Reading, Side};
use crate::failure::{Exit, Failure, Result};
use crate::output::note;
use crate::progress::counted;

/// The differences between the tables.
#[derive(Debug)]
pub(super) struct Comparison {
    /// The rows of the source.
    rows: u64,
    /// The differences, without those of refused rows.
    differences: u64,
    /// The rows that the target cannot have.
    refused: u64,
}

impl Comparison {
    /// Compares the tables by the code of `diff`.
    pub(super) async fn run(
        args: &Sync,
        pair: &Pair,
        refused: HashSet<EntityKey>,
        globals: &Globals,
    ) -> Result<Self> {
        let unreadable = Arc::new(Mutex::new(HashSet::new()));
        let side = |table, option, unreadable| Side::Table { table, option, unreadable };
        let source = side(pair.source.clone(), "--from-dialect", Some(Arc::clone(&unreadable)));
        let target = side(pair.target.clone(), "--to-dialect", None);
        let (mut differences, mut explained) = (0, HashSet::new());
        let mut count = |key: &EntityKey| {
            let is_unreadable = unreadable.lock().unwrap_or_else(PoisonError::into_inner);
            if refused.contains(key) || is_unreadable.contains(key) {
                explained.insert(key.clone());
            } else {
                differences += 1;
            }
            Ok(())
        };
        let (sides, label) = ((&source, &target), "diff".to_owned());
        let reading = Reading {
            filter: None,
            format: None,
            ranges: args.reading.parallel.into(),
            rate: args.reading.rate,
            expect: None,
        };
        let report = |difference: &Difference| count(difference.key());
        let rows = compare::differences(sides, label, &reading, report, globals).await?.a;
        let unreadable = unreadable.lock().unwrap_or_else(PoisonError::into_inner);
        explained.extend(unreadable.iter().cloned());
        Ok(Self { rows, differences, refused: explained.len() as u64 })
    }

    /// Whether the target has all rows that it can have, and no other one.
    pub(super) const fn is_equal(&self) -> bool {
        self.differences == 0
    }

    /// Reports the end of the command, whose tables are equal.
    pub(super) fn conclude(&self, list: &Path, globals: &Globals) -> Result<()> {
        let rows = counted(self.rows, "row");
        if self.refused == 0 {
            note(globals, &format!("no differences: {rows}"));
            return Ok(());
        }
        let (refused, list) = (counted(self.refused, "row"), list.display());
        let message = format!("{refused} refused ({list}); no other differences: {rows}");
        Err(Failure::new(Exit::Partial, message))
    }

    /// The failure of a command whose tables stay different.
    pub(super) fn failure(&self) -> Failure {
        let differences = counted(self.differences, "difference");
        let message =
            format!("{differences} after two passes that changed nothing: `diff` shows the rows");
        Failure::new(Exit::Different, message)
    }
}
