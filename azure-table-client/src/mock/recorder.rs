//! What was asked of the service: for a test's assertions.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::filter::PlanKind;
use crate::wire::Operation;

/// Requests that are kept one by one; all are counted.
const KEPT: usize = 10_000;

/// A request that was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedRequest {
    /// What it asked for.
    pub operation: Operation,
    /// How many operations were in it: those of a batch that could be read, else 1.
    pub operations: usize,
    /// The table, if it was about one.
    pub table: Option<String>,
    /// The HTTP status of the answer.
    pub status: u16,
    /// How much of the table a point read or a query looked at.
    pub plan: Option<PlanKind>,
    /// The rows that it looked at.
    pub scanned_rows: usize,
}

#[derive(Debug, Default)]
pub(super) struct Recorder(Mutex<Record>);

#[derive(Debug, Default)]
struct Record {
    kept: VecDeque<RecordedRequest>,
    counts: HashMap<Operation, usize>,
    table_scans: usize,
    scanned_rows: usize,
}

impl Recorder {
    pub(super) fn add(&self, request: RecordedRequest) {
        let mut record = self.lock();
        *record.counts.entry(request.operation).or_default() += 1;
        record.table_scans += usize::from(request.plan == Some(PlanKind::TableScan));
        record.scanned_rows += request.scanned_rows;
        if record.kept.len() == KEPT {
            record.kept.pop_front();
        }
        record.kept.push_back(request);
    }

    pub(super) fn requests(&self) -> Requests<'_> {
        Requests(self)
    }

    fn lock(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was asked of a service so far.
pub struct Requests<'a>(&'a Recorder);

impl Requests<'_> {
    /// How many requests asked for this, refused ones included.
    pub fn count(&self, operation: Operation) -> usize {
        self.0.lock().counts.get(&operation).copied().unwrap_or(0)
    }

    /// How many requests there were.
    pub fn total(&self) -> usize {
        self.0.lock().counts.values().sum()
    }

    /// How many queries looked at a whole table.
    pub fn table_scans(&self) -> usize {
        self.0.lock().table_scans
    }

    /// How many rows were looked at by point reads and queries, found or not.
    pub fn scanned_rows(&self) -> usize {
        self.0.lock().scanned_rows
    }

    /// The last request.
    pub fn last(&self) -> Option<RecordedRequest> {
        self.0.lock().kept.back().cloned()
    }

    /// The requests in order, at most the last 10,000.
    pub fn all(&self) -> Vec<RecordedRequest> {
        self.0.lock().kept.iter().cloned().collect()
    }

    /// Forgets all requests, so that a test can count from here.
    pub fn clear(&self) {
        *self.0.lock() = Record::default();
    }
}

impl fmt::Debug for Requests<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Requests").field("total", &self.total()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_all_but_keeps_the_last_ones() {
        let recorder = Recorder::default();
        for status in 0..10_005 {
            recorder.add(RecordedRequest {
                operation: Operation::Query,
                operations: 1,
                table: None,
                status,
                plan: Some(PlanKind::TableScan),
                scanned_rows: 2,
            });
        }
        let requests = recorder.requests();
        assert_eq!((requests.total(), requests.count(Operation::Query)), (10_005, 10_005));
        assert_eq!((requests.table_scans(), requests.scanned_rows()), (10_005, 20_010));
        assert_eq!((requests.all().len(), requests.all()[0].status), (10_000, 5));
        requests.clear();
        assert_eq!((requests.total(), requests.scanned_rows(), requests.last()), (0, 0, None));
    }
}
