//! `truncate`: all rows of a table.

use super::found_rows::{self, Change, Consent, Task};
use crate::args::{Globals, Truncate};
use crate::failure::Result;

pub(crate) async fn run(args: Truncate, globals: &Globals) -> Result<()> {
    let consent = if args.found_rows.force { Consent::Yes } else { Consent::Name };
    let service = globals.service()?;
    let task = Task { service, table: args.table, filter: None, change: Change::Delete, consent };
    found_rows::run(task, args.found_rows, globals).await
}
