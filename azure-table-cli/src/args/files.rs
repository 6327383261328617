//! `export` and `import`.

use clap::Args;

/// Write the rows of a table to a file
#[derive(Debug, Args)]
#[command(after_help = "Example: azure-table export Blogs blogs.jsonl")]
pub(crate) struct Export {
    /// Name of the table
    pub(crate) table: String,
    /// File, or - for standard output
    #[arg(default_value = "-")]
    pub(crate) file: String,
}

/// Write the rows of a file to a table
#[derive(Debug, Args)]
#[command(after_help = "Example: azure-table import blogs.jsonl Blogs --create")]
pub(crate) struct Import {
    /// File, or - for standard input
    pub(crate) file: String,
    /// Name of the table
    pub(crate) table: String,
}
