//! The rows of a side in key order: read in this order, or sorted before they are compared.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use azure_table_client::{DynamicEntity, EntityKey, TableServiceClient};
use futures_util::future::ready;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};

use super::{Reading, in_order};
use crate::args::Operand;
use crate::engine::scan::{Read, Rows, Scan};
use crate::failure::{Exit, Failure, Result};
use crate::format::{self, Format};
use crate::key_order::{advice, compare};
use crate::progress::Progress;
use crate::side_table::SideTable;
use crate::sort::Sorter;

/// The keys of the rows that cannot be read so far.
pub(crate) type Unreadable = Arc<Mutex<HashSet<EntityKey>>>;

/// A side that is open.
pub(crate) enum Side<'a> {
    File(&'a Path),
    Table {
        table: SideTable,
        /// The option that states the dialect of this side.
        option: &'static str,
        /// The keys of the rows that cannot be read, which are left out; without it, such a row is an error.
        unreadable: Option<Unreadable>,
    },
}

impl<'a> Side<'a> {
    /// Opens the connection of a table. Nothing is sent.
    pub(crate) fn open(
        operand: &'a Operand,
        option: &'static str,
        service: impl FnOnce() -> Result<TableServiceClient>,
    ) -> Result<Self> {
        Ok(match operand {
            Operand::File(path) => Self::File(path),
            Operand::Table(name) => {
                let table = SideTable::new(service()?, name);
                Self::Table { table, option, unreadable: None }
            }
        })
    }

    /// The rows in key order.
    pub(super) async fn rows(&self, reading: &Reading, progress: &Progress) -> Result<Rows> {
        match self {
            Self::File(path) => of_file(path, Format::of(path, reading.format)?, progress).await,
            Self::Table { table, option, unreadable } => {
                of_table(table, option, unreadable.clone(), reading, progress).await
            }
        }
    }
}

/// The rows of a table, sorted unless the service returns them in key order.
async fn of_table(
    table: &SideTable,
    option: &str,
    unreadable: Option<Unreadable>,
    reading: &Reading,
    progress: &Progress,
) -> Result<Rows> {
    let scan = Scan {
        filter: reading.filter.clone(),
        ranges: reading.ranges,
        ..Scan::of(table.rows.clone(), reading.rate)
    };
    let shown = progress.clone();
    let rows = match unreadable {
        Some(unreadable) => {
            let readable = move |read| match read {
                Read::Row(row) => Some(row),
                Read::Unreadable(key, _) => {
                    unreadable.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
                    None
                }
            };
            let rows = scan.reads_after(None)?;
            rows.try_filter_map(move |read| ready(Ok(readable(read)))).boxed()
        }
        None => scan.rows(),
    };
    let rows = rows.inspect_ok(move |_| shown.add_rows(1)).boxed();
    let rows = if table.has_key_order() { rows } else { sorted(rows).await? };
    Ok(in_order(rows, format!("table {}", table.rows.name()), advice(option)))
}

/// The rows of a file, which are sorted unless a first reading shows that they are in key order.
async fn of_file(path: &Path, format: Format, progress: &Progress) -> Result<Rows> {
    // Standard input and pipes can be read only once.
    let is_stored = fs::metadata(path).is_ok_and(|file| file.is_file() || file.is_dir());
    let is_sorted = is_stored && is_sorted(path, format)?;
    let shown = progress.clone();
    let rows = stream::iter(read(path, format)?);
    let rows = rows.inspect_ok(move |_| shown.add_rows(1)).boxed();
    let rows = if is_sorted { rows } else { sorted(rows).await? };
    let advice = "the file was changed during the comparison".to_owned();
    Ok(in_order(rows, path.display().to_string(), advice))
}

/// Reads the rows of a file. Damage has the exit code 1 here, since 3 means differences.
fn read(
    path: &Path,
    format: Format,
) -> Result<impl Iterator<Item = Result<DynamicEntity>> + use<>> {
    let failed = |failure: Failure| match failure.exit() {
        Exit::Different => Failure::new(Exit::Failed, failure.message()),
        _ => failure,
    };
    Ok(format::rows(path, format).map_err(failed)?.map(move |row| row.map_err(failed)))
}

fn is_sorted(path: &Path, format: Format) -> Result<bool> {
    let mut last: Option<EntityKey> = None;
    for row in read(path, format)? {
        let row: DynamicEntity = row?;
        if last.is_some_and(|last| compare(&last, row.key()).is_gt()) {
            return Ok(false);
        }
        last = Some(row.key().clone());
    }
    Ok(true)
}

/// Sorts rows by key.
pub(crate) async fn sorted(mut rows: Rows) -> Result<Rows> {
    let mut sorter = Sorter::new();
    while let Some(row) = rows.try_next().await? {
        sorter.push(&row)?;
    }
    Ok(stream::iter(sorter.finish()?).boxed())
}
