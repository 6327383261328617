//! Tables and their rows, in the order of the service.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;
use std::time::SystemTime;

use super::failure::Failure;
use super::order::{Keys, StoredKey};
use super::version::Version;
use crate::edm::{EdmDateTime, EdmValue};

/// The tables of an account, by lower-case name.
#[derive(Debug)]
pub(super) struct Store {
    tables: BTreeMap<String, Table>,
    /// The latest Timestamp in a table that was deleted.
    gone: EdmDateTime,
    /// Tables that are being deleted, by lower-case name, and when that is over.
    going: Going,
}

#[derive(Debug, Default)]
struct Going(BTreeMap<String, SystemTime>);

/// A table.
#[derive(Debug)]
pub(super) struct Table {
    name: String,
    pub(super) rows: BTreeMap<StoredKey, StoredEntity>,
    /// The latest Timestamp of a row that was deleted: none that comes after may be as old, or a
    /// row that takes the key of a deleted one could repeat its ETag.
    pub(super) gone: EdmDateTime,
}

/// The properties of a row beside its keys and its Timestamp.
pub(super) type Properties = Vec<(String, EdmValue)>;

/// A row without its keys.
#[derive(Debug)]
pub(super) struct StoredEntity {
    pub(super) version: Version,
    pub(super) properties: Properties,
}

impl Default for Store {
    fn default() -> Self {
        Self { tables: BTreeMap::new(), gone: EdmDateTime::MIN, going: Going::default() }
    }
}

impl Store {
    pub(super) fn create(&mut self, name: &str, now: SystemTime) -> Result<(), Failure> {
        if self.going.has(name, now) {
            return Err(Failure::table_being_deleted());
        }
        match self.tables.entry(name.to_ascii_lowercase()) {
            Entry::Occupied(_) => Err(Failure::table_already_exists()),
            Entry::Vacant(place) => {
                place.insert(Table::new(name, self.gone));
                Ok(())
            }
        }
    }

    /// Deletes a table, whose name can be used again from this time on.
    pub(super) fn delete(&mut self, name: &str, held_until: SystemTime) -> Result<(), Failure> {
        let name = name.to_ascii_lowercase();
        let table = self.tables.remove(&name).ok_or_else(Failure::resource_not_found)?;
        self.going.0.insert(name, held_until);
        let last = table.rows.values().map(|row| row.version.time()).fold(table.gone, Ord::max);
        self.gone = self.gone.max(last);
        Ok(())
    }

    pub(super) fn table(&self, name: &str) -> Option<&Table> {
        self.tables.get(&name.to_ascii_lowercase())
    }

    /// The table for an operation on its entities.
    pub(super) fn entities_of(&self, name: &str, now: SystemTime) -> Result<&Table, Failure> {
        self.table(name).ok_or_else(|| self.going.missing(name, now))
    }

    pub(super) fn entities_of_mut(
        &mut self,
        name: &str,
        now: SystemTime,
    ) -> Result<&mut Table, Failure> {
        let table = self.tables.get_mut(&name.to_ascii_lowercase());
        table.ok_or_else(|| self.going.missing(name, now))
    }

    pub(super) fn tables(&self) -> impl Iterator<Item = &Table> {
        self.tables.values()
    }

    /// The tables from this name on.
    pub(super) fn tables_from(&self, name: &str) -> impl Iterator<Item = &Table> {
        self.tables.range(name.to_ascii_lowercase()..).map(|(_, table)| table)
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

impl Table {
    /// An empty table whose rows are all younger than `gone`.
    pub(super) fn new(name: &str, gone: EdmDateTime) -> Self {
        Self { name: name.to_owned(), rows: BTreeMap::new(), gone }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn get(&self, key: (&str, &str)) -> Option<(&StoredKey, &StoredEntity)> {
        self.rows.get_key_value(&key as &dyn Keys)
    }

    /// The rows from this key on.
    pub(super) fn rows_from(
        &self,
        key: (&str, &str),
    ) -> impl Iterator<Item = (&StoredKey, &StoredEntity)> {
        let start: &dyn Keys = &key;
        self.rows.range::<dyn Keys, _>((Bound::Included(start), Bound::Unbounded))
    }
}

#[cfg(test)]
mod tests {
    use super::super::write::{Change, Write};
    use super::*;

    const NOW: SystemTime = SystemTime::UNIX_EPOCH;

    #[test]
    fn names_of_tables_have_no_case_but_keep_theirs() {
        let mut store = Store::default();
        store.create("Blogs", NOW).unwrap();
        assert_eq!(store.create("bLOGS", NOW), Err(Failure::table_already_exists()));
        assert_eq!(store.table("BLOGS").map(Table::name), Some("Blogs"));
        store.delete("blogs", NOW).unwrap();
        assert_eq!(store.delete("blogs", NOW), Err(Failure::resource_not_found()));
    }

    #[test]
    fn a_table_that_comes_back_repeats_no_version() {
        let mut store = Store::default();
        let now = "2017-11-10T02:43:55Z".parse().unwrap();
        let mut insert = || {
            store.create("Blogs", NOW).unwrap();
            let write = Write { key: StoredKey::new("p", "r"), change: Change::Insert(vec![]) };
            let etag = store.entities_of_mut("Blogs", NOW).unwrap().apply(write, now).unwrap();
            store.delete("Blogs", NOW).unwrap();
            etag.unwrap()
        };
        assert_ne!(insert(), insert());
    }

    #[test]
    fn rows_are_found_and_ranged_by_borrowed_keys() {
        let mut table = Table::new("T", EdmDateTime::MIN);
        for key in [("a", "2"), ("b", ""), ("a", "1"), ("\u{1f600}", "x"), ("\u{e000}", "x")] {
            let write = Write { key: StoredKey::new(key.0, key.1), change: Change::Insert(vec![]) };
            table.apply(write, EdmDateTime::MAX).unwrap();
        }
        assert!(table.get(("a", "2")).is_some() && table.get(("a", "3")).is_none());
        let from: Vec<_> = table.rows_from(("a", "1\0")).map(|(key, _)| key.keys()).collect();
        assert_eq!(from, [("a", "2"), ("b", ""), ("\u{1f600}", "x"), ("\u{e000}", "x")]);
    }
}
