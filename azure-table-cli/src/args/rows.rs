//! `get`, `put`, `merge`, `delete` and `query`.

use std::path::PathBuf;

use clap::Args;

use super::found_rows::{self, FoundRows};
use super::rate::Rate;
use crate::output::Format;

/// Print one row
#[derive(Debug, Args)]
#[command(after_help = "Example: azure-table get Blogs Channel9 2009-04-14 --system")]
pub(crate) struct Get {
    /// Name of the table
    pub(crate) table: String,
    /// PartitionKey of the row
    pub(crate) partition_key: String,
    /// RowKey of the row
    pub(crate) row_key: String,
    /// Only these properties, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub(crate) select: Vec<String>,
    /// Print Timestamp and ETag too
    #[arg(long)]
    pub(crate) system: bool,
    /// Format of the row
    #[arg(long, short, value_enum, default_value_t = Format::Table)]
    pub(crate) output: Format,
}

/// Write one row; a row with these keys is replaced
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  azure-table put Blogs Channel9 2009-04-14 Text=Hello Rating:Int32=3
  azure-table put Blogs --json row.json

Types: String (default), Boolean, Int32, Int64, Double, DateTime (2009-04-14T00:00:00Z), Guid, Binary (base64), also with Edm. before the name

A value without a type is stored as String, whatever it looks like; a note then names its likely type.")]
pub(crate) struct Put {
    #[command(flatten)]
    pub(crate) row: Row,
    /// Fail if there is a row with these keys
    #[arg(long, conflicts_with = "if_match")]
    pub(crate) insert: bool,
}

/// Write the given properties of one row; an existing row keeps the others
#[derive(Debug, Args)]
#[command(
    after_help = "Example: azure-table merge Blogs Channel9 2009-04-14 Rating:Int32=4 --if-match '*'"
)]
pub(crate) struct Merge {
    #[command(flatten)]
    pub(crate) row: Row,
}

/// A row to write.
#[expect(clippy::struct_field_names, reason = "these are the names of the service")]
#[derive(Debug, Args)]
pub(crate) struct Row {
    /// Name of the table
    pub(crate) table: String,
    /// PartitionKey of the row
    #[arg(required_unless_present = "json", requires = "row_key")]
    pub(crate) partition_key: Option<String>,
    /// RowKey of the row
    pub(crate) row_key: Option<String>,
    /// Properties of the row
    #[arg(value_name = "NAME[:TYPE]=VALUE")]
    pub(crate) properties: Vec<String>,
    /// Read the row with its keys as JSON from a file, or from standard input (-)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["partition_key", "row_key", "properties"])]
    pub(crate) json: Option<PathBuf>,
    /// Write only if the row exists with this ETag; * stands for any
    #[arg(long, value_name = "ETAG")]
    pub(crate) if_match: Option<String>,
}

/// Delete one row, or the rows that match a filter
///
/// With --filter, rows are deleted by transactions, each only in the version that was read; a row that is gone already counts as
/// deleted. After an interruption, the same command deletes the rows that are left. --max-rows, --save, --force, --dry-run,
/// --concurrency, --rate, --ramp and --failed are options of --filter.
#[derive(Debug, Args)]
#[command(override_usage = "\
azure-table delete [OPTIONS] <TABLE> <PARTITION_KEY> <ROW_KEY>
       azure-table delete [OPTIONS] <TABLE> --filter <TEXT>")]
#[command(after_help = "\
Examples:
  azure-table delete Blogs Channel9 2009-04-14 --yes
  azure-table delete Blogs --filter \"Rating lt 2\" --save blogs.jsonl")]
pub(crate) struct Delete {
    /// Name of the table
    pub(crate) table: String,
    /// PartitionKey of the row
    #[arg(required_unless_present = "filter", requires = "row_key", conflicts_with_all = [
        "filter", "max_rows", "save", "force", "dry_run", "concurrency", "rate", "ramp", "failed",
    ])]
    pub(crate) partition_key: Option<String>,
    /// RowKey of the row
    pub(crate) row_key: Option<String>,
    /// Delete only the version with this ETag
    #[arg(long, value_name = "ETAG", default_value = "*", conflicts_with = "filter")]
    pub(crate) if_match: String,
    /// Succeed if there is no such row
    #[arg(long, conflicts_with = "filter")]
    pub(crate) if_exists: bool,
    /// Delete the rows that match this OData filter
    #[arg(long, value_name = "TEXT", value_parser = found_rows::filter)]
    pub(crate) filter: Option<String>,
    #[command(flatten)]
    pub(crate) found_rows: FoundRows,
}

/// Print the rows that match a filter
#[derive(Debug, Args)]
#[command(
    after_help = "Example: azure-table query Blogs --filter \"PartitionKey eq 'Channel9' and Rating ge 3\" --top 10"
)]
pub(crate) struct Query {
    /// Name of the table
    pub(crate) table: String,
    /// OData filter
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Only these properties, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub(crate) select: Vec<String>,
    /// At most this many rows
    #[arg(long, value_name = "ROWS")]
    pub(crate) top: Option<u64>,
    /// Print Timestamp and ETag too
    #[arg(long)]
    pub(crate) system: bool,
    /// Print the part of the table that the service scans, and the first requests, without sending them
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) rate: Rate,
    /// Format of the rows
    #[arg(long, short, value_enum, default_value_t = Format::Table)]
    pub(crate) output: Format,
}
