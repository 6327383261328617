//! The files next to the imported one, and the job that a checkpoint belongs to.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::args::Import as Arguments;
use crate::checkpoint::{CheckpointFile, Job};
use crate::commands::export::with_suffix;
use crate::failure::{Failure, Result};
use crate::format::is_standard;

/// The bytes at the start of a file that distinguish it from another one of the same size.
const SAMPLE_BYTES: u64 = 64 * 1024;

/// The checkpoint of an import; `None` for standard input, which cannot be read again.
pub(super) fn checkpoint(args: &Arguments, endpoint: &str) -> Result<Option<CheckpointFile>> {
    if is_standard(&args.file) {
        return Ok(None);
    }
    let job = Job::new("import")
        .with("endpoint", endpoint)
        .with("table", &args.table)
        .with("mode", args.mode.name())
        .with("content", content(&args.file)?);
    let path = args.checkpoint.clone();
    let path = path.unwrap_or_else(|| with_suffix(&args.file, ".checkpoint"));
    Ok(Some(CheckpointFile::new(path, job)))
}

/// The file of the refused rows.
pub(super) fn refused(args: &Arguments) -> PathBuf {
    args.refused.clone().unwrap_or_else(|| with_suffix(stem(args), ".refused"))
}

/// The file of the rows whose outcome is unknown.
pub(super) fn unknown(args: &Arguments) -> PathBuf {
    with_suffix(stem(args), ".unknown")
}

/// The path that the names of other files begin with.
fn stem(args: &Arguments) -> &Path {
    if is_standard(&args.file) { Path::new(&args.table) } else { &args.file }
}

/// The size of the file and the hash of its start. The positions of a checkpoint count the rows of this file.
fn content(path: &Path) -> Result<String> {
    let failed = |error| Failure::file("read", path, error);
    let file = File::open(path).map_err(failed)?;
    let mut content = format!("{} bytes, ", file.metadata().map_err(failed)?.len());
    let mut start = Vec::new();
    file.take(SAMPLE_BYTES).read_to_end(&mut start).map_err(failed)?;
    for byte in Sha256::digest(&start) {
        // Writing to a String cannot fail.
        let _ = write!(content, "{byte:02x}");
    }
    Ok(content)
}
