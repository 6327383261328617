//! `count`.

use clap::Args;
use clap::builder::ArgPredicate;

use super::Selection;
use super::copy::Lines;
use super::groups::Reading;
use super::headings::{HOW_FAST, WHAT, WHERE};
use crate::output::one_line;

/// Count the rows of a table, or of all tables
#[derive(Debug, Clone, Args)]
#[command(override_usage = "\
azure-table count [OPTIONS] <TABLE>
       azure-table count [OPTIONS] --all-tables")]
#[command(after_help = "\
Examples:
  azure-table count Blogs --parallel 8
  azure-table count --all-tables --include 'Log*'")]
pub(crate) struct Count {
    /// Name of the table
    #[arg(
        required = false,
        required_unless_present = "all_tables",
        conflicts_with = "all_tables",
        default_value_if("all_tables", ArgPredicate::IsPresent, "")
    )]
    pub(crate) table: String,
    /// Count the rows of each table of the account
    #[arg(long, group = "listed", conflicts_with = "expect", help_heading = WHERE)]
    pub(crate) all_tables: bool,
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Count only the rows that match this OData filter
    #[arg(long, value_name = "TEXT", help_heading = WHAT)]
    pub(crate) filter: Option<String>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Print the rows of each partition, the largest first
    ///
    /// The current partition and the largest ones are in memory, or all partitions of Cosmos DB, whose rows have no order. If
    /// the address does not show that it is Cosmos DB, add --dialect cosmos; otherwise a partition that comes after a larger
    /// one is an error.
    #[arg(long, group = "listed")]
    pub(crate) by_partition: bool,
    /// Print at most this many partitions
    #[arg(long, value_name = "PARTITIONS", default_value_t = 20, requires = "by_partition")]
    pub(crate) top: usize,
    /// Form of the partitions or tables
    #[arg(long, short, value_enum, default_value_t = Lines::Text, requires = "listed")]
    pub(crate) output: Lines,
    /// Rows of the table, for example from an earlier count: the progress then shows the remaining time
    ///
    /// The service does not report the number.
    #[arg(long, value_name = "ROWS", help_heading = HOW_FAST)]
    pub(crate) expect: Option<u64>,
}

impl Count {
    /// The name of the run in its progress.
    pub(crate) fn label(&self) -> String {
        if self.all_tables {
            format!("count {}", one_line(&self.table))
        } else {
            "count".to_owned()
        }
    }
}
