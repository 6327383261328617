//! `put`: one row, which replaces a row with the same keys.

use azure_table_client::DynamicEntity;

use crate::args::{Globals, Put};
use crate::failure::Result;
use crate::output::Out;
use crate::row;
use crate::row::if_match;

pub(crate) async fn run(args: Put, globals: &Globals) -> Result<()> {
    let entity = row::read(&args.row, globals)?;
    let table = globals.service()?.table_named::<DynamicEntity>(args.row.table);
    let written = match args.row.if_match {
        Some(version) => table.replace(&entity, if_match(&version)).await?,
        None if args.insert => table.insert(&entity).await?,
        None => table.insert_or_replace(&entity).await?,
    };
    Out::etag(globals, &written)
}
