//! Seven units of work that lose responses or saves, and what must hold after each.
//!
//! The tests judge what the reports state and what the rows are. Where a save may end in a conflict, an error or an
//! unknown outcome, each of these passes; the number of requests is free.

mod deleted_and_added;
mod lost_versions;
mod missing_reports;

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use azure_table_client::client::WriteResult;
use azure_table_client::context::{SaveError, SaveOptions, SaveReport, TableContext};
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, IfMatch};
use azure_table_tests::scripted::{Scripted, Step};

use super::earlier_attempts::{context, row, virtual_time};
use super::{KEY, stored};

const MODES: [fn() -> SaveOptions; 3] =
    [SaveOptions::each, SaveOptions::atomic, SaveOptions::per_partition];

/// A service with a table, and a context whose requests follow a script.
async fn stage(has_ids: bool) -> (MockTableService, Arc<Scripted>, TableContext) {
    let mock = virtual_time();
    stored(&mock).create().await.unwrap();
    let transport = Scripted::recorder(mock.transport());
    let ctx = context(&mock, &transport, has_ids);
    (mock, transport, ctx)
}

/// Another program writes columns of the row.
async fn other_program(mock: &MockTableService, columns: &[(&str, i32)]) {
    stored(mock).insert_or_merge(&row(columns)).await.unwrap();
}

/// The request is applied, another program writes these columns, and no response comes.
fn applied_without_response(mock: &MockTableService, columns: &[(&'static str, i32)]) -> Step {
    let (mock, columns) = (mock.clone(), columns.to_vec());
    Step::pass().then(async move {
        if !columns.is_empty() {
            other_program(&mock, &columns).await;
        }
        pending::<()>().await;
    })
}

/// Saves, and drops the save after a second.
async fn dropped_save(ctx: &mut TableContext, options: SaveOptions) {
    let save = tokio::time::timeout(Duration::from_secs(1), ctx.save_changes_with(options));
    assert!(save.await.is_err(), "the save has ended");
}

fn report(saved: Result<SaveReport, SaveError>) -> SaveReport {
    saved.unwrap_or_else(|error| error.report)
}

/// The number of changes of an entity that a report calls applied.
fn applied(report: &SaveReport, row_key: &str) -> usize {
    report.results.iter().filter(|it| it.is_applied() && is_of_row(it, row_key)).count()
}

fn is_of_row(result: &WriteResult, row_key: &str) -> bool {
    result.key.as_ref().is_some_and(|key| key.row_key == row_key)
}

/// A column of the row; `None` if the column or the row does not exist.
fn column(mock: &MockTableService, name: &str) -> Option<i32> {
    mock.row("Blogs", KEY.0, KEY.1)?.get(name)?.ok()
}

fn key_only() -> DynamicEntity {
    row(&[])
}

async fn delete_by_other_program(mock: &MockTableService, row_key: &str) {
    stored(mock).delete((KEY.0, row_key), IfMatch::Any).await.unwrap();
}
