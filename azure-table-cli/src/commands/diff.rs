//! `diff`: the differences between two tables, or between a table and a file.

mod difference;
mod merge;
mod operand;
mod side;

use std::io::{self, BufWriter, Write as _};

use futures_util::future;

use crate::args::{Diff, Globals, Lines};
use crate::failure::{Exit, Failure, Result};
use crate::output::{message, without_controls};
use crate::progress::{Progress, counted, grouped};
use difference::Difference;
use merge::{Counts, merge};
use side::Side;

pub(crate) use operand::Operand;

pub(crate) async fn run(args: Diff, globals: &Globals) -> Result<()> {
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
    let progress = Progress::new(globals.quiet, "diff", args.expect)
        .with_requests(&globals.connection.requests);
    let (a, b) = future::try_join(a.rows(&args, &progress), b.rows(&args, &progress)).await?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut write = |difference: &Difference| match args.output {
        Lines::Text => writeln!(out, "{difference}"),
        Lines::Jsonl => writeln!(out, "{}", without_controls(&difference.to_json().to_string())),
    };
    let counts = merge(a, b, |difference| {
        write(difference).map_err(|error| Failure::stdout(&error).or_different())
    })
    .await;
    // The differences before an error are printed too.
    let flushed = out.flush().map_err(|error| Failure::stdout(&error).or_different());
    progress.finish();
    let counts = counts?;
    flushed?;
    conclude(counts, globals.quiet)
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
