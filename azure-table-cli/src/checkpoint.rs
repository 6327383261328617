//! The file that an unfinished command leaves, from which `--resume` continues.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::failure::{Failure, Result};

/// The time between two saves of a running command.
pub(crate) const SAVE_EVERY: Duration = Duration::from_secs(5);

const VERSION: u64 = 1;

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

/// The checkpoint file of a job. Each save replaces the whole file, so that a crash leaves the old or the new one.
#[derive(Debug, Clone)]
pub(crate) struct CheckpointFile {
    path: PathBuf,
    job: Job,
}

impl CheckpointFile {
    pub(crate) fn new(path: impl Into<PathBuf>, job: Job) -> Self {
        Self { path: path.into(), job }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Begins a run. With `resume`, returns the saved position; it is an error if it belongs to other arguments. Without a
    /// file, returns `None`: a run saves its checkpoint before anything else. Without `resume`, an existing checkpoint is
    /// an error, because the run would overwrite it.
    pub(crate) fn begin(&self, resume: bool) -> Result<Option<Value>> {
        let path = self.path.display();
        let text = match fs::read(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Failure::file("read", &self.path, error)),
        };
        if !resume {
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
        match self.difference(&stored) {
            None => Ok(Some(stored["position"].take())),
            Some(difference) => {
                let message = format!("{path} belongs to another run: {difference}");
                Err(Failure::usage(message))
            }
        }
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
            (*stored != value)
                .then(|| format!("its {name} is {}, here it is {value}", shown(stored)))
        })
    }

    /// Replaces the file.
    pub(crate) fn save(&self, position: &Value) -> Result<()> {
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
        self.replace(&format!("{document:#}\n"))
            .map_err(|error| Failure::file("write", &self.path, error))
    }

    fn replace(&self, text: &str) -> std::io::Result<()> {
        let mut temporary = self.path.clone().into_os_string();
        temporary.push(".tmp");
        let temporary = PathBuf::from(temporary);
        let mut file = File::create(&temporary)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        drop(file);
        fs::rename(&temporary, &self.path)?;
        sync_folder(&self.path)
    }

    /// Removes the file of a run that is complete.
    pub(crate) fn remove(&self) -> Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(Failure::file("remove", &self.path, error))
            }
            _ => Ok(()),
        }
    }
}

/// Makes a rename durable.
#[cfg(unix)]
fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(table: &str) -> Job {
        Job::new("copy").with("from", "http://127.0.0.1:1/a").with("table", table)
    }

    #[test]
    fn a_resumed_run_gets_the_saved_position() {
        let folder = tempfile::tempdir().unwrap();
        let file = CheckpointFile::new(folder.path().join("x.checkpoint"), job("A"));
        assert_eq!(file.begin(false).unwrap(), None);
        assert_eq!(file.begin(true).unwrap(), None);
        file.save(&json!({"rows": 1})).unwrap();
        file.save(&json!({"rows": 2})).unwrap();
        assert_eq!(file.begin(true).unwrap(), Some(json!({"rows": 2})));
        // No temporary file is left.
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        file.remove().unwrap();
        file.remove().unwrap();
        assert_eq!(file.begin(false).unwrap(), None);
    }

    #[test]
    fn a_checkpoint_is_not_overwritten_or_taken_by_another_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.checkpoint");
        let file = CheckpointFile::new(&path, job("A"));
        file.save(&Value::Null).unwrap();
        let existing = file.begin(false).unwrap_err().message().to_owned();
        assert!(existing.contains("add --resume"), "{existing}");
        let other =
            CheckpointFile::new(&path, job("B")).begin(true).unwrap_err().message().to_owned();
        assert!(other.ends_with(r#"its table is "A", here it is "B""#), "{other}");
        let more = CheckpointFile::new(&path, job("A").with("filter", ""));
        assert!(
            more.begin(true).unwrap_err().message().to_owned().contains("its filter is missing")
        );
        let other = CheckpointFile::new(&path, Job::new("export")).begin(true).unwrap_err();
        assert!(other.message().ends_with(r#"its command is "copy""#), "{other:?}");
        for damaged in ["", "{}", "[1]", r#"{"version":2}"#, "\u{0}"] {
            fs::write(&path, damaged).unwrap();
            let error = file.begin(true).unwrap_err().message().to_owned();
            assert!(error.ends_with("is not a checkpoint of this version"), "{error}");
        }
    }
}
