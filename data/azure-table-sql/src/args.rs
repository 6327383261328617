//! The arguments.

use std::io::Read as _;
use std::path::PathBuf;

use azure_table_arrow::{Mixed, Timestamps};
use azure_table_cli::connect::Connection;
use azure_table_cli::failure::{Exit, Failure, Result};
use clap::{Parser, ValueEnum};

use crate::columns::TableColumns;
use crate::sample::Sample;

/// Run SQL queries on the tables of an account of Azure Table Storage or Cosmos DB.
///
/// Every table of the account is a table in SQL; names keep their case. Without an option, the account is that of
/// AZURE_STORAGE_CONNECTION_STRING, or of AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN.
///
/// Example: azure-table-sql "SELECT PartitionKey, count(*) FROM Blogs GROUP BY PartitionKey"
#[derive(Debug, Parser)]
#[command(version, about)]
#[expect(clippy::doc_markdown, reason = "the text of --help")]
pub(crate) struct Args {
    /// Queries, run one after the other; - reads one from standard input
    #[arg(required = true, value_name = "SQL")]
    statements: Vec<String>,
    /// Format of the result; by default table, or the one that the name of FILE implies
    #[arg(long, short, value_enum)]
    output: Option<OutputFormat>,
    /// Write the result of a single query to a file
    ///
    /// Until it is complete, the file has a name of its own; it is removed if the query fails or is interrupted.
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
    /// Replace the file of --to without a question
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// First rows of each table from which its columns are inferred, or all
    ///
    /// all reads each table that a query names a second time.
    #[arg(long, value_name = "ROWS", default_value = "1000")]
    pub(crate) sample: Sample,
    /// Handling of values without a column of their type
    #[arg(long, value_enum, default_value = "error")]
    pub(crate) mixed: MixedValues,
    /// Columns of a table instead of inferred ones: Blogs=Rating:Int32,Text:String
    ///
    /// Once for each table. The name of the table is not case-sensitive.
    #[arg(long, value_name = "TABLE=COLUMNS")]
    pub(crate) columns: Vec<TableColumns>,
    /// Form of Edm.DateTime
    #[arg(long, value_enum, default_value = "nanos")]
    pub(crate) datetimes: Datetimes,
    /// Key ranges of a large table that are read at the same time; by default as many as the machine has cores
    #[arg(long, value_name = "COUNT")]
    pub(crate) partitions: Option<usize>,
    // Last, because its heading applies to all options behind it.
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// The format of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Columns with borders; the whole result is in memory
    Table,
    /// Comma-separated values with a header; null and the empty text are both an empty field
    Csv,
    /// A JSON object per row, without the columns that are null; NaN and infinities are texts
    Jsonl,
    /// A Parquet file with the compression Snappy; a row group of up to 64 MiB is in memory
    Parquet,
}

/// The handling of values without a column of their type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MixedValues {
    /// A query that reads such a value fails and names the row and the property
    Error,
    /// The values go to the JSON column `rest`, and are null in their own column
    Rest,
}

impl From<MixedValues> for Mixed {
    fn from(values: MixedValues) -> Self {
        match values {
            MixedValues::Error => Self::Error,
            MixedValues::Rest => Self::rest(),
        }
    }
}

/// The form of `Edm.DateTime` in SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Datetimes {
    /// Timestamps in nanoseconds, of the years 1677 to 2262
    Nanos,
    /// Timestamps in microseconds, without the seventh digit
    Micros,
    /// Integers: ticks of 100 ns since the year 1
    Ticks,
}

impl From<Datetimes> for Timestamps {
    fn from(form: Datetimes) -> Self {
        match form {
            Datetimes::Nanos => Self::Nanos,
            Datetimes::Micros => Self::Micros,
            Datetimes::Ticks => Self::Ticks,
        }
    }
}

impl Args {
    /// Returns the queries.
    pub(crate) fn sql(&self) -> Result<Vec<String>> {
        if self.to.is_some() && self.statements.len() > 1 {
            return Err(Failure::usage("--to FILE holds the result of one query; pass one"));
        }
        let read = |statement: &String| {
            if statement != "-" {
                return Ok(statement.clone());
            }
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map_err(|error| {
                let message = format!("cannot read the query from standard input: {error}");
                Failure::new(Exit::Failed, message)
            })?;
            Ok(text)
        };
        self.statements.iter().map(read).collect()
    }

    /// Returns the format that is given, or that the name of the file implies.
    pub(crate) fn format(&self) -> Result<OutputFormat> {
        if let Some(format) = self.output {
            return Ok(format);
        }
        let Some(file) = &self.to else { return Ok(OutputFormat::Table) };
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("csv") => Ok(OutputFormat::Csv),
            Some("jsonl" | "ndjson") => Ok(OutputFormat::Jsonl),
            Some("parquet") => Ok(OutputFormat::Parquet),
            _ => Err(Failure::usage(format!(
                "unknown format of {}: pass --output, or a name that ends with .csv, .jsonl or .parquet",
                file.display()
            ))),
        }
    }
}
