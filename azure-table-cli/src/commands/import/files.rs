//! The files of an import next to the imported one.

use std::fs;
use std::path::Path;

use super::Position;
use crate::args::{Globals, Import as Arguments};
use crate::engine::checkpoint::{CheckpointFile, Job, Paths, Resume, Saved, file_place};
use crate::engine::files::{check_distinct, note_current_folder, with_suffix};
use crate::engine::row_list::{self, Head, RowList, lock_of};
use crate::failure::{Failure, Result};
use crate::format::is_standard;

/// The files of a run, and the position that it begins at.
pub(super) struct Files {
    /// `None` for an input that cannot be read again.
    pub(super) checkpoint: Option<CheckpointFile>,
    /// The checkpoint of the run that this one resumes.
    pub(super) saved: Option<Saved>,
    pub(super) position: Position,
    pub(super) list: RowList,
}

impl Files {
    /// Checks the paths and asks before a list is replaced. No file of the user is changed.
    pub(super) fn open(args: &Arguments, endpoint: &str, globals: &Globals) -> Result<Self> {
        let is_stored = is_stored(&args.file)?;
        if !is_stored && (args.resuming.resume || args.resuming.checkpoint.is_some()) {
            let message = "standard input and pipes have no checkpoint, because they cannot be read again: import a file";
            return Err(Failure::usage(message));
        }
        // The path that the names of other files begin with.
        let stem = if is_stored { &args.file } else { Path::new(&args.table) };
        let list = args.failed.clone().unwrap_or_else(|| with_suffix(stem, row_list::SUFFIX));
        let checkpoint = args.resuming.checkpoint.clone();
        let checkpoint = checkpoint.unwrap_or_else(|| with_suffix(stem, ".checkpoint"));
        let (input, paths) = (("the imported file", &*args.file), Paths::of(&checkpoint));
        let lock = lock_of(&list);
        let lists = [("the list of failed rows", &*list), ("the lock of that list", &*lock)];
        let stored = is_stored.then(|| paths.named()).into_iter().flatten();
        check_distinct(&[input].into_iter().chain(lists).chain(stored).collect::<Vec<_>>())?;
        let table = format!("{endpoint}/{}", args.table);
        let job = Job::new("import", file_place(&args.file), table)
            .with("mode", args.mode.name())
            .with("include-changed", args.include_changed.to_string())
            .with("failed", list.display().to_string());
        let checkpoint = is_stored.then(|| CheckpointFile::lock(checkpoint, job)).transpose()?;
        let resume = Resume::of(args.resuming.resume, args.mode.is_repeatable());
        let saved = match &checkpoint {
            Some(checkpoint) => checkpoint.begin(resume, globals)?,
            None => None,
        };
        let position: Position = saved.as_ref().map(Saved::read).transpose()?.unwrap_or_default();
        if !is_stored {
            note_current_folder(&[&list], globals);
        }
        let head = Head::new("import", &args.table);
        let list = match &saved {
            Some(saved) => RowList::resume(list, head, saved.failed),
            None => RowList::begin(list, head, globals),
        };
        Ok(Self { checkpoint, saved, position, list: list? })
    }
}

/// Returns whether the input can be read again: standard input and pipes cannot.
fn is_stored(path: &Path) -> Result<bool> {
    if is_standard(path) {
        return Ok(false);
    }
    let found = fs::metadata(path).map_err(|error| Failure::file("read", path, error))?;
    Ok(found.is_file())
}
