//! What a dry run prints: the rows that it found, their partitions, and about how many requests a run would use.

use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};

use azure_table_client::limits::{PAGE_ENTITIES, TRANSACTION_OPERATIONS};

use crate::progress::{counted, grouped};

/// The rows that a dry run found.
#[derive(Debug, Default)]
pub(crate) struct Estimate {
    rows: u64,
    /// Hashes need less memory than keys.
    partitions: HashSet<u64>,
    hasher: RandomState,
}

impl Estimate {
    pub(crate) fn add(&mut self, partition: &str) {
        self.rows += 1;
        self.partitions.insert(self.hasher.hash_one(partition));
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// The requests that read the rows: pages of 1,000.
    pub(crate) fn reads(&self) -> u64 {
        pages(self.rows)
    }

    /// The requests that write the rows: transactions of 100 rows, each in one partition.
    pub(crate) fn writes(&self) -> u64 {
        let transactions = self.rows.div_ceil(TRANSACTION_OPERATIONS as u64);
        transactions.max(self.partitions.len() as u64)
    }
}

/// Writes `801 rows in 5 partitions`.
impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let partitions = counted(self.partitions.len() as u64, "partition");
        write!(f, "{} in {partitions}", counted(self.rows, "row"))
    }
}

/// The requests that read this number of rows.
pub(crate) fn pages(rows: u64) -> u64 {
    rows.div_ceil(PAGE_ENTITIES.into()).max(1)
}

/// The last line of a dry run. Large rows, partitions whose rows are far apart, retries and low rates need more requests.
pub(crate) fn line(requests: u64) -> String {
    let noun = if requests == 1 { "request" } else { "requests" };
    format!("the run would use about {} {noun}\n", grouped(requests))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_1000_rows_and_a_transaction_100_of_one_partition() {
        let mut found = Estimate::default();
        assert_eq!((found.reads(), found.writes(), found.rows()), (1, 0, 0));
        for row in 0..2_001 {
            found.add(["a", "b"][row % 2]);
        }
        assert_eq!((found.reads(), found.writes()), (3, 21));
        for row in 0..100 {
            found.add(&row.to_string());
        }
        assert_eq!((found.reads(), found.writes()), (3, 102));
        assert_eq!(found.to_string(), "2,101 rows in 102 partitions");
        assert_eq!(line(1), "the run would use about 1 request\n");
        assert_eq!(line(2_300), "the run would use about 2,300 requests\n");
    }
}
