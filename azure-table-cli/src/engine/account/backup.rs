//! The check of a backup: its files against its manifest.

use std::path::Path;

use super::manifest::{Entry, Manifest, State};
use crate::args::Globals;
use crate::engine::checksum::Checksum;
use crate::failure::Result;
use crate::interrupt::Interrupt;
use crate::progress::{Progress, counted};

/// The checkpoint of an export, which also locks the folder.
pub(crate) const EXPORT: &str = "export.checkpoint";
/// The checkpoint of an import.
pub(crate) const IMPORT: &str = "import.checkpoint";

/// Writes `damaged: 7 problems`.
pub(crate) fn damage(problems: &[String]) -> String {
    format!("damaged: {}", counted(problems.len() as u64, "problem"))
}

/// Returns the problem of a backup that is not complete.
pub(crate) fn unfinished(manifest: &Manifest) -> Option<String> {
    if manifest.finished.is_some() {
        return None;
    }
    let pending = manifest.tables.iter().filter(|entry| entry.state == State::Pending).count();
    let pending = counted(pending as u64, "table");
    let next = "continue it with export --all-tables --resume";
    Some(format!("the backup is unfinished, {pending} left: {next}"))
}

/// Compares the files of these tables with their checksums. Returns a line for each problem.
pub(crate) fn damaged(
    folder: &Path,
    tables: &[Entry],
    interrupt: &Interrupt,
    globals: &Globals,
) -> Result<Vec<String>> {
    let complete = tables.iter().filter_map(|entry| Some((entry, entry.content.as_ref()?)));
    let total = complete.clone().map(|(entry, _)| entry.rows).sum();
    let progress = Progress::new(globals.quiet, "verify", Some(total));
    let mut problems = Vec::new();
    for (entry, expected) in complete {
        let path = entry.path(folder)?;
        if path.exists() {
            let found = Checksum::of_file(&path, interrupt)?;
            progress.add_bytes(found.bytes);
            match difference(&found, expected) {
                Some(why) => problems.push(format!("{}: {why}", entry.file)),
                None => progress.add_rows(entry.rows),
            }
        } else {
            problems.push(format!("{}: it is missing", entry.file));
        }
    }
    progress.finish();
    Ok(problems)
}

fn difference(found: &Checksum, expected: &Checksum) -> Option<String> {
    if found.bytes != expected.bytes {
        let (found, expected) = (found.bytes, expected.bytes);
        return Some(format!("it has {found} bytes instead of {expected}"));
    }
    (found != expected).then(|| "its content was changed: the SHA-256 hash differs".to_owned())
}
