//! The comparison of both tables at the end.

use super::pair::Pair;
use crate::args::{Diff, Globals, Lines, Selection, Sync};
use crate::commands::diff::{Operand, Printer, Side, compare};
use crate::failure::{Exit, Failure, Result};
use crate::output::note;
use crate::progress::counted;

/// Counts the differences between the tables by the code of `diff`.
pub(super) async fn differences(args: &Sync, pair: &Pair, globals: &Globals) -> Result<u64> {
    let source = Side::Table { table: pair.source.clone(), option: "--from-dialect" };
    let target = Side::Table { table: pair.target.clone(), option: "--to-dialect" };
    let sides = (&source, &target);
    let counts = compare(sides, None, &diff(args), &mut Printer::silent(), globals).await?;
    if counts.differences() == 0 {
        note(globals, &format!("no differences: {}", counted(counts.a, "row")));
    }
    Ok(counts.differences())
}

/// The arguments of such a `diff`.
fn diff(args: &Sync) -> Diff {
    Diff {
        a: Operand::Table(args.source.clone()),
        b: Operand::Table(args.target.clone()),
        all_tables: false,
        backup: None,
        selection: Selection { include: Vec::new(), exclude: Vec::new() },
        filter: None,
        format: None,
        parallel: args.parallel,
        output: Lines::Text,
        expect: None,
        rate: args.rate,
        sides: args.sides.clone(),
    }
}

pub(super) fn failure(differences: u64) -> Failure {
    let differences = counted(differences, "difference");
    let message =
        format!("{differences} after two passes that changed nothing: `diff` shows the rows");
    Failure::new(Exit::Different, message)
}
