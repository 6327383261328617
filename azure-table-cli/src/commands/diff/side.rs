//! The rows of a side in key order: read in this order, or sorted before they are compared.

use std::fs;
use std::path::Path;

use azure_table_client::{DynamicEntity, EntityKey};
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};

use super::merge::{Rows, in_order};
use crate::failure::Result;
use crate::format::{self, Format};
use crate::key_order::compare;
use crate::progress::Progress;
use crate::sort::Sorter;

/// The rows of a table, sorted unless the service returns them in key order.
pub(super) async fn of_table(
    rows: Rows,
    has_key_order: bool,
    name: String,
    progress: &Progress,
) -> Result<Rows> {
    let shown = progress.clone();
    let rows = rows.inspect_ok(move |_| shown.add_rows(1)).boxed();
    let rows = if has_key_order { rows } else { sorted(rows).await? };
    Ok(in_order(rows, name))
}

/// The rows of a file, which are sorted unless a first reading shows that they are in key order.
pub(super) async fn of_file(path: &Path, format: Format, progress: &Progress) -> Result<Rows> {
    // Standard input and pipes can be read only once.
    let is_stored = fs::metadata(path).is_ok_and(|file| file.is_file() || file.is_dir());
    let is_sorted = is_stored && is_sorted(path, format)?;
    let shown = progress.clone();
    let rows = stream::iter(format::rows(path, format)?);
    let rows = rows.inspect_ok(move |_| shown.add_rows(1)).boxed();
    let rows = if is_sorted { rows } else { sorted(rows).await? };
    // A file that changed since the first reading is an error too.
    Ok(in_order(rows, path.display().to_string()))
}

fn is_sorted(path: &Path, format: Format) -> Result<bool> {
    let mut last: Option<EntityKey> = None;
    for row in format::rows(path, format)? {
        let row: DynamicEntity = row?;
        if last.is_some_and(|last| compare(&last, row.key()).is_gt()) {
            return Ok(false);
        }
        last = Some(row.key().clone());
    }
    Ok(true)
}

async fn sorted(mut rows: Rows) -> Result<Rows> {
    let mut sorter = Sorter::new();
    while let Some(row) = rows.try_next().await? {
        sorter.push(&row)?;
    }
    Ok(stream::iter(sorter.finish()?).boxed())
}
