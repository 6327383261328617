//! Two emulators, for commands with two tables.

use std::path::{Path, PathBuf};
use std::process::Command;

use azure_table_client::{DynamicEntity, TableClient};
use serde_json::Value;

use crate::support::{Emulator, Folder, Run, listed};

/// A source with the table `Blogs`, and a target.
pub(crate) struct Pair {
    pub(crate) source: Emulator,
    pub(crate) target: Emulator,
    pub(crate) folder: Folder,
    /// The options that name the dialects.
    pub(crate) dialects: &'static [&'static str],
}

impl Pair {
    pub(crate) fn new() -> Self {
        let (source, target) = (Emulator::start(), Emulator::start());
        Self { source, target, folder: Folder::new(), dialects: &[] }
    }

    pub(crate) fn into_cosmos() -> Self {
        let target = Emulator::start_with(&["--dialect", "cosmos"]);
        let dialects = &["--to-dialect", "cosmos"];
        Self { source: Emulator::start(), target, folder: Folder::new(), dialects }
    }

    pub(crate) fn from_cosmos() -> Self {
        let source = Emulator::start_with(&["--dialect", "cosmos"]);
        let dialects = &["--from-dialect", "cosmos"];
        Self { source, target: Emulator::start(), folder: Folder::new(), dialects }
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        Run::of(&self.command(arguments).output().unwrap())
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.source.command(arguments);
        command.args(["--to", "env:TARGET"]).args(self.dialects);
        command.env("TARGET", self.target.connection_string()).current_dir(self.folder.path());
        command
    }

    pub(crate) fn copy(&self, options: &[&str]) -> Run {
        self.run(&[&["copy", "Blogs", "Copy"], options].concat())
    }

    pub(crate) fn diff(&self) -> Run {
        self.run(&["diff", "Blogs", "Copy"])
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        Path::new(self.folder.path()).join(name)
    }

    pub(crate) fn refused(&self) -> Vec<Value> {
        listed(self.path("Blogs-Copy.failed.jsonl"))
    }
}

pub(crate) async fn insert(table: &TableClient<DynamicEntity>, rows: &[DynamicEntity]) {
    for row in rows {
        table.insert(row).await.unwrap();
    }
}

pub(crate) fn row(partition: &str, key: &str) -> DynamicEntity {
    DynamicEntity::new(partition, key).with("Text", "a").with("Views", 5_i64)
}
