//! The removal of the rows that a run wrote.

use azure_table_client::IfMatch;
use azure_table_client::bulk::{BulkError, BulkOperation};

use super::load::Load;
use crate::engine::write_run::show;
use crate::failure::{Exit, Failure, Result};
use crate::progress::Progress;

/// Removes the rows that the run wrote.
pub(super) async fn remove(load: &Load, progress: &Progress) -> Result<()> {
    let bulk = show(load.table.bulk(), progress.clone());
    let deletes = load.partition.keys().map(|key| BulkOperation::DeleteIfExists(key, IfMatch::Any));
    bulk.run(deletes).await.map(drop).map_err(|error| left(&error, load))
}

fn left(error: &BulkError, load: &Load) -> Failure {
    let progress = error.report().progress;
    let exit = if progress.unknown > 0 { Exit::Unknown } else { Exit::Failed };
    let (partition, table) = (&load.partition.name, load.table.name());
    Failure::new(exit, format!("rows may be left in the partition {partition} of {table}: {error}"))
}
