//! A file that lists rows that were not applied.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use super::lock::Lock;
use super::{remove, resolved, with_suffix};
use crate::args::Globals;
use crate::confirm::confirm;
use crate::failure::{Failure, Result};

/// A list of rows, one in each line. The file is created by the first row.
#[derive(Debug)]
pub(crate) struct RowList {
    path: PathBuf,
    file: Option<BufWriter<File>>,
    bytes: u64,
    /// Whether an existing file may be replaced by the first row.
    replaces: bool,
    error: Option<io::Error>,
    /// Keeps another run from writing the list.
    _lock: Lock,
}

const LOCK: &str = ".lock";

/// Returns the path of the lock of a list.
pub(crate) fn lock_of(list: &Path) -> PathBuf {
    with_suffix(list, LOCK)
}

impl RowList {
    /// A list without rows. Asks for a confirmation if the file exists. It is a usage error if another run uses the file.
    pub(crate) fn begin(path: PathBuf, globals: &Globals) -> Result<Self> {
        let mut list = Self::lock(path)?;
        list.replaces = exists(&list.path)?;
        if list.replaces {
            let question = format!("replace {}, a list of an earlier run?", list.path.display());
            confirm(globals.yes, &question)?;
        }
        Ok(list)
    }

    /// The list of the run that this one resumes, up to this size. Later rows are tried again. It is a usage error if
    /// another run uses the file.
    pub(crate) fn resume(path: PathBuf, bytes: u64) -> Result<Self> {
        let mut list = Self::lock(path)?;
        list.replaces = true;
        if bytes > 0 {
            let file = list.reopen(bytes);
            let file = file.map_err(|error| Failure::file("append to", &list.path, error))?;
            (list.file, list.bytes) = (Some(BufWriter::new(file)), bytes);
        }
        Ok(list)
    }

    fn lock(path: PathBuf) -> Result<Self> {
        // A device has no lock.
        exists(&path)?;
        let lock = Lock::acquire(lock_of(&resolved(&path)))?;
        Ok(Self { path, file: None, bytes: 0, replaces: false, error: None, _lock: lock })
    }

    fn reopen(&self, bytes: u64) -> io::Result<File> {
        let file = OpenOptions::new().append(true).open(&self.path)?;
        if file.metadata()?.len() < bytes {
            return Err(io::Error::other("it is shorter than when the checkpoint was saved"));
        }
        file.set_len(bytes)?;
        Ok(file)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a line, which ends with a line break. An error is reported by the next [`save`](Self::save).
    pub(crate) fn add(&mut self, line: &[u8]) {
        if let Err(error) = self.write(line) {
            self.error.get_or_insert(error);
        }
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                // Without a permission to replace it, the file may have been created since the run began.
                let create = if self.replaces { File::create } else { File::create_new };
                self.file.insert(BufWriter::new(create(&self.path)?))
            }
        };
        self.bytes += line.len() as u64;
        file.write_all(line)
    }

    /// Makes the rows durable. Returns the size of the file.
    pub(crate) fn save(&mut self) -> Result<u64> {
        if let Some(error) = self.error.take() {
            return Err(Failure::file("write", &self.path, error));
        }
        if let Some(file) = &mut self.file {
            let saved = file.flush().and_then(|()| file.get_ref().sync_data());
            saved.map_err(|error| Failure::file("write", &self.path, error))?;
        }
        Ok(self.bytes)
    }

    /// Removes the list of an earlier run, which no row of this run has replaced.
    pub(crate) fn remove_old(&self) -> Result<()> {
        if self.file.is_some() || !self.replaces {
            return Ok(());
        }
        remove(&self.path)
    }
}

/// Returns whether there is a file. Anything else, such as a device, cannot be replaced.
fn exists(path: &Path) -> Result<bool> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            Err(Failure::usage(format!("{} is not a regular file", path.display())))
        }
        found => Ok(found.is_ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn globals(arguments: &[&str]) -> Globals {
        use clap::Parser as _;
        let command = [&["azure-table", "tables"], arguments].concat();
        crate::args::Arguments::try_parse_from(command).unwrap().globals
    }

    #[test]
    fn a_resumed_run_drops_the_rows_after_its_checkpoint() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.refused");
        let globals = globals(&[]);
        let mut list = RowList::begin(path.clone(), &globals).unwrap();
        assert_eq!(list.save().unwrap(), 0);
        assert!(!path.exists());
        list.add(b"1\n");
        let bytes = list.save().unwrap();
        list.add(b"2\n");
        assert_eq!((list.save().unwrap(), bytes), (4, 2));
        drop(list);
        let mut list = RowList::resume(path.clone(), bytes).unwrap();
        list.add(b"3\n");
        assert_eq!(list.save().unwrap(), 4);
        list.remove_old().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "1\n3\n");
        drop(list);
        assert!(RowList::resume(path.clone(), 5).is_err());
        // The checkpoint may be older than the first row.
        RowList::resume(path.clone(), 0).unwrap().remove_old().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_file_of_the_user_stays_until_the_first_row() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.refused");
        fs::write(&path, "precious").unwrap();
        let mut list = RowList::begin(path.clone(), &globals(&["--yes"])).unwrap();
        list.save().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        list.add(b"1\n");
        list.save().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "1\n");
        // A file that appears during the run is not replaced.
        let late = folder.path().join("late");
        let mut list = RowList::begin(late.clone(), &globals(&[])).unwrap();
        fs::write(&late, "precious").unwrap();
        list.add(b"1\n");
        assert!(list.save().is_err());
        list.remove_old().unwrap();
        assert_eq!(fs::read_to_string(&late).unwrap(), "precious");
        assert!(RowList::begin(folder.path().to_owned(), &globals(&[])).is_err());
    }
}
