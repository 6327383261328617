//! `drop`: a table with all its rows.

use crate::args::{Drop, Globals};
use crate::confirm::confirm;
use crate::failure::Result;
use crate::output::note;

pub(crate) async fn run(args: Drop, globals: &Globals) -> Result<()> {
    let service = globals.service()?;
    let table = &args.table;
    confirm(
        globals.yes,
        &format!("delete the table {table} of {} with all its rows?", service.endpoint()),
    )?;
    if !args.if_exists {
        service.delete_table(table).await?;
    } else if !service.delete_table_if_exists(table).await? {
        note(globals, &format!("there is no table {table}"));
    }
    Ok(())
}
