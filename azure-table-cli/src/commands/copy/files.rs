//! The files of a copy, and the position that it begins at.

use std::path::PathBuf;

use crate::args::{Copy, Globals};
use crate::engine::checkpoint::{self, CheckpointFile, Job, Resume};
use crate::engine::copy_rows::Saved;
use crate::engine::files::{check_distinct, note_current_folder};
use crate::engine::row_list::{Head, RowList, lock_of};
use crate::failure::Result;
use crate::output::note;
use crate::side_table::SideTable;

/// The files that a copy leaves.
#[derive(Debug)]
pub(super) struct Paths {
    pub(super) checkpoint: PathBuf,
    pub(super) list: PathBuf,
}

impl Paths {
    pub(super) fn check(&self) -> Result<()> {
        let checkpoint = checkpoint::Paths::of(&self.checkpoint);
        let list = ("the list of failed rows", &*self.list);
        let lock = lock_of(&self.list);
        let lock = ("the lock of that list", &*lock);
        check_distinct(&[&checkpoint.named()[..], &[list, lock]].concat())
    }

    /// The advice to continue.
    pub(super) fn again(&self) -> String {
        format!("continue with --resume (checkpoint {})", self.checkpoint.display())
    }
}

/// The open files of a run.
pub(super) struct Files {
    pub(super) checkpoint: CheckpointFile,
    pub(super) list: RowList,
    pub(super) saved: Saved,
    /// Whether an earlier run left the checkpoint.
    pub(super) is_resumed: bool,
}

impl Files {
    /// Locks the checkpoint, and asks before a list is replaced.
    pub(super) fn open(
        args: &Copy,
        source: &SideTable,
        target: &SideTable,
        paths: &Paths,
        globals: &Globals,
    ) -> Result<Self> {
        let job = Job::new("copy", source.place(), target.place())
            .with("filter", args.filter.clone().unwrap_or_default())
            .with("mode", args.mode.name())
            .with("for-sync", args.for_sync.to_string())
            .with("failed", paths.list.display().to_string());
        if !args.all_tables {
            note_current_folder(&[&paths.checkpoint, &paths.list], globals);
        }
        let checkpoint = CheckpointFile::lock(&paths.checkpoint, job)?;
        let resume = Resume::of(args.resuming.resume, args.mode.is_repeatable());
        let stored = checkpoint.begin(resume, globals)?;
        let (list, head) = (paths.list.clone(), Head::new("copy", &args.target));
        let Some(stored) = stored else {
            let list = RowList::begin(list, head, globals)?;
            return Ok(Self { checkpoint, list, saved: Saved::default(), is_resumed: false });
        };
        let saved: Saved = stored.read()?;
        let (saved, failed) = if source.has_key_order() || saved == Saved::default() {
            stored.note(saved.copied + saved.refused, globals);
            (saved, stored.failed)
        } else {
            note(globals, "the rows of the source have no order: the copy begins again");
            (Saved::default(), 0)
        };
        let list = RowList::resume(list, head, failed)?;
        Ok(Self { checkpoint, list, saved, is_resumed: true })
    }
}
