//! The stages of the tables of an import or a copy, which are its checkpoint.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::account::{Names, stopped};
use crate::args::Globals;
use crate::engine::checkpoint::CheckpointFile;
use crate::engine::files::remove;
use crate::failure::{Exit, Failure, Result};
use crate::output::{message, note, one_line};
use crate::progress::counted;

/// The stage of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Stage {
    Pending,
    /// The run may have written rows.
    Begun,
    Complete,
    /// The table has ended, but some rows were refused, or the table was deleted in the source.
    Partial,
}

/// All tables of a run with their stages.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Stages(BTreeMap<String, Stage>);

impl Stages {
    pub(crate) fn new<'t>(tables: impl IntoIterator<Item = &'t str>) -> Self {
        Self(tables.into_iter().map(|table| (table.to_owned(), Stage::Pending)).collect())
    }

    pub(crate) fn tables(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether this run has not written to the table yet.
    pub(crate) fn is_pending(&self, table: &str) -> bool {
        self.0.get(table) == Some(&Stage::Pending)
    }

    /// Begins again with the tables that the target does not have, for example because another program has deleted them
    /// since an earlier run: their checkpoints count rows that do not exist any more.
    pub(crate) fn restart_missing(
        &mut self,
        known: &Names,
        checkpoint_of: impl Fn(&str) -> PathBuf,
        globals: &Globals,
    ) -> Result<()> {
        for (table, stage) in &mut self.0 {
            if *stage != Stage::Pending && !known.contains(table) {
                remove(&checkpoint_of(table))?;
                let table = one_line(table);
                note(
                    globals,
                    &format!("the target has no table {table} any more: it begins again"),
                );
                *stage = Stage::Pending;
            }
        }
        Ok(())
    }

    fn set(&mut self, table: &str, stage: Stage, checkpoint: &CheckpointFile) -> Result<()> {
        self.0.insert(table.to_owned(), stage);
        checkpoint.save(self, 0)
    }

    /// Runs the command of each table that is pending or begun. A failure with [`Exit::Partial`] does not end the run;
    /// any other failure does.
    pub(crate) async fn run(
        &mut self,
        checkpoint: &CheckpointFile,
        checkpoint_of: impl Fn(&str) -> PathBuf,
        globals: &Globals,
        mut command: impl AsyncFnMut(&str) -> Result<()>,
    ) -> Result<()> {
        let open = |stage: &Stage| matches!(stage, Stage::Pending | Stage::Begun);
        let tables = self.0.iter().filter(|(_, stage)| open(stage));
        let tables: Vec<_> = tables.map(|(table, stage)| (table.clone(), *stage)).collect();
        for (table, before) in tables {
            let own = checkpoint_of(&table);
            if before == Stage::Pending && own.exists() {
                // Another run has left it: its rows may not be in the target any more.
                let text = format!("{} of another run is not used", own.display());
                note(globals, &one_line(&text));
                remove(&own)?;
            }
            // This also saves that the table before it has ended. Saving all stages takes longer than importing a small table.
            self.set(&table, Stage::Begun, checkpoint)?;
            let stage = match command(&table).await {
                Ok(()) => Stage::Complete,
                Err(failure) if failure.exit() == Exit::Partial => {
                    message(&format!("table {}: {failure}", one_line(&table)));
                    Stage::Partial
                }
                Err(failure) => {
                    if before == Stage::Pending && !own.exists() {
                        // Nothing was written.
                        self.set(&table, Stage::Pending, checkpoint)?;
                    }
                    let complete = self.0.values().filter(|stage| !open(stage)).count();
                    return Err(stopped(&table, &failure, complete, self.0.len()));
                }
            };
            self.0.insert(table, stage);
        }
        checkpoint.save(self, 0)
    }

    /// Reports the end of a run in which all tables are complete. `done` is its verb.
    pub(crate) fn conclude(&self, done: &str, globals: &Globals) -> Result<()> {
        let partial = self.0.iter().filter(|(_, stage)| **stage == Stage::Partial);
        let partial: Vec<_> = partial.map(|(table, _)| one_line(table)).collect();
        let tables = format!("{} {done}", counted(self.0.len() as u64, "table"));
        if partial.is_empty() {
            note(globals, &tables);
            return Ok(());
        }
        let partial = partial.join(", ");
        Err(Failure::new(Exit::Partial, format!("{tables}; only in part: {partial}")))
    }
}
