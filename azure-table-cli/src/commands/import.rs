//! `import`: the rows of a file into a table, by a bulk run.
//!
//! The file is read twice: first to find damaged rows before anything is sent, then to send its rows. Standard input and
//! pipes are read once.

mod all_tables;
mod dry_run;
mod files;

use std::path::Path;

use azure_table_client::bulk::{BulkMonitor, BulkOperation, Checkpoint};
use azure_table_client::{ErrorCode, TableClient, TableServiceClient};
use futures_util::{Stream, StreamExt as _, stream};
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, mpsc};

use crate::args::{Globals, Import as Arguments};
use crate::engine::checkpoint::CheckpointFile;
use crate::engine::checksum::Checksum;
use crate::engine::end::{End, problem_of};
use crate::engine::input::{self, Chunk, Input};
use crate::engine::mode::Mode;
use crate::engine::write_run::{Driven, HeldRow, Ledger, Saving, drive, show};
use crate::failure::{Exit, Failure, Result};
use crate::format::Format;
use crate::format::list::Lists;
use crate::interrupt::Interrupt;
use crate::output::note;
use crate::progress::{Progress, counted};
use crate::table_name;
use files::Files;

/// The position of an unfinished import.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Position {
    bulk: Checkpoint,
    /// The size and the hash of the imported file, whose rows `bulk` counts.
    content: String,
}

pub(crate) async fn run(args: Arguments, globals: &Globals) -> Result<()> {
    if args.all_tables {
        return all_tables::run(args, globals).await;
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

/// The file of the arguments. One table may be written from a list of rows that did not get through.
fn input_of(args: &Arguments) -> Result<Input> {
    let format = Format::of(&args.file, args.format)?;
    let lists = (!args.all_tables).then(|| Lists::new(args.include_changed));
    Ok(Input { path: args.file.clone(), format, lists })
}

/// Imports a table.
pub(crate) async fn table(
    args: Arguments,
    service: &TableServiceClient,
    globals: &Globals,
) -> Result<()> {
    let input = input_of(&args)?;
    table_name::check(service, &args.table)?;
    let table = service.table_named::<HeldRow>(&args.table);
    let Files { checkpoint, saved, position, list } =
        Files::open(&args, service.endpoint(), globals)?;
    let interrupt = Interrupt::install()?;
    let checked = match &checkpoint {
        Some(checkpoint) => {
            let progress = Progress::new(globals.quiet, args.label("check"), None);
            let checked = input::check(&input, &interrupt, progress).await?;
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
    if let Some(left) = input.lists.as_ref().map(Lists::left).filter(|left| *left > 0) {
        let of = if args.include_changed { "" } else { " (--include-changed takes changed rows)" };
        note(globals, &format!("leaves {} of the list{of}", counted(left, "line")));
    }
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
    let bulk =
        table.bulk().concurrency(args.writing.concurrency.into()).resume(position.bulk.clone());
    let ledger = Ledger::new(list);
    let outcomes = ledger.clone();
    let bulk = show(args.rate.limit_run(bulk), progress.clone());
    let bulk = bulk.on_row(move |result| outcomes.end(result));
    let is_resumed = position.bulk != Checkpoint::new();
    let files = Saved { ledger, checkpoint, monitor: bulk.monitor(), content };
    let begin = {
        let files = files.clone();
        move || files.save()
    };
    let operations =
        operations(input::read(&input, total), args.mode, position.bulk, &files.ledger, begin);
    let mut save = || files.save();
    let saving = Saving { every: args.resuming.save_every, early: &Notify::new(), save: &mut save };
    let driven = drive(bulk, operations, &interrupt, saving).await;
    progress.finish();
    let driven = driven?;
    let is_interrupted = driven.interrupted.is_some();
    let end = files.conclude(&args, driven, is_resumed);
    let has_changed = match &files.checkpoint {
        Some(_) if !is_interrupted => {
            Checksum::of_file(&args.file, &interrupt)?.to_string() != files.content
        }
        _ => false,
    };
    if has_changed {
        return Err(files.restart(&args.file)?);
    }
    match end? {
        Ended::Begun(end) => end.report(globals),
        Ended::NotBegun(failure) => Err(failure),
    }
}

/// The files of a run, and what they are written from. Clones share it.
#[derive(Clone)]
struct Saved {
    ledger: Ledger,
    /// `None` for an input that cannot be read again.
    checkpoint: Option<CheckpointFile>,
    monitor: BulkMonitor,
    /// The content of the imported file.
    content: String,
}

/// The end of a run.
enum Ended {
    Begun(End),
    /// No row can have been written.
    NotBegun(Failure),
}

impl Saved {
    /// Writes the list, then the checkpoint that counts its rows.
    fn save(&self) -> Result<()> {
        let failed = self.ledger.lock().list.save()?;
        let Some(checkpoint) = &self.checkpoint else { return Ok(()) };
        let (bulk, content) = (self.monitor.checkpoint(), self.content.clone());
        checkpoint.save(&Position { bulk, content }, failed)
    }

    /// Saves the files, and removes the checkpoint if every row is resolved.
    fn conclude(&self, args: &Arguments, driven: Driven, is_resumed: bool) -> Result<Ended> {
        let Driven { report, interrupted } = driven;
        self.save()?;
        let mut outcomes = self.ledger.lock();
        let mut rows = outcomes.tally;
        let is_over =
            rows.unknown + rows.unsent == 0 && report.stopped.is_none() && interrupted.is_none();
        let has_begun = is_resumed
            || report.checkpoint.resolved() > 0
            || rows.unknown > 0
            || interrupted.is_some();
        if let Some(checkpoint) = &self.checkpoint
            && (is_over || !has_begun)
        {
            checkpoint.remove()?;
        }
        let problem = problem_of(&report);
        if !has_begun && let Some(problem) = problem {
            let is_missing = report
                .stopped_by()
                .is_some_and(|error| error.code() == Some(&ErrorCode::TableNotFound));
            let advice =
                if is_missing && !args.create { "; add --create to create it" } else { "" };
            let failure = Failure::new(problem.exit(), format!("{}{advice}", problem.message()));
            return Ok(Ended::NotBegun(failure));
        }
        outcomes.list.finish()?;
        if interrupted.is_none() {
            outcomes.list.remove_old()?;
        }
        // With those of the runs that this one resumes.
        (rows.refused, rows.changed) = (report.checkpoint.refused(), 0);
        rows.done = report.checkpoint.resolved() - rows.refused;
        let next = match &self.checkpoint {
            Some(_) => "add --resume to import the others",
            None => "this input has no checkpoint: import it again",
        };
        Ok(Ended::Begun(End {
            verb: "imported",
            rows,
            in_flight: report.progress.held(),
            list: outcomes.list.path().to_owned(),
            interrupted,
            problem,
            next: next.to_owned(),
        }))
    }

    /// Lets a resumed run begin with the first row. Returns the failure of a file that has changed.
    fn restart(&self, file: &Path) -> Result<Failure> {
        if let Some(checkpoint) = &self.checkpoint {
            checkpoint.save(&Position::default(), 0)?;
        }
        let file = file.display();
        let message = format!(
            "{file} was changed during the import, and its rows may be those before or after the change; --resume imports all of them again"
        );
        Ok(Failure::new(Exit::Different, message))
    }
}

type Operation = Result<BulkOperation<HeldRow>>;

/// Returns the operations on the rows. `begin` is called when the bulk run reads the first one, after it has an id and
/// before it sends anything.
fn operations(
    mut chunks: mpsc::Receiver<Chunk>,
    mode: Mode,
    resolved: Checkpoint,
    ledger: &Ledger,
    begin: impl FnOnce() -> Result<()>,
) -> impl Stream<Item = Operation> {
    let (ledger, mut begin, mut index) = (ledger.clone(), Some(begin), 0_u64);
    let chunks = stream::poll_fn(move |context| chunks.poll_recv(context));
    chunks.flat_map(stream::iter).map(move |row| {
        begin.take().map_or(Ok(()), |begin| begin())?;
        let row = HeldRow::from(row?);
        if !resolved.is_resolved(index) {
            ledger.hold(index, &row);
        }
        index += 1;
        Ok(mode.operation(row))
    })
}

/// Creates the table if it does not exist. A run that resumes after `resolved` rows needs the table that has them.
async fn prepare(
    table: &TableClient<HeldRow>,
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
