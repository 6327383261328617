//! The content of a record: changes of the store.
//!
//! Each change begins with its kind. Texts have their length before them (`u32`), numbers are little-endian.

use std::sync::Arc;

use super::super::{AppliedWrite, JournalEntry, StoredEntity};
use crate::edm::EdmDateTime;
use crate::policies::Policies;
use crate::row::StoredKey;
use crate::service_properties::ServiceProperties;

const CREATED: u8 = 1;
const DELETED: u8 = 2;
const WRITTEN: u8 = 3;
const POLICIES: u8 = 4;
const SERVICE_PROPERTIES: u8 = 5;
const LAST_DELETED: u8 = 6;

/// The largest number of rows of one change. A transaction has at most 100 rows, so that it is one change.
const MAX_ROWS: usize = 100;

/// Calls `add` with the content of the records of a change.
pub(super) fn write(entry: &JournalEntry, mut add: impl FnMut(&[u8])) {
    let mut content = Vec::new();
    match entry {
        JournalEntry::Created { name, number } => {
            content.push(CREATED);
            push(&mut content, name);
            content.extend(number.to_le_bytes());
        }
        JournalEntry::Deleted(name) => {
            content.push(DELETED);
            push(&mut content, name);
        }
        JournalEntry::Written { table, rows } => {
            for rows in rows.chunks(MAX_ROWS) {
                content.clear();
                content.push(WRITTEN);
                push(&mut content, table);
                for AppliedWrite { key, row } in rows {
                    push_row(&mut content, key, row.as_ref());
                }
                add(&content);
            }
            return;
        }
        JournalEntry::Policies { table, policies } => {
            content.push(POLICIES);
            push(&mut content, table);
            content.extend(policies.write());
        }
        JournalEntry::ServiceProperties(properties) => {
            content.push(SERVICE_PROPERTIES);
            content.extend(properties.write(None));
        }
        JournalEntry::LastDeleted(time) => {
            content.push(LAST_DELETED);
            content.extend(time.ticks().to_le_bytes());
        }
    }
    add(&content);
}

fn push_row(content: &mut Vec<u8>, key: &StoredKey, row: Option<&StoredEntity>) {
    push(content, &key.partition);
    push(content, &key.row);
    content.push(row.is_some().into());
    if let Some(row) = row {
        content.extend(row.version.time().ticks().to_le_bytes());
        push(content, row.properties().text());
    }
}

fn push(content: &mut Vec<u8>, text: &str) {
    // No text of the store reaches 4 GiB.
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    content.extend(length.to_le_bytes());
    content.extend(text.as_bytes());
}

/// Reads the change in a record. `None` if it is invalid.
pub(super) fn read(content: &[u8]) -> Option<JournalEntry> {
    let mut content = Content(content);
    let entry = match content.byte()? {
        CREATED => {
            let name = content.text()?.into();
            JournalEntry::Created { name, number: u64::from_le_bytes(content.array()?) }
        }
        DELETED => JournalEntry::Deleted(content.text()?.into()),
        WRITTEN => {
            let table = content.text()?.into();
            let mut rows = Vec::new();
            while !content.0.is_empty() {
                rows.push(content.row()?);
            }
            JournalEntry::Written { table, rows }
        }
        POLICIES => {
            let table = content.text()?.into();
            let policies = Policies::read(content.rest()).ok()?;
            JournalEntry::Policies { table, policies: Arc::new(policies) }
        }
        SERVICE_PROPERTIES => {
            let mut properties = ServiceProperties::default();
            properties.update(content.rest(), None).ok()?;
            JournalEntry::ServiceProperties(Arc::new(properties))
        }
        LAST_DELETED => JournalEntry::LastDeleted(content.time()?),
        _ => return None,
    };
    content.0.is_empty().then_some(entry)
}

/// The part of a record that is not read yet.
struct Content<'c>(&'c [u8]);

impl<'c> Content<'c> {
    fn bytes(&mut self, count: usize) -> Option<&'c [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    fn text(&mut self) -> Option<&'c str> {
        let length = u32::from_le_bytes(self.array()?);
        std::str::from_utf8(self.bytes(usize::try_from(length).ok()?)?).ok()
    }

    fn time(&mut self) -> Option<EdmDateTime> {
        EdmDateTime::from_ticks(i64::from_le_bytes(self.array()?)).ok()
    }

    fn rest(&mut self) -> &'c [u8] {
        std::mem::take(&mut self.0)
    }

    fn row(&mut self) -> Option<AppliedWrite> {
        let key = StoredKey::new(self.text()?, self.text()?);
        let row = match self.byte()? {
            0 => None,
            1 => {
                let time = self.time()?;
                Some(StoredEntity::from_parts(time, &key.row, self.text()?))
            }
            _ => return None,
        };
        Some(AppliedWrite { key, row })
    }
}
