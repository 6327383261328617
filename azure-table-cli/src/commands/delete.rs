//! `delete`: one row, or the rows that match a filter.

use azure_table_client::{DynamicEntity, EntityKey};

use crate::args::{Delete, Globals};
use crate::confirm::confirm;
use crate::engine::found_rows::{self, Change, Consent, Task};
use crate::failure::Result;
use crate::output::note;
use crate::row::if_match;

pub(crate) async fn run(args: Delete, globals: &Globals) -> Result<()> {
    let service = globals.service()?;
    if args.filter.is_some() {
        let Delete { table, filter, found_rows, .. } = args;
        let (command, change, consent) = ("delete", Change::Delete, Consent::Yes);
        let task = Task { command, service, table, filter, change, consent };
        return found_rows::run(task, found_rows, globals).await;
    }
    // clap requires both keys.
    let (partition_key, row_key) = (args.partition_key, args.row_key);
    let key = EntityKey::new(partition_key.unwrap_or_default(), row_key.unwrap_or_default());
    let table = &args.table;
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
