//! The rows of deleted tables.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::{RowChunk, Table};
use crate::lock::lock;

/// Deleted tables, whose rows are dropped step by step. If the request that deletes a table is dropped in the
/// meantime, later requests drop the rest.
#[derive(Debug, Default)]
pub(crate) struct Deleted {
    has_some: AtomicBool,
    rest: Mutex<Rest>,
}

#[derive(Debug, Default)]
struct Rest {
    tables: Vec<Arc<Table>>,
    /// The chunks of the last partition that was removed from its table.
    chunks: Vec<Arc<RowChunk>>,
}

/// The number of chunks that a request drops for an earlier one.
const SOME: usize = 8;

impl Deleted {
    pub(crate) fn add(&self, table: Arc<Table>) {
        let mut rest = lock(&self.rest);
        rest.tables.push(table);
        self.has_some.store(true, Ordering::Release);
    }

    /// Drops some rows that an earlier request left, or that the secondary location deleted later.
    pub(crate) fn drop_some(&self) {
        if self.has_some.load(Ordering::Acquire) {
            (0..SOME).map_while(|_| self.pop()).for_each(drop);
        }
    }

    /// Returns some rows, which the caller drops.
    pub(crate) fn pop(&self) -> Option<Arc<RowChunk>> {
        let mut rest = lock(&self.rest);
        loop {
            if let Some(chunk) = rest.chunks.pop() {
                return Some(chunk);
            }
            let Some(table) = rest.tables.last() else {
                self.has_some.store(false, Ordering::Release);
                return None;
            };
            match table.take_partition() {
                Some(rows) => {
                    rest.chunks = Arc::try_unwrap(rows).unwrap_or_default().into_chunks();
                }
                None => drop(rest.tables.pop()),
            }
        }
    }
}
