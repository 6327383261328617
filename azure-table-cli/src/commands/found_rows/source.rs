//! The rows that a filter finds: counted or saved by the first pass, and read again to be written.

use std::path::Path;

use azure_table_client::client::{EntityStream, Query};
use azure_table_client::{DynamicEntity, ETag, TableClient};
use futures_util::stream::{self, BoxStream, StreamExt as _, TryStreamExt as _};

use super::change::Change;
use super::saved_rows::SavedRows;
use crate::args::Rate;
use crate::commands::import::read_file;
use crate::commands::keys::Keys;
use crate::failure::{Exit, Failure, Result};
use crate::format::{Format, name_of};
use crate::pacer::Pacer;
use crate::progress::Progress;

/// Rows with the versions that were read.
pub(super) type Found = BoxStream<'static, Result<(DynamicEntity, ETag)>>;

/// A table and the filter of its rows; `None` for all rows.
pub(super) struct Source {
    pub(super) table: TableClient<DynamicEntity>,
    pub(super) filter: Option<String>,
    pub(super) rate: Rate,
}

impl Source {
    /// The query of the keys.
    pub(super) fn keys(&self) -> Query<Keys> {
        self.filtered(self.table.with_entity::<Keys>().query())
    }

    fn filtered<T: azure_table_client::TableEntity>(&self, query: Query<T>) -> Query<T> {
        let query = query.allow_scan();
        match &self.filter {
            Some(filter) => query.filter_text(filter),
            None => query,
        }
    }

    /// The results of a query, at the rate of the command.
    fn paced<T: Send + 'static>(&self, rows: EntityStream<T>) -> BoxStream<'static, Result<T>> {
        Pacer::new(self.rate).stream(rows.map_err(Failure::from).boxed())
    }

    /// Counts the rows.
    pub(super) async fn count(&self, progress: &Progress) -> Result<u64> {
        let mut keys = self.paced(self.keys().select(|keys| keys.partition).stream());
        let mut count = 0;
        while keys.try_next().await?.is_some() {
            count += 1;
            progress.add_rows(1);
        }
        Ok(count)
    }

    /// Counts the rows, and saves them up to the limit: more are not written.
    pub(super) async fn save(
        &self,
        file: &mut SavedRows,
        limit: Option<u64>,
        progress: &Progress,
    ) -> Result<u64> {
        let mut rows = self.paced(self.filtered(self.table.query()).stream());
        let mut count = 0;
        while let Some(row) = rows.try_next().await? {
            if limit.is_none_or(|limit| count < limit) {
                file.add(&row)?;
            }
            count += 1;
            progress.add_rows(1);
        }
        Ok(count)
    }

    /// Reads the rows in the table, with the properties that the change needs.
    pub(super) fn rows(&self, change: &Change) -> Found {
        if let Change::Update { set, .. } = change {
            let query = self.filtered(self.table.query());
            let query = if change.reads_whole_rows() {
                query
            } else {
                query.select_names(set.properties().map(|(name, _)| name))
            };
            return self.paced(query.with_etags().stream());
        }
        let keys = self.keys().select(|keys| (keys.partition, keys.row)).with_etags();
        let row = |((partition, row), etag)| (DynamicEntity::new(partition, row), etag);
        self.paced(keys.stream()).map_ok(row).boxed()
    }
}

/// Reads the saved rows.
pub(super) fn saved_rows(path: &Path, count: u64) -> Found {
    let mut chunks = read_file(path, Format::JsonLines, Some(count));
    let chunks = stream::poll_fn(move |context| chunks.poll_recv(context));
    let name = name_of(path);
    let rows = chunks.flat_map(stream::iter).map(move |row| {
        let row: DynamicEntity = row?;
        match row.etag().cloned() {
            Some(etag) => Ok((row, etag)),
            None => Err(Failure::new(Exit::Failed, format!("a row of {name} has no ETag"))),
        }
    });
    rows.boxed()
}
