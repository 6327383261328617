//! A table: partitions in order, and in each of them rows in order.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::super::failure::Failure;
use super::super::policies::Policies;
use super::order::{Key, StoredKey, Text};
use super::properties::StoredProperties;
use super::version::Version;
use super::write::Write;
use crate::edm::EdmDateTime;

/// So many rows are gone through before others have a turn.
const ROWS_AT_ONCE: usize = 1000;

/// A table. Each partition has a lock of its own, so that who reads or writes one does not wait
/// for another; only a partition's first row, and what follows its last one, needs all of them.
#[derive(Debug)]
pub(in crate::mock) struct Table {
    name: Arc<str>,
    partitions: RwLock<BTreeMap<Key, RwLock<Rows>>>,
    /// The latest Timestamp of a row that was deleted, in ticks: none that comes after may be as
    /// old, or a row that takes the key of a deleted one could repeat its ETag.
    gone: AtomicI64,
    policies: RwLock<Arc<Policies>>,
}

/// The rows of a partition, by RowKey.
type Rows = BTreeMap<Key, Arc<StoredEntity>>;

/// A row without its keys.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::mock) struct StoredEntity {
    pub(in crate::mock) version: Version,
    pub(in crate::mock) properties: StoredProperties,
}

/// Sees a row and its keys, and says whether to go on.
pub(in crate::mock) type See<'s> =
    dyn FnMut((&str, &str), &Arc<StoredEntity>) -> ControlFlow<()> + 's;

/// What became of a row.
#[derive(Debug, Clone)]
pub(in crate::mock) struct Written {
    pub(in crate::mock) key: StoredKey,
    /// What is there now.
    pub(in crate::mock) row: Option<Arc<StoredEntity>>,
}

impl Table {
    /// An empty table whose rows are all younger than `gone`.
    pub(super) fn new(name: &str, gone: EdmDateTime) -> Self {
        Self {
            name: name.into(),
            partitions: RwLock::default(),
            gone: AtomicI64::new(gone.ticks()),
            policies: RwLock::default(),
        }
    }

    pub(in crate::mock) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The stored access policies.
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
        let rows = read(partitions.get(&partition as &dyn Text)?);
        rows.get(&row as &dyn Text).cloned()
    }

    /// Goes through the rows from this key on. Each partition is seen as it is at one moment.
    pub(in crate::mock) fn scan(&self, from: (&str, &str), see: &mut See<'_>) {
        let mut next = self.scan_some(from, see);
        while let Some(partition) = next {
            next = self.scan_some((&partition, ""), see);
        }
    }

    /// Goes through the rows of some partitions, and says with which one to go on: in between, who
    /// waits for all of them has a turn.
    fn scan_some(&self, (partition, row): (&str, &str), see: &mut See<'_>) -> Option<Box<str>> {
        let mut seen = 0;
        let partitions = read(&self.partitions);
        for (key, rows) in partitions.range::<dyn Text, _>(from(&partition)) {
            if seen >= ROWS_AT_ONCE {
                return Some(key.0.clone());
            }
            let rows = read(rows);
            let start = if *key.0 == *partition { row } else { "" };
            for (row, entity) in rows.range::<dyn Text, _>(from(&start)) {
                seen += 1;
                if see((&key.0, &row.0), entity).is_break() {
                    return None;
                }
            }
        }
        None
    }

    /// Makes all of these changes of one partition in one step, or none if one fails, and says
    /// which. No two may have the same key, so what one finds does not depend on the others.
    ///
    /// The clock is asked, and `then` is told, before anyone else can write to the partition.
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
        if let Some(rows) = partitions.get(&&*first.key.partition as &dyn Text) {
            let mut rows = write(rows);
            let written = self.change(&mut rows, writes, now())?;
            then(&written);
            let is_empty = rows.is_empty();
            drop(rows);
            drop(partitions);
            if let Some(first) = written.first().filter(|_| is_empty) {
                self.forget(&first.key.partition);
            }
            return Ok(written);
        }
        drop(partitions);
        let partition = first.key.partition.clone();
        let mut partitions = write(&self.partitions);
        // Another writer may have been faster.
        let rows = partitions.entry(Key(partition.clone())).or_default();
        let written = self.change(&mut write(rows), writes, now());
        if let Ok(written) = &written {
            then(written);
        }
        drop(partitions);
        self.forget(&partition);
        written
    }

    fn change(
        &self,
        rows: &mut Rows,
        writes: Vec<Write<'_>>,
        now: EdmDateTime,
    ) -> Result<Vec<Written>, (usize, Failure)> {
        let gone = self.gone();
        let mut outcomes = Vec::with_capacity(writes.len());
        for (index, Write { key, change }) in writes.into_iter().enumerate() {
            let old = rows.get(&&*key.row as &dyn Text);
            let row = change.outcome(&key, old.map(|old| &**old), gone, now);
            outcomes.push(Written { row: row.map_err(|failure| (index, failure))?, key });
        }
        for outcome in &outcomes {
            self.put(rows, &outcome.key.row, outcome.row.clone());
        }
        Ok(outcomes)
    }

    /// Puts a row where it belongs, or takes it away, without any check.
    fn put(&self, rows: &mut Rows, key: &str, row: Option<Arc<StoredEntity>>) {
        match row {
            Some(row) => _ = rows.insert(Key(key.into()), row),
            None => {
                if let Some(old) = rows.remove(&key as &dyn Text) {
                    self.gone.fetch_max(old.version.time().ticks(), Ordering::AcqRel);
                }
            }
        }
    }

    /// What was done elsewhere in one step.
    pub(super) fn replay(&self, written: &[Written]) {
        let mut partitions = write(&self.partitions);
        for Written { key, row } in written {
            let rows = partitions.entry(Key(key.partition.clone())).or_default();
            let rows = rows.get_mut().unwrap_or_else(PoisonError::into_inner);
            self.put(rows, &key.row, row.clone());
            if rows.is_empty() {
                partitions.remove(&&*key.partition as &dyn Text);
            }
        }
    }

    /// Drops a partition that is empty.
    fn forget(&self, partition: &str) {
        let key = &partition as &dyn Text;
        let is_empty = |partitions: &BTreeMap<Key, RwLock<Rows>>| {
            partitions.get(key).is_some_and(|rows| read(rows).is_empty())
        };
        if is_empty(&read(&self.partitions)) {
            let mut partitions = write(&self.partitions);
            if is_empty(&partitions) {
                partitions.remove(key);
            }
        }
    }

    /// The latest Timestamp that a row of this table has had, as far as rows are gone.
    fn gone(&self) -> EdmDateTime {
        EdmDateTime::from_ticks(self.gone.load(Ordering::Acquire)).unwrap_or(EdmDateTime::MIN)
    }

    /// The latest Timestamp in this table, of the rows that are there and of those that are gone.
    pub(super) fn last(&self) -> EdmDateTime {
        let partitions = read(&self.partitions);
        let rows = partitions.values().map(read);
        let last =
            |rows: RwLockReadGuard<'_, Rows>| rows.values().map(|row| row.version.time()).max();
        rows.filter_map(last).fold(self.gone(), Ord::max)
    }
}

fn from<'k>(key: &'k &str) -> (Bound<&'k (dyn Text + 'k)>, Bound<&'k (dyn Text + 'k)>) {
    (Bound::Included(key), Bound::Unbounded)
}

/// What a lock holds, whatever happened to a thread that held it: every write is one step.
fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
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
    fn a_partition_that_is_held_up_holds_up_no_other() {
        let table = Table::new("T", EdmDateTime::MIN);
        apply(&table, vec![put("a", "1", 0)]);
        apply(&table, vec![put("b", "1", 0)]);
        let (begun, done) = (Barrier::new(2), Barrier::new(2));
        thread::scope(|scope| {
            scope.spawn(|| {
                let wait = |_: &[Written]| {
                    begun.wait();
                    done.wait();
                };
                table.apply(vec![put("a", "1", 1)], || EdmDateTime::MIN, wait).unwrap();
            });
            begun.wait();
            // The writer of `a` is in the middle of its write until this is done.
            apply(&table, vec![put("b", "1", 2)]);
            assert!(table.get(("b", "1")).is_some());
            done.wait();
        });
    }

    #[test]
    fn a_scan_lets_others_have_a_turn_between_partitions_and_misses_no_row() {
        let table = Table::new("T", EdmDateTime::MIN);
        for partition in ["a", "b", "c"] {
            let rows = (0..ROWS_AT_ONCE).map(|row| put(partition, &format!("{row:04}"), 0));
            apply(&table, rows.collect());
        }
        let mut seen = 0;
        let mut next = table.scan_some(("a", "0001"), &mut |_, _| {
            seen += 1;
            ControlFlow::Continue(())
        });
        assert_eq!((seen, next.as_deref()), (2 * ROWS_AT_ONCE - 1, Some("c")));
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
        assert_eq!(count, 3 * ROWS_AT_ONCE - 1);
    }

    #[test]
    fn the_clock_is_asked_while_nobody_else_can_reach_the_partition() {
        let table = Table::new("T", EdmDateTime::MIN);
        let key = &"p" as &dyn Text;
        let is_held = || match table.partitions.try_read() {
            Ok(partitions) => partitions.get(key).is_none_or(|rows| rows.try_read().is_err()),
            Err(_) => true,
        };
        for _ in ["the first row", "another one"] {
            let now = || {
                assert!(is_held());
                EdmDateTime::MIN
            };
            table.apply(vec![put("p", "r", 1)], now, |_| assert!(is_held())).unwrap();
            assert!(!is_held());
        }
    }

    #[test]
    fn a_reader_sees_all_of_a_transaction_or_nothing() {
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
