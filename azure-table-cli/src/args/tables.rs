//! `tables`, `create` and `drop`.

use clap::Args;

use crate::output::Format;

/// List the tables of the account
#[derive(Debug, Args)]
#[command(after_help = "Example: azure-table tables --prefix Log")]
pub(crate) struct Tables {
    /// Only tables whose name begins with this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) prefix: Option<String>,
    /// Format of the list
    #[arg(long, short, value_enum, default_value_t = Format::Raw)]
    pub(crate) output: Format,
}

/// Create a table
#[derive(Debug, Args)]
#[command(after_help = "Example: azure-table create Blogs --if-not-exists")]
pub(crate) struct Create {
    /// Name of the table
    pub(crate) table: String,
    /// Succeed if the table exists
    #[arg(long)]
    pub(crate) if_not_exists: bool,
}

/// Delete a table with all its rows
#[derive(Debug, Args)]
#[command(after_help = "Example: azure-table drop Blogs --yes")]
pub(crate) struct Drop {
    /// Name of the table
    pub(crate) table: String,
    /// Succeed if there is no such table
    #[arg(long)]
    pub(crate) if_exists: bool,
}
