//! The rows between the file and the outcome of their writes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use azure_table_client::bulk::{BulkOperation, Checkpoint};
use azure_table_client::client::{WriteOutcome, WriteResult};
use azure_table_client::{DynamicEntity, Error};
use futures_util::{Stream, StreamExt as _, stream};
use serde_json::json;
use tokio::sync::mpsc;

use super::input::Chunk;
use super::mode::Mode;
use crate::failure::{Failure, Result};
use crate::format::jsonl::push_row;
use crate::run_files::row_list::RowList;

/// The rows that were handed to the bulk run and have no outcome yet, and the lists of those that were not applied. The
/// bulk run bounds their number by its window.
pub(super) struct Rows {
    /// The rows as JSON, which needs less memory than an entity.
    waiting: HashMap<u64, Box<[u8]>>,
    pub(super) refused: RowList,
    pub(super) unknown: RowList,
    /// The number of rows that this run refused.
    pub(super) refused_now: u64,
    /// The error of the file, which ends the input.
    pub(super) input_error: Option<Failure>,
}

/// Clones share the rows.
#[derive(Clone)]
pub(super) struct SharedRows(Arc<Mutex<Rows>>);

impl SharedRows {
    pub(super) fn new(refused: RowList, unknown: RowList) -> Self {
        let waiting = HashMap::new();
        let rows = Rows { waiting, refused, unknown, refused_now: 0, input_error: None };
        Self(Arc::new(Mutex::new(rows)))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes down the outcome of a row.
    pub(super) fn resolve(&self, result: &WriteResult) {
        let mut rows = self.lock();
        let Some(row) = rows.waiting.remove(&result.index) else { return };
        match &result.outcome {
            WriteOutcome::Failed(error) if result.outcome.is_resolved() => {
                rows.refused.add(&line(result.index, &row, error));
                rows.refused_now += 1;
            }
            WriteOutcome::Unknown(error) => rows.unknown.add(&line(result.index, &row, error)),
            _ => {}
        }
    }
}

/// A line of a list: `{"code":"…","index":7,"reason":"…","row":{…}}`.
fn line(index: u64, row: &[u8], error: &Error) -> Vec<u8> {
    let code = error.code().map(ToString::to_string);
    let head = json!({ "index": index, "code": code, "reason": error.to_string() });
    let mut line = head.to_string().into_bytes();
    line.pop();
    line.extend_from_slice(b",\"row\":");
    line.extend_from_slice(row);
    line.extend_from_slice(b"}\n");
    line
}

type Operation = std::result::Result<BulkOperation<DynamicEntity>, String>;

/// Returns the operations on the rows. `begin` is called when the bulk run reads the first one, after it has an id and
/// before it sends anything.
pub(super) fn operations(
    mut chunks: mpsc::Receiver<Chunk>,
    mode: Mode,
    resolved: Checkpoint,
    rows: SharedRows,
    begin: impl FnOnce() -> Result<()>,
) -> impl Stream<Item = Operation> {
    let mut begin = Some(begin);
    let mut index = 0_u64;
    let chunks = stream::poll_fn(move |context| chunks.poll_recv(context));
    chunks.flat_map(stream::iter).map(move |row| {
        let begun = begin.take().map_or(Ok(()), |begin| begin());
        let row = match begun.and(row) {
            Ok(row) => row,
            Err(error) => {
                let message = error.message().to_owned();
                rows.lock().input_error = Some(error);
                return Err(message);
            }
        };
        if !resolved.is_resolved(index) {
            let mut json = Vec::new();
            push_row(&mut json, &row, false);
            rows.lock().waiting.insert(index, json.into());
        }
        index += 1;
        Ok(mode.operation(row))
    })
}
