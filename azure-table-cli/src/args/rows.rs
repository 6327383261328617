//! `get`, `put`, `merge`, `delete` and `query`.

use clap::Args;

use crate::output::Format;

/// Print one row
#[derive(Debug, Args)]
#[command(after_help = "Example: azure-table get Blogs Channel9 2009-04-14 --system")]
pub(crate) struct Get {
    /// Name of the table
    pub(crate) table: String,
    pub(crate) partition_key: String,
    pub(crate) row_key: String,
    /// Only these properties, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub(crate) select: Vec<String>,
    /// Print Timestamp and ETag too
    #[arg(long)]
    pub(crate) system: bool,
    /// Format of the row
    #[arg(long, short, value_enum, default_value_t = Format::Json)]
    pub(crate) output: Format,
}

/// Write one row; the command states which properties an existing row keeps
#[derive(Debug, Args)]
pub(crate) struct Put {
    /// Name of the table
    pub(crate) table: String,
    /// PartitionKey; both keys may be in the JSON instead
    #[arg(requires = "row_key")]
    pub(crate) partition_key: Option<String>,
    /// RowKey
    pub(crate) row_key: Option<String>,
    /// Properties: Name=text, or with a type Name:Edm.Int64=7
    #[arg(value_name = "NAME[:TYPE]=VALUE")]
    pub(crate) properties: Vec<String>,
    /// Read the row as JSON from a file, or from standard input (-)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<String>,
    /// Write only if the row has this ETag; * for any version of an existing row
    #[arg(long, value_name = "ETAG")]
    pub(crate) if_match: Option<String>,
}

/// Delete one row
#[derive(Debug, Args)]
#[command(after_help = "Example: azure-table delete Blogs Channel9 2009-04-14 --yes")]
pub(crate) struct Delete {
    /// Name of the table
    pub(crate) table: String,
    pub(crate) partition_key: String,
    pub(crate) row_key: String,
    /// Delete only the version with this ETag
    #[arg(long, value_name = "ETAG", default_value = "*")]
    pub(crate) if_match: String,
    /// Succeed if there is no such row
    #[arg(long)]
    pub(crate) if_exists: bool,
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
    #[arg(long, short, value_name = "TEXT")]
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
    /// Print the requests that the query sends, without sending them
    #[arg(long)]
    pub(crate) plan: bool,
    /// Format of the rows
    #[arg(long, short, value_enum, default_value_t = Format::Table)]
    pub(crate) output: Format,
}
