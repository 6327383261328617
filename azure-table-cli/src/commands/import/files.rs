//! The files of an import next to the imported one.

use std::fs;
use std::path::Path;

use super::run::Position;
use crate::args::{Globals, Import as Arguments};
use crate::failure::{Failure, Result};
use crate::format::is_standard;
use crate::run_files::checkpoint::{CheckpointFile, Job, Paths, Resume, Saved};
use crate::run_files::row_list::{RowList, lock_of};
use crate::run_files::{check_distinct, with_suffix};

/// The files of a run, and the position that it begins at.
pub(super) struct Files {
    /// `None` for an input that cannot be read again.
    pub(super) checkpoint: Option<CheckpointFile>,
    /// The checkpoint of the run that this one resumes.
    pub(super) saved: Option<Saved>,
    pub(super) position: Position,
    pub(super) refused: RowList,
    pub(super) unknown: RowList,
}

impl Files {
    /// Checks the paths and asks before a list is replaced. No file of the user is changed.
    pub(super) fn open(args: &Arguments, endpoint: &str, globals: &Globals) -> Result<Self> {
        let is_stored = is_stored(&args.file)?;
        if !is_stored && (args.resume || args.checkpoint.is_some()) {
            let message = "standard input and pipes have no checkpoint, because they cannot be read again: import a file";
            return Err(Failure::usage(message));
        }
        // The path that the names of other files begin with.
        let stem = if is_stored { &args.file } else { Path::new(&args.table) };
        let refused = args.refused.clone().unwrap_or_else(|| with_suffix(stem, ".refused"));
        let unknown = with_suffix(stem, ".unknown");
        let checkpoint = args.checkpoint.clone();
        let checkpoint = checkpoint.unwrap_or_else(|| with_suffix(stem, ".checkpoint"));
        let (input, paths) = (("the imported file", &*args.file), Paths::of(&checkpoint));
        let locks = [lock_of(&refused), lock_of(&unknown)];
        let lists = [
            ("the list of refused rows", &*refused),
            ("the lock of the list of refused rows", &*locks[0]),
            ("the list of unknown rows", &*unknown),
            ("the lock of the list of unknown rows", &*locks[1]),
        ];
        let stored = is_stored.then(|| paths.named()).into_iter().flatten();
        let files: Vec<_> = [input].into_iter().chain(lists).chain(stored).collect();
        check_distinct(&files)?;
        let job = Job::new("import")
            .with("endpoint", endpoint)
            .with("table", &args.table)
            .with("mode", args.mode.name())
            .with("refused", refused.display().to_string());
        let checkpoint = is_stored.then(|| CheckpointFile::lock(checkpoint, job)).transpose()?;
        let resume = Resume::of(args.resume, args.mode.is_repeatable());
        let saved = match &checkpoint {
            Some(checkpoint) => checkpoint.begin(resume, globals)?,
            None => None,
        };
        let position: Position = saved.as_ref().map(Saved::read).transpose()?.unwrap_or_default();
        let list = |path, bytes| match &saved {
            Some(_) => RowList::resume(path, bytes),
            None => RowList::begin(path, globals),
        };
        let refused = list(refused, position.refused_bytes)?;
        // A resumed run tries these rows again.
        let unknown = list(unknown, 0)?;
        Ok(Self { checkpoint, saved, position, refused, unknown })
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
