//! Files that get their name when they are complete.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};

/// An incomplete file `FILE.part`, which is removed on drop.
pub(super) struct PartFile {
    file: File,
    part: PathBuf,
    path: PathBuf,
    is_complete: bool,
}

impl PartFile {
    pub(super) fn create(path: &Path) -> Result<Self> {
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let file = File::create(&part).map_err(|error| Failure::file("create", &part, error))?;
        Ok(Self { file, part, path: path.to_owned(), is_complete: false })
    }

    pub(super) fn writer(&self) -> impl Write + Send + use<'_> {
        &self.file
    }

    /// Gives the file its name, after its contents are on the disk.
    pub(super) fn persist(mut self) -> Result<()> {
        self.file.sync_all().map_err(|error| Failure::file("write", &self.part, error))?;
        fs::rename(&self.part, &self.path)
            .map_err(|error| Failure::file("write", &self.path, error))?;
        self.is_complete = true;
        Ok(())
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if !self.is_complete {
            let _ = fs::remove_file(&self.part);
        }
    }
}
