//! `export` and `import`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::ArgPredicate;

use super::Selection;
use super::duration::duration;
use super::rate::Rate;

use crate::commands::import::Mode;
use crate::format::Format;
use crate::format::csv::Columns;
use crate::format::parquet::{Datetimes, Mixed};
use crate::output::one_line;
use crate::run_files::checksum::Checksum;

/// Write the rows of a table to a file, or all tables to a folder
///
/// The file appears under its name once it is complete. Until then its rows are in FILE.part or FILE.rows.part. All files of a
/// run get the permissions that the umask leaves: `umask 077` before the command keeps the rows from other users.
#[expect(clippy::struct_excessive_bools, reason = "these are flags of the command line")]
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  azure-table export Blogs blogs.jsonl
  azure-table export --all-tables backup --exclude 'Log*'")]
pub(crate) struct Export {
    /// Name of the table
    #[arg(
        required = false,
        required_unless_present = "all_tables",
        conflicts_with = "all_tables",
        default_value_if("all_tables", ArgPredicate::IsPresent, "")
    )]
    pub(crate) table: String,
    /// File, or - for standard output
    #[arg(default_value = "-", conflicts_with = "all_tables")]
    pub(crate) file: PathBuf,
    /// Export all tables of the account to this folder: a file a table, and a manifest with their access policies
    ///
    /// The folder must be empty or missing. Each file has the name of its table and the extension of --format [default:
    /// jsonl]. Tables that are created during the run are not exported.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["checkpoint", "expect"])]
    pub(crate) all_tables: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Count the rows and estimate the requests of a run; export nothing
    ///
    /// It reads the keys of all rows, which costs about as much as the export; with --expect ROWS, nothing is sent. Rows of more
    /// than 4 KiB need more requests, since a page has at most 4 MiB.
    #[arg(long, conflicts_with = "resume")]
    pub(crate) dry_run: bool,
    /// Skip the access policies: reading them needs the key of the account
    #[arg(long, requires = "all_tables", conflicts_with = "table")]
    pub(crate) no_policies: bool,
    /// Format [default: by the name of the file; jsonl for standard output]
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
    /// Export only the rows that match this OData filter
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Export only these properties, separated by commas, and the keys
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) select: Vec<String>,
    /// Key ranges that are read at the same time, 1 to 256; the rows stay in key order. Worthwhile for large tables
    #[arg(long, value_name = "RANGES", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) parallel: u16,
    /// Export the Timestamp and the ETag of each row too
    #[arg(long)]
    pub(crate) system: bool,
    /// Columns of a CSV file, such as `Rating@Int32,Text@String` [default: all properties of all rows]
    ///
    /// A property without a column is an error.
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) columns: Option<Columns>,
    /// Form of DateTime values in a Parquet file
    #[arg(long, value_enum, default_value_t = Datetimes::Nanos)]
    pub(crate) datetimes: Datetimes,
    /// Handling of properties with several types in a Parquet file
    #[arg(long, value_enum, default_value_t = Mixed::Error)]
    pub(crate) mixed: Mixed,
    /// Continue the run that left the checkpoint, or begin if there is none
    #[arg(long)]
    pub(crate) resume: bool,
    /// Checkpoint [default: FILE.checkpoint]
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Time between two saves of the checkpoint
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration)]
    pub(crate) save_every: Duration,
    /// Rows of the table, for example from `count`: the progress then shows the remaining time
    ///
    /// The service does not report the number.
    #[arg(long, value_name = "ROWS")]
    pub(crate) expect: Option<u64>,
    #[command(flatten)]
    pub(crate) rate: Rate,
}

impl Export {
    /// The name of the run in its progress.
    pub(crate) fn label(&self) -> String {
        match self.all_tables {
            Some(_) => format!("export {}", one_line(&self.table)),
            None => "export".to_owned(),
        }
    }
}

/// Write a file to a table, whose existing rows are replaced, or a backup to an account
///
/// Rows of the table with the keys of the file are replaced without a question; --mode insert refuses them, and upsert-merge
/// keeps their other properties. The file is read twice: a damaged line is an error (exit code 3) before anything is sent.
#[expect(clippy::struct_excessive_bools, reason = "these are flags of the command line")]
#[derive(Debug, Clone, Args)]
#[command(override_usage = "\
azure-table import [OPTIONS] <FILE> <TABLE>
       azure-table import [OPTIONS] <DIR> --all-tables")]
#[command(after_help = "\
Examples:
  azure-table import blogs.jsonl Blogs --create
  azure-table import backup --all-tables --dry-run

The header of a CSV file has the keys and the types of the other columns:
  PartitionKey,RowKey,Text@String,Rating@Int32,Posted@DateTime")]
pub(crate) struct Import {
    /// File, or - for standard input; with --all-tables, the folder of the backup
    pub(crate) file: PathBuf,
    /// Name of the table
    #[arg(
        required = false,
        required_unless_present = "all_tables",
        conflicts_with = "all_tables",
        default_value_if("all_tables", ArgPredicate::IsPresent, "")
    )]
    pub(crate) table: String,
    /// Format [default: by the name of the file; jsonl for standard input]
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
    /// Import all tables of a backup of `export --all-tables`, and create those that do not exist
    ///
    /// All files are checked against the manifest before the first write; a damaged or unfinished backup has exit code 3. The access policies of each table in the backup
    /// replace its existing ones once all rows are imported.
    #[arg(long, conflicts_with_all = ["format", "mode", "checkpoint", "refused"])]
    pub(crate) all_tables: bool,
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Write to tables that have rows too: rows with the keys of the backup are replaced, and the others stay
    #[arg(long, requires = "all_tables", conflicts_with = "table")]
    pub(crate) replace: bool,
    /// Check the file and estimate the requests of a run; with --all-tables, also list the tables. No write is sent
    ///
    /// The estimate has full transactions. A run that reads the file more slowly than the service writes sends more, above all
    /// if rows of several partitions alternate.
    #[arg(long, conflicts_with = "resume")]
    pub(crate) dry_run: bool,
    /// Skip the access policies: setting them needs the key of the account
    #[arg(long, requires = "all_tables", conflicts_with = "table")]
    pub(crate) no_policies: bool,
    /// Operation on each row
    #[arg(long, value_enum, default_value_t = Mode::UpsertReplace)]
    pub(crate) mode: Mode,
    /// Create the table if it does not exist; --all-tables does so always
    #[arg(long)]
    pub(crate) create: bool,
    /// Writes in flight, 1 to 1024; fewer while the service throttles
    #[arg(long, value_name = "REQUESTS", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) concurrency: u16,
    #[command(flatten)]
    pub(crate) rate: Rate,
    /// Continue the run that left the checkpoint, or begin if there is none
    ///
    /// With --mode insert, replace and merge, a missing checkpoint is an error: the run could refuse rows that an earlier one
    /// has written.
    #[arg(long)]
    pub(crate) resume: bool,
    /// Checkpoint [default: FILE.checkpoint]
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Time between two saves of the checkpoint
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration)]
    pub(crate) save_every: Duration,
    /// List of refused rows [default: FILE.refused, or TABLE.refused for standard input and pipes]
    #[arg(long, value_name = "FILE")]
    pub(crate) refused: Option<PathBuf>,
    /// The content that the file must have: that of a manifest.
    #[arg(skip)]
    pub(crate) expected: Option<Checksum>,
}

impl Import {
    /// The name of a step of the run in its progress.
    pub(crate) fn label(&self, step: &str) -> String {
        if self.all_tables { format!("{step} {}", one_line(&self.table)) } else { step.to_owned() }
    }
}
