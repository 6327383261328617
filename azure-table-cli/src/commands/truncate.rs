//! `truncate`: all rows of a table.

use super::found_rows::{self, Change, Consent, Task};
use crate::args::{Globals, Truncate};
use crate::failure::{Failure, Result};

pub(crate) async fn run(args: Truncate, globals: &Globals) -> Result<()> {
    let consent = match &args.confirm {
        Some(name) if *name != args.table => {
            let message = format!("--confirm {name} is not the name of the table {}", args.table);
            return Err(Failure::usage(message));
        }
        None if !args.found_rows.force => Consent::Name,
        _ => Consent::Yes,
    };
    let service = globals.service()?;
    let task = Task { service, table: args.table, filter: None, change: Change::Delete, consent };
    found_rows::run(task, args.found_rows, globals).await
}
