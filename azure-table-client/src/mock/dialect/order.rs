//! The order of tables and rows in Cosmos DB.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::mock::store::{JournalEntry, StoredKey, Written};

/// The order in which tables and rows were created. An update does not move a row.
///
/// The documentation states that results are not sorted by their keys. In the recordings, the rows of a
/// partition are in the order of their creation. Tables and rows from a data file come first.
#[derive(Debug, Default)]
pub(in crate::mock) struct CreationOrder(Mutex<Numbers>);

/// The number of each table and row.
#[derive(Debug, Default)]
pub(in crate::mock) struct Numbers {
    last: u64,
    tables: HashMap<Box<str>, OfTable>,
}

#[derive(Debug)]
struct OfTable {
    number: u64,
    rows: HashMap<StoredKey, u64>,
}

impl CreationOrder {
    /// Adds a change. The caller still holds the lock under which it made the change.
    pub(in crate::mock) fn record(&self, entry: &JournalEntry) {
        self.read(|numbers| match entry {
            JournalEntry::Created(table) => {
                numbers.table(table);
            }
            JournalEntry::Deleted(table) => {
                numbers.tables.remove(&**table);
            }
            JournalEntry::Written { table, rows } => numbers.write(table, rows),
            _ => {}
        });
    }

    /// Calls `read` with the numbers, which do not change meanwhile.
    pub(in crate::mock) fn read<T>(&self, read: impl FnOnce(&mut Numbers) -> T) -> T {
        read(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Numbers {
    /// The number of a table, or 0 if it is older than the service.
    pub(in crate::mock) fn of_table(&self, table: &str) -> u64 {
        self.tables.get(table).map_or(0, |of| of.number)
    }

    /// The number of a row, or 0 if it is older than the service.
    pub(in crate::mock) fn of_row(&self, table: &str, key: &StoredKey) -> u64 {
        self.tables.get(table).and_then(|of| of.rows.get(key)).copied().unwrap_or_default()
    }

    fn table(&mut self, table: &str) -> &mut OfTable {
        self.last += 1;
        let number = self.last;
        self.tables.entry(table.into()).or_insert_with(|| OfTable { number, rows: HashMap::new() })
    }

    fn write(&mut self, table: &str, rows: &[Written]) {
        for Written { key, row } in rows {
            self.last += 1;
            let number = self.last;
            let Some(of) = self.tables.get_mut(table) else {
                // A table of the data file.
                self.tables.insert(table.into(), OfTable { number: 0, rows: HashMap::new() });
                return self.write(table, rows);
            };
            match row {
                Some(_) => _ = of.rows.entry(key.clone()).or_insert(number),
                None => _ = of.rows.remove(key),
            }
        }
    }
}
