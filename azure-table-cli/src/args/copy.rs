//! `copy` and `diff`.

#![expect(clippy::doc_markdown, reason = "these comments are the texts of --help")]

use std::path::PathBuf;
use std::time::Duration;

use azure_table_client::TableServiceClient;
use clap::builder::ArgPredicate;
use clap::{Args, ValueEnum};

use super::Selection;
use super::duration::duration;
use super::groups::{Reading, Resuming, Writing};
use super::headings::{HOW_FAST, ON_FAILURE, WHAT, WHERE};

use super::operand::Operand;
use crate::connect::{Connection, DialectName, Source, Target};
use crate::engine::mode::Mode;
use crate::failure::Result;
use crate::format::Format;
use crate::output::one_line;

/// Copy a table, or all tables, in this account or to another one; existing rows are replaced
///
/// Rows of the target with the same keys are replaced without a question; --mode insert refuses them, and upsert-merge keeps
/// their other properties. Timestamps and ETags are not copied: the target sets its own.
#[expect(clippy::struct_excessive_bools, reason = "these are flags of the command line")]
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  azure-table copy Blogs BlogsCopy --from env:OLD --to env:NEW --create
  azure-table copy --all-tables --from env:OLD --to env:NEW --create")]
pub(crate) struct Copy {
    /// Table to read
    #[arg(
        id = "table",
        value_name = "SOURCE",
        required = false,
        required_unless_present = "all_tables",
        conflicts_with = "all_tables",
        default_value_if("all_tables", ArgPredicate::IsPresent, "")
    )]
    pub(crate) source: String,
    /// Table to write
    #[arg(
        required = false,
        required_unless_present = "all_tables",
        conflicts_with = "all_tables",
        default_value_if("all_tables", ArgPredicate::IsPresent, "")
    )]
    pub(crate) target: String,
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Copy all tables of the account to tables with the same names
    ///
    /// The checkpoint is all-tables.checkpoint in the current folder. Tables that are created during the run, and access
    /// policies, are not copied.
    #[arg(long, conflicts_with_all = ["mode", "checkpoint", "failed", "expect"], help_heading = WHERE)]
    pub(crate) all_tables: bool,
    /// Print the number of rows that would be copied, the tables that would be created, and the estimated requests of a
    /// run; nothing is written
    ///
    /// It reads the keys of all rows. The estimate is a request for 1,000 rows read and 100 rows written, or one for each
    /// partition; rows of more than 4 KiB need more.
    #[arg(long, conflicts_with = "resume")]
    pub(crate) dry_run: bool,
    /// Copy only the rows that match this OData filter
    #[arg(long, value_name = "TEXT", help_heading = WHAT)]
    pub(crate) filter: Option<String>,
    /// Operation on each row
    #[arg(long, value_enum, default_value_t = Mode::UpsertReplace, help_heading = WHAT)]
    pub(crate) mode: Mode,
    /// Create the target table if it does not exist
    #[arg(long, help_heading = WHERE)]
    pub(crate) create: bool,
    #[command(flatten)]
    pub(crate) resuming: Resuming,
    /// List of the rows that did not get through [default: SOURCE-TARGET.failed.jsonl in the current folder]
    #[arg(long, value_name = "FILE", help_heading = ON_FAILURE)]
    pub(crate) failed: Option<PathBuf>,
    /// Save the time at which the copy begins, for `sync`
    ///
    /// The file is SOURCE-TARGET.sync in the current folder.
    #[arg(long, conflicts_with_all = ["filter", "all_tables"], help_heading = WHAT)]
    pub(crate) for_sync: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) writing: Writing,
    /// Time after which a partition of the target without any success is given up: no more of its rows are sent
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration, help_heading = HOW_FAST)]
    pub(crate) give_up_after: Duration,
    /// Rows of the source, for example from `count`: the progress then shows the remaining time
    #[arg(long, value_name = "ROWS", help_heading = HOW_FAST)]
    pub(crate) expect: Option<u64>,
    #[command(flatten)]
    pub(crate) sides: Sides,
}

impl Copy {
    /// The name of a step of the run in its progress.
    pub(crate) fn label(&self, step: &str) -> String {
        if self.all_tables { format!("{step} {}", one_line(&self.source)) } else { step.to_owned() }
    }

    pub(crate) fn checkpoint_path(&self) -> PathBuf {
        self.resuming.checkpoint.clone().unwrap_or_else(|| self.beside("checkpoint"))
    }

    pub(crate) fn list_path(&self) -> PathBuf {
        self.failed.clone().unwrap_or_else(|| self.beside("failed.jsonl"))
    }

    /// Names of tables have no separators of paths.
    fn beside(&self, extension: &str) -> PathBuf {
        PathBuf::from(format!("{}-{}.{extension}", self.source, self.target))
    }
}

/// Compare two tables, a table and a file, or all tables of two accounts or of a backup
///
/// Prints a line for each difference. Timestamps, ETags and the order of properties do not count.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  azure-table diff Blogs blogs.jsonl
  azure-table diff --all-tables --from env:OLD --to env:NEW
  azure-table diff --all-tables --backup backup")]
pub(crate) struct Diff {
    /// Table, or file of rows (.jsonl, .csv, .parquet); table:NAME and file:PATH are explicit
    #[arg(
        id = "table",
        value_name = "A",
        required = false,
        required_unless_present = "all_tables",
        conflicts_with = "all_tables",
        default_value_if("all_tables", ArgPredicate::IsPresent, "")
    )]
    pub(crate) a: Operand,
    /// Table or file
    #[arg(
        required = false,
        required_unless_present = "all_tables",
        conflicts_with = "all_tables",
        default_value_if("all_tables", ArgPredicate::IsPresent, "")
    )]
    pub(crate) b: Operand,
    /// Compare the rows of all tables of two accounts; access policies are not compared
    #[arg(long, conflicts_with_all = ["format", "expect"], help_heading = WHERE)]
    pub(crate) all_tables: bool,
    /// With --all-tables, A is this folder of `export --all-tables`, and B is the account
    ///
    /// --filter selects rows of the account only. `verify` checks the hashes of the files.
    #[arg(long, value_name = "DIR", requires = "all_tables", conflicts_with_all = ["table", "from", "from_dialect"], help_heading = WHERE)]
    pub(crate) backup: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Compare only the rows of tables that match this OData filter
    #[arg(long, value_name = "TEXT", help_heading = WHAT)]
    pub(crate) filter: Option<String>,
    /// Format of the file, if its name does not show it
    #[arg(long, value_enum, help_heading = WHERE)]
    pub(crate) format: Option<Format>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Form of the differences
    #[arg(long, short, value_enum, default_value_t = Lines::Text)]
    pub(crate) output: Lines,
    /// Rows of A and B together: the progress then shows the remaining time of the reading, without that of sorting
    #[arg(long, value_name = "ROWS", help_heading = HOW_FAST)]
    pub(crate) expect: Option<u64>,
    #[command(flatten)]
    pub(crate) sides: Sides,
}

/// The form of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Lines {
    /// Text for readers
    Text,
    /// A JSON object a line
    Jsonl,
}

/// The two connections of a command. Each is that of the other commands unless it is given.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct Sides {
    /// Connection of the first table [default: the account of --connection-from and the variables]
    ///
    /// One of env:NAME, file:PATH, prompt, emulator and entra:URL.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) from: Option<Source>,
    /// Connection of the second table, in the same forms and with the same default
    #[arg(long, value_name = "SOURCE")]
    pub(crate) to: Option<Source>,
    /// Service of the first table, if its address does not show it: a custom domain, or an emulator of Cosmos DB
    #[arg(long, value_enum)]
    pub(crate) from_dialect: Option<DialectName>,
    /// Service of the second table
    #[arg(long, value_enum)]
    pub(crate) to_dialect: Option<DialectName>,
}

impl Sides {
    /// Returns the client of the first table.
    pub(crate) fn first(&self, connection: &Connection) -> Result<TableServiceClient> {
        connection.service_of("--from", self.from.as_ref(), self.from_dialect)
    }

    /// Returns the account of the first table, and its dialect.
    pub(crate) fn first_account(
        &self,
        connection: &Connection,
    ) -> Result<(Target, Option<DialectName>)> {
        connection.target_of("--from", self.from.as_ref(), self.from_dialect)
    }

    /// Returns the account of the second table, and its dialect.
    pub(crate) fn second_account(
        &self,
        connection: &Connection,
    ) -> Result<(Target, Option<DialectName>)> {
        connection.target_of("--to", self.to.as_ref(), self.to_dialect)
    }

    /// Returns the client of the second table.
    pub(crate) fn second(&self, connection: &Connection) -> Result<TableServiceClient> {
        connection.service_of("--to", self.to.as_ref(), self.to_dialect)
    }
}
