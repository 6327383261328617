//! The requests of a bulk run, for dry runs. No I/O.

use std::collections::{BTreeMap, HashMap};
use std::mem;

use azure_table_client::{Dialect, Operation};

use crate::args::Rate;
use crate::requests::Requests;

/// The rows that a bulk run holds at once. Then it sends those of the partition that has waited longest.
const WINDOW_ROWS: usize = 20_000;

/// Counts the transactions into which a bulk run groups its rows.
///
/// The run itself may send more: it does not wait for a full transaction while its input is slow, at most once for each
/// page or chunk of the input.
#[derive(Debug)]
pub(crate) struct Writes {
    /// The operation of a row that is sent alone.
    alone: Operation,
    most_rows: usize,
    most_bytes: usize,
    /// The rows of each partition that are not sent yet.
    waiting: HashMap<String, Part>,
    waiting_rows: usize,
    /// The partitions with such rows, by the number of their first one.
    order: BTreeMap<u64, String>,
    rows: u64,
    requests: Requests,
}

/// The rows of a transaction that is not full.
#[derive(Debug, Default)]
struct Part {
    first: u64,
    rows: usize,
    bytes: usize,
}

impl Writes {
    pub(crate) fn new(alone: Operation, dialect: Dialect, rate: Rate) -> Self {
        Self {
            alone,
            most_rows: rate.transaction_rows(),
            most_bytes: dialect.transaction_bytes(),
            waiting: HashMap::new(),
            waiting_rows: 0,
            order: BTreeMap::new(),
            rows: 0,
            requests: Requests::default(),
        }
    }

    /// Adds a row with about this number of bytes.
    pub(crate) fn add(&mut self, partition: &str, bytes: usize) {
        self.rows += 1;
        let is_too_large = |part: &Part| part.bytes + bytes > self.most_bytes;
        if self.waiting.get(partition).is_some_and(is_too_large) {
            self.send(partition);
        }
        if !self.waiting.contains_key(partition) {
            let part = Part { first: self.rows, ..Part::default() };
            self.waiting.insert(partition.to_owned(), part);
            self.order.insert(self.rows, partition.to_owned());
        }
        let Some(part) = self.waiting.get_mut(partition) else { return };
        part.rows += 1;
        part.bytes += bytes;
        self.waiting_rows += 1;
        if part.rows == self.most_rows {
            self.send(partition);
        }
        if self.waiting_rows >= WINDOW_ROWS
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.send(&oldest);
        }
    }

    fn send(&mut self, partition: &str) {
        let Some(part) = self.waiting.remove(partition) else { return };
        self.order.remove(&part.first);
        self.waiting_rows -= part.rows;
        let operation = if part.rows == 1 { self.alone } else { Operation::Transaction };
        self.requests = mem::take(&mut self.requests).with(operation, 1);
    }

    /// The requests for all rows.
    pub(crate) fn requests(mut self) -> Requests {
        while let Some((_, oldest)) = self.order.pop_first() {
            self.send(&oldest);
        }
        self.requests
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(rows: impl Iterator<Item = (String, usize)>, rate: Option<u32>) -> Requests {
        let rate = rate.map_or_else(Rate::default, Rate::of_rows);
        let mut writes = Writes::new(Operation::Delete, Dialect::AzureStorage, rate);
        rows.for_each(|(partition, bytes)| writes.add(&partition, bytes));
        writes.requests()
    }

    fn partitions(rows: usize, number: usize) -> impl Iterator<Item = (String, usize)> {
        (0..rows).map(move |row| (format!("p{}", row % number), 10))
    }

    #[test]
    fn a_transaction_has_100_rows_of_a_partition() {
        for (rows, of_partitions, expected) in [
            (0, 1, "0 billable requests"),
            (1, 1, "1 billable request: 1 Delete"),
            (100, 1, "1 billable request: 1 Transaction"),
            (201, 1, "3 billable requests: 1 Delete, 2 Transaction"),
            (1_000, 3, "12 billable requests: 12 Transaction"),
            (50_000, 1, "500 billable requests: 500 Transaction"),
        ] {
            assert_eq!(requests(partitions(rows, of_partitions), None).to_string(), expected);
        }
    }

    #[test]
    fn rows_that_are_far_apart_are_in_different_transactions() {
        // A window has 20 rows of each partition on average, and up to twice as many of the one that is sent.
        let apart = requests(partitions(600_000, 1_000), None).total();
        assert!((15_000..20_000).contains(&apart), "{apart}");
        let sorted = (0..60_000).map(|row| (format!("p{}", row / 6), 10));
        assert_eq!(requests(sorted, None).total(), 10_000);
        // A partition that crosses the end of a window is not cut there.
        let long = (0..60_000).map(|row| (format!("p{}", row / 150), 10));
        assert_eq!(requests(long, None).total(), 800);
    }

    #[test]
    fn large_rows_and_low_rates_need_more_transactions() {
        let large = (0..8).map(|_| ("p".to_owned(), 1024 * 1024));
        assert_eq!(requests(large, None).of(Operation::Transaction), 2);
        assert_eq!(requests(partitions(100, 1), Some(40)).of(Operation::Transaction), 10);
        assert_eq!(requests(partitions(3, 1), Some(1)).of(Operation::Delete), 3);
    }
}
