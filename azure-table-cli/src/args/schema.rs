//! `schema`.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

use super::copy::Lines;
use super::rate::Rate;

/// Print the columns of a table with their types, as a list or as Rust structs
///
/// Reads the first rows in key order, which may differ from later ones; --sample all, and --check, read the whole table. Ctrl-C ends the
/// reading: the command prints the result of the rows so far, and exits with 130.
///
/// The rows of a table can be of several kinds, with different columns. Without --kind, the command looks for the
/// discriminator: a text column that every row has, with 2 to 20 different values and on average at least two rows for each
/// value. Of several such columns, it uses the one that determines the presence of the most other columns.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  azure-table schema Blogs --sample all
  azure-table schema Blogs --rust > src/blogs.rs
  azure-table schema Blogs --check tests/schema/Blog.txt")]
pub(crate) struct Schema {
    /// Name of the table
    pub(crate) table: String,
    /// Rows to read: a number, or all [default: 1000; all with --check]
    #[arg(long, value_name = "ROWS")]
    pub(crate) sample: Option<Sample>,
    #[command(flatten)]
    pub(crate) rate: Rate,
    /// The discriminator: the text column that holds the kind of a row
    #[arg(long, value_name = "COLUMN", conflicts_with = "check")]
    pub(crate) kind: Option<String>,
    /// Print structs with #[derive(TableEntity)] that read every row of the sample
    ///
    /// Columns with values of several types, and columns that are not in the sample, are kept in the field extra. A struct with
    /// a Guid needs the crate uuid.
    #[arg(long, conflicts_with_all = ["check", "output"])]
    pub(crate) rust: bool,
    /// Print the rows that the struct of this snapshot cannot read
    ///
    /// A test of a program writes the snapshot: `SchemaGuard::of::<Blog>()` of azure-table-patterns. Exit code 3 if there are
    /// such rows. The command notes what it does not check, such as keys of several fields and fields with a codec of their own.
    #[arg(long, value_name = "FILE")]
    pub(crate) check: Option<PathBuf>,
    /// Form of the columns, or of the rows that cannot be read
    #[arg(long, short, value_enum, default_value_t = Lines::Text)]
    pub(crate) output: Lines,
}

impl Schema {
    /// The limit on the rows; `None` for all rows. A check that skips rows proves little about a table.
    pub(crate) fn limit(&self) -> Option<NonZeroU64> {
        match self.sample {
            Some(Sample::First(rows)) => Some(rows),
            None if self.check.is_none() => Some(DEFAULT_SAMPLE),
            Some(Sample::All) | None => None,
        }
    }
}

/// The rows that are read without --check.
const DEFAULT_SAMPLE: NonZeroU64 = NonZeroU64::new(1000).unwrap();

/// The rows that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sample {
    First(NonZeroU64),
    All,
}

impl FromStr for Sample {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "all" {
            return Ok(Self::All);
        }
        text.parse().map(Self::First).map_err(|_| "write a number from 1, or all")
    }
}
