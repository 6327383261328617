//! The state of a partition in the window. No I/O: time is an argument.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use super::super::chunk::Chunk;
use super::super::operation::Row;
use super::super::rate_limit::RateLimit;
use crate::error::Error;
use crate::limits::TRANSACTION_OPERATIONS;

/// The position of a partition in the queue; equal ones are in the order of their arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Turn {
    /// The partition has a full chunk.
    Full(u64),
    /// The partition has rows that do not fill a chunk.
    Part(u64),
    /// The partition waits until this time.
    Later(Instant, u64),
}

#[derive(Debug, Default)]
pub(super) struct PartitionQueue {
    /// The rows that can be sent, at most one of each key.
    pub(super) ready: VecDeque<Row>,
    pub(super) ready_bytes: usize,
    /// The rows that wait for a row with the same key, for each key that is ready or in flight.
    pub(super) waiting: HashMap<String, VecDeque<Row>>,
    /// The chunks that will be sent again.
    pub(super) again: VecDeque<Chunk>,
    /// The keys with an unresolved operation, and its error. Later operations on such a key must wait for it, even in
    /// another run.
    pub(super) open: HashMap<String, Arc<Error>>,
    /// The error after which no more of its rows are sent.
    pub(super) closed: Option<Arc<Error>>,
    /// The time of the first failure since the last success.
    pub(super) failing_since: Option<Instant>,
    pub(super) rate_limit: RateLimit,
    pub(super) turn: Option<Turn>,
    /// The time at which it entered the queue.
    pub(super) queued_since: Option<Instant>,
}

impl PartitionQueue {
    pub(super) fn is_full(&self, most_bytes: usize) -> bool {
        !self.again.is_empty()
            || self.ready.len() >= TRANSACTION_OPERATIONS
            || self.ready_bytes >= most_bytes
    }

    pub(super) fn put(&mut self, row: Row) {
        self.ready_bytes += row.bytes();
        self.ready.push_back(row);
    }

    /// The error that prevents a row with this key from being sent.
    pub(super) fn obstacle(&self, row_key: &str) -> Option<&Arc<Error>> {
        self.closed.as_ref().or_else(|| self.open.get(row_key))
    }

    /// Frees the memory of rows that have ended: an input with many partitions leaves many without rows.
    pub(super) fn release_memory(&mut self) {
        self.ready.shrink_to_fit();
        self.waiting.shrink_to_fit();
        self.again.shrink_to_fit();
        self.open.shrink_to_fit();
    }

    /// Whether the partition has no state to keep besides its rate limit.
    pub(super) fn is_forgettable(&self) -> bool {
        self.waiting.is_empty() && self.open.is_empty() && self.closed.is_none()
    }
}
