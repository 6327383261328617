use std::sync::{Arc, Mutex};
use std::time::Instant;

use uuid::Uuid;

use super::report::{BulkReport, Cause, Progress};
use super::{Checkpoint, KEPT_RESULTS};
use crate::clock::SharedClock;
use crate::error::Error;
use crate::lock::lock;
use crate::operation::{WriteOutcome, WriteResult};

/// Observes a run, also after its future was dropped.
///
/// A dropped run loses no response: the [`checkpoint`](Self::checkpoint) has every row with an outcome, and leaves
/// out the rows in flight.
#[derive(Clone)]
pub struct BulkMonitor(Arc<Mutex<RunStatus>>);

struct RunStatus {
    clock: SharedClock,
    progress: Progress,
    start: Option<Instant>,
    checkpoint: Checkpoint,
    /// Whether an earlier run may have applied rows.
    is_resumed: bool,
    results: Vec<WriteResult>,
    keeps_all: bool,
    stopped: Option<Cause>,
}

impl BulkMonitor {
    pub(super) fn new(clock: SharedClock) -> Self {
        Self(Arc::new(Mutex::new(RunStatus {
            clock,
            progress: Progress::default(),
            start: None,
            checkpoint: Checkpoint::new(),
            is_resumed: false,
            results: Vec::new(),
            keeps_all: false,
            stopped: None,
        })))
    }

    /// The progress of the run.
    pub fn progress(&self) -> Progress {
        let state = lock(&self.0);
        let elapsed = state.start.map(|start| state.clock.since(start)).unwrap_or_default();
        Progress { elapsed, ..state.progress }
    }

    /// The resolved rows, with the id of the run, also before it begins.
    pub fn checkpoint(&self) -> Checkpoint {
        lock(&self.0).checkpoint().clone()
    }

    /// The outcomes so far, in the order in which the rows ended.
    pub fn report(&self) -> BulkReport {
        let progress = self.progress();
        let mut state = lock(&self.0);
        BulkReport {
            progress,
            checkpoint: state.checkpoint().clone(),
            results: state.results.clone(),
            stopped: state.stopped.clone(),
        }
    }

    /// Sets the checkpoint from which the run resumes.
    pub(super) fn resume(&self, checkpoint: Checkpoint) {
        let mut state = lock(&self.0);
        let was_fresh = !std::mem::replace(&mut state.is_resumed, checkpoint.is_of_run());
        // A fresh run keeps its id, which the program may have stored with the checkpoint of the monitor.
        if !was_fresh || state.is_resumed {
            state.checkpoint = checkpoint;
        }
    }

    /// Whether the run resumes an earlier run, which may have applied unresolved rows.
    pub(super) fn is_resumed(&self) -> bool {
        lock(&self.0).is_resumed
    }

    /// Begins a run. Returns its id, which is that of the run that it resumes or a new one.
    pub(super) fn begin(&self, keeps_all: bool) -> Result<Uuid, Error> {
        let mut state = lock(&self.0);
        state.start = Some(state.clock.instant());
        state.keeps_all = keeps_all;
        state.run_id()
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
    pub(super) fn finish(&self, results: &[WriteResult]) {
        let mut state = lock(&self.0);
        for result in results {
            let progress = &mut state.progress;
            match result.outcome {
                WriteOutcome::Applied { .. } => progress.applied += 1,
                WriteOutcome::Failed(_) => progress.failed += 1,
                WriteOutcome::NotAttempted(_) => progress.not_attempted += 1,
                WriteOutcome::Unknown(_) => progress.unknown += 1,
                // Only contexts discard changes.
                WriteOutcome::Discarded(_) => {}
            }
            match &result.outcome {
                WriteOutcome::Applied { .. } => state.checkpoint.resolve(result.index),
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

impl RunStatus {
    /// The id of the run, drawn when it is first needed.
    fn run_id(&mut self) -> Result<Uuid, Error> {
        self.checkpoint.begin(&self.clock)
    }

    /// The checkpoint with the id of the run, so that a run that resumes from it recognizes the rows of this one.
    fn checkpoint(&mut self) -> &Checkpoint {
        // If no id can be drawn, the run does not begin either.
        let _ = self.run_id();
        &self.checkpoint
    }
}

opaque_debug!(BulkMonitor, |it| progress: it.progress());
