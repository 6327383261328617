//! Keys in the order of the service, by UTF-16 code units.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::sync::Arc;

use crate::key::ordinal;

/// The PartitionKey and the RowKey of a row.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct StoredKey {
    pub(crate) partition: Box<str>,
    pub(crate) row: Box<str>,
}

impl StoredKey {
    pub(crate) fn new(partition: impl Into<Box<str>>, row: impl Into<Box<str>>) -> Self {
        Self { partition: partition.into(), row: row.into() }
    }
}

/// A PartitionKey, in the order of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OrderedKey(pub(crate) Arc<str>);

/// The text of an owned or borrowed key. Maps of [`OrderedKey`]s are searched with borrowed keys.
pub(crate) trait KeyText {
    fn text(&self) -> &str;
}

impl KeyText for OrderedKey {
    fn text(&self) -> &str {
        &self.0
    }
}

impl KeyText for &str {
    fn text(&self) -> &str {
        self
    }
}

impl<'a> Borrow<dyn KeyText + 'a> for OrderedKey {
    fn borrow(&self) -> &(dyn KeyText + 'a) {
        self
    }
}

impl Ord for dyn KeyText + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        ordinal(self.text(), other.text())
    }
}

impl PartialOrd for dyn KeyText + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for dyn KeyText + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for dyn KeyText + '_ {}

impl Ord for OrderedKey {
    fn cmp(&self, other: &Self) -> Ordering {
        ordinal(&self.0, &other.0)
    }
}

impl PartialOrd for OrderedKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The order of two rows of a table, by PartitionKey and RowKey.
pub(crate) fn by_keys(a: (&str, &str), b: (&str, &str)) -> Ordering {
    ordinal(a.0, b.0).then_with(|| ordinal(a.1, b.1))
}
