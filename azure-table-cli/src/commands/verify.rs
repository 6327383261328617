//! `verify`: the files of a backup against its manifest.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use crate::args::{Globals, Verify as Arguments};
use crate::engine::account::backup::{EXPORT, IMPORT, damage, damaged, unfinished};
use crate::engine::account::manifest::{self, Manifest, State};
use crate::engine::checkpoint::is_run_file;
use crate::failure::{Exit, Failure, Result};
use crate::format::{Format, rows};
use crate::interrupt::Interrupt;
use crate::output::{Out, note, one_line};
use crate::progress::{Progress, counted};

/// The extensions of the files that an export or an import of a table leaves.
const RUN_FILES: [&str; 7] = [
    ".part",
    ".rows.part",
    ".checkpoint",
    ".checkpoint.tmp",
    ".checkpoint.lock",
    ".failed.jsonl",
    ".failed.jsonl.lock",
];

pub(crate) fn run(args: &Arguments, globals: &Globals) -> Result<()> {
    let Arguments { folder } = args;
    let interrupt = Interrupt::install()?;
    let manifest = Manifest::read(folder)?;
    let unfinished = unfinished(&manifest);
    let mut problems = damaged(folder, &manifest.tables, &interrupt, globals)?;
    if problems.is_empty() {
        problems.extend(miscounted(folder, &manifest, &interrupt, globals)?);
    }
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

fn note_complete(manifest: &Manifest, globals: &Globals) {
    let rows = manifest.tables.iter().map(|entry| entry.rows).sum();
    let tables = manifest.tables.iter().filter(|entry| entry.content.is_some()).count();
    let (tables, rows) = (counted(tables as u64, "table"), counted(rows, "row"));
    note(globals, &format!("the backup is complete: {tables}, {rows}"));
    manifest.note_part(globals);
}

/// Returns a line for each file with another number of rows than the manifest states.
fn miscounted(
    folder: &Path,
    manifest: &Manifest,
    interrupt: &Interrupt,
    globals: &Globals,
) -> Result<Vec<String>> {
    let complete = manifest.tables.iter().filter(|entry| entry.content.is_some());
    let progress =
        Progress::new(globals.quiet, "count", Some(complete.clone().map(|entry| entry.rows).sum()));
    let mut problems = Vec::new();
    for entry in complete {
        let path = entry.path(folder)?;
        let mut count = 0;
        for row in rows(&path, Format::of(&path, None)?)? {
            row?;
            count += 1;
            progress.add_rows(1);
            interrupt.check("while the rows were counted")?;
        }
        if count != entry.rows {
            let expected = counted(entry.rows, "row");
            problems.push(format!("{}: it has {count} rows instead of {expected}", entry.file));
        }
    }
    progress.finish();
    Ok(problems)
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

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::engine::account::manifest::Entry;
    use crate::engine::checksum::Checksum;

    #[tokio::test]
    async fn each_file_has_the_rows_that_the_manifest_states() {
        let arguments = ["azure-table", "-q", "tables"];
        let globals = crate::args::Arguments::try_parse_from(arguments).unwrap().globals;
        let folder = tempfile::tempdir().unwrap();
        let text = "{\"PartitionKey\":\"p\",\"RowKey\":\"1\"}\n{\"PartitionKey\":\"p\",\"RowKey\":\"2\"}\n";
        fs::write(folder.path().join("Blogs.jsonl"), text).unwrap();
        let interrupt = Interrupt::install().unwrap();
        for (rows, problem) in
            [(2, None), (3, Some("Blogs.jsonl: it has 2 rows instead of 3 rows"))]
        {
            let content = Some(Checksum::of_text(text));
            let pending = Entry::pending("Blogs", "Blogs.jsonl".to_owned());
            let entry = Entry { state: State::Complete, rows, content, ..pending };
            let manifest = Manifest::new("http://127.0.0.1", manifest::now(), None, vec![entry]);
            let found = miscounted(folder.path(), &manifest, &interrupt, &globals).unwrap();
            assert_eq!(found.first().map(String::as_str), problem);
        }
    }
}
