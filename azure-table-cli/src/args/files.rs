//! `export` and `import`.

use std::path::PathBuf;

use clap::Args;

use crate::commands::import::Mode;
use crate::format::Format;
use crate::format::csv::Columns;
use crate::format::parquet::{Datetimes, Mixed};

/// Write the rows of a table to a file
#[derive(Debug, Args)]
#[command(after_help = "Example: azure-table export Blogs blogs.jsonl")]
pub(crate) struct Export {
    /// The table to read
    pub(crate) table: String,
    /// The file to write; `-` is standard output
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    /// The format of the file [default: by its name; jsonl for standard output]
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
    /// Export only the rows that match this OData filter
    #[arg(long)]
    pub(crate) filter: Option<String>,
    /// Export only these properties, separated by commas
    #[arg(long, value_delimiter = ',')]
    pub(crate) select: Vec<String>,
    /// Read this number of key ranges concurrently (1 to 256)
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) parallel: u16,
    /// Write the Timestamp and the ETag of each row too
    #[arg(long)]
    pub(crate) system: bool,
    /// The columns of a CSV file, such as `Rating@Edm.Int32,Text@Edm.String` [default: all properties]
    #[arg(long)]
    pub(crate) columns: Option<Columns>,
    /// The form of DateTime values in Parquet
    #[arg(long, value_enum, default_value_t = Datetimes::Nanos)]
    pub(crate) datetimes: Datetimes,
    /// The handling of properties with several types in Parquet
    #[arg(long, value_enum, default_value_t = Mixed::Error)]
    pub(crate) mixed: Mixed,
    /// Continue an unfinished export; without one, begin
    #[arg(long)]
    pub(crate) resume: bool,
    /// The file of the checkpoint [default: FILE.checkpoint]
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// The time between two saves of the checkpoint, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 5000)]
    pub(crate) save_every: u64,
}

/// Write the rows of a file to a table
#[derive(Debug, Args)]
#[command(after_help = "Example: azure-table import blogs.jsonl Blogs --create")]
pub(crate) struct Import {
    /// The file to read; `-` is standard input
    pub(crate) file: PathBuf,
    /// The table to write
    pub(crate) table: String,
    /// The format of the file [default: by its name; jsonl for standard input]
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
    /// The operation on each row
    #[arg(long, value_enum, default_value_t = Mode::UpsertReplace)]
    pub(crate) mode: Mode,
    /// Create the table if it does not exist
    #[arg(long)]
    pub(crate) create: bool,
    /// The number of requests in flight (1 to 1,024)
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) concurrency: u16,
    /// Continue an unfinished import; without one, begin
    #[arg(long)]
    pub(crate) resume: bool,
    /// The file of the checkpoint [default: FILE.checkpoint]
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// The time between two saves of the checkpoint, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 5000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) save_every: u64,
    /// The file of the rows that the service refuses [default: FILE.refused]
    #[arg(long, value_name = "FILE")]
    pub(crate) refused: Option<PathBuf>,
}
