//! The rows of a stream, and the check that none is missing.

use azure_table_client::entity::codec::as_json;
use azure_table_client::{EntityKey, TableEntity};
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::Event;
use crate::Error;

/// The RowKeys of the rows that are not events. Letters sort after digits.
pub(super) const HEAD: &str = "head";
pub(super) const SNAPSHOT: &str = "snapshot";
/// The RowKey of the largest version.
pub(super) const LAST_KEY: &str = "9223372036854775807";

/// The end of the stream.
#[derive(Debug, TableEntity)]
#[table(rename_all = "PascalCase")]
pub(super) struct HeadRow {
    #[table(partition_key)]
    stream: String,
    #[table(row_key)]
    row: String,
    #[table(as_i64)]
    pub(super) version: u64,
    append: Uuid,
}

impl HeadRow {
    pub(super) fn new(stream: &str, version: u64, append: Uuid) -> Self {
        Self { stream: stream.to_owned(), row: HEAD.to_owned(), version, append }
    }
}

/// An event. Its version is its RowKey.
#[derive(Debug, TableEntity)]
#[table(rename_all = "PascalCase")]
pub(super) struct EventRow {
    #[table(partition_key)]
    stream: String,
    #[table(row_key)]
    pub(super) row: String,
    pub(super) append: Uuid,
    event: String,
}

impl EventRow {
    pub(super) fn new(stream: &str, version: u64, append: Uuid, text: &str) -> Self {
        Self { stream: stream.to_owned(), row: key(version), append, event: text.to_owned() }
    }

    pub(super) fn into_event<E: Serialize + DeserializeOwned>(self) -> Result<Event<E>, Error> {
        let data = as_json::decode(self.event)
            .map_err(|error| invalid_row(&self.stream, &self.row, error.to_string()))?;
        // The gap check has compared the key with a version.
        let version = self.row.parse().unwrap_or_default();
        Ok(Event { version, append: self.append, data })
    }
}

/// The state of a program after the events up to a version.
#[derive(Debug, TableEntity)]
#[table(rename_all = "PascalCase")]
pub(super) struct SnapshotRow {
    #[table(partition_key)]
    stream: String,
    #[table(row_key)]
    row: String,
    #[table(as_i64)]
    pub(super) version: u64,
    pub(super) state: String,
}

impl SnapshotRow {
    pub(super) fn new(stream: &str, version: u64, state: String) -> Self {
        Self { stream: stream.to_owned(), row: SNAPSHOT.to_owned(), version, state }
    }
}

/// Returns the RowKey of an event: the digits of the largest version, so that the keys sort like the versions.
pub(super) fn key(version: u64) -> String {
    format!("{version:019}")
}

/// Returns the first and the last version of `count` events after `version`.
pub(super) fn versions(version: u64, count: usize) -> Result<(u64, u64), Error> {
    let last = version.checked_add(count as u64).filter(|last| i64::try_from(*last).is_ok());
    let last = last.ok_or_else(|| {
        Error::invalid_input(format!(
            "cannot append {count} events after version {version}: the last version is {LAST_KEY}"
        ))
    })?;
    Ok((version + 1, last))
}

pub(super) fn invalid_row(stream: &str, row: &str, reason: String) -> Error {
    Error::InvalidRow { key: EntityKey::new(stream, row), reason }
}

/// Checks that each version follows the one before it.
#[derive(Debug)]
pub(super) struct GapCheck {
    stream: String,
    next: u64,
}

impl GapCheck {
    pub(super) fn after(stream: &str, version: u64) -> Self {
        Self { stream: stream.to_owned(), next: version.saturating_add(1) }
    }

    /// Returns the row if it is the next event.
    pub(super) fn next(&mut self, row: EventRow) -> Result<EventRow, Error> {
        self.check(&row.row).map(|_| row)
    }

    /// Returns the version of a row, which must be the next one.
    pub(super) fn check(&mut self, row: &str) -> Result<u64, Error> {
        let version = self.next;
        if row != key(version) {
            return Err(self.missing());
        }
        self.next += 1;
        Ok(version)
    }

    /// The error of a stream without the next event.
    pub(super) fn missing(&self) -> Error {
        invalid_row(&self.stream, &key(self.next), "an event is missing".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_like_versions() {
        let versions = [1, 9, 10, 99, 1 << 40, i64::MAX as u64];
        let keys: Vec<_> = versions.map(key).into();
        assert!(keys.is_sorted());
        assert_eq!(keys[5], LAST_KEY);
        assert!(keys.iter().all(|key| key.as_str() < HEAD && key.as_str() < SNAPSHOT));
    }

    #[test]
    fn versions_end_at_the_largest_int64() {
        let largest = i64::MAX as u64;
        assert_eq!(versions(0, 99).unwrap(), (1, 99));
        assert_eq!(versions(largest - 2, 2).unwrap(), (largest - 1, largest));
        assert!(matches!(versions(largest - 2, 3), Err(Error::InvalidInput { .. })));
        assert!(matches!(versions(u64::MAX, 1), Err(Error::InvalidInput { .. })));
    }

    #[test]
    fn a_gap_and_a_repetition_are_damage() {
        let mut gaps = GapCheck::after("s", 4);
        assert_eq!(gaps.check(&key(5)).unwrap(), 5);
        for row in [key(5), key(7), "head".to_owned(), "6".to_owned()] {
            assert!(matches!(gaps.check(&row), Err(Error::InvalidRow { .. })), "{row}");
        }
        assert_eq!(gaps.check(&key(6)).unwrap(), 6);
    }
}
