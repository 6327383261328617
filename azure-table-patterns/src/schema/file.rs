//! The snapshot file: compared, and replaced as a whole.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use azure_table_client::TableEntity;

use super::{SchemaError, Snapshot};

/// Compares an entity with a snapshot file, by other settings than [`check`](super::check).
#[derive(Debug, Clone)]
pub struct SchemaGuard {
    path: PathBuf,
    is_rolling: bool,
    update: Option<Update>,
}

/// The changes by which the snapshot file is updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Update {
    /// No changes. The file must exist.
    Never,
    /// No changes. The first check writes the file.
    First,
    /// Compatible changes.
    Compatible,
    /// All changes, for a table that is empty or whose rows were rewritten.
    All,
}

impl SchemaGuard {
    /// Returns a guard with the snapshot at `path`.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), is_rolling: false, update: None }
    }

    /// Also fails if a program of the last version could not read the rows of this one, because both run side by side
    /// while a new version is deployed.
    #[must_use]
    pub fn rolling(mut self) -> Self {
        self.is_rolling = true;
        self
    }

    /// Sets the changes that update the file. Without it, the environment variables `UPDATE_SCHEMAS` and `CI`
    /// select them.
    #[must_use]
    pub fn update(mut self, update: Update) -> Self {
        self.update = Some(update);
        self
    }

    /// Compares the stored form of `E` with the snapshot.
    ///
    /// # Errors
    /// See [`check`](super::check).
    pub fn check<E: TableEntity>(self) -> Result<(), SchemaError> {
        let current = Snapshot::of::<E>();
        let update = self.update.unwrap_or_else(Update::from_env);
        let path = self.path;
        let Some(text) = read(&path)? else {
            if update == Update::Never {
                return Err(SchemaError::Missing { path });
            }
            return write(&path, &current);
        };
        let before = match text.parse::<Snapshot>() {
            Ok(before) => before,
            Err(error) => return Err(SchemaError::Malformed { path, error }),
        };
        let updated = before.updated(&current);
        if updated.to_string() == before.to_string() {
            return Ok(());
        }
        let (problems, rolling) = (before.problems(&current), before.rolling_problems(&current));
        match update {
            Update::All => write(&path, &updated),
            _ if !problems.is_empty() => Err(SchemaError::Incompatible { path, problems }),
            _ if self.is_rolling && !rolling.is_empty() => {
                Err(SchemaError::Rolling { path, problems: rolling })
            }
            Update::Compatible => write(&path, &updated),
            Update::Never | Update::First => Err(SchemaError::Outdated { path, rolling }),
        }
    }
}

impl Update {
    fn from_env() -> Self {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        match set("UPDATE_SCHEMAS").as_deref() {
            Some("incompatible") => Self::All,
            Some(value) if value != "0" => Self::Compatible,
            _ if set("CI").is_some_and(|value| value != "false") => Self::Never,
            _ => Self::First,
        }
    }
}

/// Returns the text of the file, or `None` if the file does not exist.
fn read(path: &Path) -> Result<Option<String>, SchemaError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(SchemaError::File { path: path.into(), message: error.to_string() }),
    }
}

/// Writes the file, and its directory if that does not exist.
fn write(path: &Path, snapshot: &Snapshot) -> Result<(), SchemaError> {
    let written = create_directory(path).and_then(|()| replace(path, &snapshot.to_string()));
    written.map_err(|error| SchemaError::File { path: path.into(), message: error.to_string() })
}

fn create_directory(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    directory.map_or(Ok(()), fs::create_dir_all)
}

/// Writes another file first and renames it, so that a reader finds the old or the new snapshot as a whole.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let temporary = path.with_extension(format!("{:016x}.tmp", fastrand::u64(..)));
    let file = fs::File::create_new(&temporary)?;
    let written = fill(file, text).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The error of the write is the one to report.
        _ = fs::remove_file(&temporary);
    }
    written
}

/// Writes the text to the disk, and closes the file.
fn fill(mut file: fs::File, text: &str) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
