use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use uuid::Uuid;

use super::report::{BulkReport, Cause, Progress, RowOutcome, RowResult};
use super::{Checkpoint, KEPT_RESULTS};
use crate::clock::SharedClock;
use crate::entity::new_write_id;

/// Looks at a run from outside: while it goes on, and after its future was dropped.
///
/// A dropped run loses nothing that was answered: the [`checkpoint`](Self::checkpoint) has every row
/// whose outcome came, and leaves out those that were on their way.
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

    /// How far the run is.
    pub fn progress(&self) -> Progress {
        let state = self.state();
        let elapsed =
            state.start.as_ref().map(|(start, clock)| clock.since(*start)).unwrap_or_default();
        Progress { elapsed, ..state.progress }
    }

    /// What is settled.
    pub fn checkpoint(&self) -> Checkpoint {
        self.state().checkpoint.clone()
    }

    /// What became of the rows so far, in the order in which they ended.
    pub fn report(&self) -> BulkReport {
        let progress = self.progress();
        let state = self.state();
        BulkReport {
            progress,
            results: state.results.clone(),
            checkpoint: state.checkpoint.clone(),
            stopped: state.stopped.clone(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is one step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run goes on from there.
    pub(super) fn resume(&self, checkpoint: Checkpoint) {
        self.state().checkpoint = checkpoint;
    }

    /// Begins a run. Returns its id, that of the run which it resumes or a new one, and whether it resumes
    /// an earlier run.
    pub(super) fn begin(&self, keeps_all: bool, clock: &SharedClock) -> (Uuid, bool) {
        let mut state = self.state();
        let is_resumed = state.checkpoint != Checkpoint::new();
        let id = *state.checkpoint.run_id.get_or_insert_with(new_write_id);
        state.start = Some((clock.instant(), Arc::clone(clock)));
        state.keeps_all = keeps_all;
        (id, is_resumed)
    }

    pub(super) fn update(&self, change: impl FnOnce(&mut Progress)) {
        change(&mut self.state().progress);
    }

    pub(super) fn stop(&self, cause: Cause) {
        self.state().stopped.get_or_insert(cause);
    }

    /// A row was read. `false` if it was settled before.
    pub(super) fn read(&self, index: u64) -> bool {
        let mut state = self.state();
        let is_settled = state.checkpoint.is_settled(index);
        state.progress.read += 1;
        state.progress.skipped += u64::from(is_settled);
        !is_settled
    }

    /// Takes down the outcomes of rows.
    pub(super) fn finish(&self, results: &[RowResult]) {
        let mut state = self.state();
        for result in results {
            let progress = &mut state.progress;
            match result.outcome {
                RowOutcome::Applied { .. } => progress.applied += 1,
                RowOutcome::Failed(_) => progress.failed += 1,
                RowOutcome::NotAttempted(_) => progress.not_attempted += 1,
                RowOutcome::Unknown(_) => progress.unknown += 1,
            }
            match &result.outcome {
                RowOutcome::Applied { .. } => state.checkpoint.settle(result.index),
                outcome if outcome.is_settled() => state.checkpoint.refuse(result.index),
                _ => {}
            }
            let keeps =
                state.keeps_all || (!result.is_applied() && state.results.len() < KEPT_RESULTS);
            if keeps {
                state.results.push(result.clone());
            }
        }
    }

    /// The report of a run that is over.
    pub(super) fn into_report(self) -> BulkReport {
        self.state().results.sort_by_key(|result| result.index);
        self.report()
    }
}

impl fmt::Debug for BulkMonitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BulkMonitor").field("progress", &self.progress()).finish_non_exhaustive()
    }
}
