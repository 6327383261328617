//! A copy of the rows of a table, for `copy` and the passes of `sync`.
//!
//! The [`Frontier`] knows the key up to which every row is resolved, which is the position of a checkpoint.

mod again;
mod frontier;
mod versions;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use azure_table_client::bulk::{Bulk, BulkOperation, Cause};
use azure_table_client::client::{WriteOutcome, WriteResult};
use azure_table_client::{DynamicEntity, EntityKey, Error, TableClient};
use futures_util::stream::{BoxStream, StreamExt as _, TryStreamExt as _};
use tokio::sync::{Notify, Semaphore};

use super::checkpoint::CheckpointFile;
use super::end::{Tally, is_of_content};
use super::mode::Mode;
use super::row_list::{Lost, LostRow, RowList};
use super::scan::{Read, Rows, Scan};
use super::write_run::{Driven, HeldRow, Saving, drive};
use crate::args::Rate;
use crate::failure::{Exit, Failure, Result};
use crate::interrupt::Interrupt;
use crate::key_order::{self, advice};
use crate::progress::{Progress, counted};
use frontier::{MAX_UNRESOLVED, RowState};

pub(crate) use frontier::{Frontier, Saved};
pub(crate) use versions::{Versions, ends_pass};

/// The limit on the rows after the position, so that the memory is bounded while a partition waits.
const MAX_ROWS: usize = 100_000;
/// The number of rows for the list that are saved at once, before the time.
const MAX_LOST: usize = 10_000;

/// A copy that is about to run.
pub(crate) struct CopyRows {
    pub(crate) source: Scan,
    pub(crate) target: TableClient<DynamicEntity>,
    /// Whether the source returns rows in key order, so that a position means something.
    pub(crate) has_key_order: bool,
    pub(crate) mode: Mode,
    pub(crate) concurrency: usize,
    pub(crate) rate: Rate,
    pub(crate) give_up_after: Duration,
    pub(crate) is_resumed: bool,
    /// The time between two saves of the checkpoint.
    pub(crate) save_every: Duration,
    /// `None` for a run that cannot be resumed.
    pub(crate) checkpoint: Option<CheckpointFile>,
    pub(crate) list: RowList,
    /// The versions that `sync` has handled.
    pub(crate) versions: Option<Versions>,
    pub(crate) progress: Progress,
}

/// The end of a copy. Its files are saved.
#[derive(Debug)]
pub(crate) struct Copied {
    pub(crate) rows: Tally,
    /// The rows of an interrupted run that have no outcome yet.
    pub(crate) in_flight: u64,
    pub(crate) interrupted: Option<Exit>,
    /// What ended the run.
    pub(crate) problem: Option<Failure>,
    /// Whether the run can be resumed.
    pub(crate) has_checkpoint: bool,
}

impl Copied {
    /// Whether each row of the source was copied or refused.
    pub(crate) fn is_complete(&self) -> bool {
        let is_over = self.interrupted.is_none() && self.problem.is_none();
        is_over && self.rows.unknown + self.rows.unsent == 0
    }
}

/// The state that the reader, the bulk run and the timer share.
struct Shared {
    frontier: Mutex<Frontier>,
    /// Whether the position separates the rows that were read from the others.
    has_position: AtomicBool,
    /// A permit for each row that may be read. It is closed once no further one can be resolved.
    permits: Semaphore,
    /// Notifies that there are many rows to list.
    lost: Notify,
    /// The refusal of the account or the table, which ends a run that `sync` continues.
    ended_by: OnceLock<Arc<Error>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Frontier> {
        self.frontier.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the run, if the service would refuse the other rows too.
    fn end_by(&self, outcome: &WriteOutcome) {
        if let WriteOutcome::Failed(error) = outcome
            && ends_pass(error)
        {
            let _ = self.ended_by.set(Arc::clone(error));
            self.permits.close();
        }
    }

    /// Moves the position, and permits as many further rows.
    fn advance(&self, frontier: &mut Frontier) {
        self.permits.add_permits(frontier.advance());
        if frontier.is_full() {
            self.permits.close();
        }
        if frontier.lost_rows() >= MAX_LOST {
            self.lost.notify_one();
        }
    }
}

impl CopyRows {
    pub(crate) async fn run(mut self, frontier: Frontier, interrupt: &Interrupt) -> Result<Copied> {
        let frontier = Mutex::new(frontier);
        let shared = Arc::new(Shared {
            frontier,
            has_position: self.has_key_order.into(),
            permits: Semaphore::new(MAX_ROWS),
            lost: Notify::new(),
            ended_by: OnceLock::new(),
        });
        // A run that is killed at once can be resumed too.
        self.save(&shared)?;
        let (rows, bulk) = (self.rows(&shared)?, self.bulk(&shared));
        let every = self.save_every;
        let mut save = || self.save(&shared).map(drop);
        let saving = Saving { every, early: &shared.lost, save: &mut save };
        let Driven { report, mut interrupted } = drive(bulk, rows, interrupt, saving).await?;
        let ended_by = shared.ended_by.get().map(|error| Arc::clone(error) as Cause);
        let problem = ended_by.or(report.stopped).map(|cause| Failure::of_cause(&*cause));
        let problem = problem.or_else(|| shared.lock().is_full().then(too_many_unresolved));
        if self.mode == Mode::Insert && interrupted.is_none() && problem.is_none() {
            tokio::select! {
                exit = interrupt.wait() => interrupted = Some(exit),
                _ = self.resolve_inserts(&shared) => {}
            }
        }
        let saved = self.save(&shared)?;
        let unknown = self.list.finish_with(|key| saved.unresolved.contains(key))?;
        let is_over = interrupted.is_none() && problem.is_none();
        let has_checkpoint = if is_over {
            !saved.unresolved.is_empty()
        } else {
            // A table that does not exist, for example: nothing was written.
            let has_begun = report.progress.unknown + report.progress.applied > 0;
            interrupted.is_some() || self.is_resumed || has_begun
        };
        if !has_checkpoint && let Some(checkpoint) = &self.checkpoint {
            checkpoint.remove()?;
        }
        if is_over {
            self.list.remove_old()?;
        }
        let unresolved = saved.unresolved.len() as u64;
        let rows = Tally {
            done: saved.copied,
            refused: saved.refused,
            unknown,
            unsent: unresolved.saturating_sub(unknown),
            ..Tally::default()
        };
        let in_flight = report.progress.held();
        Ok(Copied { rows, in_flight, interrupted, problem, has_checkpoint })
    }

    /// Saves the list, then the position behind its rows. Returns the state of this moment.
    fn save(&mut self, shared: &Shared) -> Result<Saved> {
        let (lost, saved) = {
            let mut frontier = shared.lock();
            (frontier.take_lost(), frontier.saved().clone())
        };
        for row in &lost {
            self.list.add(row);
        }
        let failed = self.list.save()?;
        shared.permits.add_permits(lost.len());
        if let Some(checkpoint) = &self.checkpoint {
            if shared.has_position.load(Ordering::Relaxed) {
                checkpoint.save(&saved, failed)?;
            } else {
                checkpoint.save(&Saved::default(), 0)?;
            }
        }
        Ok(saved)
    }

    /// The operations on the rows that an earlier run did not resolve, and on all rows after its position.
    fn rows(
        &self,
        shared: &Arc<Shared>,
    ) -> Result<BoxStream<'static, Result<BulkOperation<HeldRow>>>> {
        let saved = shared.lock().saved().clone();
        let again = again::rows_of(&self.source.table, saved.unresolved.into_iter().collect());
        let again = again.map_err(Failure::from).map_ok(|(key, row)| (key, row.map(Read::Row)));
        let later = self.source.reads_after(saved.position.as_ref())?;
        let later =
            if self.has_key_order { self.in_order(later, saved.position, shared) } else { later };
        let later = later.map_ok(|read| (read.key().clone(), Some(read)));
        let reads = again.map_ok(|read| (read, false)).chain(later.map_ok(|read| (read, true)));
        let (mode, shared, progress) = (self.mode, Arc::clone(shared), self.progress.clone());
        let versions = self.versions.clone();
        let operations = reads.try_filter_map(move |((key, read), is_in_order)| {
            let (shared, progress, versions) =
                (Arc::clone(&shared), progress.clone(), versions.clone());
            async move {
                let is_known = |versions: &Versions| match &read {
                    Some(Read::Row(row)) => versions.is_resolved(row),
                    Some(Read::Unreadable(key, reason)) => !versions.refuse(key, reason),
                    None => false,
                };
                if versions.as_ref().is_some_and(is_known) {
                    return Ok(None);
                }
                shared.permits.acquire().await.map_err(|_| too_many_unresolved())?.forget();
                let mut frontier = shared.lock();
                match read {
                    Some(Read::Row(row)) => {
                        let row = HeldRow::from(row);
                        let index = frontier.read(&row, is_in_order);
                        if let Some(versions) = &versions {
                            versions.send(index, &row.0);
                        }
                        return Ok(Some(mode.operation(row)));
                    }
                    Some(Read::Unreadable(key, reason)) => {
                        frontier.refuse(is_in_order, LostRow::new(key, Lost::Unread, reason));
                        progress.add_not_applied(1);
                        shared.advance(&mut frontier);
                    }
                    // The source does not have it any more.
                    None => {
                        frontier.forget(&key);
                        shared.permits.add_permits(1);
                    }
                }
                Ok(None)
            }
        });
        Ok(operations.boxed())
    }

    /// Passes reads on as long as each key is larger than the one before.
    fn in_order(
        &self,
        reads: Rows<Read>,
        mut last: Option<EntityKey>,
        shared: &Arc<Shared>,
    ) -> Rows<Read> {
        let (table, shared) = (self.source.table.name().to_owned(), Arc::clone(shared));
        reads
            .map(move |read| {
                let read = read?;
                key_order::check(last.as_ref(), read.key()).map_err(|problem| {
                    shared.has_position.store(false, Ordering::Relaxed);
                    let advice = advice("--from-dialect");
                    let message = format!("table {table} is not in key order: {problem}; {advice}");
                    Failure::new(Exit::Failed, message)
                })?;
                last = Some(read.key().clone());
                Ok(read)
            })
            .boxed()
    }

    /// Compares the rows whose insert has an unknown outcome with those of the target: another insert would fail in any
    /// case. Rows that cannot be read stay unresolved.
    async fn resolve_inserts(&self, shared: &Shared) -> std::result::Result<(), Error> {
        let keys = shared.lock().saved().unresolved.iter().cloned().collect();
        let mut pairs = again::pairs_of(&self.source.table, &self.target, keys);
        while let Some((key, source, target)) = pairs.try_next().await? {
            let mut frontier = shared.lock();
            match (source, target) {
                (None, _) => frontier.forget(&key),
                (Some(source), Some(target)) if has_same_properties(&source, &target) => {
                    frontier.skip(key);
                }
                (Some(_), Some(_)) => {
                    let reason = "the target has a different row with this key";
                    frontier.refuse(false, LostRow::new(key, Lost::Changed, reason));
                }
                (Some(_), None) => {}
            }
            frontier.advance();
        }
        Ok(())
    }

    fn bulk(&self, shared: &Arc<Shared>) -> Bulk<HeldRow> {
        let (shared, progress) = (Arc::clone(shared), self.progress.clone());
        let versions = self.versions.clone();
        let on_row = move |result: &WriteResult| {
            if let Some(versions) = &versions {
                versions.end(result);
                shared.end_by(&result.outcome);
            }
            let mut frontier = shared.lock();
            let row = frontier.take_row(result.index);
            let state = state_of(result, row, versions.is_some());
            match state {
                RowState::Copied => progress.add_rows(1),
                RowState::Refused(_) => progress.add_not_applied(1),
                RowState::Open | RowState::Unresolved(_) => {}
            }
            frontier.end(result.index, state);
            shared.advance(&mut frontier);
        };
        let (mut bytes, progress) = (0, self.progress.clone());
        let on_progress = move |now: &azure_table_client::bulk::Progress| {
            progress.add_bytes(now.bytes - bytes);
            bytes = now.bytes;
        };
        let target = self.target.with_entity::<HeldRow>();
        let bulk = self.rate.limit_run(target.bulk().concurrency(self.concurrency));
        let bulk = bulk.give_up_after(self.give_up_after);
        let bulk = bulk.on_row(on_row).on_progress(on_progress);
        if self.is_resumed { bulk.may_repeat() } else { bulk }
    }
}

/// Compares the properties, in any order.
fn has_same_properties(a: &DynamicEntity, b: &DynamicEntity) -> bool {
    a.properties().len() == b.properties().len()
        && a.properties().all(|(name, value)| b.value(name) == Some(value))
}

/// The state of a row. `sync` sends a row again, unless it was refused because of its content.
fn state_of(result: &WriteResult, row: Option<Arc<DynamicEntity>>, is_for_sync: bool) -> RowState {
    let is_again = matches!(&result.outcome, WriteOutcome::Failed(error) if is_for_sync && !is_of_content(error));
    match (&result.outcome, LostRow::of(result, row)) {
        (WriteOutcome::Applied { .. }, _) => RowState::Copied,
        (_, Some(lost)) if is_again => {
            drop(lost);
            RowState::Unresolved(None)
        }
        (_, Some(lost)) if lost.outcome == Lost::Unknown => RowState::Unresolved(Some(lost)),
        (_, Some(lost)) => RowState::Refused(lost),
        (_, None) => RowState::Unresolved(None),
    }
}

/// The failure of a copy whose list of unresolved rows is full.
fn too_many_unresolved() -> Failure {
    let limit = counted(MAX_UNRESOLVED as u64, "row");
    let message = format!("the copy stopped: {limit} are neither copied nor refused (the limit)");
    Failure::new(Exit::Failed, message)
}
