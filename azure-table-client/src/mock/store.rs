//! Tables and their rows, in the order of the service.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::failure::Failure;
use super::order::{StoredKey, ordinal};
use crate::edm::{EdmDateTime, EdmValue};

/// What a Timestamp moves forward by where the clock did not move: the service does the same.
const STEP_TICKS: i64 = 10_000;

/// The tables of an account, by lower-case name.
#[derive(Debug, Default)]
pub(super) struct Store {
    tables: BTreeMap<String, Table>,
}

/// A table.
#[derive(Debug)]
pub(super) struct Table {
    name: String,
    rows: BTreeMap<StoredKey, StoredEntity>,
}

/// A row without its keys.
#[derive(Debug, Clone)]
pub(super) struct StoredEntity {
    pub(super) timestamp: EdmDateTime,
    pub(super) properties: Vec<(String, EdmValue)>,
}

/// How a row is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Update {
    Merge,
    Replace,
}

/// What must hold for a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition<'a> {
    /// Nothing: an upsert.
    None,
    Exists,
    ETag(&'a str),
}

impl Store {
    pub(super) fn create(&mut self, name: &str) -> Result<(), Failure> {
        match self.tables.entry(name.to_lowercase()) {
            Entry::Occupied(_) => Err(Failure::table_already_exists()),
            Entry::Vacant(place) => {
                place.insert(Table { name: name.to_owned(), rows: BTreeMap::new() });
                Ok(())
            }
        }
    }

    pub(super) fn delete(&mut self, name: &str) -> Result<(), Failure> {
        match self.tables.remove(&name.to_lowercase()) {
            Some(_) => Ok(()),
            None => Err(Failure::resource_not_found()),
        }
    }

    pub(super) fn table(&self, name: &str) -> Option<&Table> {
        self.tables.get(&name.to_lowercase())
    }

    pub(super) fn table_mut(&mut self, name: &str) -> Result<&mut Table, Failure> {
        self.tables.get_mut(&name.to_lowercase()).ok_or_else(Failure::table_not_found)
    }

    pub(super) fn tables(&self) -> impl Iterator<Item = &Table> {
        self.tables.values()
    }

    /// The tables from this name on.
    pub(super) fn tables_from(&self, name: &str) -> impl Iterator<Item = &Table> {
        self.tables.range(name.to_lowercase()..).map(|(_, table)| table)
    }
}

impl Table {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn get(&self, key: &StoredKey) -> Option<&StoredEntity> {
        self.rows.get(key)
    }

    /// The rows from this key on.
    pub(super) fn rows_from(
        &self,
        key: StoredKey,
    ) -> impl Iterator<Item = (&StoredKey, &StoredEntity)> {
        self.rows.range(key..)
    }

    /// Adds a row; its properties stay in the order in which they were sent.
    pub(super) fn insert(
        &mut self,
        key: StoredKey,
        properties: Vec<(String, EdmValue)>,
        now: EdmDateTime,
    ) -> Result<&StoredEntity, Failure> {
        match self.rows.entry(key) {
            Entry::Occupied(_) => Err(Failure::entity_already_exists()),
            Entry::Vacant(place) => Ok(place.insert(StoredEntity { timestamp: now, properties })),
        }
    }

    /// Writes a row that may be there; its properties are in ordinal order of their names after.
    pub(super) fn update(
        &mut self,
        key: StoredKey,
        properties: Vec<(String, EdmValue)>,
        update: Update,
        condition: Condition<'_>,
        now: EdmDateTime,
    ) -> Result<EdmDateTime, Failure> {
        let entry = self.rows.entry(key);
        let mut row = match entry {
            Entry::Occupied(row) => {
                check(condition, Some(row.get()))?;
                row
            }
            Entry::Vacant(place) => {
                check(condition, None)?;
                let mut properties = properties;
                sort(&mut properties);
                return Ok(place.insert(StoredEntity { timestamp: now, properties }).timestamp);
            }
        };
        let row = row.get_mut();
        match update {
            Update::Replace => row.properties = properties,
            Update::Merge => {
                for (name, value) in properties {
                    match row.properties.iter_mut().find(|(known, _)| *known == name) {
                        Some((_, known)) => *known = value,
                        None => row.properties.push((name, value)),
                    }
                }
            }
        }
        sort(&mut row.properties);
        row.timestamp = after(row.timestamp, now);
        Ok(row.timestamp)
    }

    pub(super) fn delete(
        &mut self,
        key: StoredKey,
        condition: Condition<'_>,
    ) -> Result<(), Failure> {
        match self.rows.entry(key) {
            Entry::Occupied(row) => {
                check(condition, Some(row.get()))?;
                row.remove();
                Ok(())
            }
            Entry::Vacant(_) => Err(Failure::resource_not_found()),
        }
    }
}

impl StoredEntity {
    /// The version: the Timestamp in another dress.
    pub(super) fn etag(&self) -> String {
        etag(self.timestamp)
    }
}

/// `W/"datetime'2017-11-10T02%3A43%3A55.7662669Z'"`
pub(super) fn etag(timestamp: EdmDateTime) -> String {
    format!("W/\"datetime'{}'\"", timestamp.trimmed().to_string().replace(':', "%3A"))
}

/// A Timestamp always moves forward, or versions would repeat.
fn after(last: EdmDateTime, now: EdmDateTime) -> EdmDateTime {
    if now > last {
        return now;
    }
    EdmDateTime::from_ticks(last.ticks() + STEP_TICKS).unwrap_or(EdmDateTime::MAX)
}

fn check(condition: Condition<'_>, row: Option<&StoredEntity>) -> Result<(), Failure> {
    match (condition, row) {
        (Condition::None, _) | (Condition::Exists, Some(_)) => Ok(()),
        // Some clients double the quotes of a tag.
        (Condition::ETag(tag), Some(row)) if tag.replace("''", "'") == row.etag() => Ok(()),
        (Condition::ETag(_), Some(_)) => Err(Failure::update_condition()),
        (_, None) => Err(Failure::resource_not_found()),
    }
}

fn sort(properties: &mut [(String, EdmValue)]) {
    properties.sort_by(|(a, _), (b, _)| ordinal(a, b));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_moves_forward_though_the_clock_does_not() {
        let mut store = Store::default();
        store.create("Blogs").unwrap();
        let table = store.table_mut("blogs").unwrap();
        let key = || StoredKey::new("p", "r");
        let now: EdmDateTime = "2017-11-10T02:43:55.05Z".parse().unwrap();
        let first = table.insert(key(), vec![], now).unwrap().etag();
        assert_eq!(first, "W/\"datetime'2017-11-10T02%3A43%3A55.05Z'\"");
        let second =
            table.update(key(), vec![], Update::Merge, Condition::ETag(&first), now).unwrap();
        assert_eq!(second.trimmed().to_string(), "2017-11-10T02:43:55.051Z");
        let earlier = "2001-01-01T00:00:00Z".parse().unwrap();
        let third = table.update(key(), vec![], Update::Merge, Condition::Exists, earlier).unwrap();
        assert!(third > second);
        assert_eq!(
            table.update(key(), vec![], Update::Replace, Condition::ETag(&first), now),
            Err(Failure::update_condition())
        );
    }

    #[test]
    fn order_of_properties() {
        let mut store = Store::default();
        store.create("Blogs").unwrap();
        let table = store.table_mut("Blogs").unwrap();
        let names = |table: &Table| {
            let row = table.get(&StoredKey::new("p", "r")).unwrap();
            row.properties.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        let properties =
            |names: &[&str]| names.iter().map(|n| ((*n).to_owned(), 1.into())).collect();
        let key = || StoredKey::new("p", "r");
        table.insert(key(), properties(&["b", "a"]), EdmDateTime::MIN).unwrap();
        assert_eq!(names(table), ["b", "a"], "as sent");
        table
            .update(key(), properties(&["C"]), Update::Merge, Condition::Exists, EdmDateTime::MIN)
            .unwrap();
        assert_eq!(names(table), ["C", "a", "b"], "ordinal after an update");
    }
}
