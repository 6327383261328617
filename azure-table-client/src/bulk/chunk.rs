//! Operations that are sent together.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::time::Instant;

use super::operation::Row;
use crate::error::OpenWrite;
use crate::operation::transaction::Batch;
use crate::operation::{Request, Target};

/// The maximum path of an operation outside a batch. In a batch, the path is not part of the URL.
const PATH_BYTES: usize = 8 * 1024;

/// The rows of one request: a transaction in one partition, or a single row.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) partition: Arc<str>,
    pub(super) rows: Vec<Row>,
    request: Arc<Request>,
    /// The time at which the chunk was first sent.
    pub(super) since: Option<Instant>,
    /// The number of times that it was sent.
    pub(super) attempts: u32,
    /// The number of transient failures.
    pub(super) failures: u32,
    /// The number of refusals of rows, in this chunk or in the chunks that it was split from.
    pub(super) refusals: u32,
    /// The attempts that may have been applied, or may be applied later.
    pub(super) open: Option<OpenWrite>,
    /// Whether an open attempt sent its rows in other chunks, so that the write id of one row does not prove the
    /// whole chunk.
    pub(super) is_regrouped: bool,
}

impl Chunk {
    /// Moves the first rows into a chunk: at most `most`, and no more than one transaction holds. Returns `None` if
    /// `rows` is empty.
    pub(super) fn take(
        target: &Target,
        partition: &Arc<str>,
        rows: &mut VecDeque<Row>,
        most: usize,
    ) -> Option<Self> {
        let first = rows.pop_front()?;
        let alone = |row: Row| Self::new(partition, Arc::clone(&row.request), vec![row]);
        if (rows.is_empty() || most < 2) && first.request.path.len() <= PATH_BYTES {
            return Some(alone(first));
        }
        let mut batch = Batch::new(target.clone());
        if batch.push(&first.request).is_err() {
            return Some(alone(first));
        }
        let mut taken = vec![first];
        while taken.len() < most
            && let Some(row) = rows.front()
            && batch.push(&row.request).is_ok()
        {
            taken.extend(rows.pop_front());
        }
        if taken.len() == 1
            && let Some(row) = taken.pop_if(|row| row.request.path.len() <= PATH_BYTES)
        {
            return Some(alone(row));
        }
        match batch.finish() {
            Ok(request) => Some(Self::new(partition, Arc::new(request), taken)),
            Err(_) => {
                // Rows that were checked one by one do not fail here. Sent one by one, each has a response.
                let mut taken = VecDeque::from(taken);
                let first = taken.pop_front()?;
                taken.into_iter().rev().for_each(|row| rows.push_front(row));
                Some(alone(first))
            }
        }
    }

    fn new(partition: &Arc<str>, request: Arc<Request>, rows: Vec<Row>) -> Self {
        Self {
            partition: Arc::clone(partition),
            rows,
            request,
            since: None,
            attempts: 0,
            failures: 0,
            refusals: 0,
            open: None,
            is_regrouped: false,
        }
    }

    pub(super) fn request(&self) -> &Request {
        &self.request
    }

    /// The size of the body.
    pub(super) fn bytes(&self) -> usize {
        self.request.body.len()
    }

    /// Whether each row needs a proof of its own.
    pub(super) fn needs_proof_by_row(&self) -> bool {
        self.is_regrouped && self.rows.len() > 1
    }

    /// Makes new chunks of rows of this one, each of at most `most`.
    pub(super) fn regroup(&self, target: &Target, rows: Vec<Row>, most: usize) -> Vec<Self> {
        let Self { ref partition, since, open, refusals, .. } = *self;
        let mut rows = VecDeque::from(rows);
        let take = || Self::take(target, partition, &mut rows, most);
        let chunks = std::iter::from_fn(take);
        chunks
            .map(|it| Self { since, refusals, open, is_regrouped: open.is_some(), ..it })
            .collect()
    }

    /// Makes a chunk of each row.
    pub(super) fn split(mut self, target: &Target) -> Vec<Self> {
        let rows = mem::take(&mut self.rows);
        self.regroup(target, rows, 1)
    }
}
