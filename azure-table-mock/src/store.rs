//! Tables and their rows, in the order of the service.
//!
//! The lock order is: all tables, the partitions of one table, the rows of one partition.

mod chunk;
mod column;
mod deleted;
#[cfg(feature = "disk")]
mod disk;
#[cfg(not(feature = "disk"))]
#[path = "store/no_disk.rs"]
mod disk;
mod partition;
mod row;
#[cfg(feature = "disk")]
mod snapshot;
mod storage;
mod table;
mod version;
mod write;

use std::collections::BTreeMap;
use std::collections::btree_map;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub(super) use self::chunk::RowChunk;
pub(super) use self::column::{Cell, ComparedValue};
pub(super) use self::deleted::Deleted;
pub(super) use self::disk::Disk;
pub(super) use self::row::{RowText, RowWriter, StoredEntity};
pub(super) use self::storage::{Journal, Replica, Storage};
pub(super) use self::table::{AppliedWrite, Snapshot, Table};
pub(super) use self::version::{Version, VersionText};
pub(super) use self::write::{Precondition, RowChange, RowUpdate, StagedWrite, WriteRefusal};
use crate::dialect::ServiceDialect;
use crate::edm::EdmDateTime;
use crate::failure::Failure;
use crate::policies::Policies;
use crate::service_properties::ServiceProperties;

/// The state of the [file](crate::TableServiceBuilder::open) of a [`TableService`](crate::TableService).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiskStatus {
    /// The number of commits since the start. Concurrent writes share a commit.
    pub commits: u64,
    /// The reason why the latest commit failed, for example that the disk is full. It is repeated every half
    /// second. Until it succeeds, the service responds with 500 to every write, and to every read that could
    /// show a change that is not on disk.
    pub failure: Option<String>,
}

/// The tables of an account, by the text that all names of a table share.
#[derive(Debug)]
pub(super) struct Store {
    dialect: ServiceDialect,
    tables: BTreeMap<String, Arc<Table>>,
    /// The number of the next table. Tables are numbered in the order of their creation.
    next_number: u64,
    /// The latest Timestamp in a deleted table.
    last_deleted: EdmDateTime,
    held_names: HeldNames,
    service_properties: Arc<ServiceProperties>,
}

/// The names of deleted tables in the form of [`Store::tables`], and the time from which on each can be used again.
#[derive(Debug, Default)]
struct HeldNames(BTreeMap<String, SystemTime>);

/// A change of the store in one step.
#[derive(Debug, Clone)]
pub(super) enum JournalEntry {
    Created {
        name: Arc<str>,
        number: u64,
    },
    Deleted(Arc<str>),
    Written {
        table: Arc<str>,
        rows: Vec<AppliedWrite>,
    },
    Policies {
        table: Arc<str>,
        policies: Arc<Policies>,
    },
    ServiceProperties(Arc<ServiceProperties>),
    /// The latest Timestamp in a deleted table. Rows that are added from now on are newer.
    LastDeleted(EdmDateTime),
}

impl JournalEntry {
    pub(super) fn created(table: &Table) -> Self {
        Self::Created { name: Arc::clone(table.name()), number: table.number() }
    }
}

impl Default for Store {
    fn default() -> Self {
        Self::new(ServiceDialect::default())
    }
}

impl Store {
    pub(super) fn new(dialect: ServiceDialect) -> Self {
        Self {
            dialect,
            tables: BTreeMap::new(),
            next_number: 1,
            last_deleted: EdmDateTime::MIN,
            held_names: HeldNames::default(),
            service_properties: Arc::default(),
        }
    }

    pub(super) fn create(&mut self, name: &str, now: SystemTime) -> Result<&Arc<Table>, Failure> {
        let identity = self.dialect.table_identity(name);
        if self.held_names.contains(&identity, now) {
            return Err(Failure::table_being_deleted());
        }
        match self.tables.entry(identity) {
            btree_map::Entry::Occupied(_) => Err(Failure::table_already_exists()),
            btree_map::Entry::Vacant(entry) => {
                let table = Table::new(name, self.last_deleted).with_number(self.next_number);
                self.next_number += 1;
                Ok(entry.insert(Arc::new(table)))
            }
        }
    }

    /// Deletes a table and returns it. Its name can be used again after `held`.
    pub(super) fn delete(
        &mut self,
        name: &str,
        now: SystemTime,
        held: Duration,
    ) -> Result<Arc<Table>, Failure> {
        let name = self.dialect.table_identity(name);
        let table = self.remove(&name).ok_or_else(Failure::resource_not_found)?;
        self.held_names.hold(name, now, held);
        Ok(table)
    }

    fn remove(&mut self, identity: &str) -> Option<Arc<Table>> {
        let table = self.tables.remove(identity)?;
        table.set_deleted();
        self.last_deleted = self.last_deleted.max(table.last());
        Some(table)
    }

    /// Removes a table as if it had never existed: its versions may be repeated.
    pub(super) fn forget(&mut self, name: &str) -> Option<Arc<Table>> {
        let last_deleted = self.last_deleted;
        let identity = self.dialect.table_identity(name);
        self.held_names.release(&identity);
        let table = self.remove(&identity)?;
        self.last_deleted = last_deleted;
        Some(table)
    }

    /// Removes everything as if it had never existed. Returns the tables.
    pub(super) fn reset(&mut self) -> Vec<Arc<Table>> {
        let dialect = self.dialect;
        let tables = std::mem::replace(self, Self::new(dialect)).tables.into_values();
        tables.inspect(|table| table.set_deleted()).collect()
    }

    /// The latest Timestamp in a deleted table.
    pub(super) fn last_deleted(&self) -> EdmDateTime {
        self.last_deleted
    }

    /// Applies a change of another store without any check. Returns the deleted table.
    pub(super) fn replay(&mut self, entry: JournalEntry) -> Option<Arc<Table>> {
        match entry {
            JournalEntry::Created { name, number } => {
                let table = Table::new(&name, self.last_deleted).with_number(number);
                self.next_number = self.next_number.max(number + 1);
                self.tables.insert(self.dialect.table_identity(&name), Arc::new(table));
            }
            JournalEntry::Deleted(name) => {
                return self.remove(&self.dialect.table_identity(&name));
            }
            JournalEntry::Policies { table, policies } => {
                if let Some(table) = self.table(&table) {
                    table.set_policies(policies);
                }
            }
            JournalEntry::ServiceProperties(properties) => {
                self.set_service_properties(properties);
            }
            JournalEntry::Written { table, rows } => {
                if let Some(table) = self.table(&table) {
                    table.replay(rows);
                }
            }
            JournalEntry::LastDeleted(time) => {
                self.last_deleted = time;
                self.tables().for_each(|table| table.raise_last_deleted(time));
            }
        }
        None
    }

    pub(super) fn table(&self, name: &str) -> Option<&Arc<Table>> {
        self.tables.get(&self.dialect.table_identity(name))
    }

    /// Returns the table for an operation on its entities. A writer also keeps the store locked, so that
    /// no other request deletes the table meanwhile.
    pub(super) fn existing_table(
        &self,
        name: &str,
        now: SystemTime,
    ) -> Result<&Arc<Table>, Failure> {
        self.table(name)
            .ok_or_else(|| self.held_names.missing(&self.dialect.table_identity(name), now))
    }

    pub(super) fn tables(&self) -> impl Iterator<Item = &Table> {
        self.tables.values().map(|table| &**table)
    }

    /// Returns all tables, to read them while the store is not locked.
    pub(super) fn all(&self) -> Vec<Arc<Table>> {
        self.tables.values().cloned().collect()
    }

    pub(super) fn service_properties(&self) -> &Arc<ServiceProperties> {
        &self.service_properties
    }

    pub(super) fn set_service_properties(&mut self, properties: Arc<ServiceProperties>) {
        self.service_properties = properties;
    }

    /// Returns the tables from this name on.
    pub(super) fn tables_from(&self, name: &str) -> impl Iterator<Item = &Arc<Table>> {
        self.tables.range(self.dialect.table_identity(name)..).map(|(_, table)| table)
    }
}

impl HeldNames {
    fn release(&mut self, identity: &str) {
        self.0.remove(identity);
    }

    /// Holds a name for this time, and drops the names whose time has passed.
    fn hold(&mut self, name: String, now: SystemTime, time: Duration) {
        self.0.retain(|_, until| now < *until);
        if let Some(until) = now.checked_add(time).filter(|_| !time.is_zero()) {
            self.0.insert(name, until);
        }
    }

    fn contains(&self, name: &str, now: SystemTime) -> bool {
        self.0.get(name).is_some_and(|until| now < *until)
    }

    /// The failure for a missing table.
    fn missing(&self, name: &str, now: SystemTime) -> Failure {
        if self.contains(name, now) {
            return Failure::table_being_deleted();
        }
        Failure::table_not_found()
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::row::StoredKey;

    const NOW: SystemTime = SystemTime::UNIX_EPOCH;

    fn insertion((partition_key, row_key): (&str, &str)) -> StagedWrite<'static> {
        let change = RowChange::Insert(RowText::new(row_key, &vec![]));
        StagedWrite::new(StoredKey::new(partition_key, row_key), change)
    }

    #[test]
    fn table_names_are_case_insensitive_but_keep_their_case() {
        let mut store = Store::default();
        store.create("Blogs", NOW).unwrap();
        assert_eq!(store.create("bLOGS", NOW).unwrap_err(), Failure::table_already_exists());
        assert_eq!(store.table("BLOGS").map(|table| &**table.name()), Some("Blogs"));
        store.delete("blogs", NOW, Duration::ZERO).unwrap();
        let again = store.delete("blogs", NOW, Duration::ZERO);
        assert_eq!(again.unwrap_err(), Failure::resource_not_found());
    }

    #[test]
    fn names_are_held_for_a_time_and_then_dropped() {
        let mut store = Store::default();
        let at = |seconds| NOW + Duration::from_secs(seconds);
        for second in 0..100 {
            let name = format!("Table{second}");
            store.create(&name, at(second)).unwrap();
            store.delete(&name, at(second), Duration::from_secs(10)).unwrap();
            let refused = store.create(&name, at(second + 9)).unwrap_err();
            assert_eq!(refused, Failure::table_being_deleted());
            store.create(&name, at(second + 10)).unwrap();
        }
        assert_eq!(store.held_names.0.len(), 10);
        store.delete("Table0", at(200), Duration::ZERO).unwrap();
        assert_eq!(store.held_names.0.len(), 0);
    }

    #[test]
    fn a_recreated_table_repeats_no_version() {
        let mut store = Store::default();
        let now = "2017-11-10T02:43:55Z".parse().unwrap();
        let mut insert = || {
            store.create("Blogs", NOW).unwrap();
            let table = store.existing_table("Blogs", NOW).unwrap();
            let written = table.apply(&[insertion(("p", "r"))], || now, |_| {}).unwrap();
            store.delete("Blogs", NOW, Duration::ZERO).unwrap();
            written[0].row.as_ref().unwrap().version.etag()
        };
        assert_ne!(insert(), insert());
    }

    #[test]
    fn rows_are_found_and_scanned_by_borrowed_keys() {
        let table = Table::new("T", EdmDateTime::MIN);
        for key in [("a", "2"), ("b", ""), ("a", "1"), ("\u{1f600}", "x"), ("\u{e000}", "x")] {
            table.apply(&[insertion(key)], || EdmDateTime::MAX, |_| {}).unwrap();
        }
        assert!(table.get(("a", "2")).is_some() && table.get(("a", "3")).is_none());
        let mut seen = Vec::new();
        table.scan(("a", "1\0"), &mut |(partition_key, row_key), _| {
            seen.push(format!("{partition_key} {row_key}"));
            ControlFlow::Continue(())
        });
        assert_eq!(seen, ["a 2", "b ", "\u{1f600} x", "\u{e000} x"]);
    }
}
