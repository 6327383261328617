//! `export` and `import`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::duration::duration;

use crate::commands::import::Mode;
use crate::format::Format;
use crate::format::csv::Columns;
use crate::format::parquet::{Datetimes, Mixed};

/// Write the rows of a table to a file
///
/// The file appears under its name once it is complete. Until then its rows are in FILE.part or FILE.rows.part.
#[derive(Debug, Args)]
#[command(after_help = "Example: azure-table export Blogs blogs.jsonl")]
pub(crate) struct Export {
    /// Name of the table
    pub(crate) table: String,
    /// File, or - for standard output
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    /// Format [default: by the name of the file; jsonl for standard output]
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
    /// Export only the rows that match this OData filter
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Export only these properties, separated by commas, and the keys
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) select: Vec<String>,
    /// Key ranges that are read at the same time, 1 to 256; the rows stay in key order. Worthwhile for large tables
    #[arg(long, value_name = "RANGES", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) parallel: u16,
    /// Export the Timestamp and the ETag of each row too
    #[arg(long)]
    pub(crate) system: bool,
    /// Columns of a CSV file, such as `Rating@Edm.Int32,Text@Edm.String` [default: all properties of all rows]
    ///
    /// A property without a column is an error.
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) columns: Option<Columns>,
    /// Form of DateTime values in a Parquet file
    #[arg(long, value_enum, default_value_t = Datetimes::Nanos)]
    pub(crate) datetimes: Datetimes,
    /// Handling of properties with several types in a Parquet file
    #[arg(long, value_enum, default_value_t = Mixed::Error)]
    pub(crate) mixed: Mixed,
    /// Continue the run that left the checkpoint, or begin if there is none
    #[arg(long)]
    pub(crate) resume: bool,
    /// Checkpoint [default: FILE.checkpoint]
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Time between two saves of the checkpoint
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration)]
    pub(crate) save_every: Duration,
    /// Rows of the table, for example from `count`: the progress then shows the remaining time
    ///
    /// The service does not report the number.
    #[arg(long, value_name = "ROWS")]
    pub(crate) expect: Option<u64>,
}

/// Write the rows of a file to a table
///
/// The file is read twice: a damaged line is an error before anything is sent.
#[derive(Debug, Args)]
#[command(after_help = "Example: azure-table import blogs.jsonl Blogs --create")]
pub(crate) struct Import {
    /// File, or - for standard input
    pub(crate) file: PathBuf,
    /// Name of the table
    pub(crate) table: String,
    /// Format [default: by the name of the file; jsonl for standard input]
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
    /// Operation on each row
    #[arg(long, value_enum, default_value_t = Mode::UpsertReplace)]
    pub(crate) mode: Mode,
    /// Create the table if it does not exist
    #[arg(long)]
    pub(crate) create: bool,
    /// Writes in flight, 1 to 1024; fewer while the service throttles
    #[arg(long, value_name = "REQUESTS", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) concurrency: u16,
    /// Continue the run that left the checkpoint, or begin if there is none
    #[arg(long)]
    pub(crate) resume: bool,
    /// Checkpoint [default: FILE.checkpoint]
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Time between two saves of the checkpoint
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration)]
    pub(crate) save_every: Duration,
    /// List of refused rows [default: FILE.refused, or TABLE.refused for standard input and pipes]
    #[arg(long, value_name = "FILE")]
    pub(crate) refused: Option<PathBuf>,
}
