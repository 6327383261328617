//! `import`: the rows of a file into a table, by a bulk run.
//!
//! The file is read twice: first to find damaged rows before anything is sent, then to send its rows. Standard input and
//! pipes are read once.

mod dry_run;
mod files;
mod input;
mod mode;
mod run;
mod source;

use std::path::Path;

use azure_table_client::bulk::{Bulk, Checkpoint};
use azure_table_client::{DynamicEntity, Error, ErrorCode, TableClient, TableServiceClient};

use super::accounts;
use crate::args::{Globals, Import as Arguments};
use crate::failure::{Exit, Failure, Result};
use crate::format::Format;
use crate::interrupt::Interrupt;
use crate::progress::{Progress, counted};
use crate::run_files::checkpoint::CheckpointFile;
use crate::run_files::checksum::Checksum;
use crate::table_name;
use files::Files;
use run::Run;
use source::SharedRows;

pub(super) use dry_run::estimate;
pub(super) use input::{read as read_file, size};
pub(crate) use mode::Mode;

pub(crate) async fn run(args: Arguments, globals: &Globals) -> Result<()> {
    if args.all_tables {
        return accounts::import::run(args, globals).await;
    }
    if args.file.is_dir() {
        let folder = args.file.display();
        let message = format!(
            "{folder} is a folder: import a backup with --all-tables, without the name of a table"
        );
        return Err(Failure::usage(message));
    }
    let service = globals.service()?;
    if args.dry_run {
        return dry_run::run(&args, &service, globals).await;
    }
    table(args, &service, globals).await
}

/// Imports a table.
pub(crate) async fn table(
    args: Arguments,
    service: &TableServiceClient,
    globals: &Globals,
) -> Result<()> {
    let format = Format::of(&args.file, args.format)?;
    table_name::check(service, &args.table)?;
    let table = service.table_named::<DynamicEntity>(&args.table);
    let Files { checkpoint, saved, position, refused, unknown } =
        Files::open(&args, service.endpoint(), globals)?;
    let interrupt = Interrupt::install()?;
    let checked = match &checkpoint {
        Some(checkpoint) => {
            let progress = Progress::new(globals.quiet, args.label("check"), None);
            let checked = input::check(&args.file, format, &interrupt, progress).await?;
            let is_changed = |expected: &Checksum| expected.to_string() != checked.content;
            if args.expected.as_ref().is_some_and(is_changed) {
                let file = args.file.display();
                let message =
                    format!("{file} was changed during the import: this run sent none of its rows");
                return Err(Failure::new(Exit::Different, message));
            }
            let is_resumed = !position.content.is_empty();
            if is_resumed && position.content != checked.content {
                return Err(checkpoint.of_another_run("the content of the file has changed"));
            }
            Some(checked)
        }
        None => None,
    };
    if let Some(saved) = &saved {
        saved.note(position.bulk.resolved(), globals);
    }
    if args.create {
        let resolved = position.bulk.resolved();
        let path = checkpoint.as_ref().map(CheckpointFile::path).filter(|_| resolved > 0);
        interrupt.stops(prepare(&table, path, resolved)).await?;
    }
    let (total, content) =
        checked.map_or((None, String::new()), |checked| (Some(checked.rows), checked.content));
    let progress = Progress::new(globals.quiet, args.label("import"), total)
        .with_requests(&globals.connection.requests);
    let bulk = table.bulk().concurrency(args.concurrency.into()).resume(position.bulk.clone());
    let bulk = show(args.rate.limit_run(bulk), progress.clone());
    let save_every = args.save_every;
    let rows = SharedRows::new(refused, unknown);
    let is_resumed = position.bulk != Checkpoint::new();
    let monitor = bulk.monitor();
    let run = Run { monitor, rows, checkpoint, content, is_resumed, save_every };
    let begin = {
        let run = run.clone();
        move || run.save()
    };
    let chunks = input::read(&args.file, format, total);
    let rows = run.rows.clone();
    let operations = source::operations(chunks, args.mode, position.bulk, rows, begin);
    let report = run.drive(bulk, operations, &interrupt).await;
    progress.finish();
    let report = report?;
    let is_missing = |error: &Error| error.code() == Some(&ErrorCode::TableNotFound);
    let needs_create =
        !args.all_tables && !args.create && report.stopped_by().is_some_and(is_missing);
    let end = run.conclude(&report);
    let end = if needs_create { end.map_err(|failure| with_create(&failure)) } else { end };
    if run.has_changed(&args.file, &interrupt)? { Err(run.restart(&args.file)?) } else { end }
}

/// Adds the option that creates a missing table.
fn with_create(failure: &Failure) -> Failure {
    Failure::new(failure.exit(), format!("{}; add --create to create it", failure.message()))
}

/// Creates the table if it does not exist. A run that resumes after `resolved` rows needs the table that has them.
async fn prepare(
    table: &TableClient<DynamicEntity>,
    resumed: Option<&Path>,
    resolved: u64,
) -> Result<()> {
    let Some(checkpoint) = resumed else {
        table.create_if_not_exists().await?;
        return Ok(());
    };
    if table.table_exists().await? {
        return Ok(());
    }
    let (name, rows, path) = (table.name(), counted(resolved, "row"), checkpoint.display());
    let message = format!(
        "the table {name} does not exist any more, and the earlier run has handled {rows}: delete {path} to import all rows again"
    );
    Err(Failure::new(Exit::NotFound, message))
}

/// Shows the progress of a bulk run.
pub(crate) fn show(bulk: Bulk<DynamicEntity>, progress: Progress) -> Bulk<DynamicEntity> {
    let (mut applied, mut not_applied, mut skipped, mut bytes) = (0, 0, 0, 0);
    bulk.on_progress(move |now| {
        let others = now.failed + now.unknown + now.not_attempted;
        progress.add_earlier_rows(now.skipped - skipped);
        progress.add_rows(now.applied - applied);
        progress.add_not_applied(others - not_applied);
        progress.add_bytes(now.bytes - bytes);
        (applied, not_applied, skipped, bytes) = (now.applied, others, now.skipped, now.bytes);
    })
}
