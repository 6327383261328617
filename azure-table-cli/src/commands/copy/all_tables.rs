//! `copy --all-tables`: the tables of an account into another one.

use std::path::{Path, PathBuf};

use azure_table_client::{DynamicEntity, TableServiceClient};

use super::dry_run;
use crate::args::{Copy as Arguments, Globals, Resuming, Selection};
use crate::engine::account::names::file_names;
use crate::engine::account::{
    BETWEEN_TABLES, Names, check_different_accounts, check_filter, check_target_names, of_table,
    table_names, without_questions,
};
use crate::engine::checkpoint::{CheckpointFile, Job, Resume};
use crate::engine::estimate;
use crate::engine::files::{note_current_folder, remove};
use crate::engine::row_list::confirm_replacing;
use crate::engine::stages::Stages;
use crate::failure::{Exit, Failure, Result};
use crate::interrupt::Interrupt;
use crate::output::{Out, one_line};
use crate::progress::grouped;
use crate::side_table::SideTable;

/// The checkpoint of the run in the current folder.
const CHECKPOINT: &str = "all-tables.checkpoint";

pub(crate) async fn run(
    args: Arguments,
    source: TableServiceClient,
    target: TableServiceClient,
    globals: &Globals,
) -> Result<()> {
    let interrupt = Interrupt::install()?;
    check_different_accounts(&source, &target)?;
    check_filter(&source, args.filter.as_deref())?;
    let known = Names::of(&target, interrupt.stops(table_names(&target)).await?);
    let copy = Copy { args, source, target, interrupt };
    if copy.args.dry_run {
        return copy.dry_run(&known, globals).await;
    }
    note_current_folder(&[Path::new(CHECKPOINT)], globals);
    let checkpoint = CheckpointFile::lock(CHECKPOINT, copy.job())?;
    let saved = checkpoint.begin(Resume::of(copy.args.resuming.resume, true), globals)?;
    let mut stages: Stages = match &saved {
        Some(saved) => saved.read()?,
        None => Stages::new(copy.tables(globals).await?.iter().map(String::as_str)),
    };
    let files = Files::of(&stages);
    stages.restart_missing(&known, |table| files.path(table, "checkpoint"), globals)?;
    copy.check_missing(stages.tables(), &known)?;
    for table in stages.tables().filter(|table| stages.is_pending(table)) {
        let list = files.path(table, "failed.jsonl");
        if list.exists() {
            confirm_replacing(&list, globals)?;
        }
    }
    checkpoint.save(&stages, 0)?;
    let each = without_questions(globals);
    let checkpoint_of = |table: &str| files.path(table, "checkpoint");
    let copy_table = async |table: &str| copy.table(table, &files, &known, &each).await;
    stages.run(&checkpoint, checkpoint_of, globals, copy_table).await?;
    checkpoint.remove()?;
    stages.conclude("copied", globals)
}

/// A copy of an account.
struct Copy {
    args: Arguments,
    source: TableServiceClient,
    target: TableServiceClient,
    interrupt: Interrupt,
}

impl Copy {
    /// Returns the selected tables.
    async fn tables(&self, globals: &Globals) -> Result<Vec<String>> {
        let names = self.interrupt.stops(table_names(&self.source)).await?;
        let names = self.args.selection.of(names, globals)?;
        check_target_names(&self.target, names.iter().map(String::as_str))?;
        Ok(names)
    }

    /// Checks that the target has these tables, or that the run creates them.
    fn check_missing<'t>(
        &self,
        tables: impl Iterator<Item = &'t str>,
        known: &Names,
    ) -> Result<()> {
        let missing: Vec<_> = tables.filter(|table| !known.contains(table)).map(one_line).collect();
        if missing.is_empty() || self.args.create {
            return Ok(());
        }
        let message = format!("the target has no tables {}: add --create", missing.join(", "));
        Err(Failure::new(Exit::NotFound, message))
    }

    /// Prints the rows of each table, and the requests of a run.
    async fn dry_run(&self, known: &Names, globals: &Globals) -> Result<()> {
        let tables = self.tables(globals).await?;
        self.check_missing(tables.iter().map(String::as_str), known)?;
        // A run lists the tables of both accounts too.
        let (mut out, mut requests) = (Out::new(), 2);
        for table in &tables {
            let action = if known.contains(table) { "write " } else { "create" };
            let source = SideTable::new(self.source.clone(), table);
            let args = self.args_of(table, known);
            let found = dry_run::estimate(&args, &source, globals).await;
            let found = found.map_err(of_table(table))?;
            let rows = grouped(found.rows());
            out.put(&format!("{action}  {rows:>13} rows  {}\n", one_line(table)))?;
            // Counting a table may take long.
            out.flush()?;
            requests += found.reads() + found.writes() + 2 * u64::from(args.create);
        }
        out.put(&estimate::line(requests))?;
        out.flush()
    }

    /// The arguments that a resumed run must repeat.
    fn job(&self) -> Job {
        Job::new("copy --all-tables", self.source.endpoint(), self.target.endpoint())
            .with("filter", self.args.filter.clone().unwrap_or_default())
            .with("include", Selection::text(&self.args.selection.include))
            .with("exclude", Selection::text(&self.args.selection.exclude))
    }

    /// The arguments of a run for one table.
    fn args_of(&self, table: &str, known: &Names) -> Arguments {
        Arguments {
            source: table.to_owned(),
            target: table.to_owned(),
            create: !known.contains(table),
            ..self.args.clone()
        }
    }

    /// Copies a table, or continues to do so.
    async fn table(
        &self,
        table: &str,
        files: &Files,
        known: &Names,
        globals: &Globals,
    ) -> Result<()> {
        self.interrupt.check(BETWEEN_TABLES)?;
        let checkpoint = files.path(table, "checkpoint");
        let args = Arguments {
            resuming: Resuming {
                resume: checkpoint.exists(),
                checkpoint: Some(checkpoint.clone()),
                ..self.args.resuming.clone()
            },
            failed: Some(files.path(table, "failed.jsonl")),
            ..self.args_of(table, known)
        };
        let copied =
            super::table(args, self.source.clone(), self.target.clone(), None, globals).await;
        if let Err(failure) = &copied
            && failure.exit() == Exit::NotFound
            && !self.source.table_named::<DynamicEntity>(table).table_exists().await?
        {
            // It has nothing to continue.
            remove(&checkpoint)?;
            return Err(Failure::new(Exit::Partial, "it was deleted in the source"));
        }
        copied
    }
}

/// The files of each table in the current folder.
struct Files(Vec<(String, String)>);

impl Files {
    fn of(stages: &Stages) -> Self {
        let names = file_names(stages.tables());
        Self(stages.tables().map(str::to_owned).zip(names).collect())
    }

    fn path(&self, table: &str, extension: &str) -> PathBuf {
        let found = self.0.iter().find(|(known, _)| known == table);
        let name = found.map_or(table, |(_, name)| name);
        PathBuf::from(format!("all-tables-{name}.{extension}"))
    }
}
