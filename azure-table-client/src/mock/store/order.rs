//! Keys in the order of the service: by UTF-16 code unit.

use std::borrow::Borrow;
use std::cmp::Ordering;

use crate::entity::ordinal;

/// The PartitionKey and the RowKey of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::mock) struct StoredKey {
    pub(in crate::mock) partition: Box<str>,
    pub(in crate::mock) row: Box<str>,
}

impl StoredKey {
    pub(in crate::mock) fn new(partition: impl Into<Box<str>>, row: impl Into<Box<str>>) -> Self {
        Self { partition: partition.into(), row: row.into() }
    }
}

/// A PartitionKey or a RowKey, in the order of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::mock) struct Key(pub(super) Box<str>);

/// The text of a key, owned or not: a map of [`Key`]s is searched with borrowed ones.
pub(super) trait Text {
    fn text(&self) -> &str;
}

impl Text for Key {
    fn text(&self) -> &str {
        &self.0
    }
}

impl Text for &str {
    fn text(&self) -> &str {
        self
    }
}

impl<'a> Borrow<dyn Text + 'a> for Key {
    fn borrow(&self) -> &(dyn Text + 'a) {
        self
    }
}

impl Ord for dyn Text + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        ordinal(self.text(), other.text())
    }
}

impl PartialOrd for dyn Text + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for dyn Text + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for dyn Text + '_ {}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        ordinal(&self.0, &other.0)
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The order of two rows of a table, by PartitionKey and RowKey.
pub(in crate::mock) fn by_keys(a: (&str, &str), b: (&str, &str)) -> Ordering {
    ordinal(a.0, b.0).then_with(|| ordinal(a.1, b.1))
}
