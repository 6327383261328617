//! `--dry-run`: the rows of an export, and the requests that read them.

use azure_table_client::TableServiceClient;

use super::download::Download;
use crate::args::{Export as Arguments, Globals};
use crate::engine::estimate::{self, pages};
use crate::engine::no_match::note_reasons;
use crate::failure::Result;
use crate::interrupt::Interrupt;
use crate::output::Out;
use crate::progress::counted;

/// Prints the rows and the requests. Nothing is sent if the user knows the number of rows.
pub(super) async fn run(
    args: &Arguments,
    service: &TableServiceClient,
    globals: &Globals,
) -> Result<()> {
    let mut out = Out::new();
    if let Some(rows) = args.expect {
        out.put(&estimate::line(pages(rows)))?;
        return out.flush();
    }
    let rows = count(args, service, globals).await?;
    let (counted, table, endpoint) = (counted(rows, "row"), &args.table, service.endpoint());
    out.put(&format!("{counted} of {table} ({endpoint})\n"))?;
    out.put(&estimate::line(pages(rows)))?;
    out.flush()?;
    note_reasons(args.filter.as_deref(), rows, globals);
    Ok(())
}

/// Counts the rows that an export reads.
pub(super) async fn count(
    args: &Arguments,
    service: &TableServiceClient,
    globals: &Globals,
) -> Result<u64> {
    Download::new(args, service, Interrupt::install()?, globals).count().await
}
