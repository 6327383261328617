//! The first side of a comparison: an account or a backup.

use std::collections::BTreeMap;
use std::path::PathBuf;

use azure_table_client::TableServiceClient;

use crate::args::{Diff, Globals};
use crate::engine::account::manifest::Manifest;
use crate::engine::account::{backup, table_names};
use crate::engine::compare::Side;
use crate::failure::{Exit, Failure, Result};
use crate::side_table::SideTable;

/// An account, or the files of the tables of a backup.
pub(super) enum First {
    Account(TableServiceClient),
    Backup(BTreeMap<String, PathBuf>),
}

impl First {
    /// Opens the connection, or reads the manifest. Nothing is sent.
    pub(super) fn open(args: &Diff, globals: &Globals) -> Result<Self> {
        let Some(folder) = &args.backup else {
            return Ok(Self::Account(args.sides.first(&globals.connection)?));
        };
        // The exit code 3 means differences here.
        let failed = |message: &str| Failure::new(Exit::Failed, message);
        let manifest = Manifest::read(folder).map_err(|failure| match failure.exit() {
            Exit::Different => failed(failure.message()),
            _ => failure,
        })?;
        if let Some(problem) = backup::unfinished(&manifest) {
            return Err(failed(&format!("{}: {problem}", folder.display())));
        }
        manifest.note_part(globals);
        let complete = manifest.tables.iter().filter(|entry| entry.content.is_some());
        let files = complete.map(|entry| Ok((entry.table.clone(), entry.path(folder)?)));
        Ok(Self::Backup(files.collect::<Result<_>>()?))
    }

    pub(super) async fn tables(&self) -> Result<Vec<String>> {
        match self {
            Self::Account(service) => table_names(service).await,
            Self::Backup(files) => Ok(files.keys().cloned().collect()),
        }
    }

    /// The rows of a table.
    pub(super) fn side(&self, table: &str) -> Result<Side<'_>> {
        match self {
            Self::Account(service) => Ok(Side::Table {
                table: SideTable::new(service.clone(), table),
                option: "--from-dialect",
                unreadable: None,
            }),
            Self::Backup(files) => match files.get(table) {
                Some(path) => Ok(Side::File(path)),
                None => Err(Failure::new(Exit::Failed, "the backup does not have the table")),
            },
        }
    }
}
