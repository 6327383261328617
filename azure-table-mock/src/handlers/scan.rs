//! The scan of a query: through snapshots of partitions, chunk by chunk, in steps.

use std::ops::{Bound, Range};
use std::sync::Arc;

use super::evaluate::{ColumnCells, Matcher};
use crate::key::ordinal;
use crate::step::Work;
use crate::store::{Cell, RowChunk, Snapshot, Table};

/// The largest number of partitions of which a scan has snapshots.
const MAX_SNAPSHOTS: usize = 64;

/// The partitions of a table from a key on, each with its rows at the moment when the scan reaches it or
/// shortly before.
pub(super) struct Partitions<'t> {
    table: &'t Table,
    next: std::vec::IntoIter<Snapshot>,
    /// The last partition of `next`.
    last: Option<Arc<str>>,
    start: &'t str,
    count: usize,
}

impl<'t> Partitions<'t> {
    pub(super) fn from(table: &'t Table, start: &'t str) -> Self {
        Self { table, next: Vec::new().into_iter(), last: None, start, count: 1 }
    }
}

impl Iterator for Partitions<'_> {
    type Item = Snapshot;

    fn next(&mut self) -> Option<Snapshot> {
        if let Some(snapshot) = self.next.next() {
            return Some(snapshot);
        }
        let first = match &self.last {
            Some(last) => Bound::Excluded(&**last),
            None => Bound::Included(self.start),
        };
        let snapshots = self.table.partitions_from(first, self.count);
        // Most queries need one partition.
        self.count = (self.count * 4).min(MAX_SNAPSHOTS);
        self.last = Some(Arc::clone(&snapshots.last()?.partition_key));
        self.next = snapshots.into_iter();
        self.next.next()
    }
}

/// The rows of a chunk from a key on, up to the first row that is past the end.
pub(super) fn range(chunk: &RowChunk, start: &str, is_past: impl Fn(&str) -> bool) -> Range<usize> {
    let rows = chunk.rows();
    let is_before = |key: &str| ordinal(key, start).is_lt();
    let first = match rows.first() {
        Some(row) if is_before(row.row_key()) => chunk.find(start).unwrap_or_else(|place| place),
        _ => 0,
    };
    let end = match rows.last() {
        Some(row) if is_past(row.row_key()) => rows.partition_point(|row| !is_past(row.row_key())),
        _ => rows.len(),
    };
    first..end.max(first)
}

/// Returns the columns that a filter compares in these rows of a chunk. If that is too much work for the
/// page, the range becomes shorter.
pub(super) async fn columns(
    chunk: &RowChunk,
    rows: &mut Range<usize>,
    matcher: &Matcher<'_>,
    work: &mut Work,
) -> ColumnCells {
    let names = matcher.names().list();
    let kept: Option<Vec<_>> = names.iter().map(|name| chunk.column(name)).collect();
    if let Some(columns) = kept {
        return ColumnCells { columns, first: 0 };
    }
    let mut columns = vec![vec![Cell::MISSING; rows.len()]; names.len()];
    work.add(columns.len() * rows.len() / 8);
    work.step().await;
    for (at, row) in chunk.rows()[rows.clone()].iter().enumerate() {
        for member in row.properties().members() {
            if let Some(index) = matcher.names().index_of(&member) {
                columns[index][at] = Cell::of(&member);
            }
        }
        work.add(1 + Work::of_bytes(row.properties().text().len()));
        work.step().await;
        if work.fills_page() {
            rows.end = rows.start + at + 1;
            break;
        }
    }
    let columns: Vec<Arc<[Cell]>> = columns.into_iter().map(Into::into).collect();
    if *rows == (0..chunk.rows().len()) && names.len() <= RowChunk::KEPT_COLUMNS {
        for (name, cells) in names.iter().zip(&columns) {
            chunk.keep_column(name, Arc::clone(cells));
        }
    }
    ColumnCells { columns, first: rows.start }
}
