//! The rows that a filter finds: counted or saved by the first pass, and read again to be written.

use std::path::Path;

use azure_table_client::{DynamicEntity, ETag, EntityKey};
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};

use super::change::Change;
use super::saved_rows::SavedRows;
use crate::engine::input::{self, Input};
use crate::engine::scan::{Rows, Scan};
use crate::failure::{Exit, Failure, Result};
use crate::format::{Format, name_of};
use crate::progress::Progress;

/// Rows with the versions that were read.
pub(super) type Found = Rows<(DynamicEntity, ETag)>;

/// Counts the rows.
pub(super) async fn count(scan: &Scan, progress: &Progress) -> Result<u64> {
    let mut keys = scan.partitions(false);
    let mut count = 0;
    while keys.try_next().await?.is_some() {
        count += 1;
        progress.add_rows(1);
    }
    Ok(count)
}

/// Counts the rows, and saves them up to the limit: more are not written.
pub(super) async fn save(
    scan: &Scan,
    file: &mut SavedRows,
    limit: Option<u64>,
    progress: &Progress,
) -> Result<u64> {
    let mut rows = scan.rows();
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
pub(super) fn rows(scan: &Scan, change: &Change) -> Found {
    let Change::Update { set, .. } = change else {
        let row = |(key, etag): (EntityKey, ETag)| {
            (DynamicEntity::new(key.partition_key, key.row_key), etag)
        };
        return scan.key_versions().map_ok(row).boxed();
    };
    let names = set.properties().map(|(name, _)| name.to_owned());
    let select = if change.reads_whole_rows() { Vec::new() } else { names.collect() };
    Scan { select, ..scan.clone() }.versions()
}

/// Reads the saved rows.
pub(super) fn saved_rows(path: &Path, count: u64) -> Found {
    let input = Input { path: path.to_owned(), format: Format::JsonLines, lists: None };
    let mut chunks = input::read(&input, Some(count));
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
