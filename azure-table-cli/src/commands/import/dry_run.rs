//! `--dry-run`: checks the rows of a file, and counts the requests that would write them.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};

use azure_table_client::{Operation, TableServiceClient};

use super::input::{read, size};
use crate::args::{Globals, Import as Arguments};
use crate::estimate::Writes;
use crate::failure::Result;
use crate::format::Format;
use crate::interrupt::Interrupt;
use crate::output::Out;
use crate::progress::{Progress, counted};
use crate::requests::Requests;
use crate::table_name;

/// Checks a file and prints the estimate. Nothing is sent.
pub(super) async fn run(
    args: &Arguments,
    service: &TableServiceClient,
    globals: &Globals,
) -> Result<()> {
    table_name::check(service, &args.table)?;
    let Estimate { rows, partitions, requests } = estimate(args, service, globals).await?;
    let (rows, partitions) = (counted(rows, "row"), counted(partitions, "partition"));
    let (table, endpoint) = (&args.table, service.endpoint());
    let mut out = Out::new();
    out.put(&format!("{rows} in {partitions} for {table} ({endpoint})\n"))?;
    out.put(&requests.estimate())?;
    out.flush()
}

/// The rows of a file, and the requests that import them.
pub(in crate::commands) struct Estimate {
    rows: u64,
    partitions: u64,
    pub(in crate::commands) requests: Requests,
}

/// Reads a file. It is an error if a row is damaged.
pub(in crate::commands) async fn estimate(
    args: &Arguments,
    service: &TableServiceClient,
    globals: &Globals,
) -> Result<Estimate> {
    let format = Format::of(&args.file, args.format)?;
    let progress = Progress::new(globals.quiet, args.label("check"), None);
    let mut writes = Writes::new(args.mode.request(), service.dialect(), args.rate);
    // Hashes need less memory than keys.
    let (mut rows, mut partitions, hash) = (0, HashSet::new(), RandomState::new());
    let mut chunks = read(&args.file, format, None);
    let count = async {
        while let Some(chunk) = chunks.recv().await {
            for row in chunk {
                let row = row?;
                let partition = &row.key().partition_key;
                partitions.insert(hash.hash_one(partition));
                writes.add(partition, size(&row));
                rows += 1;
                progress.add_rows(1);
            }
        }
        Ok(())
    };
    let counted = Interrupt::install()?.stops(count).await;
    progress.finish();
    counted?;
    let requests = writes.requests().with(Operation::CreateTable, args.create.into());
    Ok(Estimate { rows, partitions: partitions.len() as u64, requests })
}
