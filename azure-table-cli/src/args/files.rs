//! `export` and `import`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::ArgPredicate;

use super::Selection;
use super::groups::{Reading, Resuming, Writing};
use super::headings::{HOW_FAST, ON_FAILURE, WHAT, WHERE};
use super::rate::Rate;

use crate::engine::checksum::Checksum;
use crate::engine::mode::Mode;
use crate::format::Format;
use crate::format::csv::Columns;
use crate::format::parquet::{Datetimes, Mixed};
use crate::output::one_line;

/// Write the rows of a table to a file, or all tables to a folder
///
/// The file appears under its name once it is complete. Until then its rows are in FILE.part or FILE.rows.part. All files of a
/// run get the permissions that the umask leaves: `umask 077` before the command keeps the rows from other users.
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
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Export all tables of the account to this folder: a file a table, and a manifest with their access policies
    ///
    /// The folder must be empty or missing. Each file has the name of its table and the extension of --format [default:
    /// jsonl]. Tables that are created during the run are not exported.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["checkpoint", "expect"], help_heading = WHERE)]
    pub(crate) all_tables: Option<PathBuf>,
    /// Count the rows and estimate the requests of a run; export nothing
    ///
    /// It reads the keys of all rows, which costs about as much as the export; with --expect ROWS, nothing is sent. Rows of more
    /// than 4 KiB need more requests, since a page has at most 4 MiB.
    #[arg(long, conflicts_with = "resume")]
    pub(crate) dry_run: bool,
    /// Skip the access policies: reading them needs the key of the account
    #[arg(long, requires = "all_tables", conflicts_with = "table", help_heading = WHAT)]
    pub(crate) no_policies: bool,
    /// Format [default: by the name of the file; jsonl for standard output]
    #[arg(long, value_enum, help_heading = WHERE)]
    pub(crate) format: Option<Format>,
    /// Export only the rows that match this OData filter
    #[arg(long, value_name = "TEXT", help_heading = WHAT)]
    pub(crate) filter: Option<String>,
    /// Export only these properties, separated by commas, and the keys
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = WHAT)]
    pub(crate) select: Vec<String>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Export the Timestamp and the ETag of each row too
    #[arg(long, help_heading = WHAT)]
    pub(crate) system: bool,
    /// Columns of a CSV file, such as `Rating@Int32,Text@String` [default: all properties of all rows]
    ///
    /// A property without a column is an error.
    #[arg(long, value_name = "COLUMNS", help_heading = WHAT)]
    pub(crate) columns: Option<Columns>,
    /// Form of DateTime values in a Parquet file
    #[arg(long, value_enum, default_value_t = Datetimes::Nanos, help_heading = WHAT)]
    pub(crate) datetimes: Datetimes,
    /// Handling of properties with several types in a Parquet file
    #[arg(long, value_enum, default_value_t = Mixed::Error, help_heading = WHAT)]
    pub(crate) mixed: Mixed,
    #[command(flatten)]
    pub(crate) resuming: Resuming,
    /// Rows of the table, for example from `count`: the progress then shows the remaining time
    ///
    /// The service does not report the number.
    #[arg(long, value_name = "ROWS", help_heading = HOW_FAST)]
    pub(crate) expect: Option<u64>,
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
    #[arg(long, value_enum, help_heading = WHERE)]
    pub(crate) format: Option<Format>,
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Import all tables of a backup of `export --all-tables`, and create those that do not exist
    ///
    /// All files are checked against the manifest before the first write; a damaged or unfinished backup has exit code 3. The access policies of each table in the backup
    /// replace its existing ones once all rows are imported.
    #[arg(long, conflicts_with_all = ["format", "mode", "checkpoint", "failed"], help_heading = WHERE)]
    pub(crate) all_tables: bool,
    /// Write to tables that have rows too: rows with the keys of the backup are replaced, and the others stay
    #[arg(long, requires = "all_tables", conflicts_with = "table", help_heading = WHAT)]
    pub(crate) replace: bool,
    /// Check the file and estimate the requests of a run; with --all-tables, also list the tables. No write is sent
    ///
    /// The estimate is a request for 100 rows, or one for each partition. A run sends more if rows of many partitions
    /// alternate, or if rows have more than 40 KiB.
    #[arg(long, conflicts_with = "resume")]
    pub(crate) dry_run: bool,
    /// Skip the access policies: setting them needs the key of the account
    #[arg(long, requires = "all_tables", conflicts_with = "table", help_heading = WHAT)]
    pub(crate) no_policies: bool,
    /// Operation on each row
    #[arg(long, value_enum, default_value_t = Mode::UpsertReplace, help_heading = WHAT)]
    pub(crate) mode: Mode,
    /// Create the table if it does not exist; --all-tables does so always
    #[arg(long, help_heading = WHERE)]
    pub(crate) create: bool,
    #[command(flatten)]
    pub(crate) writing: Writing,
    #[command(flatten)]
    pub(crate) rate: Rate,
    #[command(flatten)]
    pub(crate) resuming: Resuming,
    /// List of the rows that did not get through [default: FILE.failed.jsonl, or TABLE.failed.jsonl for standard input and
    /// pipes]
    #[arg(long, value_name = "FILE", help_heading = ON_FAILURE)]
    pub(crate) failed: Option<PathBuf>,
    /// If FILE is such a list of an earlier import or copy, import its changed rows too, not only refused and unknown ones
    #[arg(long, conflicts_with = "all_tables", help_heading = WHAT)]
    pub(crate) include_changed: bool,
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
