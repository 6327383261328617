//! The bulk run that writes the rows.

use std::pin::pin;

use azure_table_client::bulk::{Bulk, BulkOperation};
use azure_table_client::{DynamicEntity, IfMatch};
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, future};

use super::change::Change;
use super::conclusion::Conclusion;
use super::left_rows::SharedLeftRows;
use super::source::Found;
use crate::commands::import::show;
use crate::failure::{Exit, Failure, Result};
use crate::interrupt::Interrupt;
use crate::progress::{Progress, counted};

/// A run that is about to write rows.
pub(super) struct Run {
    pub(super) change: Change,
    /// Whether rows are written in any version.
    pub(super) any_version: bool,
    /// The limit on the rows that are written.
    pub(super) limit: u64,
    pub(super) left: SharedLeftRows,
    pub(super) progress: Progress,
}

impl Run {
    /// Writes the rows until they end, or until the user interrupts.
    pub(super) async fn run(
        self,
        bulk: Bulk<DynamicEntity>,
        rows: Found,
        interrupt: &Interrupt,
    ) -> Conclusion {
        let left = self.left.clone();
        let bulk = show(bulk, self.progress.clone()).on_row(move |result| left.resolve(result));
        let monitor = bulk.monitor();
        let interrupted = {
            let mut run = pin!(bulk.try_run_stream(self.operations(rows)));
            let mut stop = pin!(interrupt.wait());
            tokio::select! {
                biased;
                exit = &mut stop => Some(exit),
                _ = &mut run => None,
            }
        };
        self.progress.finish();
        let (report, left) = (monitor.report(), self.left);
        Conclusion { report, left, interrupted, done: self.change.done() }
    }

    /// The operations on the rows, without those that have the values already. A row beyond the limit is an error.
    fn operations(
        &self,
        rows: Found,
    ) -> impl Stream<Item = Result<BulkOperation<DynamicEntity>>> + use<> {
        let (change, any_version, limit) = (self.change.clone(), self.any_version, self.limit);
        let mut count = 0;
        let (left, progress) = (self.left.clone(), self.progress.clone());
        rows.map(move |row| {
            let (row, etag) = row?;
            if change.is_done(&row) {
                left.lock().unchanged += 1;
                progress.add_earlier_rows(1);
                return Ok(None);
            }
            if count == limit {
                let limit = counted(limit, "row");
                let message =
                    format!("more rows match now: the run stopped at the limit of {limit}");
                return Err(Failure::new(Exit::Failed, message));
            }
            count += 1;
            let version = if any_version { IfMatch::Any } else { IfMatch::Tag(etag) };
            Ok(Some(change.operation(row, version)))
        })
        .try_filter_map(future::ok)
    }
}
