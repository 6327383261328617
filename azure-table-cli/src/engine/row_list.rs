//! The list of the rows that did not get through: `NAME.failed.jsonl`.
//!
//! The first line has the format and the command. Each other line is a row: its keys, what became of it, the error, and
//! the row itself if the command had it. `import` reads the lists of `import` and `copy`. The page "Files of the command
//! line" describes it.
//!
//! Rows with an unknown outcome are those that a resumed run repeats. They wait in a temporary file and follow the
//! others at the end, behind the bytes that a checkpoint counts.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use azure_table_client::client::{WriteOutcome, WriteResult};
use azure_table_client::{DynamicEntity, EntityKey, Error, ErrorCode};

use super::files::{remove, resolved, with_suffix};
use super::lock::Lock;
use crate::args::Globals;
use crate::confirm::confirm;
use crate::failure::{Failure, Result};
use crate::format::jsonl::push_row;
use crate::format::list::Line;
pub(crate) use crate::format::list::{Head, Lost};

/// The end of a list's name.
pub(crate) const SUFFIX: &str = ".failed.jsonl";
const LOCK: &str = ".lock";
/// More bytes than the first line has.
const HEAD_BYTES: u64 = 4096;

/// What became of a row, with the error; `None` for a row that was written, or that has no outcome of its own.
fn lost(outcome: &WriteOutcome) -> Option<(Lost, &Error)> {
    match outcome {
        WriteOutcome::Failed(error) if outcome.is_resolved() => {
            let exists = error.code() == Some(&ErrorCode::EntityAlreadyExists);
            let is_changed = exists || error.is_precondition_failed() || error.is_not_found();
            Some((if is_changed { Lost::Changed } else { Lost::Refused }, error))
        }
        WriteOutcome::Unknown(error) => Some((Lost::Unknown, error)),
        _ => None,
    }
}

/// A row that did not get through.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LostRow {
    pub(crate) key: EntityKey,
    pub(crate) outcome: Lost,
    /// The error code of the service.
    code: Option<String>,
    reason: String,
    /// The row, if the command had it.
    row: Option<Arc<DynamicEntity>>,
}

impl LostRow {
    pub(crate) fn new(key: EntityKey, outcome: Lost, reason: impl Into<String>) -> Self {
        Self { key, outcome, code: None, reason: reason.into(), row: None }
    }

    /// The row of a result; `None` for a row that was written, or that has no outcome of its own.
    pub(crate) fn of(result: &WriteResult, row: Option<Arc<DynamicEntity>>) -> Option<Self> {
        let (outcome, error) = lost(&result.outcome)?;
        // A row without a valid key has keys too.
        let key = row.as_ref().map(|row| row.key()).or(result.key.as_ref())?.clone();
        let code = error.code().map(ToString::to_string);
        Some(Self { code, row, ..Self::new(key, outcome, error.to_string()) })
    }

    fn to_line(&self) -> Vec<u8> {
        let Self { key, outcome, code, reason, row } = self;
        let line = Line {
            partition_key: (&*key.partition_key).into(),
            row_key: (&*key.row_key).into(),
            outcome: *outcome,
            code: code.as_deref().map(Cow::from),
            reason: (&**reason).into(),
        };
        // Serializing texts cannot fail.
        let mut line = serde_json::to_vec(&line).unwrap_or_default();
        if let Some(row) = row {
            line.pop();
            line.extend_from_slice(b",\"row\":");
            push_row(&mut line, row, false);
            line.push(b'}');
        }
        line.push(b'\n');
        line
    }
}

/// A list of rows. The file is created by the first row.
#[derive(Debug)]
pub(crate) struct RowList {
    path: PathBuf,
    head: Head,
    file: Option<BufWriter<File>>,
    bytes: u64,
    /// The lines of the rows with an unknown outcome.
    unknown: Option<BufWriter<File>>,
    /// Whether an existing file may be replaced by the first row.
    replaces: bool,
    /// The failure of a row, after which the list is incomplete.
    error: Option<Failure>,
    /// Keeps another run from writing the list.
    _lock: Lock,
}

/// Returns the path of the lock of a list.
pub(crate) fn lock_of(list: &Path) -> PathBuf {
    with_suffix(list, LOCK)
}

/// Asks whether an existing file may be replaced as a list of an earlier run. Another file is replaced only with `--yes`.
pub(crate) fn confirm_replacing(path: &Path, globals: &Globals) -> Result<()> {
    let is_link = path.symlink_metadata().is_ok_and(|found| found.is_symlink());
    let path = path.display();
    let question = if is_link {
        format!("write through the link {path}?")
    } else {
        format!("replace {path}, a list of an earlier run?")
    };
    confirm(globals.yes, &question)
}

impl RowList {
    /// A list without rows. Asks for a confirmation if the file exists. It is a usage error if another run uses the file.
    pub(crate) fn begin(path: PathBuf, head: Head, globals: &Globals) -> Result<Self> {
        let mut list = Self::lock(path, head)?;
        list.replaces = exists(&list.path)?;
        if list.replaces {
            confirm_replacing(&list.path, globals)?;
        }
        Ok(list)
    }

    /// The list of the run that this one resumes, up to this size. Later rows are tried again. It is a usage error if
    /// another run uses the file.
    pub(crate) fn resume(path: PathBuf, head: Head, bytes: u64) -> Result<Self> {
        let mut list = Self::lock(path, head)?;
        list.replaces = true;
        if bytes > 0 {
            let file = list.reopen(bytes);
            let file = file.map_err(|error| Failure::file("append to", &list.path, error))?;
            (list.file, list.bytes) = (Some(BufWriter::new(file)), bytes);
        }
        Ok(list)
    }

    /// The list that each pass of a command continues.
    pub(crate) fn append(path: PathBuf, head: Head) -> Result<Self> {
        let bytes = match fs::metadata(&path) {
            Ok(file) => file.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(Failure::file("read", &path, error)),
        };
        if bytes > 0 {
            check(&path)?;
        }
        Self::resume(path, head, bytes)
    }

    fn lock(path: PathBuf, head: Head) -> Result<Self> {
        // A device has no lock.
        exists(&path)?;
        let lock = Lock::acquire(lock_of(&resolved(&path)))?;
        let (file, unknown, error) = (None, None, None);
        Ok(Self { path, head, file, bytes: 0, unknown, replaces: false, error, _lock: lock })
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

    /// Adds a row. An error is reported by the next [`save`](Self::save).
    pub(crate) fn add(&mut self, row: &LostRow) {
        let line = row.to_line();
        let written = match row.outcome {
            Lost::Unknown => self.keep(&line),
            _ => self.write(&line),
        };
        if let Err(error) = written {
            self.fail(error);
        }
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                // Without a permission to replace it, the file may have been created since the run began.
                let create = if self.replaces { File::create } else { File::create_new };
                let mut head = serde_json::to_vec(&self.head)?;
                head.push(b'\n');
                self.bytes = head.len() as u64;
                let file = self.file.insert(BufWriter::new(create(&self.path)?));
                file.write_all(&head)?;
                file
            }
        };
        self.bytes += line.len() as u64;
        file.write_all(line)
    }

    fn fail(&mut self, error: io::Error) -> Failure {
        let path = &self.path;
        self.error.get_or_insert_with(|| Failure::file("write", path, error)).clone()
    }

    fn keep(&mut self, line: &[u8]) -> io::Result<()> {
        let file = match &mut self.unknown {
            Some(file) => file,
            None => self.unknown.insert(BufWriter::new(tempfile::tempfile()?)),
        };
        file.write_all(line)
    }

    /// Makes the rows durable, except those with an unknown outcome. Returns their size.
    pub(crate) fn save(&mut self) -> Result<u64> {
        if let Some(failure) = &self.error {
            return Err(failure.clone());
        }
        if let Some(file) = &mut self.file {
            let saved = file.flush().and_then(|()| file.get_ref().sync_data());
            saved.map_err(|error| self.fail(error))?;
        }
        Ok(self.bytes)
    }

    /// Adds the rows with an unknown outcome, at the end of a run.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.finish_with(|_| true).map(drop)
    }

    /// Adds those of the rows with an unknown outcome that still have none. Returns their number.
    pub(crate) fn finish_with(&mut self, is_open: impl Fn(&EntityKey) -> bool) -> Result<u64> {
        let added = self.add_unknown(is_open);
        let added = added.map_err(|error| self.fail(error))?;
        self.save()?;
        Ok(added)
    }

    fn add_unknown(&mut self, is_open: impl Fn(&EntityKey) -> bool) -> io::Result<u64> {
        let Some(file) = self.unknown.take() else { return Ok(0) };
        let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        let (mut lines, mut line, mut added) = (BufReader::new(file), Vec::new(), 0);
        while lines.read_until(b'\n', &mut line)? > 0 {
            let Line { partition_key, row_key, .. } = serde_json::from_slice(&line)?;
            if is_open(&EntityKey::new(partition_key, row_key)) {
                self.write(&line)?;
                added += 1;
            }
            line.clear();
        }
        Ok(added)
    }

    /// Removes the list of an earlier run, which no row of this run has replaced.
    pub(crate) fn remove_old(&self) -> Result<()> {
        if self.file.is_some() || !self.replaces {
            return Ok(());
        }
        remove(&self.path)
    }
}

/// Checks that an existing file is a list, so that no other file is replaced.
pub(crate) fn check(path: &Path) -> Result<()> {
    // The list itself refuses devices and folders.
    if !path.is_file() {
        return Ok(());
    }
    let mut first = Vec::new();
    let read = File::open(path)
        .and_then(|file| BufReader::new(file).take(HEAD_BYTES).read_until(b'\n', &mut first));
    read.map_err(|error| Failure::file("read", path, error))?;
    let path = path.display();
    if first.is_empty() || Head::read(&path.to_string(), &first)?.is_some() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{path} is not a list of an earlier run: pass another file to --failed"
    )))
}

/// Returns whether there is a file. Anything else, such as a device, cannot be replaced.
fn exists(path: &Path) -> Result<bool> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            Err(Failure::usage(format!("{} is not a regular file", path.display())))
        }
        // A link to no file would make the file that it names.
        _ => Ok(path.symlink_metadata().is_ok()),
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

    fn head() -> Head {
        Head::new("import", "Blogs")
    }

    fn add(list: &mut RowList, row_key: &str, outcome: Lost) {
        list.add(&LostRow::new(EntityKey::new("p", row_key), outcome, "why"));
    }

    /// The RowKeys of the lines behind the first one.
    fn listed(path: &Path) -> String {
        let text = fs::read_to_string(path).unwrap();
        let mut lines = text.lines();
        assert_eq!(Head::read("x", lines.next().unwrap().as_bytes()).unwrap(), Some(head()));
        lines
            .map(|line| serde_json::from_str::<Line<'_>>(line).unwrap().row_key.into_owned())
            .collect()
    }

    #[test]
    fn a_line_has_the_members_of_the_page_in_their_order() {
        let lost = LostRow::new(EntityKey::new("p", "r"), Lost::Changed, "why\n");
        let expected =
            r#"{"PartitionKey":"p","RowKey":"r","outcome":"changed","code":null,"reason":"why\n"}"#;
        assert_eq!(String::from_utf8(lost.to_line()).unwrap(), format!("{expected}\n"));
        let row = Arc::new(DynamicEntity::new("p", "r").with("N", 1_i64));
        let (code, row) = (Some("Busy".to_owned()), Some(row));
        let lost = LostRow { outcome: Lost::Unread, code, row, ..lost };
        let expected = concat!(
            r#"{"PartitionKey":"p","RowKey":"r","outcome":"unread","code":"Busy","reason":"why\n","#,
            r#""row":{"PartitionKey":"p","RowKey":"r","N@odata.type":"Edm.Int64","N":"1"}}"#,
            "\n",
        );
        assert_eq!(String::from_utf8(lost.to_line()).unwrap(), expected);
    }

    #[test]
    fn a_resumed_run_drops_the_rows_after_its_checkpoint_and_those_that_it_repeats() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.failed.jsonl");
        let mut list = RowList::begin(path.clone(), head(), &globals(&[])).unwrap();
        assert_eq!(list.save().unwrap(), 0);
        assert!(!path.exists());
        add(&mut list, "1", Lost::Refused);
        add(&mut list, "u", Lost::Unknown);
        let bytes = list.save().unwrap();
        assert_eq!(listed(&path), "1");
        add(&mut list, "2", Lost::Changed);
        list.finish().unwrap();
        assert_eq!(listed(&path), "12u");
        drop(list);
        let mut list = RowList::resume(path.clone(), head(), bytes).unwrap();
        add(&mut list, "3", Lost::Refused);
        list.finish().unwrap();
        list.remove_old().unwrap();
        assert_eq!(listed(&path), "13");
        drop(list);
        assert!(RowList::resume(path.clone(), head(), 5_000).is_err());
        // The checkpoint may be older than the first row.
        RowList::resume(path.clone(), head(), 0).unwrap().remove_old().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_list_with_only_unknown_rows_is_written_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.failed.jsonl");
        let mut list = RowList::begin(path.clone(), head(), &globals(&[])).unwrap();
        add(&mut list, "u", Lost::Unknown);
        assert_eq!(list.save().unwrap(), 0);
        add(&mut list, "v", Lost::Unknown);
        assert_eq!(list.finish_with(|key| key.row_key == "v").unwrap(), 1);
        assert_eq!(listed(&path), "v");
    }

    #[test]
    fn a_file_of_the_user_stays_until_the_first_row() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.failed.jsonl");
        fs::write(&path, "precious").unwrap();
        let mut list = RowList::begin(path.clone(), head(), &globals(&["--yes"])).unwrap();
        list.save().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        add(&mut list, "1", Lost::Refused);
        list.save().unwrap();
        assert_eq!(listed(&path), "1");
        // A file that appears during the run is not replaced.
        let late = folder.path().join("late");
        let mut list = RowList::begin(late.clone(), head(), &globals(&[])).unwrap();
        fs::write(&late, "precious").unwrap();
        add(&mut list, "1", Lost::Refused);
        assert!(list.save().is_err());
        list.remove_old().unwrap();
        assert_eq!(fs::read_to_string(&late).unwrap(), "precious");
        assert!(RowList::begin(folder.path().to_owned(), head(), &globals(&[])).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_list_is_written_through_a_link_only_with_consent() {
        let folder = tempfile::tempdir().unwrap();
        let (path, target) = (folder.path().join("rows.failed.jsonl"), folder.path().join("x"));
        for exists in [false, true] {
            if exists {
                fs::write(&target, "precious").unwrap();
            }
            _ = fs::remove_file(&path);
            std::os::unix::fs::symlink(&target, &path).unwrap();
            let error = RowList::begin(path.clone(), head(), &globals(&[])).unwrap_err();
            assert!(error.message().contains("write through the link"), "{error}");
            assert_eq!(target.exists(), exists);
        }
    }

    #[test]
    fn a_file_that_is_not_a_list_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        for (text, part) in [
            ("precious", "is not a list of an earlier run"),
            (r#"{"format":1,"command":"import"}"#, "is not a list of rows: missing field"),
            (
                r#"{"format":7,"program":"2.0.0","command":"x"}"#,
                "has the format 7, written by azure-table 2.0.0",
            ),
        ] {
            fs::write(&path, text).unwrap();
            let error = check(&path).unwrap_err();
            assert!(error.message().contains(part), "{error}");
        }
        fs::write(&path, "").unwrap();
        check(&path).unwrap();
        fs::write(&path, serde_json::to_string(&head()).unwrap()).unwrap();
        check(&path).unwrap();
    }
}
