//! The file of `--save`: the whole rows before they are written.

use std::path::{Path, PathBuf};

use azure_table_client::DynamicEntity;
use tempfile::NamedTempFile;

use crate::engine::files::sync_folder;
use crate::failure::{Failure, Result};
use crate::format::{Format, Output, RowWriter as _, is_standard, jsonl};

/// A file of JSON lines that gets its name once it is complete. Until then, an end of the run removes it.
pub(super) struct SavedRows {
    path: PathBuf,
    file: NamedTempFile,
    writer: jsonl::Writer,
}

/// Checks the path before a row is read: an existing file may be the only copy of deleted rows.
pub(super) fn check(path: &Path) -> Result<()> {
    if is_standard(path) || Format::of(path, None).ok() != Some(Format::JsonLines) {
        let name = path.display();
        let message = format!("--save {name}: the rows are JSON lines, in a file named .jsonl");
        return Err(Failure::usage(message));
    }
    if path.symlink_metadata().is_ok() {
        let message = format!("--save {}: the file exists and is not replaced", path.display());
        return Err(Failure::usage(message));
    }
    Ok(())
}

impl SavedRows {
    pub(super) fn begin(path: &Path) -> Result<Self> {
        let failed = |error| Failure::file("write", path, error);
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let file = NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(failed)?;
        let out = Output::file(file.reopen().map_err(failed)?, path);
        Ok(Self { path: path.to_owned(), file, writer: jsonl::Writer::new(out, true) })
    }

    /// Adds a row with its ETag.
    pub(super) fn add(&mut self, row: &DynamicEntity) -> Result<()> {
        self.writer.write(row)
    }

    /// Makes the file durable, and gives it its name.
    pub(super) fn keep(mut self) -> Result<PathBuf> {
        self.writer.flush()?;
        let failed = |error| Failure::file("write", &self.path, error);
        self.file.as_file().sync_all().map_err(failed)?;
        self.file.persist_noclobber(&self.path).map_err(|error| failed(error.error))?;
        sync_folder(&self.path).map_err(failed)?;
        Ok(self.path)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_has_its_name_once_it_is_complete_and_is_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.jsonl");
        check(&path).unwrap();
        let begin = || {
            let mut saved = SavedRows::begin(&path).unwrap();
            saved.add(&DynamicEntity::new("p", "r")).unwrap();
            saved
        };
        drop(begin());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let (first, second) = (begin(), begin());
        assert!(!path.exists());
        first.keep().unwrap();
        assert!(second.keep().is_err() && check(&path).is_err());
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}\n"
        );
        for name in ["-", "rows.csv", "rows"] {
            assert!(check(Path::new(name)).is_err(), "{name}");
        }
    }
}
