//! The formats of `query`, `get` and `tables`.

use clap::ValueEnum;

/// The format of printed rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Columns, sized by the first rows; long values are cut
    Table,
    /// One JSON array
    Json,
    /// A JSON object a line, with all types
    Jsonl,
    /// CSV with the types in the header
    Csv,
    /// Values without names, separated by tabs
    Raw,
}
