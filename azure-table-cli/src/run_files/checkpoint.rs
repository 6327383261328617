//! The file that an unfinished command leaves, from which `--resume` continues.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::lock::Lock;
use super::{Named, TEMPORARY, remove, replace, with_suffix};
use crate::args::Globals;
use crate::failure::{Exit, Failure, Result};
use crate::output::note;
use crate::progress::counted;

const VERSION: u64 = 1;
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

/// The work that a checkpoint belongs to: the command, and the arguments that must be the same when it resumes. It has
/// no credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Job {
    command: &'static str,
    arguments: Vec<(&'static str, String)>,
}

impl Job {
    pub(crate) fn new(command: &'static str) -> Self {
        Self { command, arguments: Vec::new() }
    }

    /// Adds an argument. Endpoints are those of the client, which have no signature.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.arguments.push((name, value.into()));
        self
    }
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
    pub(crate) position: Value,
    time: Option<SystemTime>,
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
        let stored = serde_json::from_slice(&text).ok();
        let stored = stored.filter(|stored: &Value| stored["version"] == VERSION);
        let Some(mut stored) = stored else {
            let message = format!("{path} is not a checkpoint of this version");
            return Err(Failure::usage(message));
        };
        let time = fs::metadata(&self.path).and_then(|found| found.modified()).ok();
        match self.difference(&stored) {
            None => Ok(Some(Saved { position: stored["position"].take(), time })),
            Some(difference) => Err(self.of_another_run(&difference)),
        }
    }

    /// The error of a checkpoint that does not belong to this run.
    pub(crate) fn of_another_run(&self, difference: &str) -> Failure {
        let path = self.path.display();
        Failure::usage(format!("{path} belongs to another run: {difference}"))
    }

    /// Returns the first argument that differs from that of the stored job.
    fn difference(&self, stored: &Value) -> Option<String> {
        let shown = |value: &Value| match value {
            Value::Null => "missing".to_owned(),
            value => value.to_string(),
        };
        let command = json!(self.job.command);
        if stored["command"] != command {
            return Some(format!("its command is {}", shown(&stored["command"])));
        }
        self.job.arguments.iter().find_map(|(name, value)| {
            let (stored, value) = (&stored["arguments"][name], json!(value));
            // Checkpoints of earlier versions lack newer options, which are off.
            let is_same = *stored == value || (stored.is_null() && value == "false");
            (!is_same).then(|| format!("its {name} is {}, here it is {value}", shown(stored)))
        })
    }

    /// Replaces the file.
    pub(crate) fn save(&self, position: &impl Serialize) -> Result<()> {
        let arguments: serde_json::Map<_, _> = self
            .job
            .arguments
            .iter()
            .map(|(name, value)| ((*name).to_owned(), json!(value)))
            .collect();
        let document = json!({
            "version": VERSION,
            "command": self.job.command,
            "arguments": arguments,
            "position": position,
        });
        replace(&self.path, &format!("{document:#}\n"))
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
        Job::new("copy").with("from", "http://127.0.0.1:1/a").with("table", table)
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
        file.save(&json!({"rows": 1})).unwrap();
        file.save(&json!({"rows": 2})).unwrap();
        let saved = file.read(Resume::OrBegin).unwrap().unwrap();
        assert!(saved.position == json!({"rows": 2}) && saved.time.is_some(), "{saved:?}");
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
        open(&path, job("A")).save(&Value::Null).unwrap();
        let existing = error(job("A"), Resume::Never);
        assert!(existing.contains("add --resume"), "{existing}");
        let other = error(job("B"), Resume::OrBegin);
        assert!(other.ends_with(r#"its table is "A", here it is "B""#), "{other}");
        let more = error(job("A").with("filter", ""), Resume::Only);
        assert!(more.contains("its filter is missing"), "{more}");
        let other = error(Job::new("export"), Resume::OrBegin);
        assert!(other.ends_with(r#"its command is "copy""#), "{other:?}");
        for damaged in ["", "{}", "[1]", r#"{"version":2}"#, "\u{0}"] {
            fs::write(&path, damaged).unwrap();
            let error = error(job("A"), Resume::OrBegin);
            assert!(error.ends_with("is not a checkpoint of this version"), "{error}");
        }
        let _held = open(&path, job("A"));
        let error = CheckpointFile::lock(&path, job("A")).unwrap_err();
        assert!(error.message().starts_with("another run uses"), "{error:?}");
    }
}
