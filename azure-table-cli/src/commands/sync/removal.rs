//! The deletion of rows in the target.

use azure_table_client::bulk::BulkOperation;
use azure_table_client::client::{WriteOutcome, WriteResult};
use azure_table_client::{DynamicEntity, ETag, EntityKey, IfMatch, TableClient};
use futures_util::future::ready;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

use super::{interrupted, stopped};
use crate::args::Sync;
use crate::engine::copy_rows::{Versions, ends_pass};
use crate::engine::end::is_of_content;
use crate::engine::row_list::{Lost, LostRow, RowList};
use crate::engine::scan::has_row;
use crate::engine::write_run::{Driven, SAVE_EVERY, Saving, drive};
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;

/// The rows that a pass deletes.
pub(super) struct Removal<'a> {
    pub(super) args: &'a Sync,
    pub(super) source: &'a TableClient<DynamicEntity>,
    pub(super) target: &'a TableClient<DynamicEntity>,
    pub(super) versions: &'a Versions,
    pub(super) interrupt: &'a Interrupt,
}

/// The numbers of rows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Removed {
    pub(super) deleted: u64,
    /// The rows that another program wrote since their version was read.
    pub(super) left: u64,
    pub(super) refused: u64,
    /// The rows that the next pass deletes.
    pub(super) unresolved: u64,
    /// The unresolved rows whose deletion may have been applied.
    pub(super) unknown: u64,
}

/// The results that the run and its callback share.
struct Results {
    list: RowList,
    removed: Removed,
    versions: Versions,
    /// The refusal of the account or the table.
    ended_by: Option<Failure>,
}

impl Removal<'_> {
    /// Deletes each row in the version that the comparison found, unless the source has it now. A deletion whose response
    /// is lost cannot remove a row that a later pass writes.
    pub(super) async fn run(
        &self,
        rows: impl Iterator<Item = Result<(EntityKey, ETag)>> + Send,
        list: RowList,
    ) -> Result<Removed> {
        let (removed, versions) = (Removed::default(), self.versions.clone());
        let results = Arc::new(Mutex::new(Results { list, removed, versions, ended_by: None }));
        let bulk = self.target.bulk().concurrency(self.args.writing.concurrency.into());
        let bulk = self.args.reading.rate.limit_run(bulk).give_up_after(self.args.give_up_after);
        let shared = Arc::clone(&results);
        let bulk = bulk.on_row(move |row| lock(&shared).end(row));
        let mut save = || lock(&results).list.save().map(drop);
        let saving = Saving { every: SAVE_EVERY, early: &Notify::new(), save: &mut save };
        let driven = drive(bulk, self.operations(rows, &results), self.interrupt, saving).await?;
        let Driven { report, interrupted: signal } = driven;
        let mut results = lock(&results);
        results.list.save()?;
        let problem = report.stopped.map(|cause| Failure::of_cause(&*cause));
        match (signal, results.ended_by.take().or(problem)) {
            (Some(exit), _) => Err(interrupted(exit)),
            (None, Some(failure)) => Err(stopped(&failure, results.removed.unknown > 0)),
            (None, None) => Ok(results.removed),
        }
    }

    /// The deletions of the rows that the source does not have.
    fn operations(
        &self,
        rows: impl Iterator<Item = Result<(EntityKey, ETag)>> + Send,
        results: &Mutex<Results>,
    ) -> impl Stream<Item = Result<BulkOperation<DynamicEntity>>> {
        let read = async |row: Result<(EntityKey, ETag)>| {
            let (key, version) = row?;
            Ok((!has_row(self.source, &key).await?)
                .then(|| BulkOperation::DeleteIfExists(key, IfMatch::Tag(version))))
        };
        let found = stream::iter(rows).map(read).buffered(self.args.writing.concurrency.into());
        found.try_filter_map(|operation| {
            let ended_by = lock(results).ended_by.clone();
            ready(ended_by.map_or(Ok(operation), Err))
        })
    }
}

fn lock(results: &Mutex<Results>) -> MutexGuard<'_, Results> {
    results.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Results {
    fn end(&mut self, result: &WriteResult) {
        let Some(key) = &result.key else { return };
        match &result.outcome {
            WriteOutcome::Applied { .. } => {
                self.removed.deleted += 1;
                self.versions.remove(key);
            }
            WriteOutcome::Failed(error) if error.is_precondition_failed() => {
                self.removed.left += 1;
                let reason = "another program wrote it before it was deleted";
                self.list.add(&LostRow::new(key.clone(), Lost::Changed, reason));
            }
            WriteOutcome::Failed(error) if is_of_content(error) => {
                let reason = error.to_string();
                if self.versions.refuse(key, &reason) {
                    self.removed.refused += 1;
                    self.list.add(&LostRow::new(key.clone(), Lost::Refused, reason));
                }
            }
            WriteOutcome::Failed(error) if ends_pass(error) => {
                self.ended_by.get_or_insert_with(|| Failure::of_cause(&**error));
            }
            outcome => {
                self.removed.unresolved += 1;
                self.removed.unknown += u64::from(matches!(outcome, WriteOutcome::Unknown(_)));
            }
        }
    }
}
