//! `delete`: one row.

use azure_table_client::{DynamicEntity, EntityKey};

use crate::args::{Delete, Globals};
use crate::commands::if_match;
use crate::confirm::confirm;
use crate::failure::Result;
use crate::output::note;

pub(crate) async fn run(args: Delete, globals: &Globals) -> Result<()> {
    let service = globals.service()?;
    let (table, key) = (&args.table, EntityKey::new(args.partition_key, args.row_key));
    let name = format!("the row ({:?}, {:?}) of the table {table}", key.partition_key, key.row_key);
    confirm(globals.yes, &format!("delete {name} of {}?", service.endpoint()))?;
    let rows = service.table_named::<DynamicEntity>(table);
    let version = if_match(&args.if_match);
    if !args.if_exists {
        rows.delete(key, version).await?;
    } else if !rows.delete_if_exists(key, version).await? {
        note(globals, &format!("{name} does not exist"));
    }
    Ok(())
}
