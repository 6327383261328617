//! The record of the rows that this program may have written to a target: `sync` deletes no other row.
//!
//! Each line is a key. It is appended before the row is sent, so that a killed run loses none, and a second time if the row
//! turns out not to be in the target. [`compact`](Record::compact) sorts the keys and removes such pairs.
//!
//! The system writes the lines to the disk later. After a power failure, a row whose key is lost stays in the target unless it
//! is sent again.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Seek as _, SeekFrom, Write};
use std::iter::Peekable;
use std::path::{Path, PathBuf};

use azure_table_client::{DynamicEntity, EntityKey};
use serde::{Deserialize, Serialize};

use crate::failure::{Exit, Failure, Result};
use crate::run_files::replace_by;
use crate::sort::{SortedRows, Sorter};

/// More bytes than any line has: a key has at most 2 KiB, and a character becomes at most 6 bytes.
const MAX_LINE_BYTES: u64 = 64 * 1024;
/// The size of the appended lines from which on it is worth to sort the file.
const MIN_APPENDED_BYTES: u64 = 1024 * 1024;
/// The property that marks a sorted line of a row that the target does not have.
const ABSENT: &str = "Absent";

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Line<'l> {
    #[serde(borrow)]
    partition_key: Cow<'l, str>,
    #[serde(borrow)]
    row_key: Cow<'l, str>,
    /// Whether the line takes back an earlier one: the row was refused or not sent, or it is deleted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    absent: bool,
}

/// The file with the keys.
#[derive(Debug)]
pub(in crate::commands) struct Record {
    path: PathBuf,
    /// Opened by the first line.
    file: Option<File>,
    /// The size of the whole lines.
    bytes: u64,
    /// The size of the file when it last had each key once, in key order; 0 before.
    compact_bytes: u64,
    /// The failure of a line. The file takes no other one: a part of that line may be in it.
    failed: Option<Failure>,
}

impl Record {
    /// Opens the file, or creates it. A line that a crash or a full disk cut is removed: its row was not sent.
    pub(in crate::commands) fn open(path: PathBuf) -> Result<Self> {
        let failed = |error| Failure::file("open", &path, error);
        let options = OpenOptions::new().read(true).append(true).create(true).open(&path);
        let whole = remove_cut_line(&mut options.map_err(failed)?).map_err(failed)?;
        let bytes = whole.ok_or_else(|| damaged(&path, 1))?;
        Ok(Self { path, file: None, bytes, compact_bytes: 0, failed: None })
    }

    fn is_compact(&self) -> bool {
        self.bytes == self.compact_bytes
    }

    /// Whether the lines since the last [`compact`](Self::compact) are worth another one.
    pub(in crate::commands) fn is_worth_compacting(&self) -> bool {
        self.bytes - self.compact_bytes > MIN_APPENDED_BYTES.max(self.compact_bytes / 4)
    }

    /// Appends the key of a row that is about to be sent.
    pub(in crate::commands) fn add(&mut self, key: &EntityKey) -> Result<()> {
        self.append(key, false)
    }

    /// Takes back one line of the key: the target does not have the row of this write, or any row if the file has the
    /// key once.
    pub(in crate::commands) fn take_back(&mut self, key: &EntityKey) -> Result<()> {
        self.append(key, true)
    }

    fn append(&mut self, key: &EntityKey, absent: bool) -> Result<()> {
        self.check()?;
        let line = line(key, absent);
        let written = line.and_then(|line| {
            self.file()?.write_all(&line)?;
            Ok(line.len() as u64)
        });
        match written {
            Ok(bytes) => {
                self.bytes += bytes;
                Ok(())
            }
            Err(error) => {
                // Whatever fails here is at the end of the file: the next run removes it.
                if let Some(file) = &self.file {
                    let _ = file.set_len(self.bytes);
                }
                let failure = Failure::file("append to", &self.path, error);
                Err(self.failed.insert(failure).clone())
            }
        }
    }

    /// Returns the failure of an earlier line.
    fn check(&self) -> Result<()> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    fn file(&mut self) -> io::Result<&mut File> {
        match &mut self.file {
            Some(file) => Ok(file),
            none => Ok(none.insert(OpenOptions::new().append(true).open(&self.path)?)),
        }
    }

    /// Makes the keys durable.
    pub(in crate::commands) fn save(&self) -> Result<()> {
        self.check()?;
        let saved = self.file.as_ref().map_or(Ok(()), File::sync_data);
        saved.map_err(|error| Failure::file("write", &self.path, error))
    }

    /// Sorts the file.
    pub(in crate::commands) fn compact(&mut self) -> Result<()> {
        self.check()?;
        if self.is_compact() {
            return Ok(());
        }
        let keys = self.keys()?;
        // Windows cannot replace an open file.
        self.file = None;
        let mut bytes = 0;
        replace_by(&self.path, |file| {
            for key in keys {
                let line = line(&key?, false);
                let written = line.and_then(|line| file.write_all(&line).map(|()| line.len()));
                bytes += written.map_err(|error| Failure::file("write", &self.path, error))? as u64;
            }
            Ok(())
        })?;
        (self.bytes, self.compact_bytes) = (bytes, bytes);
        Ok(())
    }

    /// Returns the keys of the rows that the target may have, in key order.
    pub(in crate::commands) fn keys(&self) -> Result<Keys> {
        let lines = Lines::open(&self.path)?;
        if self.is_compact() {
            return Ok(Keys::Compact(lines));
        }
        Self::sorted(lines)
    }

    /// Reads the keys of a record that no run has open, which does not change the file.
    pub(in crate::commands) fn read(path: &Path) -> Result<Keys> {
        Self::sorted(Lines::open(path)?)
    }

    fn sorted(lines: Lines) -> Result<Keys> {
        let mut sorter = Sorter::new();
        for line in lines {
            let (EntityKey { partition_key, row_key }, absent) = line?;
            let row = DynamicEntity::new(partition_key, row_key);
            sorter.push(&if absent { row.with(ABSENT, true) } else { row })?;
        }
        Ok(Keys::Sorted(sorter.finish()?.peekable()))
    }
}

/// The keys of a record, in order; see [`Record::keys`].
#[derive(Debug)]
pub(in crate::commands) enum Keys {
    Compact(Lines),
    Sorted(Peekable<SortedRows>),
}

impl Iterator for Keys {
    type Item = Result<EntityKey>;

    fn next(&mut self) -> Option<Self::Item> {
        let rows = match self {
            Self::Compact(lines) => return lines.next().map(|line| line.map(|(key, _)| key)),
            Self::Sorted(rows) => rows,
        };
        loop {
            let first = match rows.next()? {
                Ok(row) => row,
                Err(failure) => return Some(Err(failure)),
            };
            let mut balance = weight(&first);
            let is_same = |row: &Result<DynamicEntity>| {
                row.as_ref().is_ok_and(|row| row.key() == first.key())
            };
            while let Some(Ok(row)) = rows.next_if(is_same) {
                balance += weight(&row);
            }
            if balance > 0 {
                return Some(Ok(first.key().clone()));
            }
        }
    }
}

fn weight(row: &DynamicEntity) -> i64 {
    if row.value(ABSENT).is_some() { -1 } else { 1 }
}

/// The lines of a file.
#[derive(Debug)]
pub(in crate::commands) struct Lines {
    path: PathBuf,
    file: BufReader<File>,
    number: u64,
    line: Vec<u8>,
}

impl Lines {
    fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| Failure::file("read", path, error))?;
        let file = BufReader::new(file);
        Ok(Self { path: path.to_owned(), file, number: 0, line: Vec::new() })
    }

    fn read(&mut self) -> Result<Option<(EntityKey, bool)>> {
        self.line.clear();
        let mut file = self.file.by_ref().take(MAX_LINE_BYTES);
        let read = file.read_until(b'\n', &mut self.line);
        let read = read.map_err(|error| Failure::file("read", &self.path, error))? as u64;
        // A line that is cut is the last one, whose row was not sent.
        if read == 0 || (read < MAX_LINE_BYTES && !self.line.ends_with(b"\n")) {
            return Ok(None);
        }
        self.number += 1;
        let line = serde_json::from_slice(&self.line);
        let Line { partition_key, row_key, absent } =
            line.map_err(|_| damaged(&self.path, self.number))?;
        Ok(Some((EntityKey::new(partition_key, row_key), absent)))
    }
}

impl Iterator for Lines {
    type Item = Result<(EntityKey, bool)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

fn line(key: &EntityKey, absent: bool) -> io::Result<Vec<u8>> {
    let EntityKey { partition_key, row_key } = key;
    let line = Line { partition_key: partition_key.into(), row_key: row_key.into(), absent };
    let mut text = serde_json::to_vec(&line)?;
    text.push(b'\n');
    Ok(text)
}

/// Removes an unfinished last line, and returns the size of the rest. Returns `None` if the file is not text: its end has no
/// line break.
fn remove_cut_line(file: &mut File) -> io::Result<Option<u64>> {
    let length = file.metadata()?.len();
    let start = length.saturating_sub(MAX_LINE_BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    let whole = end.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at as u64 + 1);
    if whole == 0 && start > 0 {
        return Ok(None);
    }
    if start + whole < length {
        file.set_len(start + whole)?;
    }
    Ok(Some(start + whole))
}

fn damaged(path: &Path, line: u64) -> Failure {
    let (path, position) = (path.display(), path.with_extension("sync"));
    let position = position.display();
    let message = format!(
        "{path} is damaged: line {line} is not a key; delete it and {position}, and copy the table again with --for-sync"
    );
    Failure::new(Exit::Failed, message)
}

/// Whether a file exists.
pub(in crate::commands) fn exists(path: &Path) -> Result<bool> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Failure::file("read", path, error)),
        Ok(_) => Ok(true),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn key(text: &str) -> EntityKey {
        EntityKey::new("p\n", text)
    }

    fn keys(record: &Record) -> Vec<String> {
        record.keys().unwrap().map(|key| key.unwrap().row_key).collect()
    }

    #[test]
    fn a_key_stays_while_one_of_its_writes_may_be_in_the_target() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.keys");
        let mut record = Record::open(path.clone()).unwrap();
        for text in ["\u{1f600}", "c", "b", "a", "\u{e000}", "b"] {
            record.add(&key(text)).unwrap();
        }
        // One write of `b` was refused, and the only one of `c`.
        record.take_back(&key("b")).unwrap();
        record.take_back(&key("c")).unwrap();
        let expected = ["a", "b", "\u{1f600}", "\u{e000}"];
        assert_eq!(keys(&record), expected);
        record.compact().unwrap();
        assert_eq!(
            (keys(&record), fs::read_dir(folder.path()).unwrap().count()),
            (expected.map(str::to_owned).into(), 1)
        );
        // A deleted row has one line to take back.
        record.take_back(&key("b")).unwrap();
        record.add(&key("c")).unwrap();
        record.save().unwrap();
        let expected = ["a", "c", "\u{1f600}", "\u{e000}"];
        assert_eq!(
            (keys(&record), keys(&Record::open(path).unwrap())),
            (expected.map(str::to_owned).into(), expected.map(str::to_owned).into())
        );
    }

    #[test]
    fn no_line_is_appended_after_a_failed_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.keys");
        let mut record = Record::open(path.clone()).unwrap();
        record.add(&key("a")).unwrap();
        // A file that is open for reading fails like one on a full disk.
        record.file = Some(File::open(&path).unwrap());
        let error = record.add(&key("b")).unwrap_err();
        assert!(error.message().starts_with("cannot append to "), "{error}");
        // There is space again.
        record.file = None;
        assert_eq!(record.add(&key("c")).unwrap_err(), error);
        assert_eq!(record.save().unwrap_err(), error);
        assert_eq!(record.compact().unwrap_err(), error);
        assert_eq!(keys(&Record::open(path).unwrap()), ["a"]);
    }

    #[test]
    fn a_record_is_sorted_once_it_has_grown() {
        let folder = tempfile::tempdir().unwrap();
        let mut record = Record::open(folder.path().join("a.keys")).unwrap();
        record.add(&key("a")).unwrap();
        assert!(!record.is_worth_compacting());
        for n in 0..2_000 {
            record.add(&key(&format!("{n:01000}"))).unwrap();
        }
        assert!(record.is_worth_compacting());
        record.compact().unwrap();
        record.add(&key("b")).unwrap();
        assert!(!record.is_worth_compacting());
    }

    #[test]
    fn a_cut_line_is_removed_and_any_other_damage_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.keys");
        let whole = String::from_utf8(line(&key("a"), false).unwrap()).unwrap();
        for length in 0..whole.len() {
            let text = format!("{whole}{}", &whole[..length]);
            fs::write(&path, &text).unwrap();
            let read = Record::read(&path).unwrap().map(|key| key.unwrap().row_key);
            assert_eq!(read.collect::<Vec<_>>(), ["a"]);
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            let mut record = Record::open(path.clone()).unwrap();
            assert_eq!(keys(&record), ["a"]);
            record.add(&key("b")).unwrap();
            assert_eq!(keys(&record), ["a", "b"]);
        }
        fs::write(&path, format!("{whole}{{}}\n{whole}")).unwrap();
        let error = Record::open(path.clone()).unwrap().compact().unwrap_err();
        assert!(error.message().contains("a.keys is damaged: line 2 is not a key; "), "{error}");
        assert!(error.message().contains("a.sync, and copy the table again"), "{error}");
        fs::write(&path, "x".repeat(100_000)).unwrap();
        Record::open(path).unwrap_err();
    }
}
