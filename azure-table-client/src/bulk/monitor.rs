use std::sync::{Arc, Mutex};
use std::time::Instant;

use uuid::Uuid;

use super::report::{BulkReport, Cause, Progress, RowOutcome, RowResult};
use super::{Checkpoint, KEPT_RESULTS};
use crate::clock::SharedClock;
use crate::error::Error;
use crate::lock::lock;

/// Observes a run, also after its future was dropped.
///
/// A dropped run loses no response: the [`checkpoint`](Self::checkpoint) has every row with an outcome, and leaves
/// out the rows in flight.
#[derive(Clone)]
pub struct BulkMonitor(Arc<Mutex<State>>);

struct State {
    progress: Progress,
    start: Option<(Instant, SharedClock)>,
    checkpoint: Checkpoint,
    results: Vec<RowResult>,
    keeps_all: bool,
    stopped: Option<Cause>,
}

impl BulkMonitor {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            progress: Progress::default(),
            start: None,
            checkpoint: Checkpoint::new(),
            results: Vec::new(),
            keeps_all: false,
            stopped: None,
        })))
    }

    /// The progress of the run.
    pub fn progress(&self) -> Progress {
        let state = lock(&self.0);
        let elapsed =
            state.start.as_ref().map(|(start, clock)| clock.since(*start)).unwrap_or_default();
        Progress { elapsed, ..state.progress }
    }

    /// The resolved rows.
    pub fn checkpoint(&self) -> Checkpoint {
        lock(&self.0).checkpoint.clone()
    }

    /// The outcomes so far, in the order in which the rows ended.
    pub fn report(&self) -> BulkReport {
        let progress = self.progress();
        let state = lock(&self.0);
        BulkReport {
            progress,
            results: state.results.clone(),
            checkpoint: state.checkpoint.clone(),
            stopped: state.stopped.clone(),
        }
    }

    /// Sets the checkpoint from which the run resumes.
    pub(super) fn resume(&self, checkpoint: Checkpoint) {
        lock(&self.0).checkpoint = checkpoint;
    }

    /// Begins a run. Returns its id, which is that of the run that it resumes or a new one, and whether it resumes an
    /// earlier run.
    pub(super) fn begin(
        &self,
        keeps_all: bool,
        clock: &SharedClock,
    ) -> Result<(Uuid, bool), Error> {
        let mut state = lock(&self.0);
        let is_resumed = state.checkpoint != Checkpoint::new();
        let id = state.checkpoint.run_id.map_or_else(|| clock.random_id(), Ok)?;
        state.checkpoint.run_id = Some(id);
        state.start = Some((clock.instant(), Arc::clone(clock)));
        state.keeps_all = keeps_all;
        Ok((id, is_resumed))
    }

    pub(super) fn update(&self, change: impl FnOnce(&mut Progress)) {
        change(&mut lock(&self.0).progress);
    }

    pub(super) fn stop(&self, cause: Cause) {
        lock(&self.0).stopped.get_or_insert(cause);
    }

    /// Counts a row that was read. Returns `false` if it is already resolved.
    pub(super) fn read(&self, index: u64) -> bool {
        let mut state = lock(&self.0);
        let is_resolved = state.checkpoint.is_resolved(index);
        state.progress.read += 1;
        state.progress.skipped += u64::from(is_resolved);
        !is_resolved
    }

    /// Takes down the outcomes of rows.
    pub(super) fn finish(&self, results: &[RowResult]) {
        let mut state = lock(&self.0);
        for result in results {
            let progress = &mut state.progress;
            match result.outcome {
                RowOutcome::Applied { .. } => progress.applied += 1,
                RowOutcome::Failed(_) => progress.failed += 1,
                RowOutcome::NotAttempted(_) => progress.not_attempted += 1,
                RowOutcome::Unknown(_) => progress.unknown += 1,
            }
            match &result.outcome {
                RowOutcome::Applied { .. } => state.checkpoint.resolve(result.index),
                outcome if outcome.is_resolved() => state.checkpoint.refuse(result.index),
                _ => {}
            }
            let keeps =
                state.keeps_all || (!result.is_applied() && state.results.len() < KEPT_RESULTS);
            if keeps {
                state.results.push(result.clone());
            }
        }
    }

    /// Returns the report of a run that ended.
    pub(super) fn into_report(self) -> BulkReport {
        lock(&self.0).results.sort_by_key(|result| result.index);
        self.report()
    }
}

opaque_debug!(BulkMonitor, |it| progress: it.progress());
