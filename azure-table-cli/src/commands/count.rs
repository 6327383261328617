//! `count`: the rows of a table, or of each partition.

mod all_tables;
mod largest;

use std::io::{self, BufWriter, Write as _};

use azure_table_client::TableServiceClient;
use futures_util::stream::TryStreamExt as _;
use serde_json::json;

use crate::args::{Count, Globals, Lines};
use crate::engine::no_match::note_reasons;
use crate::engine::scan::{Rows, Scan};
use crate::failure::{Failure, Result};
use crate::key_order;
use crate::output::{message, without_controls};
use crate::progress::{Progress, counted, grouped};
use largest::{Largest, Partition};

pub(crate) async fn run(args: Count, globals: &Globals) -> Result<()> {
    let service = globals.service()?;
    if args.all_tables {
        return all_tables::run(&args, &service, globals).await;
    }
    let (rows, largest) = table(&args, &service, globals).await?;
    print(rows, largest, args.output, globals.quiet).map_err(|error| Failure::stdout(&error))?;
    note_reasons(args.filter.as_deref(), rows, globals);
    Ok(())
}

/// Counts the rows of a table, and of its partitions if the arguments request it.
pub(crate) async fn table(
    args: &Count,
    service: &TableServiceClient,
    globals: &Globals,
) -> Result<(u64, Option<Largest>)> {
    let scan = Scan {
        filter: args.filter.clone(),
        ranges: args.reading.parallel.into(),
        ..Scan::of(service.table_named(&args.table), args.reading.rate)
    };
    let rows = scan.partitions(args.by_partition);
    let progress = Progress::new(globals.quiet, args.label(), args.expect)
        .with_requests(&globals.connection.requests);
    let has_key_order = key_order::is_kept_by(service.dialect());
    let largest = args.by_partition.then(|| Largest::new(args.top, has_key_order));
    let counts = count(rows, largest, &progress).await;
    progress.finish();
    counts
}

async fn count(
    mut rows: Rows<String>,
    mut largest: Option<Largest>,
    progress: &Progress,
) -> Result<(u64, Option<Largest>)> {
    let mut count = 0;
    while let Some(partition) = rows.try_next().await? {
        count += 1;
        progress.add_rows(1);
        if let Some(largest) = &mut largest {
            largest.add(partition)?;
        }
    }
    Ok((count, largest))
}

fn print(rows: u64, largest: Option<Largest>, lines: Lines, is_quiet: bool) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    let Some(largest) = largest else {
        writeln!(out, "{rows}")?;
        return out.flush();
    };
    let (partitions, all) = largest.finish();
    let width = partitions.first().map_or(0, |largest| grouped(largest.rows).len());
    for Partition { key, rows } in &partitions {
        match lines {
            Lines::Text => writeln!(out, "{:>width$}  {key:?}", grouped(*rows))?,
            Lines::Jsonl => {
                let line = json!({"PartitionKey": key, "rows": rows}).to_string();
                writeln!(out, "{}", without_controls(&line))?;
            }
        }
    }
    out.flush()?;
    if !is_quiet {
        let (rows, all) = (counted(rows, "row"), counted(all, "partition"));
        message(&format!("{rows} in {all} ({} listed)", grouped(partitions.len() as u64)));
    }
    Ok(())
}
