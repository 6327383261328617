//! `--check`: the rows that the struct of a snapshot of the schema guard cannot read.

mod form;
mod reader;
mod several;

use std::fs;
use std::path::Path;

use azure_table_client::EntityKey;
use azure_table_client::entity::schema::Schema;
use azure_table_patterns::schema::Snapshot;
use serde_json::json;

use super::{End, Sample};
use crate::args::{Globals, Lines, Schema as Arguments};
use crate::failure::{Exit, Failure, Result};
use crate::output::{Out, note, without_controls};
use crate::progress::{counted, grouped};
use reader::{Problem, Reader};

pub(super) async fn run(
    file: &Path,
    args: &Arguments,
    sample: Sample,
    globals: &Globals,
) -> Result<()> {
    let reader = Reader::new(schema_of(file)?)
        .map_err(|problem| Failure::usage(format!("{}: {problem}", file.display())))?;
    for limit in reader.limits() {
        note(globals, &format!("note: {limit}"));
    }
    let mut out = Out::new();
    let mut unreadable: u64 = 0;
    let end = sample
        .run(|row| {
            let problems = reader.problems(&row);
            unreadable += u64::from(!problems.is_empty());
            let mut put = |problem| out.put(&line(row.key(), problem, args.output));
            problems.iter().try_for_each(&mut put).map_err(Failure::or_different)
        })
        .await;
    // The rows before an error are printed too.
    let flushed = out.flush().map_err(Failure::or_different);
    let end = end?;
    flushed?;
    conclude(end, unreadable, globals)
}

/// Reads a snapshot.
fn schema_of(file: &Path) -> Result<Schema> {
    let text = fs::read_to_string(file).map_err(|error| Failure::file("read", file, error))?;
    text.parse::<Snapshot>().map(Schema::from).map_err(|error| {
        let file = file.display();
        Failure::usage(format!("{file}: not a snapshot of the schema guard: {error}"))
    })
}

fn line(key: &EntityKey, problem: &Problem, lines: Lines) -> String {
    match lines {
        Lines::Text => format!("{key}: {problem}\n"),
        Lines::Jsonl => {
            let Problem { column, expected, found } = problem;
            let object = json!({
                "PartitionKey": key.partition_key,
                "RowKey": key.row_key,
                "column": column,
                "expected": expected,
                "found": found,
            });
            format!("{}\n", without_controls(&object.to_string()))
        }
    }
}

fn conclude(end: End, unreadable: u64, globals: &Globals) -> Result<()> {
    end.conclude()?;
    let rows = counted(end.rows, "row");
    // The service does not report how many rows there are.
    let others = if end.is_sample { "; the rows after this sample were not read" } else { "" };
    if unreadable == 0 {
        note(globals, &format!("all readable: {rows}{others}"));
        return Ok(());
    }
    let message = format!("{} of {rows} cannot be read{others}", grouped(unreadable));
    Err(Failure::new(Exit::Different, message))
}

#[cfg(test)]
mod tests;
