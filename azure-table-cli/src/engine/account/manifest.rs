//! The manifest of a backup: the tables of a folder, their files and their access policies.

mod part;
mod policy;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use chrono::{SecondsFormat, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::names::is_file_name;
use crate::args::Globals;
use crate::engine::checksum::Checksum;
use crate::engine::files::replace;
use crate::failure::{Exit, Failure, Result};
use crate::output::{note, one_line};
pub(crate) use part::Part;
pub(crate) use policy::Policy;

const VERSION: u64 = 1;
/// The name of the file.
pub(crate) const NAME: &str = "manifest.json";

/// The manifest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    version: u64,
    /// The address of the account, without credentials.
    pub(crate) endpoint: String,
    /// The time before the tables were listed.
    pub(crate) started: String,
    /// The time after the last table was exported; `None` in an unfinished backup.
    pub(crate) finished: Option<String>,
    /// `None` if all rows of all tables were exported; the manifests of earlier versions do not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    partial: Option<Part>,
    pub(crate) tables: Vec<Entry>,
    /// The hash of the other members.
    checksum: String,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    pub(crate) table: String,
    pub(crate) file: String,
    pub(crate) state: State,
    pub(crate) rows: u64,
    /// `None` until the file is complete.
    pub(crate) content: Option<Checksum>,
    /// `None` if they were not read, for example because Cosmos DB does not have them.
    pub(crate) policies: Option<Vec<Policy>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    Pending,
    Complete,
    /// The table was deleted before it was exported. It has no file.
    Deleted,
}

/// The current time in a manifest.
pub(crate) fn now() -> String {
    Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true)
}

impl Manifest {
    pub(crate) fn new(
        endpoint: &str,
        started: String,
        partial: Option<Part>,
        tables: Vec<Entry>,
    ) -> Self {
        let (endpoint, checksum) = (endpoint.to_owned(), String::new());
        Self { version: VERSION, endpoint, started, finished: None, partial, tables, checksum }
    }

    /// Notes that the backup is not that of the whole account.
    pub(crate) fn note_part(&self, globals: &Globals) {
        if let Some(part) = &self.partial {
            note(
                globals,
                &one_line(&format!("the backup is partial: it was exported with {part}")),
            );
        }
    }

    /// Reads the manifest of a folder. A missing manifest, or one of another version, is a usage error.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(NAME);
        let text = fs::read(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                let folder = folder.display();
                Failure::usage(format!("{folder} is not a backup: it has no {NAME}"))
            }
            _ => Failure::file("read", &path, error),
        })?;
        let damaged = |why: &str| {
            Failure::new(Exit::Different, format!("{} is damaged: {why}", path.display()))
        };
        let Ok(value) = serde_json::from_slice::<Value>(&text) else {
            return Err(damaged("it is not JSON"));
        };
        if value["version"] != VERSION {
            let (path, version) = (path.display(), &value["version"]);
            let message = format!("{path} has version {version}; this program reads {VERSION}");
            return Err(Failure::usage(message));
        }
        let manifest = Self::deserialize(value).map_err(|error| damaged(&error.to_string()))?;
        if manifest.checksum != manifest.hash()? {
            return Err(damaged("it was changed: its checksum is wrong"));
        }
        manifest.check().map_err(|why| damaged(&why))?;
        Ok(manifest)
    }

    /// Replaces the manifest of a folder.
    pub(crate) fn save(&mut self, folder: &Path) -> Result<()> {
        self.checksum = self.hash()?;
        let text = serde_json::to_string_pretty(self).map_err(|error| invalid(&error))?;
        replace(&folder.join(NAME), &format!("{text}\n"))
    }

    fn hash(&self) -> Result<String> {
        let others = Self { checksum: String::new(), ..self.clone() };
        let text = serde_json::to_string(&others).map_err(|error| invalid(&error))?;
        Ok(Checksum::of_text(&text).sha256)
    }

    /// Checks that each table and each file is listed once, and that no file is outside of the folder.
    fn check(&self) -> std::result::Result<(), String> {
        let (mut tables, mut files) = (HashSet::new(), HashSet::new());
        for Entry { table, file, state, content, .. } in &self.tables {
            if !is_file_name(file) || file.eq_ignore_ascii_case(NAME) {
                return Err(format!("{file:?} is not the name of a file of a backup"));
            }
            if !tables.insert(table) || !files.insert(file.to_ascii_lowercase()) {
                return Err(format!("it has the table {table:?} or its file twice"));
            }
            let is_left = *state == State::Pending && self.finished.is_some();
            if is_left || (*state == State::Complete) != content.is_some() {
                return Err(format!("the state of the table {table:?} is invalid"));
            }
        }
        Ok(())
    }
}

impl Entry {
    pub(crate) fn pending(table: &str, file: String) -> Self {
        let table = table.to_owned();
        Self { table, file, state: State::Pending, rows: 0, content: None, policies: None }
    }

    /// Returns the path of the file. A link could leave the folder.
    pub(crate) fn path(&self, folder: &Path) -> Result<PathBuf> {
        let path = folder.join(&self.file);
        match fs::symlink_metadata(&path) {
            Ok(found) if !found.is_file() => {
                Err(Failure::usage(format!("{} is not a regular file", path.display())))
            }
            _ => Ok(path),
        }
    }
}

fn invalid(error: &serde_json::Error) -> Failure {
    Failure::new(Exit::Failed, format!("cannot write {NAME}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(table: &str, file: &str) -> Entry {
        let content = Some(Checksum::of_text("x"));
        Entry { state: State::Complete, content, ..Entry::pending(table, file.to_owned()) }
    }

    #[test]
    fn a_saved_manifest_is_read_and_a_changed_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let tables = vec![entry("Blogs", "Blogs.jsonl"), entry("ü\"", "%C3%BC%22.jsonl")];
        let mut manifest = Manifest::new("http://a", now(), None, tables);
        manifest.save(folder.path()).unwrap();
        assert_eq!(Manifest::read(folder.path()).unwrap(), manifest);
        let path = folder.path().join(NAME);
        let text = fs::read_to_string(&path).unwrap();
        for (from, to, exit, why) in [
            ("Blogs.jsonl", "Blags.jsonl", Exit::Different, "its checksum is wrong"),
            ("\"version\": 1", "\"version\": 2", Exit::Usage, "has version 2"),
            ("\"version\"", "\"v\"", Exit::Usage, "has version null"),
            ("\"rows\"", "\"raws\"", Exit::Different, "unknown field"),
            ("}", "", Exit::Different, "it is not JSON"),
        ] {
            fs::write(&path, text.replacen(from, to, 1)).unwrap();
            let error = Manifest::read(folder.path()).unwrap_err();
            assert!(error.exit() == exit && error.message().contains(why), "{why}: {error:?}");
        }
        fs::remove_file(&path).unwrap();
        assert_eq!(Manifest::read(folder.path()).unwrap_err().exit(), Exit::Usage);
    }

    #[test]
    fn entries_with_a_path_or_a_name_twice_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for (tables, why) in [
            (vec![entry("a", "../a.jsonl")], "is not the name of a file"),
            (vec![entry("a", "/tmp/a.jsonl")], "is not the name of a file"),
            (vec![entry("a", "Manifest.json")], "is not the name of a file"),
            (vec![entry("a", "a.jsonl"), entry("b", "A.jsonl")], "twice"),
            (vec![entry("a", "a.jsonl"), entry("a", "b.jsonl")], "twice"),
            (vec![Entry { content: None, ..entry("a", "a.jsonl") }], "the state of"),
            (vec![Entry::pending("a", "a.jsonl".to_owned())], "the state of"),
        ] {
            let mut manifest = Manifest::new("http://a", now(), None, tables);
            manifest.finished = Some(now());
            manifest.save(folder.path()).unwrap();
            let error = Manifest::read(folder.path()).unwrap_err();
            assert!(error.message().contains(why), "{error:?}");
        }
    }
}
