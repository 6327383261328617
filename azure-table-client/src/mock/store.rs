//! Tables and their rows, in the order of the service.
//!
//! Locks are taken in one order: the tables, the partitions of one, the rows of one of them.

#[cfg(feature = "mock-data")]
mod disk;
mod journal;
mod order;
mod properties;
mod replica;
mod table;
mod version;
mod write;

use std::collections::BTreeMap;
use std::collections::btree_map;
use std::sync::Arc;
use std::time::SystemTime;

#[cfg(feature = "mock-data")]
pub(super) use self::disk::{Disk, Opened};
pub(super) use self::journal::{Entry, Journal};
pub(super) use self::order::{StoredKey, by_keys};
pub(super) use self::properties::{Properties, StoredProperties};
pub(super) use self::replica::Replica;
pub(super) use self::table::{StoredEntity, Table, Written};
pub(super) use self::version::Version;
pub(super) use self::write::{Change, Condition, Update, Write};
use super::failure::Failure;
use super::service_properties::ServiceProperties;
use crate::edm::EdmDateTime;

/// The tables of an account, by lower-case name.
#[derive(Debug)]
pub(super) struct Store {
    tables: BTreeMap<String, Arc<Table>>,
    /// The latest Timestamp in a table that was deleted.
    gone: EdmDateTime,
    /// Tables that are being deleted, by lower-case name, and when that is over.
    going: Going,
    service_properties: Arc<ServiceProperties>,
}

#[derive(Debug, Default)]
struct Going(BTreeMap<String, SystemTime>);

impl Default for Store {
    fn default() -> Self {
        Self {
            tables: BTreeMap::new(),
            gone: EdmDateTime::MIN,
            going: Going::default(),
            service_properties: Arc::default(),
        }
    }
}

impl Store {
    pub(super) fn create(&mut self, name: &str, now: SystemTime) -> Result<(), Failure> {
        if self.going.has(name, now) {
            return Err(Failure::table_being_deleted());
        }
        match self.tables.entry(name.to_ascii_lowercase()) {
            btree_map::Entry::Occupied(_) => Err(Failure::table_already_exists()),
            btree_map::Entry::Vacant(place) => {
                place.insert(Arc::new(Table::new(name, self.gone)));
                Ok(())
            }
        }
    }

    /// Deletes a table, whose name can be used again from this time on.
    pub(super) fn delete(&mut self, name: &str, held_until: SystemTime) -> Result<(), Failure> {
        let name = name.to_ascii_lowercase();
        let table = self.tables.remove(&name).ok_or_else(Failure::resource_not_found)?;
        self.going.0.insert(name, held_until);
        self.gone = self.gone.max(table.last());
        Ok(())
    }

    /// An empty store whose rows will all be younger than `gone`.
    #[cfg(feature = "mock-data")]
    pub(super) fn younger_than(gone: EdmDateTime) -> Self {
        Self { gone, ..Self::default() }
    }

    /// Does without any check what was done to another store.
    pub(super) fn replay(&mut self, entry: &Entry) {
        match entry {
            Entry::Created(name) => {
                let table = Arc::new(Table::new(name, self.gone));
                self.tables.insert(name.to_ascii_lowercase(), table);
            }
            Entry::Deleted(name) => {
                self.tables.remove(&name.to_ascii_lowercase());
            }
            Entry::Policies { table, policies } => {
                if let Some(table) = self.table(table) {
                    table.set_policies(Arc::clone(policies));
                }
            }
            Entry::ServiceProperties(properties) => {
                self.set_service_properties(Arc::clone(properties));
            }
            Entry::Written { table, rows } => {
                if let Some(table) = self.table(table) {
                    table.replay(rows);
                }
            }
        }
    }

    pub(super) fn table(&self, name: &str) -> Option<&Arc<Table>> {
        self.tables.get(&name.to_ascii_lowercase())
    }

    /// The table for an operation on its entities. Who writes to it holds on to the store as well, so
    /// that it cannot be deleted meanwhile; who reads need not.
    pub(super) fn entities_of(&self, name: &str, now: SystemTime) -> Result<&Arc<Table>, Failure> {
        self.table(name).ok_or_else(|| self.going.missing(name, now))
    }

    pub(super) fn tables(&self) -> impl Iterator<Item = &Table> {
        self.tables.values().map(|table| &**table)
    }

    pub(super) fn service_properties(&self) -> &Arc<ServiceProperties> {
        &self.service_properties
    }

    pub(super) fn set_service_properties(&mut self, properties: Arc<ServiceProperties>) {
        self.service_properties = properties;
    }

    /// The tables from this name on.
    pub(super) fn tables_from(&self, name: &str) -> impl Iterator<Item = &Table> {
        self.tables.range(name.to_ascii_lowercase()..).map(|(_, table)| &**table)
    }
}

impl Going {
    fn has(&self, name: &str, now: SystemTime) -> bool {
        self.0.get(&name.to_ascii_lowercase()).is_some_and(|until| now < *until)
    }

    /// Why a table is not there.
    fn missing(&self, name: &str, now: SystemTime) -> Failure {
        if self.has(name, now) {
            return Failure::table_being_deleted();
        }
        Failure::table_not_found()
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;

    const NOW: SystemTime = SystemTime::UNIX_EPOCH;

    fn insertion((partition_key, row_key): (&str, &str)) -> Write<'static> {
        let change = Change::Insert(StoredProperties::default());
        Write { key: StoredKey::new(partition_key, row_key), change }
    }

    #[test]
    fn names_of_tables_have_no_case_but_keep_theirs() {
        let mut store = Store::default();
        store.create("Blogs", NOW).unwrap();
        assert_eq!(store.create("bLOGS", NOW), Err(Failure::table_already_exists()));
        assert_eq!(store.table("BLOGS").map(|table| &**table.name()), Some("Blogs"));
        store.delete("blogs", NOW).unwrap();
        assert_eq!(store.delete("blogs", NOW), Err(Failure::resource_not_found()));
    }

    #[test]
    fn a_table_that_comes_back_repeats_no_version() {
        let mut store = Store::default();
        let now = "2017-11-10T02:43:55Z".parse().unwrap();
        let mut insert = || {
            store.create("Blogs", NOW).unwrap();
            let table = store.entities_of("Blogs", NOW).unwrap();
            let written = table.apply(vec![insertion(("p", "r"))], || now, |_| {}).unwrap();
            store.delete("Blogs", NOW).unwrap();
            written[0].row.as_ref().unwrap().version.etag()
        };
        assert_ne!(insert(), insert());
    }

    #[test]
    fn rows_are_found_and_ranged_by_borrowed_keys() {
        let table = Table::new("T", EdmDateTime::MIN);
        for key in [("a", "2"), ("b", ""), ("a", "1"), ("\u{1f600}", "x"), ("\u{e000}", "x")] {
            table.apply(vec![insertion(key)], || EdmDateTime::MAX, |_| {}).unwrap();
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
