//! `import --all-tables`: the tables of a backup.

use std::path::{Path, PathBuf};

use super::dry_run;
use azure_table_client::client::StoredAccessPolicy;
use azure_table_client::{Dialect, DynamicEntity, TableServiceClient};
use futures_util::TryStreamExt as _;

use crate::args::{Globals, Import as Arguments, Resuming, Selection};
use crate::engine::account::backup::{self, IMPORT as CHECKPOINT};
use crate::engine::account::manifest::{self, Entry, Manifest, Policy};
use crate::engine::account::{
    BETWEEN_TABLES, Names, check_target_names, of_table, table_names, without_questions,
};
use crate::engine::checkpoint::{CheckpointFile, Job, Resume};
use crate::engine::checksum::Checksum;
use crate::engine::estimate;
use crate::engine::files::with_suffix;
use crate::engine::row_list::{SUFFIX, confirm_replacing};
use crate::engine::stages::Stages;
use crate::failure::{Exit, Failure, Result};
use crate::format::Format;
use crate::interrupt::Interrupt;
use crate::output::{Out, note, one_line};
use crate::progress::counted;
use crate::requests::Requests;

/// The most problems of a damaged backup in the message.
const LISTED: usize = 5;

pub(crate) async fn run(args: Arguments, globals: &Globals) -> Result<()> {
    let interrupt = Interrupt::install()?;
    let restore = Restore::open(args, interrupt, globals)?;
    let names = restore.interrupt.stops(table_names(&restore.service)).await?;
    let known = Names::of(&restore.service, names);
    if restore.args.dry_run {
        return restore.dry_run(&known, globals).await;
    }
    let path = restore.folder.join(CHECKPOINT);
    let checkpoint = CheckpointFile::lock(path, restore.job()?)?;
    let saved = checkpoint.begin(Resume::of(restore.args.resuming.resume, true), globals)?;
    let mut stages = match &saved {
        Some(saved) => saved.read()?,
        None => Stages::new(restore.tables.iter().map(|entry| &*entry.table)),
    };
    stages.restart_missing(&known, |table| restore.checkpoint_of(table), globals)?;
    let filled = restore.filled(&known, |table| stages.is_pending(table)).await?;
    if !filled.is_empty() && !restore.args.replace {
        let tables = filled.join(", ");
        let message = format!(
            "not empty: {tables}; add --replace to replace rows with the same keys and keep the others"
        );
        return Err(Failure::new(Exit::Conflict, message));
    }
    restore.confirm_lists(&stages, globals)?;
    checkpoint.save(&stages, 0)?;
    let each = without_questions(globals);
    let checkpoint_of = |table: &str| restore.checkpoint_of(table);
    let import = async |table: &str| restore.table(table, &known, &each).await;
    stages.run(&checkpoint, checkpoint_of, globals, import).await?;
    restore.set_policies(globals).await?;
    checkpoint.remove()?;
    stages.conclude("imported", globals)
}

/// An import of a backup whose files are as its manifest states.
struct Restore {
    args: Arguments,
    folder: PathBuf,
    service: TableServiceClient,
    interrupt: Interrupt,
    tables: Vec<Entry>,
}

impl Restore {
    /// Checks the backup. Nothing is sent.
    fn open(args: Arguments, interrupt: Interrupt, globals: &Globals) -> Result<Self> {
        let (service, folder) = (globals.service()?, args.file.clone());
        let manifest = Manifest::read(&folder)?;
        if let Some(problem) = backup::unfinished(&manifest) {
            let message = format!("{}: {problem}", folder.display());
            return Err(Failure::new(Exit::Different, message));
        }
        manifest.note_part(globals);
        let mut tables = manifest.tables;
        tables.retain(|entry| entry.content.is_some());
        let names = tables.iter().map(|entry| entry.table.clone()).collect();
        let names = args.selection.of(names, globals)?;
        tables.retain(|entry| names.contains(&entry.table));
        check_target_names(&service, tables.iter().map(|entry| &*entry.table))?;
        for Entry { table, file, policies, .. } in &tables {
            Format::of(Path::new(file), None)?;
            stored(policies.as_deref().unwrap_or_default()).map_err(of_table(table))?;
        }
        let problems = backup::damaged(&folder, &tables, &interrupt, globals)?;
        if !problems.is_empty() {
            return Err(is_damaged(&folder, &problems));
        }
        Ok(Self { args, folder, service, interrupt, tables })
    }

    /// The arguments that a resumed run must repeat.
    fn job(&self) -> Result<Job> {
        let manifest = self.folder.join(manifest::NAME);
        let backup = Checksum::of_file(&manifest, &self.interrupt)?.to_string();
        Ok(Job::new("import --all-tables", backup, self.service.endpoint())
            .with("include", Selection::text(&self.args.selection.include))
            .with("exclude", Selection::text(&self.args.selection.exclude)))
    }

    /// Returns those of the selected tables that have rows in the target.
    async fn filled(
        &self,
        known: &Names,
        is_selected: impl Fn(&str) -> bool,
    ) -> Result<Vec<String>> {
        let mut filled = Vec::new();
        for Entry { table, .. } in &self.tables {
            if is_selected(table) && known.contains(table) && self.has_rows(table).await? {
                filled.push(one_line(table));
            }
        }
        Ok(filled)
    }

    async fn has_rows(&self, table: &str) -> Result<bool> {
        let rows = self.service.table_named::<DynamicEntity>(table).query().allow_scan().take(1);
        let mut rows = rows.stream();
        self.interrupt.stops(async { Ok(rows.try_next().await?.is_some()) }).await
    }

    /// Lists the tables. Prints the requests of a run, unless it would refuse a table.
    async fn dry_run(&self, known: &Names, globals: &Globals) -> Result<()> {
        let filled = self.filled(known, |_| true).await?;
        let mut out = Out::new();
        for Entry { table, rows, .. } in &self.tables {
            let action = match known.contains(table) {
                false => "create ",
                true if !filled.contains(&one_line(table)) => "fill   ",
                true if self.args.replace => "replace",
                true => "refuse ",
            };
            let rows = counted(*rows, "row");
            out.put(&format!("{action}  {rows:>18}  {}\n", one_line(table)))?;
        }
        if filled.is_empty() || self.args.replace {
            out.put(&estimate::line(self.requests(known, globals).await?))?;
        }
        out.flush()
    }

    /// The requests of a run.
    async fn requests(&self, known: &Names, globals: &Globals) -> Result<u64> {
        // A run lists the tables and looks for rows too.
        let mut all = Requests::sent(&globals.connection.requests).total();
        for entry in &self.tables {
            let args = self.args_of(entry, known)?;
            let found = dry_run::estimate(&args, globals).await;
            let found = found.map_err(of_table(&entry.table))?;
            let sets_policies = self.sets_policies() && entry.policies.is_some();
            all += found.writes() + u64::from(args.create) + u64::from(sets_policies);
        }
        Ok(all)
    }

    /// Requires a confirmation to replace the lists of an earlier run.
    fn confirm_lists(&self, stages: &Stages, globals: &Globals) -> Result<()> {
        for entry in self.tables.iter().filter(|entry| stages.is_pending(&entry.table)) {
            let file = entry.path(&self.folder)?;
            let list = with_suffix(&file, SUFFIX);
            if list.exists() {
                confirm_replacing(&list, globals)?;
            }
        }
        Ok(())
    }

    /// Imports a table, or continues to do so.
    async fn table(&self, table: &str, known: &Names, globals: &Globals) -> Result<()> {
        self.interrupt.check(BETWEEN_TABLES)?;
        let Some(entry) = self.tables.iter().find(|entry| entry.table == table) else {
            return Ok(());
        };
        let resume = self.checkpoint_of(table).exists();
        let resuming = Resuming { resume, ..self.args.resuming.clone() };
        let args = Arguments { resuming, ..self.args_of(entry, known)? };
        super::table(args, &self.service, globals).await
    }

    /// The arguments of a run for one table.
    fn args_of(&self, entry: &Entry, known: &Names) -> Result<Arguments> {
        Ok(Arguments {
            table: entry.table.clone(),
            file: entry.path(&self.folder)?,
            create: !known.contains(&entry.table),
            expected: entry.content.clone(),
            ..self.args.clone()
        })
    }

    fn checkpoint_of(&self, table: &str) -> PathBuf {
        let entry = self.tables.iter().find(|entry| entry.table == table);
        let file = self.folder.join(entry.map_or(table, |entry| &entry.file));
        with_suffix(&file, ".checkpoint")
    }

    fn sets_policies(&self) -> bool {
        !self.args.no_policies && self.service.dialect() != Dialect::CosmosDb
    }

    async fn set_policies(&self, globals: &Globals) -> Result<()> {
        let with_policies = self.tables.iter().filter_map(|entry| {
            let policies = entry.policies.as_deref()?;
            Some((&*entry.table, policies))
        });
        if !self.sets_policies() {
            let is_left = |(_, policies): (&str, &[Policy])| !policies.is_empty();
            if !self.args.no_policies && with_policies.into_iter().any(is_left) {
                note(
                    globals,
                    "Cosmos DB has no access policies: the policies of the backup are not set",
                );
            }
            return Ok(());
        }
        for (table, policies) in with_policies {
            self.interrupt.check(BETWEEN_TABLES)?;
            let client = self.service.table_named::<DynamicEntity>(table);
            let set = client.set_access_policies(&stored(policies)?).await;
            set.map_err(|error| {
                let failure = Failure::from(error);
                let again = "all rows are imported: add --resume to set the policies";
                let message = format!(
                    "access policies of {}: {}; {again}",
                    one_line(table),
                    failure.message()
                );
                Failure::new(failure.exit(), message)
            })?;
        }
        Ok(())
    }
}

/// The failure of a damaged backup, with the first problems.
fn is_damaged(folder: &Path, problems: &[String]) -> Failure {
    let (folder, damage) = (folder.display(), backup::damage(problems));
    let mut lines = vec![format!("{folder} is {damage}; nothing was sent")];
    lines.extend(problems.iter().take(LISTED).map(|problem| one_line(problem)));
    if problems.len() > LISTED {
        lines.push(format!("azure-table verify {folder} lists all of them"));
    }
    Failure::new(Exit::Different, lines.join("\n"))
}

fn stored(policies: &[Policy]) -> Result<Vec<StoredAccessPolicy>> {
    policies.iter().map(Policy::stored).collect()
}
