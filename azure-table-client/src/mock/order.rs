//! Keys in the order of the service.

use std::borrow::Borrow;
use std::cmp::Ordering;

use crate::entity::ordinal;

/// PartitionKey and RowKey, in the order of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoredKey {
    pub(super) partition: Box<str>,
    pub(super) row: Box<str>,
}

impl StoredKey {
    pub(super) fn new(partition: impl Into<Box<str>>, row: impl Into<Box<str>>) -> Self {
        Self { partition: partition.into(), row: row.into() }
    }
}

/// Both keys, owned or not: a map of [`StoredKey`]s is searched with borrowed ones.
pub(super) trait Keys {
    /// PartitionKey and RowKey.
    fn keys(&self) -> (&str, &str);
}

impl Keys for StoredKey {
    fn keys(&self) -> (&str, &str) {
        (&self.partition, &self.row)
    }
}

impl Keys for (&str, &str) {
    fn keys(&self) -> (&str, &str) {
        *self
    }
}

impl<'a> Borrow<dyn Keys + 'a> for StoredKey {
    fn borrow(&self) -> &(dyn Keys + 'a) {
        self
    }
}

impl Ord for dyn Keys + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        let (a, b) = (self.keys(), other.keys());
        ordinal(a.0, b.0).then_with(|| ordinal(a.1, b.1))
    }
}

impl PartialOrd for dyn Keys + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for dyn Keys + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.keys() == other.keys()
    }
}

impl Eq for dyn Keys + '_ {}

impl Ord for StoredKey {
    fn cmp(&self, other: &Self) -> Ordering {
        <dyn Keys>::cmp(self, other)
    }
}

impl PartialOrd for StoredKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
