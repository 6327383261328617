//! `update` and `truncate`, and their options, which `delete --filter` has too.

use std::path::PathBuf;

use azure_table_protocol::filter::Filter;
use clap::Args;

use super::groups::Writing;
use super::headings::{ON_FAILURE, WHERE};
use super::rate::Rate;

/// The options of a command that writes the rows that a query finds.
#[derive(Debug, Args)]
pub(crate) struct FoundRows {
    /// Stop before more than this number of rows is written; --yes requires it
    ///
    /// If more rows match at the beginning, nothing is written. Without --yes, the limit is the number in the question.
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_rows: Option<u64>,
    /// Keep the whole rows in this new file (.jsonl) first; `import` restores them, and replaces later changes
    ///
    /// Only the rows in the file are written, and only in the version that the file has. On Unix, only you can read the file.
    /// After an interruption, repeat the command with another file.
    #[arg(long, value_name = "FILE", help_heading = WHERE)]
    pub(crate) save: Option<PathBuf>,
    /// Write rows also if another program has changed them since they were read, unless --save keeps what was read
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the plan of the query, the number of rows and the estimated requests of a run; nothing is written
    ///
    /// It reads the rows once. The estimate is a request for 1,000 rows read, twice, and one for 100 rows written or for each
    /// partition.
    #[arg(long, conflicts_with_all = ["save", "failed"])]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) writing: Writing,
    #[command(flatten)]
    pub(crate) rate: Rate,
    /// List of the rows that were left, because they changed or were refused, or whose outcome is unknown
    /// [default: TABLE.failed.jsonl in the current folder]
    ///
    /// The first such row replaces the list of an earlier run; a run without one keeps it.
    #[arg(long, value_name = "FILE", help_heading = ON_FAILURE)]
    pub(crate) failed: Option<PathBuf>,
}

/// Set or remove properties of the rows that match a filter
///
/// Each row is written only in the version that was read, by transactions. --set merges, so that no other property is read or
/// written; --unset reads whole rows and replaces them. A row that has the values already is not written: after an
/// interruption, the same command updates the rows that are left.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: azure-table update Blogs --filter \"Rating lt 2\" --set Rating:Int32=2 Hidden:Boolean=true --unset Draft

The types are those of put.")]
pub(crate) struct Update {
    /// Name of the table
    pub(crate) table: String,
    /// Update the rows that match this OData filter
    #[arg(long, value_name = "TEXT", value_parser = filter)]
    pub(crate) filter: String,
    /// Properties to set; not the keys
    #[arg(long, value_name = "NAME[:TYPE]=VALUE", num_args = 1.., required_unless_present = "unset")]
    pub(crate) set: Vec<String>,
    /// Properties to remove; whole rows are replaced, so that --force is refused
    #[arg(long, value_name = "NAME", num_args = 1.., conflicts_with = "force")]
    pub(crate) unset: Vec<String>,
    #[command(flatten)]
    pub(crate) found_rows: FoundRows,
}

/// Delete all rows of a table, and keep the table and its access policies
///
/// The terminal question asks for the name of the table; --yes does not answer it, and --confirm does: a script needs --confirm
/// NAME --yes --max-rows ROWS. --force answers it too, and also deletes rows that changed. After an interruption, the same
/// command deletes the rows that are left. `drop` is faster, but the name cannot be used again at once.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  azure-table truncate Blogs --save blogs.jsonl
  azure-table truncate Blogs --confirm Blogs --yes --max-rows 10000")]
pub(crate) struct Truncate {
    /// Name of the table
    pub(crate) table: String,
    /// Name of the table again, which the question then does not ask for
    #[arg(long, value_name = "NAME")]
    pub(crate) confirm: Option<String>,
    #[command(flatten)]
    pub(crate) found_rows: FoundRows,
}

/// Checks that a filter has a condition.
pub(super) fn filter(text: &str) -> Result<String, &'static str> {
    // The client reports a filter that cannot be read.
    let has_no_condition = Filter::parse(text).is_ok_and(|filter| filter.comparisons() == 0);
    if text.trim().is_empty() || has_no_condition {
        return Err(
            "without a condition it matches all rows; `truncate` deletes them, and \"PartitionKey ge ''\" names them",
        );
    }
    Ok(text.to_owned())
}
