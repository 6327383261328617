//! The options of commands for a whole account, and `verify`.

use std::path::PathBuf;

use clap::Args;

use super::headings::WHAT;

use crate::engine::account::pattern::Pattern;

/// The tables of an account that a command works on. The first table of each command has the id `table`: clap ignores
/// `requires` if the required option conflicts with another argument.
#[derive(Debug, Clone, Args)]
pub(crate) struct Selection {
    /// With --all-tables, only the tables whose names match the pattern; can be repeated
    ///
    /// `*` is any text and `?` any character; upper and lower case are equal. A pattern that matches no table is an error here, and a
    /// note for --exclude.
    #[arg(long, value_name = "PATTERN", requires = "all_tables", conflicts_with = "table", help_heading = WHAT)]
    pub(crate) include: Vec<Pattern>,
    /// With --all-tables, skip the tables whose names match the pattern; can be repeated
    #[arg(long, value_name = "PATTERN", requires = "all_tables", conflicts_with = "table", help_heading = WHAT)]
    pub(crate) exclude: Vec<Pattern>,
}

/// Check the files of `export --all-tables`, without an account
///
/// Compares the files of the folder with the sizes and the SHA-256 hashes in its manifest.json, and prints a line for each
/// damaged, missing or unknown file. The exit code is then 3, also for an unfinished backup and for a damaged manifest.
#[derive(Debug, Args)]
#[command(after_help = "Example: azure-table verify backup")]
pub(crate) struct Verify {
    /// Folder of the backup
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}
