//! The files of an export.

use std::path::{Path, PathBuf};

use crate::args::{Export as Arguments, Globals};
use crate::confirm::confirm;
use crate::engine::checkpoint::{self, CheckpointFile, Job, Paths, file_place};
use crate::engine::files::{check_distinct, remove, resolved, with_suffix};
use crate::engine::lock::Lock;
use crate::failure::{Failure, Result};
use crate::format::Format;
use crate::links::followed;

/// The files of a run, which no other run uses at the same time.
pub(super) struct Files {
    pub(super) file: PathBuf,
    /// The unfinished file, which gets the name of the file at the end.
    pub(super) part: PathBuf,
    /// The downloaded rows: the unfinished file itself if it is JSON lines.
    pub(super) rows: PathBuf,
    pub(super) checkpoint: CheckpointFile,
    /// The lock of the file, if its checkpoint is another file.
    _lock: Option<Lock>,
}

impl Files {
    pub(super) fn lock(args: &Arguments, endpoint: &str, format: Format) -> Result<Self> {
        let file = followed(&args.file, "export to - and redirect standard output")?;
        let part = with_suffix(&file, ".part");
        let is_converted = format != Format::JsonLines;
        let rows = if is_converted { with_suffix(&file, ".rows.part") } else { part.clone() };
        let default = with_suffix(&file, ".checkpoint");
        let path = args.resuming.checkpoint.clone().unwrap_or_else(|| default.clone());
        let paths = Paths::of(&path);
        let named = paths
            .named()
            .into_iter()
            .chain([("the exported file", &*file), ("the unfinished file", &*part)]);
        let rows_file = is_converted.then_some(("the file of downloaded rows", &*rows));
        check_distinct(&named.chain(rows_file).collect::<Vec<_>>())?;
        let table = format!("{endpoint}/{}", args.table);
        let job = Job::new("export", table, file_place(&file))
            .with("filter", args.filter.clone().unwrap_or_default())
            .with("select", args.select.join(","))
            .with("system", args.system.to_string())
            .with("rows", file_place(&rows));
        let checkpoint = CheckpointFile::lock(&path, job)?;
        let lock = (resolved(&path) != resolved(&default))
            .then(|| checkpoint::lock(&default))
            .transpose()?;
        Ok(Self { file, part, rows, checkpoint, _lock: lock })
    }

    /// Removes the unfinished files of an earlier run, which has no checkpoint any more. Such a file may also be one of the
    /// user.
    pub(super) fn begin(&self, globals: &Globals) -> Result<()> {
        for path in self.unfinished() {
            let Ok(found) = path.symlink_metadata() else { continue };
            // A run that was killed at once leaves an empty file.
            if !found.is_file() || found.len() > 0 {
                let question = format!("replace the unfinished file {}?", path.display());
                confirm(globals.yes, &question)?;
            }
            remove(path)?;
        }
        Ok(())
    }

    /// Checks that a resumed run writes to its own files: a link would lead elsewhere.
    pub(super) fn check_links(&self) -> Result<()> {
        for path in self.unfinished() {
            if path.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
                let path = path.display();
                return Err(Failure::usage(format!("{path} is a link: remove it")));
            }
        }
        Ok(())
    }

    fn unfinished(&self) -> impl Iterator<Item = &Path> {
        // JSON lines have one such file.
        let rows = (self.rows != self.part).then_some(&*self.rows);
        [&*self.part].into_iter().chain(rows)
    }
}
