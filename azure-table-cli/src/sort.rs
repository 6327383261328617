//! Sorts rows by key with bounded memory: sorted runs in temporary files, which are merged.
//!
//! The files have no name on Unix, and Windows deletes them once they are closed, so that the system removes them even if the
//! program is killed. They are in the folder for temporary files (`TMPDIR`, on Windows `TEMP`).
//!
//! The sort is our own because the limit counts bytes of rows of 100 bytes to 1 MiB, the files must not outlive a killed
//! program, and the format of the rows exists already.

mod row;

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Seek as _};
use std::vec;

use azure_table_client::DynamicEntity;

use crate::failure::{Failure, Result};
use row::Row;

/// The memory for the rows of a run.
const RUN_BYTES: usize = 64 * 1024 * 1024;
/// The number of runs of a level that are merged into one run of the next level. A row is merged once for each level.
const MAX_RUNS: usize = 32;

/// Collects rows to be sorted by the key order of Azure Storage.
#[derive(Debug)]
pub(crate) struct Sorter {
    rows: Vec<Row>,
    bytes: usize,
    max_bytes: usize,
    /// The runs, by how often their rows have been merged.
    levels: Vec<Vec<File>>,
}

impl Sorter {
    pub(crate) fn new() -> Self {
        Self::with_memory(RUN_BYTES)
    }

    fn with_memory(max_bytes: usize) -> Self {
        Self { rows: Vec::new(), bytes: 0, max_bytes, levels: Vec::new() }
    }

    /// Adds a row. Its Timestamp and ETag are not kept.
    pub(crate) fn push(&mut self, row: &DynamicEntity) -> Result<()> {
        let row = Row::encode(row);
        self.bytes += row.bytes();
        self.rows.push(row);
        if self.bytes >= self.max_bytes { self.end_run() } else { Ok(()) }
    }

    /// Returns the rows in order. Rows with equal keys are next to each other.
    pub(crate) fn finish(mut self) -> Result<SortedRows> {
        if self.levels.is_empty() {
            self.rows.sort_by(|a, b| a.key.cmp(&b.key));
            return Ok(SortedRows(Source::Memory(self.rows.into_iter())));
        }
        self.end_run()?;
        let runs = self.levels.into_iter().flatten();
        Ok(SortedRows(Source::Runs(Merge::new(runs).map_err(failure)?)))
    }

    fn end_run(&mut self) -> Result<()> {
        self.rows.sort_by(|a, b| a.key.cmp(&b.key));
        let rows = self.rows.drain(..).map(Ok);
        self.bytes = 0;
        write_run(rows).and_then(|run| self.add_run(run)).map_err(failure)
    }

    fn add_run(&mut self, mut run: File) -> io::Result<()> {
        for level in &mut self.levels {
            level.push(run);
            if level.len() < MAX_RUNS {
                return Ok(());
            }
            run = write_run(Merge::new(level.drain(..))?)?;
        }
        self.levels.push(vec![run]);
        Ok(())
    }
}

/// Sorted rows; see [`Sorter`].
#[derive(Debug)]
pub(crate) struct SortedRows(Source);

#[derive(Debug)]
enum Source {
    Memory(vec::IntoIter<Row>),
    Runs(Merge),
}

impl Iterator for SortedRows {
    type Item = Result<DynamicEntity>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = match &mut self.0 {
            Source::Memory(rows) => Ok(rows.next()?),
            Source::Runs(merge) => merge.next()?,
        };
        Some(row.and_then(Row::decode).map_err(failure))
    }
}

/// Merges sorted runs.
#[derive(Debug)]
struct Merge {
    runs: Vec<BufReader<File>>,
    /// The next row of each run that has one: the smallest key is at the top.
    next: BinaryHeap<Reverse<Head>>,
}

/// The next row of a run.
#[derive(Debug)]
struct Head {
    row: Row,
    run: usize,
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        self.row.key.cmp(&other.row.key).then(self.run.cmp(&other.run))
    }
}

impl Merge {
    fn new(files: impl Iterator<Item = File>) -> io::Result<Self> {
        let mut runs: Vec<_> = files.map(BufReader::new).collect();
        let mut next = BinaryHeap::new();
        for (run, reader) in runs.iter_mut().enumerate() {
            reader.rewind()?;
            next.extend(Row::read(reader)?.map(|row| Reverse(Head { row, run })));
        }
        Ok(Self { runs, next })
    }
}

impl Iterator for Merge {
    type Item = io::Result<Row>;

    fn next(&mut self) -> Option<io::Result<Row>> {
        let mut head = self.next.peek_mut()?;
        let run = head.0.run;
        match Row::read(&mut self.runs[run]) {
            Ok(Some(row)) => Some(Ok(std::mem::replace(&mut head.0.row, row))),
            Ok(None) => Some(Ok(PeekMut::pop(head).0.row)),
            Err(error) => Some(Err(error)),
        }
    }
}

fn write_run(rows: impl Iterator<Item = io::Result<Row>>) -> io::Result<File> {
    let mut file = BufWriter::new(tempfile::tempfile()?);
    for row in rows {
        row?.write(&mut file)?;
    }
    file.into_inner().map_err(io::IntoInnerError::into_error)
}

fn failure(error: io::Error) -> Failure {
    Failure::file("keep temporary rows in", &std::env::temp_dir(), error)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::key_order::compare;

    fn sorted(rows: &[DynamicEntity], memory: usize) -> Vec<DynamicEntity> {
        let mut sorter = Sorter::with_memory(memory);
        for row in rows {
            sorter.push(row).unwrap();
        }
        sorter.finish().unwrap().collect::<Result<_>>().unwrap()
    }

    #[test]
    fn more_runs_than_are_merged_at_a_time() {
        let limit = u32::try_from(MAX_RUNS).unwrap();
        let row = |n: u32| DynamicEntity::new("p", format!("{n:06}")).with("N", n);
        // Each row is a run of its own: three levels of runs. Then every tenth row ends a run.
        for (count, memory) in [(limit * limit + limit + 1, 1), (40 * limit, 10 * 150)] {
            let rows: Vec<_> = (0..count).map(|n| row(n * 7919 % count)).collect();
            let sorted = sorted(&rows, memory);
            assert_eq!(sorted, (0..count).map(row).collect::<Vec<_>>());
        }
    }

    proptest! {
        #[test]
        fn rows_are_sorted_and_complete(
            keys in proptest::collection::vec(("[a\u{e000}\u{1f600}\n\"]{0,3}", "[a-c]{0,2}"), 0..60),
            memory in 1_usize..4_000,
        ) {
            let rows: Vec<_> = keys
                .iter()
                .zip(0_i64..)
                .map(|((p, r), n)| DynamicEntity::new(p, r).with("N", n).with("X", -0.0))
                .collect();
            let sorted = sorted(&rows, memory);
            prop_assert!(sorted.windows(2).all(|pair| compare(pair[0].key(), pair[1].key()).is_le()));
            let by_number = |rows: &[DynamicEntity]| {
                let mut rows = rows.to_vec();
                rows.sort_by_key(|row| row.get::<i64>("N").unwrap().unwrap());
                rows
            };
            prop_assert_eq!(by_number(&sorted), rows);
        }
    }
}
