//! `diff`: the differences between two tables, or between a table and a file.

mod all_tables;
mod printer;

use crate::args::{Diff, Globals, Operand};
use crate::engine::compare::{Counts, Difference, Reading, Side, differences};
use crate::failure::{Exit, Failure, Result};
use crate::output::{message, one_line};
use crate::progress::{counted, grouped};
use printer::Printer;

pub(crate) async fn run(args: Diff, globals: &Globals) -> Result<()> {
    if args.all_tables {
        return all_tables::run(&args, globals).await;
    }
    if let (Operand::File(_), Operand::File(_)) = (&args.a, &args.b) {
        return Err(Failure::usage("two files cannot be compared: A or B must be a table"));
    }
    let a = Side::open(&args.a, "--from-dialect", || args.sides.first(&globals.connection))?;
    let b = Side::open(&args.b, "--to-dialect", || args.sides.second(&globals.connection))?;
    if let (Side::Table { table: a, .. }, Side::Table { table: b, .. }) = (&a, &b)
        && a.is_same(b)
    {
        return Err(Failure::usage("A and B are the same table"));
    }
    let mut printer = Printer::new(args.output);
    let counts = compare((&a, &b), None, &args, &mut printer, globals).await?;
    conclude(counts, globals.quiet)
}

/// Prints the differences between two sides, with the name of the table if there are several.
async fn compare(
    sides: (&Side<'_>, &Side<'_>),
    table: Option<&str>,
    args: &Diff,
    printer: &mut Printer,
    globals: &Globals,
) -> Result<Counts> {
    let print = |difference: &Difference| printer.print(table, difference);
    let label =
        table.map_or_else(|| "diff".to_owned(), |table| format!("diff {}", one_line(table)));
    let counts = differences(sides, label, &reading(args), print, globals).await;
    // The differences before an error are printed too.
    let flushed = printer.flush();
    let counts = counts?;
    flushed?;
    Ok(counts)
}

fn reading(args: &Diff) -> Reading {
    Reading {
        filter: args.filter.clone(),
        format: args.format,
        ranges: args.reading.parallel.into(),
        rate: args.reading.rate,
        expect: args.expect,
    }
}

fn conclude(counts: Counts, is_quiet: bool) -> Result<()> {
    let Counts { a, b, only_in_a, only_in_b, changed } = counts;
    let rows = format!("{} in A, {} in B", counted(a, "row"), grouped(b));
    if counts.differences() == 0 {
        if !is_quiet {
            message(&format!("no differences: {rows}"));
        }
        return Ok(());
    }
    let message = format!(
        "{}: {} only in A, {} only in B, {} different; {rows}",
        counted(counts.differences(), "difference"),
        counted(only_in_a, "row"),
        grouped(only_in_b),
        grouped(changed),
    );
    Err(Failure::new(Exit::Different, message))
}
