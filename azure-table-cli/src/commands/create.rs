//! `create`: a table.

use crate::args::{Create, Globals};
use crate::failure::Result;
use crate::output::note;

pub(crate) async fn run(args: Create, globals: &Globals) -> Result<()> {
    let service = globals.service()?;
    if !args.if_not_exists {
        service.create_table(&args.table).await?;
    } else if !service.create_table_if_not_exists(&args.table).await? {
        note(globals, &format!("the table {} exists already", args.table));
    }
    Ok(())
}
