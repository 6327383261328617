//! The outcomes of rows.

use std::sync::Arc;

use super::super::chunk::Chunk;
use super::super::operation::Row;
use super::super::report::Cause;
use super::Run;
use super::response::{NextStep, read_back};
use crate::error::{Error, Outcome};
use crate::operation::Committed;
use crate::operation::{Confirmation, WriteOutcome, WriteResult};
use crate::outcome;

/// The maximum number of rows that may end without being resolved before the run ends. Their keys are remembered, and
/// the checkpoint lists them one by one.
const UNRESOLVED_ROWS: usize = 100_000;

impl Run {
    /// Ends the rows of a chunk that is not sent again. They are read back if they may have been applied.
    pub(super) fn give_up(&mut self, chunk: Chunk, error: Error, next: NextStep) {
        let id = error.client_request_id().unwrap_or_default().to_owned();
        let error = error.with_attempts(chunk.attempts, &id);
        let name = Arc::clone(&chunk.partition);
        let cause = Arc::new(error.clone());
        if error.outcome() == Outcome::Applied {
            // The service applied the chunk, and its response lacks the ETags.
            let confirmation = Confirmation::Response;
            self.end_chunk(chunk, &WriteOutcome::Applied { etag: None, confirmation });
        } else if chunk.open.is_some() {
            self.read_back(chunk, &error);
        } else {
            self.end_chunk(chunk, &WriteOutcome::Failed(Arc::clone(&cause)));
        }
        let error = cause;
        match next {
            NextStep::Close => {
                let (left, open) = self.window.close(&name, &error);
                self.health.closed += 1;
                self.not_attempted(left, &error);
                for chunk in open {
                    self.read_back(chunk, &error);
                }
            }
            NextStep::End => self.stop(&error),
            NextStep::Again | NextStep::GiveUp => {}
        }
    }

    pub(super) fn applied(&mut self, chunk: Chunk, committed: Committed) {
        let Committed { operations, response } = committed;
        let rows = chunk.rows.into_iter().zip(operations);
        self.end(rows.map(|(row, result)| {
            (row, WriteOutcome::Applied { etag: result.etag, confirmation: response.confirmation })
        }));
    }

    /// Reads back the rows of a chunk that may have been applied, and that is not sent again.
    fn read_back(&mut self, chunk: Chunk, error: &Error) {
        let chunks =
            if chunk.needs_proof_by_row() { chunk.split(&self.window.target) } else { vec![chunk] };
        for chunk in chunks {
            let response = read_back(Arc::clone(&self.core), chunk, self.options(), error.clone());
            self.in_flight.push(Box::pin(response));
        }
    }

    /// Ends the rows of a chunk that were read back.
    pub(super) fn resolved(&mut self, chunk: Chunk, result: Result<Committed, Error>) {
        let error = match result {
            Ok(committed) => return self.applied(chunk, committed),
            Err(error) => error,
        };
        let is_unknown = error.outcome() == Outcome::Unknown;
        let ended = if is_unknown { WriteOutcome::Unknown } else { WriteOutcome::Failed };
        self.end_chunk(chunk, &ended(Arc::new(error)));
    }

    /// Sends nothing more.
    fn stop(&mut self, error: &Arc<Error>) {
        if self.fatal.is_none() {
            self.fatal = Some(Arc::clone(error));
            self.monitor.stop(Arc::clone(error) as Cause);
            let (left, open) = self.window.close_all(error);
            self.not_attempted(left, error);
            for chunk in open {
                self.read_back(chunk, error);
            }
        }
    }

    /// Ends the rows of a chunk that would have been sent again.
    pub(super) fn abandon(&mut self, chunk: Chunk, error: &Arc<Error>) {
        if chunk.open.is_some() {
            return self.read_back(chunk, error);
        }
        let outcome = self.unsent(error);
        self.end_chunk(chunk, &outcome);
    }

    fn end_chunk(&mut self, chunk: Chunk, outcome: &WriteOutcome) {
        self.end(chunk.rows.into_iter().map(|row| (row, outcome.clone())));
    }

    /// Sets the outcomes of rows in the window.
    pub(super) fn end(&mut self, rows: impl IntoIterator<Item = (Row, WriteOutcome)>) {
        let now = self.core.clock.instant();
        let mut results = Vec::new();
        for (row, outcome) in rows {
            let open = outcome.cause().filter(|_| !outcome.is_resolved()).cloned();
            let stuck = self.window.end(&row, open.as_ref(), now);
            results.push(self.result(row, outcome));
            if let Some(error) = open {
                self.count_unresolved(1, &error);
                self.not_attempted(stuck, &error);
            }
        }
        self.publish(&results);
    }

    /// Ends rows that are not sent.
    pub(super) fn not_attempted(&mut self, rows: Vec<Row>, error: &Arc<Error>) {
        self.count_unresolved(rows.len(), error);
        let outcome = self.unsent(error);
        let results: Vec<_> =
            rows.into_iter().map(|row| self.result(row, outcome.clone())).collect();
        self.publish(&results);
    }

    /// The outcome of a row that is not sent. The run that this one resumes may have sent it.
    fn unsent(&self, error: &Arc<Error>) -> WriteOutcome {
        match self.earlier {
            Some(_) => WriteOutcome::Unknown(Arc::new(outcome::unknown((**error).clone()))),
            None => WriteOutcome::NotAttempted(Arc::clone(error)),
        }
    }

    fn result(&self, row: Row, outcome: WriteOutcome) -> WriteResult {
        let Row { index, key, request, .. } = row;
        let table = Arc::clone(&self.window.target.table);
        WriteResult { index, table, operation: request.operation, key: Some(key), outcome }
    }

    pub(super) fn count_unresolved(&mut self, rows: usize, error: &Arc<Error>) {
        self.health.unresolved += rows;
        if self.health.unresolved > UNRESOLVED_ROWS {
            self.stop(error);
        }
    }

    pub(super) fn publish(&mut self, results: &[WriteResult]) {
        self.monitor.finish(results);
        if let Some(on_row) = &mut self.callbacks.row {
            for result in results {
                on_row(result);
            }
        }
    }

    pub(super) fn report_progress(&mut self) {
        if let Some(on_progress) = &mut self.callbacks.progress {
            on_progress(&self.monitor.progress());
        }
    }
}
