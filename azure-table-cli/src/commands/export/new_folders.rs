//! The folders that an export creates.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};

/// The folders that did not exist before, the innermost first.
pub(super) struct NewFolders(Vec<PathBuf>);

impl NewFolders {
    /// Creates a folder and those around it.
    pub(super) fn create(folder: &Path) -> Result<Self> {
        let is_new = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let new = Self(folder.ancestors().take_while(is_new).map(Path::to_owned).collect());
        fs::create_dir_all(folder).map_err(|error| {
            new.remove_empty();
            Failure::file("create", folder, error)
        })?;
        Ok(new)
    }

    /// Removes the folders that are empty, after a failure before the first file.
    pub(super) fn remove_empty(&self) {
        // A folder with a file stays, and so do those around it.
        let _ = self.0.iter().try_for_each(fs::remove_dir);
    }
}
