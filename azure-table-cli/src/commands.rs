//! The commands, a file each.

mod bench;
pub(crate) mod completions;
mod copy;
mod count;
mod create;
mod delete;
mod diff;
mod drop;
mod export;
mod get;
mod import;
pub(crate) mod man;
mod merge;
mod policies;
mod put;
mod query;
mod sas;
mod schema;
pub(crate) mod serve;
mod sql;
mod sync;
mod tables;
mod truncate;
mod update;
mod verify;
mod whoami;

use crate::args::{Command, Globals};
use crate::failure::Result;
use crate::output::note;
use crate::requests::Requests;

/// Runs a command that needs the runtime. A long one ends with the requests that it used.
pub(crate) async fn run(command: Command, globals: &Globals) -> Result<()> {
    let (is_long, is_dry_run) = (command.is_long(), command.is_dry_run());
    let result = dispatch(command, globals).await;
    let used = Requests::sent(&globals.connection.requests);
    if is_long && used.total() > 0 {
        let subject = if is_dry_run { "this dry run used " } else { "" };
        note(globals, &format!("{subject}{used}"));
    }
    result
}

async fn dispatch(command: Command, globals: &Globals) -> Result<()> {
    match command {
        Command::Tables(args) => tables::run(args, globals).await,
        Command::Create(args) => create::run(args, globals).await,
        Command::Drop(args) => drop::run(args, globals).await,
        Command::Get(args) => get::run(args, globals).await,
        Command::Put(args) => put::run(args, globals).await,
        Command::Merge(args) => merge::run(args, globals).await,
        Command::Delete(args) => delete::run(args, globals).await,
        Command::Update(args) => update::run(args, globals).await,
        Command::Truncate(args) => truncate::run(args, globals).await,
        Command::Query(args) => query::run(args, globals).await,
        Command::Count(args) => count::run(args, globals).await,
        Command::Schema(args) => schema::run(args, globals).await,
        Command::Bench(args) => bench::run(args, globals).await,
        Command::Export(args) => export::run(args, globals).await,
        Command::Import(args) => import::run(args, globals).await,
        Command::Verify(args) => verify::run(&args, globals),
        Command::Copy(args) => copy::run(args, globals).await,
        Command::Sync(args) => sync::run(args, globals).await,
        Command::Diff(args) => diff::run(args, globals).await,
        Command::Sas(args) => sas::run(args, globals).await,
        Command::Policies(args) => policies::run(args, globals).await,
        Command::Whoami(args) => whoami::run(args, globals).await,
        Command::Sql(args) => sql::run(args, globals),
        // `main` runs these without the runtime.
        Command::Serve(_) | Command::Completions(_) | Command::Man(_) => Ok(()),
    }
}
