//! The file that an unfinished run leaves, from which `--resume` continues.
//!
//! A run leaves two files next to its output or input, or in the current folder, and names them after it:
//! `NAME.checkpoint`, the envelope of this module with the position of the command, and `NAME.failed.jsonl`, the
//! [list](super::row_list) of the rows that did not get through. While it runs, it holds `.lock` files and writes
//! `.tmp` and `.part` files, which get their names once they are complete. The list is saved before the checkpoint
//! that counts its bytes, so that a resumed run cuts off the rows that it repeats.
//!
//! The page "Files of the command line" describes these files. Programs read them, so their form does not change: a
//! new form has another number, which older programs refuse.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::files::{Named, TEMPORARY, remove, replace, with_suffix};
use super::lock::Lock;
use crate::args::Globals;
use crate::failure::{Exit, Failure, Result};
use crate::format::version::{FORMAT, PROGRAM, check_format};
use crate::output::note;
use crate::progress::counted;

const LOCK: &str = ".lock";

/// The names of a checkpoint and of the files next to it, to compare them with those of other files.
#[derive(Debug)]
pub(crate) struct Paths([PathBuf; 3]);

impl Paths {
    pub(crate) fn of(checkpoint: &Path) -> Self {
        let [temporary, lock] = [TEMPORARY, LOCK].map(|suffix| with_suffix(checkpoint, suffix));
        Self([checkpoint.to_owned(), temporary, lock])
    }

    pub(crate) fn named(&self) -> [Named<'_>; 3] {
        let [checkpoint, temporary, lock] = &self.0;
        [
            ("the checkpoint", checkpoint),
            ("the temporary file of the checkpoint", temporary),
            ("the lock of the checkpoint", lock),
        ]
    }
}

/// Whether `name` is that of a checkpoint, or of a file next to it.
pub(crate) fn is_run_file(checkpoint: &str, name: &str) -> bool {
    let suffix = name.strip_prefix(checkpoint);
    suffix.is_some_and(|suffix| ["", TEMPORARY, LOCK].contains(&suffix))
}

/// Locks the run of a checkpoint.
pub(crate) fn lock(checkpoint: &Path) -> Result<Lock> {
    Lock::acquire(with_suffix(checkpoint, LOCK))
}

/// The work that a checkpoint belongs to: the command, and what must be the same when it resumes. Places are addresses
/// of tables without a signature, or names of files; no option is a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Job {
    command: &'static str,
    from: String,
    to: String,
    options: Vec<(&'static str, String)>,
}

impl Job {
    pub(crate) fn new(
        command: &'static str,
        from: impl Into<String>,
        to: impl Into<String>,
    ) -> Self {
        Self { command, from: from.into(), to: to.into(), options: Vec::new() }
    }

    /// Adds an option.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.options.push((name, value.into()));
        self
    }
}

/// The place of a file: its name, since the folder may be moved or be named in another way.
pub(crate) fn file_place(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// The treatment of an existing and of a missing checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resume {
    /// An existing checkpoint is an error, because the run would overwrite it.
    Never,
    /// Without a checkpoint, the run begins: a repeated run does no harm.
    OrBegin,
    /// Without a checkpoint, there is nothing to resume: a repeated run would refuse its own rows.
    Only,
}

impl Resume {
    pub(crate) fn of(resume: bool, is_repeatable: bool) -> Self {
        match (resume, is_repeatable) {
            (false, _) => Self::Never,
            (true, true) => Self::OrBegin,
            (true, false) => Self::Only,
        }
    }
}

/// A saved position.
#[derive(Debug, PartialEq)]
pub(crate) struct Saved {
    position: Value,
    /// The size of the list of failed rows, up to those that the position counts.
    pub(crate) failed: u64,
    time: Option<SystemTime>,
}

/// The whole file.
#[derive(Debug, Serialize)]
struct Envelope<'j, P> {
    format: u64,
    program: &'j str,
    command: &'j str,
    from: &'j str,
    to: &'j str,
    options: serde_json::Map<String, Value>,
    position: P,
    failed: u64,
}

impl Saved {
    /// Returns the position as the command stored it.
    pub(crate) fn read<'s, T: Deserialize<'s>>(&'s self) -> Result<T> {
        T::deserialize(&self.position).map_err(|_| {
            let position = &self.position;
            let message = format!("the checkpoint has an invalid position: {position}");
            Failure::new(Exit::Failed, message)
        })
    }

    /// Reports where the run continues: after this number of rows.
    pub(crate) fn note(&self, rows: u64, globals: &Globals) {
        let time =
            self.time.map(|time| DateTime::<Utc>::from(time).format("%Y-%m-%d %H:%M:%S UTC"));
        let time = time.map_or_else(|| "an unknown time".to_owned(), |time| time.to_string());
        let text = match rows {
            0 => format!("begins again: the checkpoint of {time} has no rows"),
            rows => format!("continues after {} (checkpoint of {time})", counted(rows, "row")),
        };
        note(globals, &text);
    }
}

/// The checkpoint file of a job. Each save replaces the whole file, so that a crash leaves the old or the new one.
/// Clones share its lock, which keeps another run from using the file.
#[derive(Debug, Clone)]
pub(crate) struct CheckpointFile {
    path: PathBuf,
    job: Job,
    _lock: Arc<Lock>,
}

impl CheckpointFile {
    /// Locks the file. It is a usage error if another run uses it.
    pub(crate) fn lock(path: impl Into<PathBuf>, job: Job) -> Result<Self> {
        let path = path.into();
        let lock = Arc::new(lock(&path)?);
        Ok(Self { path, job, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Begins a run, or returns the saved position that it continues from. It is a usage error if the checkpoint belongs to
    /// other arguments. A run saves its checkpoint before anything else.
    pub(crate) fn begin(&self, resume: Resume, globals: &Globals) -> Result<Option<Saved>> {
        let saved = self.read(resume)?;
        if saved.is_none() && resume != Resume::Never {
            let missing = format!("no checkpoint {}", self.path.display());
            if resume == Resume::Only {
                return Err(Failure::usage(format!("{missing}: there is nothing to resume")));
            }
            note(globals, &format!("{missing}: the run begins"));
        }
        Ok(saved)
    }

    /// Reads the saved position, like [`begin`](Self::begin) without its note.
    pub(crate) fn read(&self, resume: Resume) -> Result<Option<Saved>> {
        let path = self.path.display();
        let failed = |error| Failure::file("read", &self.path, error);
        if self.path.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
            return Err(Failure::usage(format!("{path} is a link: name the checkpoint itself")));
        }
        let text = match fs::read(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        if resume == Resume::Never {
            let message = format!(
                "{path} is the checkpoint of an unfinished run: add --resume to continue that run, or delete the file"
            );
            return Err(Failure::usage(message));
        }
        let mut stored: Value = serde_json::from_slice(&text).unwrap_or_default();
        check_format(&path.to_string(), "a checkpoint", &stored)?;
        let time = fs::metadata(&self.path).and_then(|found| found.modified()).ok();
        if let Some(difference) = self.difference(&stored) {
            return Err(self.of_another_run(&difference));
        }
        let failed = stored["failed"].as_u64().unwrap_or_default();
        Ok(Some(Saved { position: stored["position"].take(), failed, time }))
    }

    /// The error of a checkpoint that does not belong to this run.
    pub(crate) fn of_another_run(&self, difference: &str) -> Failure {
        let path = self.path.display();
        Failure::usage(format!("{path} belongs to another run: {difference}"))
    }

    /// Returns the first part of the job that differs from the stored one.
    fn difference(&self, stored: &Value) -> Option<String> {
        let Job { command, from, to, options } = &self.job;
        let parts = [("command", command, &stored["command"])]
            .map(|(name, own, stored)| (name, *own, stored));
        let places = [("source", &**from, &stored["from"]), ("target", &**to, &stored["to"])];
        let options = options.iter().map(|(name, own)| (*name, &**own, &stored["options"][name]));
        let mut all = parts.into_iter().chain(places).chain(options);
        all.find(|(_, own, stored)| *stored != own).map(|(name, own, stored)| match stored {
            Value::Null => format!("its {name} is missing, here it is {own:?}"),
            stored => format!("its {name} is {stored}, here it is {own:?}"),
        })
    }

    /// Replaces the file. `failed` is the size of the list of failed rows.
    pub(crate) fn save(&self, position: &impl Serialize, failed: u64) -> Result<()> {
        let Job { command, from, to, options } = &self.job;
        let options = options.iter().map(|(name, value)| ((*name).to_owned(), json!(value)));
        let (format, program, options) = (FORMAT, PROGRAM, options.collect());
        let envelope = Envelope { format, program, command, from, to, options, position, failed };
        let text = serde_json::to_string_pretty(&envelope)
            .map_err(|error| Failure::file("write", &self.path, error))?;
        replace(&self.path, &format!("{text}\n"))
    }

    /// Removes the file of a run that is complete.
    pub(crate) fn remove(&self) -> Result<()> {
        remove(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(table: &str) -> Job {
        Job::new("copy", "http://127.0.0.1:1/a/Blogs", format!("http://127.0.0.1:1/b/{table}"))
    }

    fn open(path: &Path, job: Job) -> CheckpointFile {
        CheckpointFile::lock(path, job).unwrap()
    }

    #[test]
    fn a_resumed_run_gets_the_saved_position() {
        let folder = tempfile::tempdir().unwrap();
        let file = open(&folder.path().join("x.checkpoint"), job("A"));
        assert_eq!(file.read(Resume::Never).unwrap(), None);
        assert_eq!(file.read(Resume::Only).unwrap(), None);
        file.save(&json!({"rows": 1}), 7).unwrap();
        file.save(&json!({"rows": 2}), 9).unwrap();
        let saved = file.read(Resume::OrBegin).unwrap().unwrap();
        assert!(saved.position == json!({"rows": 2}) && saved.time.is_some(), "{saved:?}");
        assert_eq!(saved.failed, 9);
        // The checkpoint and its lock: no temporary file is left.
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        file.remove().unwrap();
        file.remove().unwrap();
        assert_eq!(file.read(Resume::Never).unwrap(), None);
        drop(file);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_checkpoint_is_not_overwritten_or_taken_by_another_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.checkpoint");
        let error =
            |job: Job, resume| open(&path, job).read(resume).unwrap_err().message().to_owned();
        open(&path, job("A")).save(&Value::Null, 0).unwrap();
        let existing = error(job("A"), Resume::Never);
        assert!(existing.contains("add --resume"), "{existing}");
        let other = error(job("B"), Resume::OrBegin);
        let both = r#"its target is "http://127.0.0.1:1/b/A", here it is "http://127.0.0.1:1/b/B""#;
        assert!(other.ends_with(both), "{other}");
        let more = error(job("A").with("filter", ""), Resume::Only);
        assert!(more.contains("its filter is missing"), "{more}");
        let other = error(Job::new("export", "", ""), Resume::OrBegin);
        assert!(other.ends_with(r#"its command is "copy", here it is "export""#), "{other:?}");
        for damaged in ["", "{}", "[1]", r#"{"version":2}"#, "\u{0}"] {
            fs::write(&path, damaged).unwrap();
            let error = error(job("A"), Resume::OrBegin);
            assert!(error.ends_with("is not a checkpoint"), "{error}");
        }
        fs::write(&path, r#"{"format":2,"program":"0.9.0"}"#).unwrap();
        let later = error(job("A"), Resume::OrBegin);
        assert!(later.contains("has the format 2, written by azure-table 0.9.0; "), "{later}");
        let _held = open(&path, job("A"));
        let error = CheckpointFile::lock(&path, job("A")).unwrap_err();
        assert!(error.message().starts_with("another run uses"), "{error:?}");
    }
}
