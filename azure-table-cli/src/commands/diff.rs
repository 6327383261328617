//! `diff`: the differences between two tables, or between a table and a file.

mod difference;
mod merge;
mod operand;
mod side;

use std::io::{self, BufWriter, Write as _};

use azure_table_client::{Dialect, DynamicEntity, TableServiceClient};
use futures_util::future;
use futures_util::{StreamExt as _, TryStreamExt as _};

use crate::args::{Diff, Globals, Lines};
use crate::failure::{Exit, Failure, Result};
use crate::format::Format;
use crate::output::{message, without_controls};
use crate::progress::{Progress, counted, grouped};
use difference::Difference;
use merge::{Counts, Rows, merge};

pub(crate) use operand::Operand;

pub(crate) async fn run(args: Diff, globals: &Globals) -> Result<()> {
    if let (Operand::File(_), Operand::File(_)) = (&args.a, &args.b) {
        return Err(Failure::usage("two files cannot be compared: A or B must be a table"));
    }
    let progress = Progress::new(globals.quiet, "diff", None);
    let (a, b) = future::try_join(
        rows(&args.a, || args.sides.first(&globals.connection), &args, &progress),
        rows(&args.b, || args.sides.second(&globals.connection), &args, &progress),
    )
    .await?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut write = |difference: &Difference| match args.output {
        Lines::Text => writeln!(out, "{difference}"),
        Lines::Jsonl => writeln!(out, "{}", without_controls(&difference.to_json().to_string())),
    };
    let counts =
        merge(a, b, |difference| write(difference).map_err(|error| not_written(&error))).await;
    // The differences before an error are printed too.
    let flushed = out.flush().map_err(|error| not_written(&error));
    progress.finish();
    let counts = counts?;
    flushed?;
    conclude(counts, globals.quiet)
}

/// The failure to write a difference. There is one, even if the reader has closed standard output.
fn not_written(error: &io::Error) -> Failure {
    match Failure::stdout(error) {
        failure if failure.exit() == Exit::Done => Failure::silent(Exit::Different),
        failure => failure,
    }
}

/// The rows of a side in key order.
async fn rows(
    operand: &Operand,
    service: impl FnOnce() -> Result<TableServiceClient>,
    args: &Diff,
    progress: &Progress,
) -> Result<Rows> {
    let name = match operand {
        Operand::File(path) => {
            return side::of_file(path, Format::of(path, args.format)?, progress).await;
        }
        Operand::Table(name) => name,
    };
    let service = service()?;
    let mut query = service.table_named::<DynamicEntity>(name).query().allow_scan();
    if let Some(filter) = &args.filter {
        query = query.filter_text(filter);
    }
    let rows = match usize::from(args.parallel) {
        1 => query.stream(),
        ranges => query.parallel(ranges).stream(),
    };
    let has_key_order = service.dialect() == Dialect::AzureStorage;
    let rows = rows.map_err(Failure::from).boxed();
    side::of_table(rows, has_key_order, format!("table {name}"), progress).await
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
