//! The deletion of rows in the target.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use azure_table_client::bulk::BulkOperation;
use azure_table_client::client::{WriteOutcome, WriteResult};
use azure_table_client::filter::{CompareOp, Filter};
use azure_table_client::{DynamicEntity, ETag, EntityKey, Error, IfMatch, TableClient};
use futures_util::future::ready;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};

use super::{interrupted, stopped};
use crate::args::Sync;
use crate::commands::copy::{Refused, SentRows, ends_pass, is_of_content, line};
use crate::commands::keys::Keys;
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::run_files::row_list::RowList;

/// The rows that a pass deletes.
pub(super) struct Removal<'a> {
    pub(super) args: &'a Sync,
    pub(super) source: &'a TableClient<DynamicEntity>,
    pub(super) target: &'a TableClient<DynamicEntity>,
    pub(super) sent: &'a SentRows,
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
    sent: SentRows,
    /// The refusal of the account or the table.
    ended_by: Option<Failure>,
}

/// A recorded row that the scan of the source did not find.
enum Found {
    /// The source has it.
    InSource,
    /// The target does not have it.
    Missing(EntityKey),
    /// The target has it, in this version.
    InTarget(EntityKey, ETag),
}

impl Removal<'_> {
    /// Deletes each row in the version that it has now, unless the source has it. A deletion whose response is lost cannot
    /// remove a row that a later pass writes.
    pub(super) async fn run(
        &self,
        keys: impl Iterator<Item = Result<DynamicEntity>> + Send,
        list: RowList,
    ) -> Result<Removed> {
        let (removed, sent) = (Removed::default(), self.sent.clone());
        let results = Arc::new(Mutex::new(Results { list, removed, sent, ended_by: None }));
        let bulk = self.target.bulk().concurrency(self.args.concurrency.into());
        let bulk = self.args.rate.limit_run(bulk).give_up_after(self.args.give_up_after);
        let shared = Arc::clone(&results);
        let bulk = bulk.on_row(move |row| lock(&shared).end(row));
        let monitor = bulk.monitor();
        let (interrupted_by, failed) = {
            let mut run = pin!(bulk.try_run_stream(self.operations(keys, &results)));
            tokio::select! {
                biased;
                exit = self.interrupt.wait() => (Some(exit), None),
                _ = &mut run => (None, monitor.report().stopped.map(|it| Failure::of_cause(&*it))),
            }
        };
        let mut results = lock(&results);
        results.list.save()?;
        self.sent.save()?;
        let is_unknown = results.removed.unknown > 0;
        match (interrupted_by, results.ended_by.take().or(failed)) {
            (Some(exit), _) => Err(interrupted(exit)),
            (None, Some(failure)) => Err(stopped(&failure, is_unknown)),
            (None, None) => Ok(results.removed),
        }
    }

    /// The deletions of the rows that the target has.
    fn operations(
        &self,
        keys: impl Iterator<Item = Result<DynamicEntity>> + Send,
        results: &Mutex<Results>,
    ) -> impl Stream<Item = Result<BulkOperation<DynamicEntity>>> {
        let read = async |row: Result<DynamicEntity>| self.find(row?.key().clone()).await;
        let found = stream::iter(keys).map(read).buffered(self.args.concurrency.into());
        found.try_filter_map(|found| ready(lock(results).begin(found)))
    }

    /// Reads a row once more in the source, and then its version in the target.
    async fn find(&self, key: EntityKey) -> Result<Found> {
        if version(self.source, &key).await?.is_some() {
            return Ok(Found::InSource);
        }
        Ok(match version(self.target, &key).await? {
            Some(etag) => Found::InTarget(key, etag),
            None => Found::Missing(key),
        })
    }
}

/// Reads the version of a row.
async fn version(table: &TableClient<DynamicEntity>, key: &EntityKey) -> Result<Option<ETag>> {
    let row = Filter::compare("RowKey", CompareOp::Eq, key.row_key.as_str());
    let filter = Filter::partition(&*key.partition_key) & row.map_err(Error::from)?;
    let query = table.with_entity::<Keys>().query().matching(&filter);
    let found = query.select(|keys| keys.row).with_etags().await?;
    Ok(found.into_iter().next().map(|(_, etag)| etag))
}

fn lock(results: &Mutex<Results>) -> MutexGuard<'_, Results> {
    results.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Results {
    /// Returns the deletion of a row.
    fn begin(&mut self, found: Found) -> Result<Option<BulkOperation<DynamicEntity>>> {
        if let Some(failure) = &self.ended_by {
            return Err(failure.clone());
        }
        Ok(match found {
            Found::InSource => None,
            Found::Missing(key) => {
                self.sent.remove(&key);
                None
            }
            Found::InTarget(key, etag) if self.sent.begin_deletion(&key, &etag) => {
                Some(BulkOperation::DeleteIfExists(key, IfMatch::Tag(etag)))
            }
            Found::InTarget(key, _) => {
                self.leave(&key);
                None
            }
        })
    }

    fn end(&mut self, result: &WriteResult) {
        let Some(key) = &result.key else { return };
        if matches!(&result.outcome, WriteOutcome::Applied { .. } | WriteOutcome::Failed(_)) {
            self.sent.end_deletion(key);
        }
        match &result.outcome {
            WriteOutcome::Applied { .. } => {
                self.removed.deleted += 1;
                self.sent.remove(key);
            }
            WriteOutcome::Failed(error) if error.is_precondition_failed() => {
                self.leave(key);
            }
            WriteOutcome::Failed(error) if is_of_content(error) => {
                let reason = error.to_string();
                if self.sent.refuse(key, &reason) {
                    self.removed.refused += 1;
                    self.list(key, reason);
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

    /// Leaves a row that another program has written.
    fn leave(&mut self, key: &EntityKey) {
        self.removed.left += 1;
        self.sent.remove(key);
        self.list(key, "another program wrote it before it was deleted".to_owned());
    }

    fn list(&mut self, key: &EntityKey, reason: String) {
        self.list.add(&line(&Refused { key: key.clone(), reason }));
    }
}
