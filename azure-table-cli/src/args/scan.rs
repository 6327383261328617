//! `count`.

use clap::Args;

/// Count the rows of a table
#[derive(Debug, Args)]
#[command(after_help = "Example: azure-table count Blogs --parallel 8")]
pub(crate) struct Count {
    /// Name of the table
    pub(crate) table: String,
}
