//! `copy` and `diff`.

use clap::Args;

use crate::connect::Source;

/// Copy the rows of a table to another table, in this account or another one
#[derive(Debug, Args)]
#[command(after_help = "Example: azure-table copy Blogs BlogsCopy --from env:OLD --to env:NEW")]
pub(crate) struct Copy {
    /// Table to read
    pub(crate) source: String,
    /// Table to write
    pub(crate) target: String,
    #[command(flatten)]
    pub(crate) sides: Sides,
}

/// Compare two tables, or a table and a file
#[derive(Debug, Args)]
#[command(after_help = "Example: azure-table diff Blogs blogs.jsonl")]
pub(crate) struct Diff {
    /// Table or file
    pub(crate) left: String,
    /// Table or file
    pub(crate) right: String,
    #[command(flatten)]
    pub(crate) sides: Sides,
}

/// The two connections of a command. Each is that of the other commands unless it is given.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct Sides {
    /// Connection of the first table: env:NAME, file:PATH, prompt, emulator or entra:URL
    #[arg(long, value_name = "SOURCE")]
    pub(crate) from: Option<Source>,
    /// Connection of the second table
    #[arg(long, value_name = "SOURCE")]
    pub(crate) to: Option<Source>,
}
