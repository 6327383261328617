//! The rows that a run did not write, or whose outcome is unknown.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use azure_table_client::client::{WriteOutcome, WriteResult};
use serde_json::{Value, json};

use crate::failure::{Failure, Result};
use crate::run_files::row_list::RowList;

/// Checks that an existing file is a list of an earlier run, so that no other file is replaced.
pub(super) fn check(path: &Path) -> Result<()> {
    // The list itself refuses devices and folders.
    if !path.is_file() {
        return Ok(());
    }
    let mut first = String::new();
    let read = File::open(path)
        .and_then(|file| BufReader::new(file).take(MAX_LINE_BYTES).read_line(&mut first));
    read.map_err(|error| Failure::file("read", path, error))?;
    let is_list =
        serde_json::from_str::<Value>(&first).is_ok_and(|line| line["outcome"].is_string());
    if first.is_empty() || is_list {
        return Ok(());
    }
    let path = path.display();
    Err(Failure::usage(format!(
        "{path} is not a list of an earlier run: pass another file to --refused"
    )))
}

/// The most bytes that are read of a line.
const MAX_LINE_BYTES: u64 = 1024 * 1024;

/// The list of these rows, and their number.
pub(super) struct LeftRows {
    pub(super) list: RowList,
    /// The number of rows that another program changed or deleted.
    pub(super) changed: u64,
    /// The number of rows that were refused for another reason.
    pub(super) refused: u64,
    /// The number of rows that had the values already.
    pub(super) unchanged: u64,
}

/// Clones share the rows.
#[derive(Clone)]
pub(super) struct SharedLeftRows(Arc<Mutex<LeftRows>>);

impl SharedLeftRows {
    pub(super) fn new(list: RowList) -> Self {
        Self(Arc::new(Mutex::new(LeftRows { list, changed: 0, refused: 0, unchanged: 0 })))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, LeftRows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lists a row that was refused, or whose outcome is unknown.
    pub(super) fn resolve(&self, result: &WriteResult) {
        let mut rows = self.lock();
        let (outcome, error) = match &result.outcome {
            // A missing table, for example, does not resolve a row, and is not about it.
            WriteOutcome::Failed(error) if result.outcome.is_resolved() => {
                if error.is_precondition_failed() || error.is_not_found() {
                    rows.changed += 1;
                    ("changed meanwhile", error)
                } else {
                    rows.refused += 1;
                    ("refused", error)
                }
            }
            WriteOutcome::Unknown(error) => ("unknown", error),
            _ => return,
        };
        let key = result.key.as_ref();
        let line = json!({
            "PartitionKey": key.map(|key| &key.partition_key),
            "RowKey": key.map(|key| &key.row_key),
            "outcome": outcome,
            "reason": error.to_string(),
        });
        rows.list.add(format!("{line}\n").as_bytes());
    }
}
