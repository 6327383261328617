//! The partition of a run: its name, and the rows that the run wrote.

use std::ops::Range;

use azure_table_client::{DynamicEntity, EntityKey};

/// The beginning of the name.
const PREFIX: &str = "azure-table-bench-";
/// With the keys, a row has the size of 1 KiB for which the limits of Azure Storage are stated.
const PAYLOAD_CHARACTERS: usize = 437;

/// The partition of a run. Its name is random, so that no other program has rows in it.
#[derive(Debug)]
pub(super) struct Partition {
    pub(super) name: String,
    /// The number of the next row.
    next: u64,
    /// The rows that the table has, or may have.
    written: Vec<Range<u64>>,
}

impl Partition {
    pub(super) fn new(id: uuid::Uuid) -> Self {
        Self { name: format!("{PREFIX}{}", id.simple()), next: 0, written: Vec::new() }
    }

    /// Reserves the numbers of new rows.
    pub(super) fn reserve(&mut self, rows: u64) -> Range<u64> {
        let first = self.next;
        self.next += rows;
        first..self.next
    }

    /// Records rows that the table has, or may have.
    pub(super) fn add(&mut self, rows: Range<u64>) {
        self.written.push(rows);
    }

    /// Returns the row with this number.
    pub(super) fn row(&self, number: u64) -> DynamicEntity {
        let payload = "x".repeat(PAYLOAD_CHARACTERS);
        DynamicEntity::new(self.name.clone(), row_key(number)).with("Payload", payload)
    }

    /// Returns the keys of the row with this number.
    pub(super) fn key(&self, number: u64) -> EntityKey {
        EntityKey::new(self.name.clone(), row_key(number))
    }

    /// Returns the number of rows that the table has, or may have.
    pub(super) fn len(&self) -> u64 {
        self.written.iter().map(|rows| rows.end - rows.start).sum()
    }

    /// Returns the keys of these rows in their order.
    pub(super) fn keys(&self) -> impl Iterator<Item = EntityKey> {
        let mut written = self.written.clone();
        written.sort_unstable_by_key(|rows| rows.start);
        written.into_iter().flatten().map(|number| self.key(number))
    }
}

fn row_key(number: u64) -> String {
    format!("{number:010}")
}
