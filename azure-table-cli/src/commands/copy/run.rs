//! The bulk run of a copy.

use std::error::Error as StdError;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use azure_table_client::bulk::{Bulk, BulkOperation, Cause};
use azure_table_client::client::{WriteOutcome, WriteResult};
use azure_table_client::{DynamicEntity, EntityKey, Error, TableClient};
use futures_util::stream::{BoxStream, StreamExt as _, TryStreamExt as _};
use serde_json::json;
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::frontier::{Frontier, Refused, RowState, Saved};
use super::sent_rows::{SentRows, ends_pass, is_of_content};
use super::source::{Read, Source};
use super::stop::Stop;
use crate::args::Rate;
use crate::commands::import::Mode;
use crate::failure::{Exit, Result};
use crate::interrupt::Interrupt;
use crate::key_order;
use crate::pacer::Pacer;
use crate::progress::Progress;
use crate::run_files::checkpoint::CheckpointFile;
use crate::run_files::row_list::RowList;

type BoxError = Box<dyn StdError + Send + Sync>;
type Reads = BoxStream<'static, std::result::Result<Read, BoxError>>;

/// The limit on the rows after the position, so that the memory is bounded while a partition waits.
const MAX_ROWS: usize = 100_000;
/// The number of refused rows that are saved at once, before the time.
const MAX_REFUSED: usize = 10_000;

/// A copy that is about to run.
pub(in crate::commands) struct Run {
    pub(in crate::commands) source: Source,
    pub(in crate::commands) target: TableClient<DynamicEntity>,
    /// Whether the source returns rows in key order, so that a position means something.
    pub(in crate::commands) has_key_order: bool,
    pub(in crate::commands) mode: Mode,
    pub(in crate::commands) concurrency: usize,
    pub(in crate::commands) rate: Rate,
    pub(in crate::commands) give_up_after: Duration,
    pub(in crate::commands) is_resumed: bool,
    /// The time between two saves of the checkpoint.
    pub(in crate::commands) save_every: Duration,
    /// `None` for a run that cannot be resumed.
    pub(in crate::commands) checkpoint: Option<CheckpointFile>,
    pub(in crate::commands) refused: RowList,
    /// The record for `sync`, if the run keeps one.
    pub(in crate::commands) sent: Option<SentRows>,
    pub(in crate::commands) progress: Progress,
}

/// The end of a run. Its files are saved.
#[derive(Debug)]
pub(in crate::commands) struct Ended {
    pub(in crate::commands) saved: Saved,
    pub(in crate::commands) reason: Reason,
    /// Whether the target may have a row that is not resolved.
    pub(in crate::commands) is_unknown: bool,
    /// Whether the run can be resumed.
    pub(in crate::commands) has_checkpoint: bool,
}

impl Ended {
    /// Whether each row of the source was copied or refused.
    pub(in crate::commands) fn is_complete(&self) -> bool {
        matches!(self.reason, Reason::Complete) && self.saved.unresolved.is_empty()
    }
}

/// The reason why a run ended.
#[derive(Debug)]
pub(in crate::commands) enum Reason {
    /// All rows of the source were read.
    Complete,
    /// A signal, with the exit code of the command.
    Interrupted(Exit),
    Stopped(Cause),
}

/// The state that the reader, the bulk run and the timer share.
struct Shared {
    frontier: Mutex<Frontier>,
    /// Whether the position separates the rows that were read from the others.
    has_position: AtomicBool,
    /// A permit for each row that may be read. It is closed once no further one can be resolved.
    permits: Semaphore,
    /// Notifies that there are many refused rows to save.
    refused: Notify,
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
        if frontier.refused_rows() >= MAX_REFUSED {
            self.refused.notify_one();
        }
    }
}

impl Run {
    pub(in crate::commands) async fn run(
        mut self,
        frontier: Frontier,
        interrupt: &Interrupt,
    ) -> Result<Ended> {
        let frontier = Mutex::new(frontier);
        let shared = Arc::new(Shared {
            frontier,
            has_position: self.has_key_order.into(),
            permits: Semaphore::new(MAX_ROWS),
            refused: Notify::new(),
            ended_by: OnceLock::new(),
        });
        // A run that is killed at once can be resumed too.
        self.save(&shared)?;
        let rows = self.rows(&shared)?;
        let bulk = self.bulk(&shared);
        let monitor = bulk.monitor();
        let (mut bulk, mut stop) = (pin!(bulk.try_run_stream(rows)), pin!(interrupt.wait()));
        let mut timer = interval_at(Instant::now() + self.save_every, self.save_every);
        timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let interrupted = loop {
            tokio::select! {
                biased;
                exit = &mut stop => break Some(exit),
                _ = &mut bulk => break None,
                _ = timer.tick() => { self.save(&shared)?; }
                () = shared.refused.notified() => { self.save(&shared)?; }
            }
        };
        let report = monitor.report();
        let ended_by = shared.ended_by.get().map(|error| Arc::clone(error) as Cause);
        let mut reason = match (interrupted, ended_by.or(report.stopped)) {
            (Some(exit), _) => Reason::Interrupted(exit),
            (None, Some(cause)) => Reason::Stopped(cause),
            (None, None) if shared.lock().is_full() => {
                Reason::Stopped(Arc::new(Stop::TooManyUnresolved))
            }
            (None, None) => Reason::Complete,
        };
        if self.mode == Mode::Insert && matches!(reason, Reason::Complete) {
            tokio::select! {
                exit = &mut stop => reason = Reason::Interrupted(exit),
                _ = self.resolve_inserts(&shared) => {}
            }
        }
        let saved = self.save(&shared)?;
        let is_unknown = report.progress.unknown > 0;
        let has_checkpoint = match reason {
            Reason::Complete => !saved.unresolved.is_empty(),
            Reason::Interrupted(_) => true,
            // A table that does not exist, for example: nothing was written.
            Reason::Stopped(_) => self.is_resumed || is_unknown || report.progress.applied > 0,
        };
        if !has_checkpoint && let Some(checkpoint) = &self.checkpoint {
            checkpoint.remove()?;
        }
        if matches!(reason, Reason::Complete) {
            self.refused.remove_old()?;
        }
        Ok(Ended { saved, reason, is_unknown, has_checkpoint })
    }

    /// Saves the list of refused rows and the record, then the position behind them. Returns the state of this moment.
    fn save(&mut self, shared: &Shared) -> Result<Saved> {
        let (refused, mut saved) = {
            let mut frontier = shared.lock();
            (frontier.take_refused(), frontier.saved().clone())
        };
        for row in &refused {
            self.refused.add(&line(row));
        }
        saved.refused_bytes = self.refused.save()?;
        shared.permits.add_permits(refused.len());
        if let Some(sent) = &self.sent {
            // A resumed run does not send the rows before the position again.
            sent.save()?;
        }
        if let Some(checkpoint) = &self.checkpoint {
            let start = Saved::default();
            let has_position = shared.has_position.load(Ordering::Relaxed);
            checkpoint.save(&if has_position { &saved } else { &start }.to_json())?;
        }
        Ok(saved)
    }

    /// The operations on the rows that an earlier run did not resolve, and on all rows after its position.
    fn rows(
        &self,
        shared: &Arc<Shared>,
    ) -> Result<BoxStream<'static, std::result::Result<BulkOperation<DynamicEntity>, BoxError>>>
    {
        let saved = shared.lock().saved().clone();
        let again = self.source.rows_of(saved.unresolved.into_iter().collect());
        let later = self.source.rows_after(saved.position.as_ref())?;
        let (again, later) = (again.map_err(BoxError::from), later.map_err(BoxError::from).boxed());
        let later =
            if self.has_key_order { self.in_order(later, saved.position, shared) } else { later };
        let reads = again.map_ok(|read| (read, false)).chain(later.map_ok(|read| (read, true)));
        let reads = Pacer::new(self.rate).stream(reads.boxed());
        let (mode, shared, progress) = (self.mode, Arc::clone(shared), self.progress.clone());
        let sent = self.sent.clone();
        let operations = reads.try_filter_map(move |(read, is_in_order)| {
            let (shared, progress, sent) = (Arc::clone(&shared), progress.clone(), sent.clone());
            async move {
                if sent.as_ref().is_some_and(|sent| is_known(&read, sent)) {
                    return Ok(None);
                }
                shared.permits.acquire().await.map_err(|_| Stop::TooManyUnresolved)?.forget();
                let mut frontier = shared.lock();
                match read {
                    Read::Row(row) => {
                        let index = frontier.read(row.key().clone(), is_in_order);
                        if let Some(sent) = &sent {
                            sent.send(index, &row)?;
                        }
                        return Ok(Some(mode.operation(row)));
                    }
                    Read::Refused(key, reason) => {
                        frontier.refuse(key, is_in_order, reason);
                        progress.add_not_applied(1);
                        shared.advance(&mut frontier);
                    }
                    Read::Missing(key) => {
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
    fn in_order(&self, reads: Reads, mut last: Option<EntityKey>, shared: &Arc<Shared>) -> Reads {
        let (table, shared) = (self.source.table.name().to_owned(), Arc::clone(shared));
        reads
            .map(move |read| {
                let read = read?;
                key_order::check(last.as_ref(), read.key()).map_err(|problem| {
                    shared.has_position.store(false, Ordering::Relaxed);
                    Stop::OutOfOrder { table: table.clone(), problem }
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
        let mut pairs = self.source.pairs_of(keys, &self.target);
        while let Some((key, source, target)) = pairs.try_next().await? {
            let mut frontier = shared.lock();
            match (source, target) {
                (None, _) => frontier.forget(&key),
                (Some(source), Some(target)) if has_same_properties(&source, &target) => {
                    frontier.skip(key);
                }
                (Some(_), Some(_)) => {
                    let reason = "the target has a different row with this key".to_owned();
                    frontier.refuse(key, false, reason);
                }
                (Some(_), None) => {}
            }
            frontier.advance();
        }
        Ok(())
    }

    fn bulk(&self, shared: &Arc<Shared>) -> Bulk<DynamicEntity> {
        let (shared, progress) = (Arc::clone(shared), self.progress.clone());
        let sent = self.sent.clone();
        let on_row = move |row: &WriteResult| {
            if let Some(sent) = &sent {
                sent.end(row);
            }
            if sent.is_some() {
                shared.end_by(&row.outcome);
            }
            let mut frontier = shared.lock();
            let state = state_of(&row.outcome, sent.is_some());
            match state {
                RowState::Copied => progress.add_rows(1),
                RowState::Refused(_) => progress.add_not_applied(1),
                RowState::Open | RowState::Unresolved => {}
            }
            frontier.end(row.index, state);
            shared.advance(&mut frontier);
        };
        let (mut bytes, progress) = (0, self.progress.clone());
        let on_progress = move |now: &azure_table_client::bulk::Progress| {
            progress.add_bytes(now.bytes - bytes);
            bytes = now.bytes;
        };
        let bulk = self.rate.limit_run(self.target.bulk().concurrency(self.concurrency));
        let bulk = bulk.give_up_after(self.give_up_after);
        let bulk = bulk.on_row(on_row).on_progress(on_progress);
        if self.is_resumed { bulk.may_repeat() } else { bulk }
    }
}

/// Whether an earlier pass has handled this version of a row.
fn is_known(read: &Read, sent: &SentRows) -> bool {
    match read {
        Read::Row(row) => sent.is_resolved(row),
        Read::Refused(key, reason) => !sent.refuse(key, reason),
        Read::Missing(_) => false,
    }
}

/// Compares the properties, in any order.
fn has_same_properties(a: &DynamicEntity, b: &DynamicEntity) -> bool {
    a.properties().len() == b.properties().len()
        && a.properties().all(|(name, value)| b.value(name) == Some(value))
}

/// A line of the list of refused rows.
pub(in crate::commands) fn line(Refused { key, reason }: &Refused) -> Vec<u8> {
    let line = json!({
        "PartitionKey": key.partition_key,
        "RowKey": key.row_key,
        "reason": reason,
    });
    format!("{line}\n").into_bytes()
}

/// The state of a row. `sync` sends a row again, unless it was refused because of its content.
fn state_of(outcome: &WriteOutcome, is_for_sync: bool) -> RowState {
    match outcome {
        WriteOutcome::Applied { .. } => RowState::Copied,
        WriteOutcome::Failed(error)
            if outcome.is_resolved() && (!is_for_sync || is_of_content(error)) =>
        {
            RowState::Refused(error.to_string())
        }
        _ => RowState::Unresolved,
    }
}
