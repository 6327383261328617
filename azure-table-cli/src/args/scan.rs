//! `count`.

use clap::Args;

use super::copy::Lines;

/// Count the rows of a table
#[derive(Debug, Args)]
#[command(after_help = "Example: azure-table count Blogs --parallel 8")]
pub(crate) struct Count {
    /// Name of the table
    pub(crate) table: String,
    /// Count only the rows that match this OData filter
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Key ranges that are read at the same time, 1 to 256
    #[arg(long, value_name = "RANGES", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) parallel: u16,
    /// Print the rows of each partition, the largest first
    ///
    /// The current partition and the largest ones are in memory, or all partitions of Cosmos DB, whose rows have no order. If
    /// the address does not show that it is Cosmos DB, add --dialect cosmos; otherwise a partition that comes after a larger
    /// one is an error.
    #[arg(long)]
    pub(crate) by_partition: bool,
    /// Print at most this many partitions
    #[arg(long, value_name = "PARTITIONS", default_value_t = 20, requires = "by_partition")]
    pub(crate) top: usize,
    /// Form of the partitions
    #[arg(long, short, value_enum, default_value_t = Lines::Text, requires = "by_partition")]
    pub(crate) output: Lines,
    /// Rows of the table, for example from an earlier count: the progress then shows the remaining time
    ///
    /// The service does not report the number.
    #[arg(long, value_name = "ROWS")]
    pub(crate) expect: Option<u64>,
}
