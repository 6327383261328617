//! Files that get their name when they are complete.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process;

use azure_table_cli::failure::{Failure, Result};
use azure_table_cli::interrupt::Signals;
use azure_table_cli::terminal::message;
use tempfile::{Builder, NamedTempFile};

use crate::NAME;

/// An incomplete file with a name of its own, which is removed on drop, and at Ctrl-C or SIGTERM.
pub(super) struct PartFile {
    file: NamedTempFile,
    path: PathBuf,
}

impl PartFile {
    /// Creates the file. Ctrl-C and SIGTERM remove it and end the program from now on. It needs tokio's runtime.
    pub(super) fn create(path: &Path) -> Result<Self> {
        // Before the file exists, so that no signal leaves it.
        let mut signals = Signals::listen()?;
        let failure = |error| Failure::file("create", path, error);
        let mut name = OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut builder = Builder::new();
        builder.prefix(&name).suffix(".part");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(folder.unwrap_or(Path::new("."))).map_err(failure)?;
        let incomplete = file.path().to_owned();
        tokio::spawn(async move {
            let exit = signals.next().await;
            // After `persist`, this name is gone.
            let _ = fs::remove_file(incomplete);
            message(&format!("{NAME}: interrupted"));
            process::exit(exit as i32);
        });
        Ok(Self { file, path: path.to_owned() })
    }

    pub(super) fn writer(&self) -> impl Write + Send + use<'_> {
        self.file.as_file()
    }

    /// Gives the file its name, after its contents are on the disk.
    pub(super) fn persist(self) -> Result<()> {
        let failure = |error| Failure::file("write", &self.path, error);
        self.file.as_file().sync_all().map_err(failure)?;
        self.file.persist(&self.path).map_err(|error| failure(error.error))?;
        Ok(())
    }
}
