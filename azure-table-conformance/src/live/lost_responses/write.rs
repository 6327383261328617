//! A write to rows of its own, and whether they show it.

use std::collections::HashMap;
use std::fmt;

use azure_table_client::{Confirmation, DynamicEntity, ETag, Error, TableClient};

/// The property `Value` by the keys of the rows.
pub(super) type Rows = HashMap<(String, String), Option<i32>>;

type Table = TableClient<DynamicEntity>;

/// The value before a write.
const BEFORE: i32 = -1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Insert,
    Merge,
    Delete,
    InsertOrMerge,
    InsertOrReplace,
    /// Inserts row 1, merges row 2 and deletes row 3.
    Transaction,
    /// An insert of a row that exists, which the service refuses.
    InsertOfExisting,
    /// A merge that names a version which the row does not have, which the service refuses.
    StaleMerge,
}

const KINDS: [Kind; 8] = [
    Kind::Insert,
    Kind::Merge,
    Kind::Delete,
    Kind::InsertOrMerge,
    Kind::InsertOrReplace,
    Kind::Transaction,
    Kind::InsertOfExisting,
    Kind::StaleMerge,
];

/// A version that no row has.
const STALE: &str = "W/\"datetime'2000-01-01T00%3A00%3A00.0000000Z'\"";

/// A write to a partition of its own. Its number is the value that it writes.
#[derive(Debug)]
pub(super) struct Write {
    number: usize,
    kind: Kind,
    /// The versions of the rows 1 to 3 before the write, where they exist.
    etags: [Option<ETag>; 3],
}

impl Write {
    fn new(number: usize) -> Self {
        Self { number, kind: KINDS[number % KINDS.len()], etags: [None, None, None] }
    }

    #[cfg(test)]
    pub(super) fn of_test(number: usize) -> Self {
        Self::new(number)
    }

    /// Writes the rows that the write needs.
    pub(super) async fn prepare(number: usize, table: &Table) -> Result<Self, Error> {
        let mut write = Self::new(number);
        let rows: &[usize] = match write.kind {
            Kind::Insert => &[],
            Kind::Transaction => &[2, 3],
            _ => &[1],
        };
        for row in rows {
            let written = table.insert(&write.row(&row.to_string(), BEFORE)).await?;
            write.etags[row - 1] = Some(written.etag);
        }
        Ok(write)
    }

    /// The client of the write: each kind is sent by each client.
    pub(super) fn client(&self, clients: usize) -> usize {
        self.number / KINDS.len() % clients
    }

    pub(super) fn key(&self, row: &str) -> (String, String) {
        (format!("p{:05}", self.number), row.to_owned())
    }

    fn value(&self) -> i32 {
        i32::try_from(self.number).unwrap_or(i32::MAX)
    }

    fn row(&self, row: &str, value: i32) -> DynamicEntity {
        let (partition, row) = self.key(row);
        DynamicEntity::new(partition, row).with("Value", value)
    }

    /// The version of a row, which the write names as its condition.
    fn etag(&self, row: usize) -> ETag {
        self.etags[row - 1].clone().unwrap_or_else(|| ETag::from(STALE))
    }

    pub(super) async fn send(&self, table: &Table) -> Result<Confirmation, Error> {
        let row = self.row("1", self.value());
        match self.kind {
            Kind::Insert | Kind::InsertOfExisting => Ok(table.insert(&row).await?.confirmation),
            Kind::StaleMerge => Ok(table.merge(&row, ETag::from(STALE)).await?.confirmation),
            Kind::Merge => Ok(table.merge(&row, self.etag(1)).await?.confirmation),
            Kind::Delete => Ok(table.delete(self.key("1"), self.etag(1)).await?.confirmation),
            Kind::InsertOrMerge => Ok(table.insert_or_merge(&row).await?.confirmation),
            Kind::InsertOrReplace => Ok(table.insert_or_replace(&row).await?.confirmation),
            Kind::Transaction => {
                let transaction = table.transaction().insert(&row);
                let merged = self.row("2", self.value());
                let transaction = transaction.merge(&merged, self.etag(2));
                let transaction = transaction.delete(self.key("3"), self.etag(3));
                Ok(transaction.await?.response.confirmation)
            }
        }
    }

    /// Whether the service refuses the write.
    pub(super) fn is_refused(&self) -> bool {
        matches!(self.kind, Kind::InsertOfExisting | Kind::StaleMerge)
    }

    /// Whether the client of the write retries and sends ids.
    pub(super) fn has_retries_and_ids(&self, clients: usize) -> bool {
        self.client(clients) + 1 == clients
    }

    /// Whether the rows are those after the write or those before it; `None` for any other state.
    pub(super) fn was_applied(&self, rows: &Rows) -> Option<bool> {
        let (old, new) = (Some(BEFORE), Some(self.value()));
        let (before, after): (&[Option<i32>], &[Option<i32>]) = match self.kind {
            Kind::Insert => (&[None], &[new]),
            Kind::Delete => (&[old], &[None]),
            Kind::Transaction => (&[None, old, old], &[new, new, None]),
            _ => (&[old], &[new]),
        };
        let stored = (1..=before.len()).map(|row| rows.get(&self.key(&row.to_string())).copied());
        // A row without the value is in neither state.
        let stored: Vec<Option<i32>> =
            stored.map(|row| row.map(|value| value.unwrap_or(i32::MIN))).collect();
        if stored == after {
            Some(true)
        } else if stored == before {
            Some(false)
        } else {
            None
        }
    }
}

impl fmt::Display for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let retries = if self.client(4) < 2 { "without retries" } else { "with retries" };
        let ids = if self.client(4).is_multiple_of(2) { "without ids" } else { "with ids" };
        write!(f, "{:?} {} {retries} and {ids}", self.kind, self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_show_what_was_applied() {
        let states = |number: usize, values: [Option<i32>; 3]| {
            let write = Write::of_test(number);
            let rows = ["1", "2", "3"].into_iter().zip(values);
            let rows = rows.filter_map(|(row, value)| Some((write.key(row), Some(value?))));
            write.was_applied(&rows.collect())
        };
        // Write 0 inserts, 1 merges, 2 deletes, 5 is a transaction.
        assert_eq!(states(0, [Some(0), None, None]), Some(true));
        assert_eq!(states(0, [None; 3]), Some(false));
        assert_eq!(states(1, [Some(1), None, None]), Some(true));
        assert_eq!(states(1, [Some(-1), None, None]), Some(false));
        assert_eq!(states(1, [None; 3]), None);
        assert_eq!(states(2, [None; 3]), Some(true));
        assert_eq!(states(2, [Some(-1), None, None]), Some(false));
        assert_eq!(states(5, [Some(5), Some(5), None]), Some(true));
        assert_eq!(states(5, [None, Some(-1), Some(-1)]), Some(false));
        assert_eq!(states(5, [Some(5), Some(-1), Some(-1)]), None);
    }

    #[test]
    fn each_kind_is_sent_by_each_client() {
        let pairs: std::collections::HashSet<_> =
            (0..32).map(|n| (n % KINDS.len(), Write::of_test(n).client(4))).collect();
        assert_eq!(pairs.len(), 32);
    }
}
