//! A chunk of a partition: a few consecutive rows.

use std::sync::{Arc, Mutex};

use super::column::Cell;
use super::row::StoredEntity;
use crate::key::ordinal;
use crate::lock::lock;

/// The largest number of rows in a chunk.
pub(super) const CHUNK_ROWS: usize = 256;

/// Rows in the order of their keys, at least one.
#[derive(Debug, Default)]
pub(crate) struct RowChunk {
    rows: Vec<StoredEntity>,
    /// Columns of all rows that earlier scans have compared.
    columns: Mutex<Vec<Column>>,
}

/// The values of a property in the rows of a chunk.
type Column = (Box<str>, Arc<[Cell]>);

impl Clone for RowChunk {
    /// A chunk is cloned to be changed, so its columns are not copied.
    fn clone(&self) -> Self {
        let mut rows = Vec::with_capacity(self.rows.len() + 1);
        rows.extend_from_slice(&self.rows);
        Self { rows, columns: Mutex::default() }
    }
}

impl RowChunk {
    /// The number of columns of a chunk that are kept for later scans.
    pub(crate) const KEPT_COLUMNS: usize = 4;

    pub(super) fn of(row: StoredEntity) -> Self {
        Self { rows: vec![row], columns: Mutex::default() }
    }

    pub(crate) fn rows(&self) -> &[StoredEntity] {
        &self.rows
    }

    pub(super) fn last_key(&self) -> &str {
        self.rows.last().map_or("", StoredEntity::row_key)
    }

    /// The index of a key, or the index at which it would be inserted.
    pub(crate) fn find(&self, row_key: &str) -> Result<usize, usize> {
        self.rows.binary_search_by(|row| ordinal(row.row_key(), row_key))
    }

    /// The rows, which the caller changes.
    pub(super) fn rows_mut(&mut self) -> &mut Vec<StoredEntity> {
        self.columns.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner).clear();
        &mut self.rows
    }

    /// A kept column of all rows.
    pub(crate) fn column(&self, name: &str) -> Option<Arc<[Cell]>> {
        let columns = lock(&self.columns);
        columns.iter().find(|(known, _)| **known == *name).map(|(_, cells)| Arc::clone(cells))
    }

    /// Keeps a column of all rows for later scans.
    pub(crate) fn keep_column(&self, name: &str, cells: Arc<[Cell]>) {
        let mut columns = lock(&self.columns);
        if columns.iter().any(|(known, _)| **known == *name) {
            return;
        }
        if columns.len() == Self::KEPT_COLUMNS {
            columns.remove(0);
        }
        columns.push((name.into(), cells));
    }
}
