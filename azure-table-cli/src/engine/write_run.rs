//! A bulk run of a command: one loop for the signal, the timer and the end of the run.
//!
//! The [`Ledger`] takes down the outcome of each row. It keeps the rows that have none yet, so that the list has the row
//! of each one that did not get through.

use std::borrow::Cow;
use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use azure_table_client::bulk::{Bulk, BulkOperation, BulkReport};
use azure_table_client::client::{WriteOutcome, WriteResult};
use azure_table_client::entity::{DecodeError, EncodeError, KeyError, PropertyWriter, Row};
use azure_table_client::{DynamicEntity, ETag, TableEntity};
use futures_util::Stream;
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::end::Tally;
use super::row_list::{Lost, LostRow, RowList};
use crate::failure::{Exit, Failure, Result};
use crate::interrupt::Interrupt;
use crate::progress::Progress;

/// The time between two saves of a list without a checkpoint.
pub(crate) const SAVE_EVERY: Duration = Duration::from_secs(5);

/// The end of a bulk run.
#[derive(Debug)]
pub(crate) struct Driven {
    pub(crate) report: BulkReport,
    /// The exit code of a signal that ended it.
    pub(crate) interrupted: Option<Exit>,
}

/// The files of a run, which are saved from time to time.
pub(crate) struct Saving<'s> {
    pub(crate) every: Duration,
    /// Asks for a save before the time.
    pub(crate) early: &'s Notify,
    pub(crate) save: &'s mut dyn FnMut() -> Result<()>,
}

/// Applies the operations until they end, or until the user interrupts. The rows in flight have no outcome then.
pub(crate) async fn drive<T: TableEntity>(
    bulk: Bulk<T>,
    operations: impl Stream<Item = Result<BulkOperation<T>>>,
    interrupt: &Interrupt,
    saving: Saving<'_>,
) -> Result<Driven> {
    let Saving { every, early, save } = saving;
    let monitor = bulk.monitor();
    let (mut run, mut stop) =
        (pin!(bulk.try_run_stream::<Failure>(operations)), pin!(interrupt.wait()));
    let mut timer = interval_at(Instant::now() + every, every);
    timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let interrupted = loop {
        tokio::select! {
            biased;
            exit = &mut stop => break Some(exit),
            _ = &mut run => break None,
            _ = timer.tick() => save()?,
            () = early.notified() => save()?,
        }
    };
    Ok(Driven { report: monitor.report(), interrupted })
}

/// Shows the progress of a bulk run.
pub(crate) fn show<T: TableEntity>(bulk: Bulk<T>, progress: Progress) -> Bulk<T> {
    let (mut applied, mut not_applied, mut skipped, mut bytes) = (0, 0, 0, 0);
    bulk.on_progress(move |now| {
        let others = now.failed + now.unknown + now.not_attempted;
        progress.add_earlier_rows(now.skipped - skipped);
        progress.add_rows(now.applied - applied);
        progress.add_not_applied(others - not_applied);
        progress.add_bytes(now.bytes - bytes);
        (applied, not_applied, skipped, bytes) = (now.applied, others, now.skipped, now.bytes);
    })
}

/// The outcomes of the rows of a run. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Ledger(Arc<Mutex<Outcomes>>);

#[derive(Debug)]
pub(crate) struct Outcomes {
    pub(crate) list: RowList,
    pub(crate) tally: Tally,
    /// The rows without an outcome, by their index in the run. The window of the run bounds their number.
    held: HashMap<u64, Arc<DynamicEntity>>,
}

impl Ledger {
    pub(crate) fn new(list: RowList) -> Self {
        let (tally, held) = (Tally::default(), HashMap::new());
        Self(Arc::new(Mutex::new(Outcomes { list, tally, held })))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Outcomes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a row until it has an outcome.
    pub(crate) fn hold(&self, index: u64, row: &HeldRow) {
        self.lock().held.insert(index, Arc::clone(&row.0));
    }

    /// Takes down the outcome of a row.
    pub(crate) fn end(&self, result: &WriteResult) {
        let mut outcomes = self.lock();
        let Outcomes { list, tally, held } = &mut *outcomes;
        let row = held.remove(&result.index);
        if let Some(lost) = LostRow::of(result, row) {
            match lost.outcome {
                Lost::Refused | Lost::Unread => tally.refused += 1,
                Lost::Changed => tally.changed += 1,
                Lost::Unknown => tally.unknown += 1,
            }
            list.add(&lost);
        } else if matches!(result.outcome, WriteOutcome::Applied { .. }) {
            tally.done += 1;
        } else {
            tally.unsent += 1;
        }
    }
}

/// A row that a run writes and that a ledger or a list may still need.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HeldRow(pub(crate) Arc<DynamicEntity>);

impl From<DynamicEntity> for HeldRow {
    fn from(row: DynamicEntity) -> Self {
        Self(Arc::new(row))
    }
}

impl TableEntity for HeldRow {
    const COLUMNS: &'static [&'static str] = DynamicEntity::COLUMNS;
    const KEEPS_OTHERS: bool = DynamicEntity::KEEPS_OTHERS;

    fn partition_key(&self) -> std::result::Result<Cow<'_, str>, KeyError> {
        self.0.partition_key()
    }

    fn row_key(&self) -> std::result::Result<Cow<'_, str>, KeyError> {
        self.0.row_key()
    }

    fn write_properties(
        &self,
        writer: &mut PropertyWriter<'_>,
    ) -> std::result::Result<(), EncodeError> {
        self.0.write_properties(writer)
    }

    fn from_row(row: &mut Row<'_>) -> std::result::Result<Self, DecodeError> {
        DynamicEntity::from_row(row).map(Self::from)
    }

    fn set_etag(&mut self, etag: &ETag) {
        Arc::make_mut(&mut self.0).set_etag(etag);
    }
}
