//! The files of an export.

use std::path::PathBuf;

use crate::args::Export as Arguments;
use crate::failure::Result;
use crate::format::Format;
use crate::links::followed;
use crate::run_files::checkpoint::{self, CheckpointFile, Job, Paths};
use crate::run_files::lock::Lock;
use crate::run_files::{check_distinct, resolved, with_suffix};

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
        let path = args.checkpoint.clone().unwrap_or_else(|| default.clone());
        let paths = Paths::of(&path);
        let named = paths
            .named()
            .into_iter()
            .chain([("the exported file", &*file), ("the unfinished file", &*part)]);
        let rows_file = is_converted.then_some(("the file of downloaded rows", &*rows));
        check_distinct(&named.chain(rows_file).collect::<Vec<_>>())?;
        let job = Job::new("export")
            .with("endpoint", endpoint)
            .with("table", &args.table)
            .with("filter", args.filter.clone().unwrap_or_default())
            .with("select", args.select.join(","))
            .with("system", args.system.to_string())
            .with("rows", rows.display().to_string());
        let checkpoint = CheckpointFile::lock(&path, job)?;
        let lock = (resolved(&path) != resolved(&default))
            .then(|| checkpoint::lock(&default))
            .transpose()?;
        Ok(Self { file, part, rows, checkpoint, _lock: lock })
    }
}
