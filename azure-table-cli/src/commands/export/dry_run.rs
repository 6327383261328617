//! `--dry-run`: the rows of an export, and the requests that read them.

use azure_table_client::limits::PAGE_ENTITIES;
use azure_table_client::{Operation, TableServiceClient};

use super::download::Download;
use crate::args::{Export as Arguments, Globals};
use crate::commands::no_match::note_reasons;
use crate::failure::Result;
use crate::interrupt::Interrupt;
use crate::output::Out;
use crate::progress::counted;
use crate::requests::Requests;

/// Prints the rows and the requests. Nothing is sent if the user knows the number of rows.
pub(super) async fn run(
    args: &Arguments,
    service: &TableServiceClient,
    globals: &Globals,
) -> Result<()> {
    let mut out = Out::new();
    if let Some(rows) = args.expect {
        let pages = rows.div_ceil(PAGE_ENTITIES.into()).max(1);
        out.put(&Requests::default().with(Operation::Query, pages).estimate())?;
        return out.flush();
    }
    let rows = count(args, service, globals).await?;
    let (counted, table, endpoint) = (counted(rows, "row"), &args.table, service.endpoint());
    out.put(&format!("{counted} of {table} ({endpoint})\n"))?;
    // A page has as many rows with all properties as with the keys alone, unless they are large.
    out.put(&Requests::sent(&globals.connection.requests).estimate())?;
    out.flush()?;
    note_reasons(args.filter.as_deref(), rows, globals);
    Ok(())
}

/// Counts the rows that an export reads, by the same queries for the keys alone.
pub(in crate::commands) async fn count(
    args: &Arguments,
    service: &TableServiceClient,
    globals: &Globals,
) -> Result<u64> {
    let keys = vec!["PartitionKey".to_owned(), "RowKey".to_owned()];
    let args = Arguments { select: keys, ..args.clone() };
    Download::new(&args, service, Interrupt::install()?, globals).count().await
}
