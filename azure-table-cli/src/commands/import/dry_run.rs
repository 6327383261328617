//! `--dry-run`: checks the rows of a file, and estimates the requests that would write them.

use azure_table_client::TableServiceClient;

use super::input_of;
use crate::args::{Globals, Import as Arguments};
use crate::engine::estimate::{self, Estimate};
use crate::engine::input::read;
use crate::failure::Result;
use crate::interrupt::Interrupt;
use crate::output::Out;
use crate::progress::Progress;
use crate::table_name;

/// Checks a file and prints the estimate. Nothing is sent.
pub(super) async fn run(
    args: &Arguments,
    service: &TableServiceClient,
    globals: &Globals,
) -> Result<()> {
    table_name::check(service, &args.table)?;
    let found = estimate(args, globals).await?;
    let (table, endpoint) = (&args.table, service.endpoint());
    let mut out = Out::new();
    out.put(&format!("{found} for {table} ({endpoint})\n"))?;
    out.put(&estimate::line(found.writes() + u64::from(args.create)))?;
    out.flush()
}

/// Reads a file. It is an error if a row is damaged.
pub(super) async fn estimate(args: &Arguments, globals: &Globals) -> Result<Estimate> {
    let input = input_of(args)?;
    let progress = Progress::new(globals.quiet, args.label("check"), None);
    let mut found = Estimate::default();
    let mut chunks = read(&input, None);
    let count = async {
        while let Some(chunk) = chunks.recv().await {
            for row in chunk {
                found.add(&row?.key().partition_key);
                progress.add_rows(1);
            }
        }
        Ok(())
    };
    let counted = Interrupt::install()?.stops(count).await;
    progress.finish();
    counted?;
    Ok(found)
}
