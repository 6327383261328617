//! `truncate`: all rows of a table.

use crate::args::{Globals, Truncate};
use crate::engine::found_rows::{self, Change, Consent, Task};
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
    let (command, table, change) = ("truncate", args.table, Change::Delete);
    let task = Task { command, service, table, filter: None, change, consent };
    found_rows::run(task, args.found_rows, globals).await
}
