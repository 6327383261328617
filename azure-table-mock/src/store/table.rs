//! A table: ordered partitions of ordered rows.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::partition::Partition;
use super::row::StoredEntity;
use super::write::{StagedWrite, WriteRefusal};
use crate::edm::EdmDateTime;
use crate::key::ordinal;
use crate::lock::{lock, read, write};
use crate::policies::Policies;
use crate::row::{KeyText, OrderedKey, StoredKey};

/// A table. Each partition has its own lock, so that operations on different partitions do not wait for
/// each other. Adding and removing a partition locks all partitions.
///
/// No lock is held longer than it takes to find and replace a few rows: scans work on snapshots.
#[derive(Debug)]
pub(crate) struct Table {
    name: Arc<str>,
    /// Grows from each table of the account to the next.
    number: u64,
    partitions: RwLock<Partitions>,
    rows: AtomicUsize,
    /// The latest Timestamp of a row, in ticks.
    last: AtomicI64,
    /// The latest Timestamp of a deleted row, in ticks. New rows are newer, since a row with the key of a
    /// deleted one must not repeat its ETag.
    last_deleted: AtomicI64,
    policies: RwLock<Arc<Policies>>,
    is_deleted: AtomicBool,
}

type Partitions = BTreeMap<OrderedKey, Mutex<Arc<Partition>>>;

/// The rows of a partition at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Snapshot {
    pub(crate) partition_key: Arc<str>,
    pub(crate) rows: Arc<Partition>,
}

/// Receives a row and its keys, and decides whether the scan continues.
pub(crate) type VisitRow<'s> = dyn FnMut((&str, &str), &StoredEntity) -> ControlFlow<()> + 's;

/// The result of a write.
#[derive(Debug, Clone)]
pub(crate) struct AppliedWrite {
    pub(crate) key: StoredKey,
    /// The row after the write. `None` if it was deleted.
    pub(crate) row: Option<StoredEntity>,
}

/// The number of partitions that [`Table::scan`] reads in one step.
const PARTITIONS_PER_STEP: usize = 64;

impl Table {
    /// Returns an empty table in which every new row is newer than `last_deleted`.
    pub(super) fn new(name: &str, last_deleted: EdmDateTime) -> Self {
        Self {
            name: name.into(),
            number: 0,
            partitions: RwLock::default(),
            rows: AtomicUsize::new(0),
            last: AtomicI64::new(last_deleted.ticks()),
            last_deleted: AtomicI64::new(last_deleted.ticks()),
            policies: RwLock::default(),
            is_deleted: AtomicBool::new(false),
        }
    }

    pub(super) fn with_number(self, number: u64) -> Self {
        Self { number, ..self }
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The number of this table, in the order of their creation.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns `true` if the table was deleted. Its rows are then removed step by step.
    pub(crate) fn is_deleted(&self) -> bool {
        self.is_deleted.load(Ordering::Acquire)
    }

    pub(super) fn set_deleted(&self) {
        self.is_deleted.store(true, Ordering::Release);
    }

    pub(crate) fn policies(&self) -> Arc<Policies> {
        Arc::clone(&read(&self.policies))
    }

    pub(crate) fn set_policies(&self, policies: Arc<Policies>) {
        *write(&self.policies) = policies;
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.load(Ordering::Acquire)
    }

    pub(crate) fn get(&self, (partition, row): (&str, &str)) -> Option<StoredEntity> {
        let partitions = read(&self.partitions);
        let rows = lock(partitions.get(&partition as &dyn KeyText)?);
        rows.get(row).cloned()
    }

    /// Snapshots of the first partitions from this key on, or after it.
    pub(crate) fn partitions_from(&self, first: Bound<&str>, count: usize) -> Vec<Snapshot> {
        let first: Bound<&dyn KeyText> = match &first {
            Bound::Included(key) => Bound::Included(key),
            Bound::Excluded(key) => Bound::Excluded(key),
            Bound::Unbounded => Bound::Unbounded,
        };
        let partitions = read(&self.partitions);
        let range = partitions.range::<dyn KeyText, _>((first, Bound::Unbounded)).take(count);
        range
            .map(|(key, rows)| Snapshot {
                partition_key: Arc::clone(&key.0),
                rows: Arc::clone(&lock(rows)),
            })
            .collect()
    }

    /// Visits the rows from this key on. The rows of a partition are those of one moment.
    pub(crate) fn scan(&self, from: (&str, &str), visit: &mut VisitRow<'_>) {
        let mut next = self.partitions_from(Bound::Included(from.0), PARTITIONS_PER_STEP);
        while let Some(last) = next.last().map(|last| Arc::clone(&last.partition_key)) {
            for Snapshot { partition_key, rows } in next {
                let start = if *partition_key == *from.0 { from.1 } else { "" };
                let rows = rows.chunks_from(start).iter().flat_map(|chunk| chunk.rows());
                for row in rows.skip_while(|row| ordinal(row.row_key(), start).is_lt()) {
                    if visit((&partition_key, row.row_key()), row).is_break() {
                        return;
                    }
                }
            }
            next = self.partitions_from(Bound::Excluded(&last), PARTITIONS_PER_STEP);
        }
    }

    /// Applies writes to one partition in their order and in one step. If one fails, none is applied.
    ///
    /// `now` and `then` are called while the partition is locked.
    pub(crate) fn apply(
        &self,
        writes: &[StagedWrite<'_>],
        now: impl Fn() -> EdmDateTime,
        then: impl Fn(&[AppliedWrite]),
    ) -> Result<Vec<AppliedWrite>, WriteRefusal> {
        let Some(first) = writes.first() else {
            return Ok(Vec::new());
        };
        let partition = &*first.key.partition;
        let partitions = read(&self.partitions);
        if let Some(rows) = partitions.get(&partition as &dyn KeyText) {
            let mut rows = lock(rows);
            let written = self.change(&mut rows, writes, now())?;
            then(&written);
            let is_empty = rows.is_empty();
            drop(rows);
            drop(partitions);
            if is_empty {
                self.remove_if_empty(partition);
            }
            return Ok(written);
        }
        drop(partitions);
        let mut partitions = write(&self.partitions);
        // Another writer may have added the partition meanwhile.
        let rows = partitions.entry(OrderedKey(partition.into())).or_default();
        let written = self.change(&mut lock(rows), writes, now());
        if let Ok(written) = &written {
            then(written);
        }
        drop(partitions);
        self.remove_if_empty(partition);
        written
    }

    fn change(
        &self,
        rows: &mut Arc<Partition>,
        writes: &[StagedWrite<'_>],
        now: EdmDateTime,
    ) -> Result<Vec<AppliedWrite>, WriteRefusal> {
        let mut last_deleted = self.last_deleted();
        let mut outcomes: Vec<AppliedWrite> = Vec::with_capacity(writes.len());
        for (index, write) in writes.iter().enumerate() {
            let earlier = |outcome: &&AppliedWrite| outcome.key.row == write.key.row;
            let old = match outcomes.iter().filter(|_| write.follows_same_row()).rfind(earlier) {
                Some(outcome) => outcome.row.as_ref(),
                None => rows.get(&write.key.row),
            };
            let row = write.outcome(index, old, last_deleted, now)?;
            if let (None, Some(old)) = (&row, old) {
                last_deleted = last_deleted.max(old.version.time());
            }
            outcomes.push(AppliedWrite { row, key: write.key.clone() });
        }
        let rows = Arc::make_mut(rows);
        for outcome in &outcomes {
            self.put(rows, &outcome.key.row, outcome.row.clone());
        }
        Ok(outcomes)
    }

    /// Stores or removes a row without any check.
    fn put(&self, rows: &mut Partition, key: &str, row: Option<StoredEntity>) {
        match row {
            Some(row) => {
                self.last.fetch_max(row.version.time().ticks(), Ordering::AcqRel);
                if rows.put(row) {
                    self.rows.fetch_add(1, Ordering::AcqRel);
                }
            }
            None => {
                if let Some(old) = rows.remove(key) {
                    self.last_deleted.fetch_max(old.version.time().ticks(), Ordering::AcqRel);
                    self.rows.fetch_sub(1, Ordering::AcqRel);
                }
            }
        }
    }

    /// Applies writes of another table in one step.
    pub(super) fn replay(&self, written: Vec<AppliedWrite>) {
        let mut partitions = write(&self.partitions);
        for AppliedWrite { key, row } in written {
            let partition = &*key.partition;
            // Memory for the key is allocated for a new partition only.
            let rows = match partitions.get_mut(&partition as &dyn KeyText) {
                Some(rows) => rows,
                None => partitions.entry(OrderedKey(partition.into())).or_default(),
            };
            let rows = rows.get_mut().unwrap_or_else(PoisonError::into_inner);
            self.put(Arc::make_mut(rows), &key.row, row);
            if rows.is_empty() {
                partitions.remove(&partition as &dyn KeyText);
            }
        }
    }

    fn remove_if_empty(&self, partition: &str) {
        let key = &partition as &dyn KeyText;
        let is_empty =
            |partitions: &Partitions| partitions.get(key).is_some_and(|rows| lock(rows).is_empty());
        if is_empty(&read(&self.partitions)) {
            let mut partitions = write(&self.partitions);
            if is_empty(&partitions) {
                partitions.remove(key);
            }
        }
    }

    /// Removes one partition of a deleted table and returns its rows. A table has many rows, so they are not
    /// dropped at once.
    pub(crate) fn take_partition(&self) -> Option<Arc<Partition>> {
        let (_, rows) = write(&self.partitions).pop_first()?;
        Some(rows.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// The latest Timestamp of a deleted row.
    pub(super) fn last_deleted(&self) -> EdmDateTime {
        time(&self.last_deleted)
    }

    /// Makes every new row newer than this time.
    pub(super) fn raise_last_deleted(&self, time: EdmDateTime) {
        self.last_deleted.fetch_max(time.ticks(), Ordering::AcqRel);
    }

    /// The latest Timestamp of a current or deleted row.
    pub(super) fn last(&self) -> EdmDateTime {
        time(&self.last).max(self.last_deleted())
    }
}

fn time(ticks: &AtomicI64) -> EdmDateTime {
    EdmDateTime::from_ticks(ticks.load(Ordering::Acquire)).unwrap_or(EdmDateTime::MIN)
}
