//! The file of the report, which is opened before the first request.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// A file that is removed on drop if the run created it and wrote nothing.
#[derive(Debug)]
pub(super) struct ReportFile {
    path: PathBuf,
    file: File,
    is_empty: bool,
}

impl ReportFile {
    /// Opens the file that the user named, which the report replaces.
    pub(super) fn named(path: &Path) -> Result<Self, String> {
        let is_empty = !path.exists();
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self { path: path.to_owned(), file, is_empty })
    }

    /// Creates a file with this name, or with a number after it: a report of the same day stays.
    pub(super) fn create(stem: &Path) -> Result<Self, String> {
        let mut number = 1_u32;
        loop {
            let suffix = if number == 1 { String::new() } else { format!("-{number}") };
            let path = PathBuf::from(format!("{}{suffix}.md", stem.display()));
            match File::create_new(&path) {
                Ok(file) => return Ok(Self { path, file, is_empty: true }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(format!("{}: {error}", path.display())),
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn write(&mut self, text: &str) -> Result<(), String> {
        self.is_empty = false;
        let written = self.file.set_len(0).and_then(|()| self.file.write_all(text.as_bytes()));
        written.map_err(|error| format!("{}: {error}", self.path.display()))
    }
}

impl Drop for ReportFile {
    fn drop(&mut self) {
        if self.is_empty {
            drop(std::fs::remove_file(&self.path));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn an_earlier_report_stays() {
        let folder = std::env::temp_dir().join(format!("live-report-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let stem = folder.join("2026-01-01-storage");
        for text in ["one", "two"] {
            ReportFile::create(&stem).unwrap().write(text).unwrap();
        }
        drop(ReportFile::create(&stem).unwrap());
        let read = |name: &str| std::fs::read_to_string(folder.join(name));
        assert_eq!(read("2026-01-01-storage.md").unwrap(), "one");
        assert_eq!(read("2026-01-01-storage-2.md").unwrap(), "two");
        assert!(read("2026-01-01-storage-3.md").is_err());
        ReportFile::named(&folder.join("2026-01-01-storage.md")).unwrap().write("x").unwrap();
        assert_eq!(read("2026-01-01-storage.md").unwrap(), "x");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
