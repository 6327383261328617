//! The files that `copy --for-sync` leaves for `sync`: `SOURCE-TARGET.sync`, the position, and `SOURCE-TARGET.keys`, the record.

use std::path::{Path, PathBuf};

use azure_table_client::edm::EdmDateTime;
use serde::{Deserialize, Serialize};

use super::record::{Keys, Record, exists};
use crate::failure::{Failure, Result};
use crate::run_files::checkpoint::{self, CheckpointFile, Job, Resume};
use crate::run_files::{Named, check_distinct};
use crate::side_table::SideTable;

/// Times of the source's service.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::commands) struct Position {
    /// The target has all rows of the source that were changed before; `None` if that is not known of any time.
    pub(in crate::commands) since: Option<EdmDateTime>,
    /// The beginning of a copy that is not complete.
    copy_began: Option<EdmDateTime>,
}

impl Position {
    pub(in crate::commands) fn complete_since(time: Option<EdmDateTime>) -> Self {
        Self { since: time, copy_began: None }
    }
}

/// The files of a pair of tables. Only one run uses them at a time.
#[derive(Debug)]
pub(in crate::commands) struct SyncFiles {
    file: CheckpointFile,
    record: PathBuf,
    /// `None` before the first run.
    position: Option<Position>,
}

impl SyncFiles {
    /// Locks the files, and checks that they belong to these tables and to each other. `others` are the other files of the run.
    pub(in crate::commands) fn lock(
        source: &SideTable,
        target: &SideTable,
        others: &[Named<'_>],
    ) -> Result<Self> {
        if source.is_secondary() {
            let message = "the source is a secondary endpoint, which may lack the last changes: use the primary one";
            return Err(Failure::usage(message));
        }
        let path = |extension: &str| {
            PathBuf::from(format!("{}-{}.{extension}", source.rows.name(), target.rows.name()))
        };
        let (file, record) = (path("sync"), path("keys"));
        let paths = checkpoint::Paths::of(&file);
        check_distinct(&[&paths.named()[..], &[("the record of keys", &record)], others].concat())?;
        let job = Job::new("sync")
            .with("source", source.service.endpoint())
            .with("table", source.rows.name())
            .with("target", target.service.endpoint())
            .with("target table", target.rows.name());
        let name = file.display().to_string();
        let file = CheckpointFile::lock(file, job)?;
        let saved = file.read(Resume::OrBegin)?;
        let position: Option<Position> = saved.map(|saved| saved.read()).transpose()?;
        let has_record = exists(&record)?;
        let shown = record.display();
        if position.is_none() && has_record {
            let message =
                format!("{shown} belongs to an unknown run: {name} is missing; delete it");
            return Err(Failure::usage(message));
        }
        if position.as_ref().is_some_and(|position| position.since.is_some()) && !has_record {
            let message =
                format!("{shown} is missing: delete {name} too, and copy the table again");
            return Err(Failure::usage(message));
        }
        Ok(Self { file, record, position })
    }

    /// The position; `None` before the first run.
    pub(in crate::commands) fn position(&self) -> Option<&Position> {
        self.position.as_ref()
    }

    /// The path of the record.
    pub(in crate::commands) fn record_path(&self) -> &Path {
        &self.record
    }

    /// Saves the position, so that it exists before the record.
    pub(in crate::commands) fn save(&mut self, position: Position) -> Result<()> {
        self.file.save(&position)?;
        self.position = Some(position);
        Ok(())
    }

    /// Reads the recorded keys in key order, and changes no file.
    pub(in crate::commands) fn recorded(&self) -> Result<Keys> {
        Record::read(&self.record)
    }

    /// Opens the record, which must have a position.
    pub(in crate::commands) fn open_record(&self) -> Result<Record> {
        Record::open(self.record.clone())
    }

    /// Returns the position of a copy that begins at this time. Until it is complete, the target may lack any row. Afterwards,
    /// the earliest time counts.
    pub(super) fn of_copy(&self, began: Option<EdmDateTime>) -> Position {
        let earlier = self.position.as_ref().and_then(|it| it.since.or(it.copy_began));
        Position { since: None, copy_began: earlier.or(began) }
    }

    /// Saves that the copy is complete.
    pub(super) fn end_copy(&mut self) -> Result<()> {
        let position = self.position.clone().unwrap_or_default();
        self.save(Position::complete_since(position.since.or(position.copy_began)))
    }
}
