//! `verify`: the files of a backup against its manifest.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use super::export::CHECKPOINT as EXPORT;
use super::manifest::{self, Entry, Manifest, State};
use crate::args::{Globals, Verify as Arguments};
use crate::failure::{Exit, Failure, Result};
use crate::interrupt::Interrupt;
use crate::output::{Out, note, one_line};
use crate::progress::{Progress, counted};
use crate::run_files::checkpoint::is_run_file;
use crate::run_files::checksum::Checksum;

/// The checkpoint of an import.
pub(super) const IMPORT: &str = "import.checkpoint";
/// The extensions of the files that an export or an import of a table leaves.
const RUN_FILES: [&str; 9] = [
    ".part",
    ".rows.part",
    ".checkpoint",
    ".checkpoint.tmp",
    ".checkpoint.lock",
    ".refused",
    ".refused.lock",
    ".unknown",
    ".unknown.lock",
];

pub(crate) fn run(args: &Arguments, globals: &Globals) -> Result<()> {
    let Arguments { folder } = args;
    let interrupt = Interrupt::install()?;
    let manifest = Manifest::read(folder)?;
    let unfinished = unfinished(&manifest);
    let mut problems = damaged(folder, &manifest.tables, &interrupt, globals)?;
    problems.extend(unknown(folder, &manifest)?);
    let mut out = Out::new();
    for problem in unfinished.iter().chain(&problems) {
        out.put(&format!("{}\n", one_line(problem))).map_err(Failure::or_different)?;
    }
    out.flush().map_err(Failure::or_different)?;
    let damage = (!problems.is_empty()).then(|| damage(&problems));
    let state = match (unfinished, damage) {
        (None, None) => {
            note_complete(&manifest, globals);
            return Ok(());
        }
        (None, Some(damage)) => damage,
        (Some(_), None) => "unfinished".to_owned(),
        (Some(_), Some(damage)) => format!("unfinished and {damage}"),
    };
    Err(Failure::new(Exit::Different, format!("{} is {state}", folder.display())))
}

/// Writes `damaged: 7 problems`.
pub(super) fn damage(problems: &[String]) -> String {
    format!("damaged: {}", counted(problems.len() as u64, "problem"))
}

fn note_complete(manifest: &Manifest, globals: &Globals) {
    let rows = manifest.tables.iter().map(|entry| entry.rows).sum();
    let tables = manifest.tables.iter().filter(|entry| entry.content.is_some()).count();
    let (tables, rows) = (counted(tables as u64, "table"), counted(rows, "row"));
    note(globals, &format!("the backup is complete: {tables}, {rows}"));
    manifest.note_part(globals);
}

/// Returns the problem of a backup that is not complete.
pub(super) fn unfinished(manifest: &Manifest) -> Option<String> {
    if manifest.finished.is_some() {
        return None;
    }
    let pending = manifest.tables.iter().filter(|entry| entry.state == State::Pending).count();
    let pending = counted(pending as u64, "table");
    let next = "continue it with export --all-tables --resume";
    Some(format!("the backup is unfinished, {pending} left: {next}"))
}

/// Compares the files of these tables with their checksums. Returns a line for each problem.
pub(super) fn damaged(
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

/// Returns a line for each file that is not one of the backup or of a run on it.
fn unknown(folder: &Path, manifest: &Manifest) -> Result<Vec<String>> {
    let failed = |error| Failure::file("read", folder, error);
    let tables: HashMap<_, _> =
        manifest.tables.iter().map(|entry| (&*entry.file, entry.state)).collect();
    let mut unknown = Vec::new();
    for file in fs::read_dir(folder).map_err(failed)? {
        let name = file.map_err(failed)?.file_name().to_string_lossy().into_owned();
        let is_of_account =
            [manifest::NAME, EXPORT, IMPORT].iter().any(|file| is_run_file(file, &name));
        let is_of_run = |suffix: &&str| {
            name.strip_suffix(*suffix).is_some_and(|file| tables.contains_key(file))
        };
        // An export that was killed may have completed files since it saved the manifest.
        let is_of_table = matches!(tables.get(&*name), Some(State::Complete | State::Pending))
            || RUN_FILES.iter().any(is_of_run);
        if !is_of_account && !is_of_table {
            unknown.push(format!("{name}: it is not in the manifest"));
        }
    }
    unknown.sort();
    Ok(unknown)
}
