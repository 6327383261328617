//! The partitions with the most rows.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::failure::{Exit, Failure, Result};
use crate::key_order::{advice, compare_texts};

/// Counts the rows of partitions and keeps the largest ones.
#[derive(Debug)]
pub(crate) struct Largest {
    /// The number of partitions that are kept.
    most: usize,
    counter: Counter,
    /// The smallest of them is at the top; of equal ones, the one with the largest key.
    kept: BinaryHeap<Reverse<(u64, Reverse<String>)>>,
    partitions: u64,
}

#[derive(Debug)]
enum Counter {
    /// The rows of each partition follow each other: only the current one is in memory.
    InOrder(Option<(String, u64)>),
    /// The rows come in any order: all partitions are in memory.
    InAnyOrder(HashMap<String, u64>),
}

/// A partition and the number of its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Partition {
    pub(super) key: String,
    pub(super) rows: u64,
}

impl Largest {
    pub(super) fn new(most: usize, has_key_order: bool) -> Self {
        let counter = if has_key_order {
            Counter::InOrder(None)
        } else {
            Counter::InAnyOrder(HashMap::new())
        };
        Self { most, counter, kept: BinaryHeap::new(), partitions: 0 }
    }

    /// Counts a row of this partition. If the rows come in order, a smaller key than the one before is an error: the
    /// partition may have been counted already.
    pub(super) fn add(&mut self, key: String) -> Result<()> {
        match &mut self.counter {
            Counter::InOrder(Some((current, rows))) if *current == key => *rows += 1,
            Counter::InOrder(Some((current, _))) if compare_texts(current, &key).is_gt() => {
                let message = format!(
                    "the table is not in key order: the PartitionKey {key:?} comes after {current:?}; {}",
                    advice("--dialect")
                );
                return Err(Failure::new(Exit::Failed, message));
            }
            Counter::InOrder(current) => {
                if let Some((key, rows)) = current.replace((key, 1)) {
                    self.keep(key, rows);
                }
            }
            Counter::InAnyOrder(counts) => *counts.entry(key).or_default() += 1,
        }
        Ok(())
    }

    fn keep(&mut self, key: String, rows: u64) {
        self.partitions += 1;
        self.kept.push(Reverse((rows, Reverse(key))));
        if self.kept.len() > self.most {
            self.kept.pop();
        }
    }

    /// Returns the largest partitions, the largest first, and the number of all partitions.
    pub(super) fn finish(mut self) -> (Vec<Partition>, u64) {
        let counter = std::mem::replace(&mut self.counter, Counter::InOrder(None));
        match counter {
            Counter::InOrder(current) => {
                if let Some((key, rows)) = current {
                    self.keep(key, rows);
                }
            }
            Counter::InAnyOrder(counts) => {
                for (key, rows) in counts {
                    self.keep(key, rows);
                }
            }
        }
        let sorted = self.kept.into_sorted_vec().into_iter();
        let partitions = sorted.map(|Reverse((rows, Reverse(key)))| Partition { key, rows });
        (partitions.collect(), self.partitions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_partitions_come_first() {
        for has_key_order in [true, false] {
            let mut largest = Largest::new(3, has_key_order);
            for (key, rows) in [("a", 2), ("b", 5), ("c", 1), ("d", 2), ("e", 2)] {
                for _ in 0..rows {
                    largest.add(key.to_owned()).unwrap();
                }
            }
            let (partitions, all) = largest.finish();
            let expected = [("b", 5), ("a", 2), ("d", 2)]
                .map(|(key, rows)| Partition { key: key.to_owned(), rows });
            assert_eq!((partitions, all), (expected.to_vec(), 5));
        }
        assert_eq!(Largest::new(3, true).finish(), (Vec::new(), 0));
    }

    #[test]
    fn partitions_that_are_not_in_order_are_an_error() {
        let mut largest = Largest::new(3, true);
        for key in ["a", "a", "\u{1f600}", "\u{e000}", "\u{e000}"] {
            largest.add(key.to_owned()).unwrap();
        }
        let error = largest.add("b".to_owned()).unwrap_err();
        assert!(error.message().contains("--dialect cosmos"), "{error:?}");
    }

    #[test]
    fn rows_without_order_are_counted_together() {
        let mut largest = Largest::new(10, false);
        for key in ["a", "b", "a", "b", "a"] {
            largest.add(key.to_owned()).unwrap();
        }
        let (partitions, _) = largest.finish();
        assert_eq!(partitions.iter().map(|partition| partition.rows).collect::<Vec<_>>(), [3, 2]);
    }
}
