//! `export --all-tables`: a file for each table, and the manifest.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use azure_table_client::{Dialect, DynamicEntity, TableServiceClient};
use clap::ValueEnum as _;
use serde_json::Value;

use super::new_folders::NewFolders;
use crate::args::{Export as Arguments, Globals, Resuming, Selection};
use crate::engine::account::backup::EXPORT as CHECKPOINT;
use crate::engine::account::manifest::{self, Entry, Manifest, Part, Policy, State};
use crate::engine::account::names::file_names;
use crate::engine::account::{
    BETWEEN_TABLES, check_filter, of_table, stopped, table_names, without_questions,
};
use crate::engine::checkpoint::{CheckpointFile, Job, Resume, is_run_file};
use crate::engine::checksum::Checksum;
use crate::engine::estimate::{self, pages};
use crate::engine::files::{remove, with_suffix};
use crate::failure::{Exit, Failure, Result};
use crate::format::Format;
use crate::interrupt::Interrupt;
use crate::output::{Out, note, one_line};
use crate::progress::counted;

pub(crate) async fn run(args: Arguments, folder: PathBuf, globals: &Globals) -> Result<()> {
    let service = globals.service()?;
    check_filter(&service, args.filter.as_deref())?;
    let interrupt = Interrupt::install()?;
    if args.dry_run {
        return dry_run(&args, &service, &interrupt, globals).await;
    }
    let new_folders = NewFolders::create(&folder)?;
    let exported = to_folder(args, folder, service, interrupt, globals).await;
    if exported.is_err() {
        new_folders.remove_empty();
    }
    exported
}

/// Prints the rows of each table, and the requests of a run.
async fn dry_run(
    args: &Arguments,
    service: &TableServiceClient,
    interrupt: &Interrupt,
    globals: &Globals,
) -> Result<()> {
    let tables = args.selection.of(interrupt.stops(table_names(service)).await?, globals)?;
    // A run lists the tables too.
    let (mut out, mut requests) = (Out::new(), 1);
    for table in &tables {
        let one = Arguments { table: table.clone(), ..args.clone() };
        let rows = super::count(&one, service, globals).await;
        let rows = rows.map_err(of_table(table))?;
        out.put(&format!("export  {:>18}  {}\n", counted(rows, "row"), one_line(table)))?;
        // Counting a table may take long.
        out.flush()?;
        requests += pages(rows) + u64::from(reads_policies(args, service));
    }
    out.put(&estimate::line(requests))?;
    out.flush()
}

fn reads_policies(args: &Arguments, service: &TableServiceClient) -> bool {
    !args.no_policies && service.dialect() != Dialect::CosmosDb
}

/// Exports the tables to a folder, or continues to do so.
async fn to_folder(
    args: Arguments,
    folder: PathBuf,
    service: TableServiceClient,
    interrupt: Interrupt,
    globals: &Globals,
) -> Result<()> {
    let format = args.format.unwrap_or(Format::JsonLines);
    let checkpoint = CheckpointFile::lock(folder.join(CHECKPOINT), job(&args, format, &service))?;
    let is_begun = checkpoint.begin(Resume::of(args.resuming.resume, true), globals)?.is_some();
    let manifest = if folder.join(manifest::NAME).exists() {
        let manifest = Manifest::read(&folder)?;
        if !is_begun {
            return Err(is_not_empty(&folder));
        }
        manifest
    } else {
        check_empty(&folder)?;
        let started = manifest::now();
        let tables = args.selection.of(interrupt.stops(table_names(&service)).await?, globals)?;
        let entries = entries(&tables, format);
        let part = Part::of(&args);
        let mut manifest = Manifest::new(service.endpoint(), started, part, entries);
        checkpoint.save(&Value::Null, 0)?;
        manifest.save(&folder)?;
        manifest
    };
    let mut backup = Backup { args, folder, service, interrupt, manifest };
    if backup.manifest.finished.is_none() {
        backup.run(globals).await?;
    }
    checkpoint.remove()?;
    backup.conclude(globals)
}

/// The arguments that a resumed run must repeat.
fn job(args: &Arguments, format: Format, service: &TableServiceClient) -> Job {
    let format = format.to_possible_value();
    let format = format.map(|value| value.get_name().to_owned()).unwrap_or_default();
    Job::new("export --all-tables", service.endpoint(), "")
        .with("format", format)
        .with("filter", args.filter.clone().unwrap_or_default())
        .with("select", args.select.join(","))
        .with("system", args.system.to_string())
        .with("include", Selection::text(&args.selection.include))
        .with("exclude", Selection::text(&args.selection.exclude))
}

fn entries(tables: &[String], format: Format) -> Vec<Entry> {
    let names = file_names(tables.iter().map(|table| &**table));
    let extension = format.extension();
    let entry =
        |(table, name): (&String, String)| Entry::pending(table, format!("{name}.{extension}"));
    tables.iter().zip(names).map(entry).collect()
}

/// Checks that the folder has no files but those of this run's checkpoint.
fn check_empty(folder: &Path) -> Result<()> {
    let failed = |error| Failure::file("read", folder, error);
    for file in fs::read_dir(folder).map_err(failed)? {
        let name = file.map_err(failed)?.file_name();
        let name = name.to_string_lossy();
        // A run that was killed may leave a temporary manifest.
        if ![CHECKPOINT, manifest::NAME].iter().any(|file| is_run_file(file, &name)) {
            return Err(is_not_empty(folder));
        }
    }
    Ok(())
}

fn is_not_empty(folder: &Path) -> Failure {
    let folder = folder.display();
    Failure::usage(format!("{folder} is not empty: export to a new or an empty folder"))
}

/// A backup that is being written.
struct Backup {
    args: Arguments,
    folder: PathBuf,
    service: TableServiceClient,
    interrupt: Interrupt,
    manifest: Manifest,
}

impl Backup {
    async fn run(&mut self, globals: &Globals) -> Result<()> {
        let globals = without_questions(globals);
        let mut saved = Instant::now();
        for at in 0..self.manifest.tables.len() {
            let entry = self.manifest.tables[at].clone();
            if entry.state != State::Pending {
                continue;
            }
            let table = entry.table.clone();
            self.manifest.tables[at] = match self.table(entry.clone(), &globals).await {
                Ok(entry) => entry,
                Err(failure) if failure.exit() == Exit::NotFound && !self.has(&table).await? => {
                    let table = one_line(&table);
                    note(&globals, &format!("the table {table} was deleted: it is not exported"));
                    self.remove_files(&entry)?;
                    Entry { state: State::Deleted, ..entry }
                }
                Err(failure) => {
                    // Its failure only means that a resumed run exports some tables again.
                    let _ = self.manifest.save(&self.folder);
                    return Err(self.stopped(&table, &failure));
                }
            };
            // The manifest has all tables: saving it after each one would write gigabytes for thousands of them.
            if saved.elapsed() >= self.args.resuming.save_every {
                self.manifest.save(&self.folder)?;
                saved = Instant::now();
            }
        }
        self.manifest.finished = Some(manifest::now());
        self.manifest.save(&self.folder)
    }

    /// Exports a table, or continues to do so.
    async fn table(&self, mut entry: Entry, globals: &Globals) -> Result<Entry> {
        self.interrupt.check(BETWEEN_TABLES)?;
        let file = entry.path(&self.folder)?;
        let args = Arguments {
            table: entry.table.clone(),
            resuming: Resuming {
                resume: with_suffix(&file, ".checkpoint").exists(),
                ..self.args.resuming.clone()
            },
            file: file.clone(),
            ..self.args.clone()
        };
        entry.rows = super::table(&args, &self.service, globals).await?;
        entry.content = Some(Checksum::of_file(&file, &self.interrupt)?);
        if reads_policies(&self.args, &self.service) {
            let table = self.service.table_named::<DynamicEntity>(&entry.table);
            let policies = self.interrupt.stops(async { Ok(table.access_policies().await?) });
            let policies = policies.await.map_err(|failure| {
                let next = "--no-policies exports without them";
                let message = format!("access policies: {}; {next}", failure.message());
                Failure::new(failure.exit(), message)
            })?;
            entry.policies = Some(policies.iter().map(Policy::from).collect());
        }
        Ok(Entry { state: State::Complete, ..entry })
    }

    /// Whether the account has the table.
    async fn has(&self, table: &str) -> Result<bool> {
        Ok(self.service.table_named::<DynamicEntity>(table).table_exists().await?)
    }

    /// Removes the files of a table that does not exist any more.
    fn remove_files(&self, entry: &Entry) -> Result<()> {
        let file = entry.path(&self.folder)?;
        for suffix in ["", ".part", ".rows.part", ".checkpoint"] {
            remove(&with_suffix(&file, suffix))?;
        }
        Ok(())
    }

    /// The failure of a table, which ends the run.
    fn stopped(&self, table: &str, failure: &Failure) -> Failure {
        let tables = &self.manifest.tables;
        let complete = tables.iter().filter(|entry| entry.state != State::Pending).count();
        stopped(table, failure, complete, tables.len())
    }

    fn conclude(&self, globals: &Globals) -> Result<()> {
        let tables = &self.manifest.tables;
        let rows = tables.iter().map(|entry| entry.rows).sum();
        let is_deleted = |entry: &&Entry| entry.state == State::Deleted;
        let deleted: Vec<_> =
            tables.iter().filter(is_deleted).map(|entry| one_line(&entry.table)).collect();
        let exported = counted((tables.len() - deleted.len()) as u64, "table");
        let message = format!("{exported} exported, {}", counted(rows, "row"));
        if deleted.is_empty() {
            note(globals, &message);
            return Ok(());
        }
        let deleted = deleted.join(", ");
        let message = format!("{message}; deleted during the export: {deleted}");
        Err(Failure::new(Exit::Partial, message))
    }
}
