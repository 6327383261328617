//! The command line.

mod access;
mod accounts;
mod bench;
mod copy;
mod duration;
mod files;
mod found_rows;
mod globals;
mod groups;
mod headings;
mod operand;
mod passed_on;
mod policies;
mod rate;
mod rows;
mod scan;
mod schema;
mod sync;
mod tables;
mod tools;

use clap::{Parser, Subcommand};

pub(crate) use access::{Moment, Sas, Whoami};
pub(crate) use accounts::{Selection, Verify};
pub(crate) use bench::{Bench, Phase};
pub(crate) use copy::{Copy, Diff, Lines};
pub(crate) use files::{Export, Import};
pub(crate) use found_rows::{FoundRows, Truncate, Update};
pub(crate) use globals::Globals;
pub(crate) use groups::Resuming;
pub(crate) use operand::Operand;
pub(crate) use passed_on::own_arguments;
pub(crate) use policies::{Policies, PolicyAction, SetPolicy};
pub(crate) use rate::Rate;
pub(crate) use rows::{Delete, Get, Merge, Put, Query, Row};
pub(crate) use scan::Count;
pub(crate) use schema::Schema;
pub(crate) use sync::Sync;
pub(crate) use tables::{Create, Drop, Tables};
pub(crate) use tools::{Completions, Man, Serve, Sql};

const EXIT_CODES: &str = "\
Exit codes:
  0 done                          5 outcome unknown: a write may have been applied
  1 failed                        6 not found
  2 invalid arguments             7 condition failed, or it exists already
  3 differences or damage         8 not authenticated or not permitted
  4 some rows were refused      130 interrupted (143 by SIGTERM)

Credentials come from AZURE_STORAGE_CONNECTION_STRING or other variables, from a file, a prompt or a sign-in, and never \
from arguments.";

/// The beginning of the help: a newcomer needs no account.
const BEGINNING: &str = "\
Without an account, start the emulator and connect to it in another terminal:
  azure-table serve
  azure-table --emulator create Blogs
";

/// A command line for Azure Table Storage and Azure Cosmos DB for Table.
#[derive(Debug, Parser)]
#[command(name = "azure-table", version, before_help = BEGINNING, after_help = EXIT_CODES, max_term_width = 100, propagate_version = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Tables(Tables),
    Create(Create),
    Drop(Drop),
    Get(Get),
    Put(Put),
    Merge(Merge),
    Delete(Delete),
    Update(Update),
    Truncate(Truncate),
    Query(Query),
    Count(Count),
    Schema(Schema),
    Bench(Bench),
    Export(Export),
    Import(Import),
    Verify(Verify),
    Copy(Copy),
    Sync(Sync),
    Diff(Diff),
    Sas(Sas),
    Policies(Policies),
    Whoami(Whoami),
    Serve(Serve),
    Sql(Sql),
    Completions(Completions),
    Man(Man),
}

impl Command {
    /// Whether the number of its requests depends on the rows.
    pub(crate) const fn is_long(&self) -> bool {
        match self {
            Self::Delete(args) => args.filter.is_some(),
            Self::Update(_)
            | Self::Truncate(_)
            | Self::Count(_)
            | Self::Schema(_)
            | Self::Bench(_)
            | Self::Export(_)
            | Self::Import(_)
            | Self::Copy(_)
            | Self::Sync(_)
            | Self::Diff(_) => true,
            Self::Tables(_)
            | Self::Create(_)
            | Self::Drop(_)
            | Self::Get(_)
            | Self::Put(_)
            | Self::Merge(_)
            | Self::Query(_)
            | Self::Verify(_)
            | Self::Sas(_)
            | Self::Policies(_)
            | Self::Whoami(_)
            | Self::Serve(_)
            | Self::Sql(_)
            | Self::Completions(_)
            | Self::Man(_) => false,
        }
    }

    /// Whether it only shows what a run would do.
    pub(crate) const fn is_dry_run(&self) -> bool {
        match self {
            Self::Delete(args) => args.found_rows.dry_run,
            Self::Update(args) => args.found_rows.dry_run,
            Self::Truncate(args) => args.found_rows.dry_run,
            Self::Query(args) => args.dry_run,
            Self::Bench(args) => args.dry_run,
            Self::Export(args) => args.dry_run,
            Self::Import(args) => args.dry_run,
            Self::Copy(args) => args.dry_run,
            Self::Sync(args) => args.dry_run,
            Self::Tables(_)
            | Self::Create(_)
            | Self::Drop(_)
            | Self::Get(_)
            | Self::Put(_)
            | Self::Merge(_)
            | Self::Count(_)
            | Self::Schema(_)
            | Self::Verify(_)
            | Self::Diff(_)
            | Self::Sas(_)
            | Self::Policies(_)
            | Self::Whoami(_)
            | Self::Serve(_)
            | Self::Sql(_)
            | Self::Completions(_)
            | Self::Man(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn each_command_has_an_example() {
        for command in Arguments::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Example"), "{}", command.get_name());
        }
    }
}
