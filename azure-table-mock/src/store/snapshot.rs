//! The content of a store as changes.

use std::ops::ControlFlow;
use std::sync::{Arc, RwLock};

use super::{AppliedWrite, JournalEntry, Store, Table};
use crate::lock::read;
use crate::row::StoredKey;

/// The number of rows in one change.
const ROWS: usize = 1000;

/// Calls `visit` with changes that build this content in an empty store, until it fails.
///
/// The store is not locked during a call, and its rows may change meanwhile. All changes that are made after
/// the start must be applied after these. The result is then the same as that of the store.
pub(super) fn snapshot<E>(
    store: &RwLock<Store>,
    mut visit: impl FnMut(JournalEntry) -> Result<(), E>,
) -> Result<(), E> {
    let (tables, properties) = {
        let store = read(store);
        (store.all(), Arc::clone(&store.service_properties))
    };
    visit(JournalEntry::ServiceProperties(properties))?;
    for table in &tables {
        visit(JournalEntry::created(table))?;
        let policies = table.policies();
        visit(JournalEntry::Policies { table: Arc::clone(table.name()), policies })?;
        let mut next = Some(StoredKey::new("", ""));
        while let Some(from) = next.take() {
            let rows = rows_from(table, &from);
            if let Some(last) = rows.last().filter(|_| rows.len() == ROWS) {
                let after = format!("{}\0", last.key.row);
                next = Some(StoredKey::new(last.key.partition.clone(), after));
            }
            if !rows.is_empty() {
                visit(JournalEntry::Written { table: Arc::clone(table.name()), rows })?;
            }
        }
    }
    // A row that is deleted during the scan may not be among the rows, but its version must not be repeated.
    let deleted = tables.iter().map(|table| table.last_deleted());
    let last_deleted = deleted.fold(read(store).last_deleted, Ord::max);
    visit(JournalEntry::LastDeleted(last_deleted))
}

/// Some rows of a table from this key on.
fn rows_from(table: &Table, from: &StoredKey) -> Vec<AppliedWrite> {
    let mut rows = Vec::new();
    table.scan((&from.partition, &from.row), &mut |(partition, row), entity| {
        let key = StoredKey::new(partition, row);
        rows.push(AppliedWrite { key, row: Some(entity.clone()) });
        if rows.len() < ROWS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    rows
}
