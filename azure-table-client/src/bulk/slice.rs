//! Operations that are sent together.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use super::operation::Row;
use crate::operation::transaction::{Batch, Refused, Sent};
use crate::operation::{Request, Target};

/// The path of one operation alone; a longer one is sent in a batch, where it is no URL.
const PATH_BYTES: usize = 8 * 1024;

/// Rows of one partition that fit into one transaction. One row alone is sent without.
#[derive(Debug)]
pub(super) struct Slice {
    pub(super) partition: Arc<str>,
    pub(super) rows: Vec<Row>,
    request: Arc<Request>,
    /// What is in the transaction, if it is one.
    sent: Option<Arc<Sent>>,
    /// When it was sent first.
    pub(super) since: Option<Instant>,
    /// How often it was sent.
    pub(super) attempts: u32,
    /// How often it failed for reasons that pass.
    pub(super) failures: u32,
    /// How often rows of it were refused, in it or in those that it was cut from.
    pub(super) refusals: u32,
    /// When the last open attempt was sent: one that may have been applied, or may still be.
    pub(super) open: Option<Instant>,
    /// Whether an open attempt had its rows in other slices, so that the write id of one of them does not
    /// prove the whole slice.
    pub(super) is_regrouped: bool,
}

impl Slice {
    /// As many of the first rows as fit, but no more than `most`; `None` if there are none.
    pub(super) fn take(
        target: &Target,
        partition: &Arc<str>,
        rows: &mut VecDeque<Row>,
        most: usize,
    ) -> Option<Self> {
        let first = rows.pop_front()?;
        let alone = |row: Row| Self::new(partition, Arc::clone(&row.request), None, vec![row]);
        if (rows.is_empty() || most < 2) && first.request.path.len() <= PATH_BYTES {
            return Some(alone(first));
        }
        let mut batch = Batch::new(target.clone());
        if push(&mut batch, &first).is_err() {
            return Some(alone(first));
        }
        let mut taken = vec![first];
        while taken.len() < most
            && let Some(row) = rows.front()
            && push(&mut batch, row).is_ok()
        {
            taken.extend(rows.pop_front());
        }
        if taken.len() == 1
            && let Some(row) = taken.pop_if(|row| row.request.path.len() <= PATH_BYTES)
        {
            return Some(alone(row));
        }
        match batch.finish() {
            Ok((request, sent)) => {
                Some(Self::new(partition, Arc::new(request), Some(Arc::new(sent)), taken))
            }
            Err(_) => {
                // Nothing that was checked row by row comes here; one by one, each has its answer.
                let mut taken = VecDeque::from(taken);
                let first = taken.pop_front()?;
                taken.into_iter().rev().for_each(|row| rows.push_front(row));
                Some(alone(first))
            }
        }
    }

    fn new(
        partition: &Arc<str>,
        request: Arc<Request>,
        sent: Option<Arc<Sent>>,
        rows: Vec<Row>,
    ) -> Self {
        Self {
            partition: Arc::clone(partition),
            rows,
            request,
            sent,
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

    /// The bytes of the body.
    pub(super) fn bytes(&self) -> usize {
        self.request.body.len()
    }

    /// Whether each row has to be proved by itself.
    pub(super) fn needs_proof_by_row(&self) -> bool {
        self.is_regrouped && self.rows.len() > 1
    }

    /// The same rows, each by itself.
    pub(super) fn into_single(self, target: &Target) -> Vec<Self> {
        let Self { partition, since, open, refusals, .. } = self;
        let mut slices = Vec::new();
        for row in self.rows {
            let mut rows = VecDeque::from([row]);
            let slice = Self::take(target, &partition, &mut rows, 1);
            slices.extend(slice.map(|it| Self { since, refusals, open, is_regrouped: true, ..it }));
        }
        slices
    }

    /// What is in the transaction, if it is one.
    pub(super) fn sent(&self) -> Option<&Sent> {
        self.sent.as_deref()
    }

    /// The rest of a slice of which rows were refused: whole, or in halves if that was not the first
    /// refusal, so that many bad rows do not make as many large transactions.
    pub(super) fn cut(target: &Target, partition: &Arc<str>, rest: Rest) -> Vec<Self> {
        let Rest { rows, refusals, since, open, in_halves } = rest;
        let mut rows = VecDeque::from(rows);
        let most = if in_halves { rows.len().div_ceil(2) } else { rows.len() };
        let mut slices = Vec::new();
        while let Some(slice) = Self::take(target, partition, &mut rows, most) {
            slices.push(Self { since, refusals, open, is_regrouped: open.is_some(), ..slice });
        }
        slices
    }
}

/// What is left of a slice of which rows were refused.
#[derive(Debug)]
pub(super) struct Rest {
    pub(super) rows: Vec<Row>,
    pub(super) refusals: u32,
    pub(super) since: Option<Instant>,
    pub(super) open: Option<Instant>,
    pub(super) in_halves: bool,
}

fn push(batch: &mut Batch, row: &Row) -> Result<(), Refused> {
    batch.push(&row.request, &row.key.partition_key, &row.key.row_key)
}
