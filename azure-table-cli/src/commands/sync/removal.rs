//! The deletion of rows in the target.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use azure_table_client::bulk::BulkOperation;
use azure_table_client::client::{WriteOutcome, WriteResult};
use azure_table_client::filter::{CompareOp, Filter};
use azure_table_client::{DynamicEntity, ETag, EntityKey, Error, IfMatch, TableClient};
use futures_util::future::ready;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};

use super::interrupted;
use crate::args::Sync;
use crate::commands::copy::{Refused, SentRows, line};
use crate::commands::keys::Keys;
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::run_files::row_list::RowList;

/// The rows that a pass deletes.
pub(super) struct Removal<'a> {
    pub(super) args: &'a Sync,
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
    pub(super) unresolved: u64,
}

/// The results that the run and its callback share.
struct Results {
    list: RowList,
    removed: Removed,
    sent: SentRows,
}

impl Removal<'_> {
    /// Deletes each row in the version that it has now. A deletion whose response is lost cannot remove a row that a later
    /// pass writes.
    pub(super) async fn run(
        &self,
        keys: impl Iterator<Item = Result<DynamicEntity>> + Send,
        list: RowList,
    ) -> Result<Removed> {
        let (removed, sent) = (Removed::default(), self.sent.clone());
        let results = Arc::new(Mutex::new(Results { list, removed, sent }));
        let bulk = self.target.bulk().concurrency(self.args.concurrency.into());
        let bulk = self.args.rate.limit_run(bulk).give_up_after(self.args.give_up_after);
        let shared = Arc::clone(&results);
        let bulk = bulk.on_row(move |row| lock(&shared).end(row));
        let monitor = bulk.monitor();
        let stopped = {
            let mut run = pin!(bulk.try_run_stream(self.operations(keys)));
            tokio::select! {
                biased;
                exit = self.interrupt.wait() => Some(interrupted(exit)),
                _ = &mut run => monitor.report().stopped.map(|cause| Failure::of_cause(&*cause)),
            }
        };
        let mut results = lock(&results);
        results.list.save()?;
        self.sent.save()?;
        stopped.map_or(Ok(results.removed), Err)
    }

    /// The deletions of the rows that the target has.
    fn operations(
        &self,
        keys: impl Iterator<Item = Result<DynamicEntity>> + Send,
    ) -> impl Stream<Item = Result<BulkOperation<DynamicEntity>>> {
        let read = |row: Result<DynamicEntity>| async {
            let key = row?.key().clone();
            let etag = self.etag(&key).await?;
            Ok((key, etag))
        };
        let found = stream::iter(keys).map(read).buffered(self.args.concurrency.into());
        found.try_filter_map(|(key, etag)| {
            if etag.is_none() {
                self.sent.remove(&key);
            }
            ready(Ok(etag.map(|etag| BulkOperation::DeleteIfExists(key, IfMatch::Tag(etag)))))
        })
    }

    /// Reads the version of a row of the target.
    async fn etag(&self, key: &EntityKey) -> Result<Option<ETag>> {
        let row = Filter::compare("RowKey", CompareOp::Eq, key.row_key.as_str());
        let filter = Filter::partition(&*key.partition_key) & row.map_err(Error::from)?;
        let query = self.target.with_entity::<Keys>().query().matching(&filter);
        let found = query.select(|keys| keys.row).with_etags().await?;
        Ok(found.into_iter().next().map(|(_, etag)| etag))
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
                self.sent.remove(key);
            }
            WriteOutcome::Failed(error) if error.is_precondition_failed() => {
                // The row is not ours any more.
                self.removed.left += 1;
                self.sent.remove(key);
                self.list(key, "another program wrote it before it was deleted".to_owned());
            }
            WriteOutcome::Failed(error) if result.outcome.is_resolved() => {
                self.removed.refused += 1;
                self.list(key, error.to_string());
            }
            _ => self.removed.unresolved += 1,
        }
    }

    fn list(&mut self, key: &EntityKey, reason: String) {
        self.list.add(&line(&Refused { key: key.clone(), reason }));
    }
}
