//! A table: ordered partitions of ordered rows.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use super::super::failure::Failure;
use super::super::policies::Policies;
use super::key::{KeyText, OrderedKey, StoredKey};
use super::properties::StoredEntity;
use super::write::Write;
use crate::edm::EdmDateTime;
use crate::lock::{read, write};

/// The number of rows after which a scan releases its locks.
const ROWS_PER_LOCK: usize = 1000;

/// A table. Each partition has its own lock, so that operations on different partitions do not wait for
/// each other. Adding and removing a partition locks all partitions.
#[derive(Debug)]
pub(in crate::mock) struct Table {
    name: Arc<str>,
    partitions: RwLock<BTreeMap<OrderedKey, RwLock<Rows>>>,
    /// The latest Timestamp of a deleted row, in ticks. New rows are newer, since a row with the key of a
    /// deleted one must not repeat its ETag.
    last_deleted: AtomicI64,
    policies: RwLock<Arc<Policies>>,
}

/// The rows of a partition, by RowKey.
type Rows = BTreeMap<OrderedKey, Arc<StoredEntity>>;

/// Receives a row and its keys, and decides whether the scan continues.
pub(in crate::mock) type VisitRow<'s> =
    dyn FnMut((&str, &str), &Arc<StoredEntity>) -> ControlFlow<()> + 's;

/// The result of a write.
#[derive(Debug, Clone)]
pub(in crate::mock) struct Written {
    pub(in crate::mock) key: StoredKey,
    /// The row after the write. `None` if it was deleted.
    pub(in crate::mock) row: Option<Arc<StoredEntity>>,
}

impl Table {
    /// Returns an empty table in which every new row is newer than `last_deleted`.
    pub(super) fn new(name: &str, last_deleted: EdmDateTime) -> Self {
        Self {
            name: name.into(),
            partitions: RwLock::default(),
            last_deleted: AtomicI64::new(last_deleted.ticks()),
            policies: RwLock::default(),
        }
    }

    pub(in crate::mock) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(in crate::mock) fn policies(&self) -> Arc<Policies> {
        Arc::clone(&read(&self.policies))
    }

    pub(in crate::mock) fn set_policies(&self, policies: Arc<Policies>) {
        *write(&self.policies) = policies;
    }

    pub(in crate::mock) fn len(&self) -> usize {
        read(&self.partitions).values().map(|rows| read(rows).len()).sum()
    }

    pub(in crate::mock) fn get(&self, (partition, row): (&str, &str)) -> Option<Arc<StoredEntity>> {
        let partitions = read(&self.partitions);
        let rows = read(partitions.get(&partition as &dyn KeyText)?);
        rows.get(&row as &dyn KeyText).cloned()
    }

    /// Visits the rows from this key on. The rows of a partition are those of one moment.
    pub(in crate::mock) fn scan(&self, from: (&str, &str), visit: &mut VisitRow<'_>) {
        let mut next = self.scan_some(from, visit);
        while let Some(partition) = next {
            next = self.scan_some((&partition, ""), visit);
        }
    }

    /// Visits the rows of some partitions. Returns the next partition, if there is one: between two calls,
    /// writers that lock all partitions can proceed.
    fn scan_some(
        &self,
        (partition, row): (&str, &str),
        visit: &mut VisitRow<'_>,
    ) -> Option<Box<str>> {
        let mut seen = 0;
        let partitions = read(&self.partitions);
        for (key, rows) in partitions.range::<dyn KeyText, _>(from(&partition)) {
            if seen >= ROWS_PER_LOCK {
                return Some(key.0.clone());
            }
            let rows = read(rows);
            let start = if *key.0 == *partition { row } else { "" };
            for (row, entity) in rows.range::<dyn KeyText, _>(from(&start)) {
                seen += 1;
                if visit((&key.0, &row.0), entity).is_break() {
                    return None;
                }
            }
        }
        None
    }

    /// Applies writes to one partition in one step. If one fails, none is applied, and the error has its
    /// index. Their keys must differ, so that no write depends on another.
    ///
    /// `now` and `then` are called while the partition is locked.
    pub(in crate::mock) fn apply(
        &self,
        writes: Vec<Write<'_>>,
        now: impl Fn() -> EdmDateTime,
        then: impl Fn(&[Written]),
    ) -> Result<Vec<Written>, (usize, Failure)> {
        let Some(first) = writes.first() else {
            return Ok(Vec::new());
        };
        let partitions = read(&self.partitions);
        if let Some(rows) = partitions.get(&&*first.key.partition as &dyn KeyText) {
            let mut rows = write(rows);
            let written = self.change(&mut rows, writes, now())?;
            then(&written);
            let is_empty = rows.is_empty();
            drop(rows);
            drop(partitions);
            if let Some(first) = written.first().filter(|_| is_empty) {
                self.remove_if_empty(&first.key.partition);
            }
            return Ok(written);
        }
        drop(partitions);
        let partition = first.key.partition.clone();
        let mut partitions = write(&self.partitions);
        // Another writer may have added the partition meanwhile.
        let rows = partitions.entry(OrderedKey(partition.clone())).or_default();
        let written = self.change(&mut write(rows), writes, now());
        if let Ok(written) = &written {
            then(written);
        }
        drop(partitions);
        self.remove_if_empty(&partition);
        written
    }

    fn change(
        &self,
        rows: &mut Rows,
        writes: Vec<Write<'_>>,
        now: EdmDateTime,
    ) -> Result<Vec<Written>, (usize, Failure)> {
        let last_deleted = self.last_deleted();
        let mut outcomes = Vec::with_capacity(writes.len());
        for (index, Write { key, change }) in writes.into_iter().enumerate() {
            let old = rows.get(&&*key.row as &dyn KeyText);
            let row = change.outcome(&key, old.map(|old| &**old), last_deleted, now);
            outcomes.push(Written { row: row.map_err(|failure| (index, failure))?, key });
        }
        for outcome in &outcomes {
            self.put(rows, &outcome.key.row, outcome.row.clone());
        }
        Ok(outcomes)
    }

    /// Stores or removes a row without any check.
    fn put(&self, rows: &mut Rows, key: &str, row: Option<Arc<StoredEntity>>) {
        match row {
            Some(row) => _ = rows.insert(OrderedKey(key.into()), row),
            None => {
                if let Some(old) = rows.remove(&key as &dyn KeyText) {
                    self.last_deleted.fetch_max(old.version.time().ticks(), Ordering::AcqRel);
                }
            }
        }
    }

    /// Applies writes of another table in one step.
    pub(super) fn replay(&self, written: &[Written]) {
        let mut partitions = write(&self.partitions);
        for Written { key, row } in written {
            let rows = partitions.entry(OrderedKey(key.partition.clone())).or_default();
            let rows = rows.get_mut().unwrap_or_else(PoisonError::into_inner);
            self.put(rows, &key.row, row.clone());
            if rows.is_empty() {
                partitions.remove(&&*key.partition as &dyn KeyText);
            }
        }
    }

    fn remove_if_empty(&self, partition: &str) {
        let key = &partition as &dyn KeyText;
        let is_empty = |partitions: &BTreeMap<OrderedKey, RwLock<Rows>>| {
            partitions.get(key).is_some_and(|rows| read(rows).is_empty())
        };
        if is_empty(&read(&self.partitions)) {
            let mut partitions = write(&self.partitions);
            if is_empty(&partitions) {
                partitions.remove(key);
            }
        }
    }

    /// The latest Timestamp of a deleted row.
    pub(super) fn last_deleted(&self) -> EdmDateTime {
        EdmDateTime::from_ticks(self.last_deleted.load(Ordering::Acquire))
            .unwrap_or(EdmDateTime::MIN)
    }

    /// Makes every new row newer than this time.
    #[cfg(feature = "mock-data")]
    pub(super) fn raise_last_deleted(&self, time: EdmDateTime) {
        self.last_deleted.fetch_max(time.ticks(), Ordering::AcqRel);
    }

    /// The latest Timestamp of a current or deleted row.
    pub(super) fn last(&self) -> EdmDateTime {
        let partitions = read(&self.partitions);
        let rows = partitions.values().map(read);
        let last =
            |rows: RwLockReadGuard<'_, Rows>| rows.values().map(|row| row.version.time()).max();
        rows.filter_map(last).fold(self.last_deleted(), Ord::max)
    }
}

fn from<'k>(key: &'k &str) -> (Bound<&'k (dyn KeyText + 'k)>, Bound<&'k (dyn KeyText + 'k)>) {
    (Bound::Included(key), Bound::Unbounded)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::super::{Change, Condition, Update};
    use super::*;
    use crate::edm::EdmCow;

    fn put(partition: &str, row: &str, number: i32) -> Write<'static> {
        let properties = vec![("N".into(), EdmCow::Int32(number))];
        let change = Change::Update(Update::replace(properties), Condition::None);
        Write { key: StoredKey::new(partition, row), change }
    }

    fn apply(table: &Table, writes: Vec<Write<'_>>) {
        table.apply(writes, || EdmDateTime::MIN, |_| {}).unwrap();
    }

    #[test]
    fn a_locked_partition_does_not_block_another() {
        let table = Table::new("T", EdmDateTime::MIN);
        apply(&table, vec![put("a", "1", 0)]);
        apply(&table, vec![put("b", "1", 0)]);
        let (started, done) = (Barrier::new(2), Barrier::new(2));
        thread::scope(|scope| {
            scope.spawn(|| {
                let wait = |_: &[Written]| {
                    started.wait();
                    done.wait();
                };
                table.apply(vec![put("a", "1", 1)], || EdmDateTime::MIN, wait).unwrap();
            });
            started.wait();
            // The writer of `a` is in the middle of its write meanwhile.
            apply(&table, vec![put("b", "1", 2)]);
            assert!(table.get(("b", "1")).is_some());
            done.wait();
        });
    }

    #[test]
    fn a_scan_releases_its_locks_between_partitions_and_misses_no_row() {
        let table = Table::new("T", EdmDateTime::MIN);
        for partition in ["a", "b", "c"] {
            let rows = (0..ROWS_PER_LOCK).map(|row| put(partition, &format!("{row:04}"), 0));
            apply(&table, rows.collect());
        }
        let mut seen = 0;
        let mut next = table.scan_some(("a", "0001"), &mut |_, _| {
            seen += 1;
            ControlFlow::Continue(())
        });
        assert_eq!((seen, next.as_deref()), (2 * ROWS_PER_LOCK - 1, Some("c")));
        assert!(table.partitions.try_write().is_ok());
        next = table.scan_some(("c", ""), &mut |_, _| ControlFlow::Break(()));
        assert_eq!(next, None);

        let mut last = None;
        let mut count = 0;
        table.scan(("a", "0001"), &mut |keys, _| {
            let keys = Some((keys.0.to_owned(), keys.1.to_owned()));
            assert!(last < keys);
            (last, count) = (keys, count + 1);
            ControlFlow::Continue(())
        });
        assert_eq!(count, 3 * ROWS_PER_LOCK - 1);
    }

    #[test]
    fn the_clock_is_read_while_the_partition_is_locked() {
        let table = Table::new("T", EdmDateTime::MIN);
        let key = &"p" as &dyn KeyText;
        let is_locked = || match table.partitions.try_read() {
            Ok(partitions) => partitions.get(key).is_none_or(|rows| rows.try_read().is_err()),
            Err(_) => true,
        };
        for _ in ["the first row", "another one"] {
            let now = || {
                assert!(is_locked());
                EdmDateTime::MIN
            };
            table.apply(vec![put("p", "r", 1)], now, |_| assert!(is_locked())).unwrap();
            assert!(!is_locked());
        }
    }

    #[test]
    fn a_reader_sees_a_whole_transaction_or_nothing() {
        let table = Table::new("T", EdmDateTime::MIN);
        let rows: Vec<String> = (0..20).map(|row| format!("{row:02}")).collect();
        let all = |number| rows.iter().map(|row| put("p", row, number)).collect::<Vec<_>>();
        apply(&table, all(0));
        thread::scope(|scope| {
            scope.spawn(|| (1..300).for_each(|number| apply(&table, all(number))));
            for _ in 0..300 {
                let mut seen = Vec::new();
                table.scan(("p", ""), &mut |_, row| {
                    seen.push(row.properties.text().to_owned());
                    ControlFlow::Continue(())
                });
                assert_eq!(seen.len(), 20);
                assert!(seen.iter().all(|text| *text == seen[0]), "{seen:?}");
            }
        });
    }

    #[test]
    fn writers_that_empty_and_fill_a_partition_lose_no_row() {
        let table = Table::new("T", EdmDateTime::MIN);
        thread::scope(|scope| {
            for writer in 0..4 {
                let table = &table;
                scope.spawn(move || {
                    let row = writer.to_string();
                    for number in 0..500 {
                        apply(table, vec![put("p", &row, number)]);
                        assert!(table.get(("p", &row)).is_some());
                        let change = Change::Delete(Condition::Exists);
                        apply(table, vec![Write { key: StoredKey::new("p", &*row), change }]);
                    }
                });
            }
        });
        assert_eq!((table.len(), read(&table.partitions).len()), (0, 0));
    }
}
