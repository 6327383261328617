//! The position of `sync`, in `SOURCE-TARGET.sync`: the time up to which the target has the changes of the source.

use std::path::{Path, PathBuf};

use azure_table_client::edm::EdmDateTime;
use serde::{Deserialize, Serialize};

use super::checkpoint::{self, CheckpointFile, Job, Resume};
use super::files::{Named, check_distinct};
use crate::failure::{Failure, Result};
use crate::side_table::SideTable;

/// Times of the source's service.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Position {
    /// The target has all rows of the source that were changed before; `None` if that is not known of any time.
    pub(crate) since: Option<EdmDateTime>,
    /// The beginning of a copy that is not complete.
    copy_began: Option<EdmDateTime>,
}

impl Position {
    pub(crate) fn complete_since(time: Option<EdmDateTime>) -> Self {
        Self { since: time, copy_began: None }
    }
}

/// The file of a pair of tables. Only one run uses it at a time.
#[derive(Debug)]
pub(crate) struct SyncFile {
    file: CheckpointFile,
    /// `None` before the first run.
    position: Option<Position>,
}

impl SyncFile {
    /// Locks the file, and checks that it belongs to these tables. `others` are the other files of the run.
    pub(crate) fn lock(
        source: &SideTable,
        target: &SideTable,
        others: &[Named<'_>],
    ) -> Result<Self> {
        if source.is_secondary() {
            let message = "the source is a secondary endpoint, which may lack the last changes: use the primary one";
            return Err(Failure::usage(message));
        }
        let file = PathBuf::from(format!("{}-{}.sync", source.rows.name(), target.rows.name()));
        let paths = checkpoint::Paths::of(&file);
        check_distinct(&[&paths.named()[..], others].concat())?;
        let file = CheckpointFile::lock(file, Job::new("sync", source.place(), target.place()))?;
        let saved = file.read(Resume::OrBegin)?;
        let position = saved.map(|saved| saved.read()).transpose()?;
        Ok(Self { file, position })
    }

    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// The position; `None` before the first run.
    pub(crate) fn position(&self) -> Option<&Position> {
        self.position.as_ref()
    }

    pub(crate) fn save(&mut self, position: Position) -> Result<()> {
        self.file.save(&position, 0)?;
        self.position = Some(position);
        Ok(())
    }

    /// Returns the position of a copy that begins at this time. Until it is complete, the target may lack any row. Afterwards,
    /// the earliest time counts.
    pub(crate) fn of_copy(&self, began: Option<EdmDateTime>) -> Position {
        let earlier = self.position.as_ref().and_then(|it| it.since.or(it.copy_began));
        Position { since: None, copy_began: earlier.or(began) }
    }

    /// Saves that the copy is complete.
    pub(crate) fn end_copy(&mut self) -> Result<()> {
        let position = self.position.clone().unwrap_or_default();
        self.save(Position::complete_since(position.since.or(position.copy_began)))
    }
}
