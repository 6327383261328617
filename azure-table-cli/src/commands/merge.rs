//! `merge`: some properties of one row.

use azure_table_client::DynamicEntity;

use crate::args::{Globals, Merge};
use crate::failure::Result;
use crate::output::Out;
use crate::row;
use crate::row::if_match;

pub(crate) async fn run(args: Merge, globals: &Globals) -> Result<()> {
    let entity = row::read(&args.row, globals)?;
    let table = globals.service()?.table_named::<DynamicEntity>(args.row.table);
    let written = match args.row.if_match {
        Some(version) => table.merge(&entity, if_match(&version)).await?,
        None => table.insert_or_merge(&entity).await?,
    };
    Out::etag(globals, &written)
}
