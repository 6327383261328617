//! Parquet, through `azure-table-arrow`.

use std::fs;
use std::path::Path;

use azure_table_arrow::{
    ParquetRows, ParquetWriter, SchemaInference, SchemaOptions, Timestamps, parquet_rows,
};
use azure_table_client::DynamicEntity;
use clap::ValueEnum;

use super::{Output, RowWriter, UntilError, is_standard, name_of, open};
use crate::failure::{Exit, Failure, Result};

/// The form of DateTime values in Parquet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Datetimes {
    /// Timestamps of nanoseconds; only from 1677-09-21 to 2262-04-11
    Nanos,
    /// Timestamps of microseconds; the seventh digit of the fraction is dropped
    Micros,
    /// Integers: 100 ns since 0001-01-01
    Ticks,
}

/// The handling of a property whose values have several types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mixed {
    /// The export fails and names the property
    Error,
    /// The values go to the JSON column `rest`
    Rest,
}

/// The choices of a Parquet file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    pub(crate) datetimes: Datetimes,
    pub(crate) mixed: Mixed,
    /// Whether the ETag and the Timestamp are written.
    pub(crate) system: bool,
}

impl Options {
    fn schema(self) -> SchemaOptions {
        let timestamps = match self.datetimes {
            Datetimes::Nanos => Timestamps::Nanos,
            Datetimes::Micros => Timestamps::Micros,
            Datetimes::Ticks => Timestamps::Ticks,
        };
        let mixed = match self.mixed {
            Mixed::Error => azure_table_arrow::Mixed::Error,
            Mixed::Rest => azure_table_arrow::Mixed::rest(),
        };
        let options = SchemaOptions::new().timestamps(timestamps).mixed(mixed);
        options.with_timestamp(self.system).with_etag(self.system)
    }
}

/// The choices that the library offers for a property with several types, and those of this program.
const CHOICE: &str = "declare its type, or choose a rest column";
const OPTION: &str =
    "--mixed rest writes its values to a JSON column; JSON lines and CSV keep all types";

/// Finds the columns of rows, then begins a file with them.
pub(crate) struct Inference {
    columns: SchemaInference,
    options: Options,
}

impl Inference {
    pub(crate) fn new(options: Options) -> Self {
        Self { columns: SchemaInference::new(), options }
    }

    pub(crate) fn add(&mut self, row: &DynamicEntity) {
        self.columns.add(row);
    }

    /// Begins the file. The error of a property with several types names the option that accepts them.
    pub(crate) fn writer(&self, out: Output) -> Result<Writer> {
        let schema = self.columns.finish(&self.options.schema()).map_err(|error| {
            Failure::new(Exit::Failed, error.to_string().replace(CHOICE, OPTION))
        })?;
        let name = out.name();
        let inner = ParquetWriter::new(out, &schema).map_err(|error| failed(&name, &error))?;
        Ok(Writer { inner, name })
    }
}

/// Writes the rows of a Parquet file.
pub(crate) struct Writer {
    inner: ParquetWriter<Output>,
    name: String,
}

impl RowWriter for Writer {
    fn write(&mut self, row: &DynamicEntity) -> Result<()> {
        self.inner.write(row).map_err(|error| failed(&self.name, &error))
    }

    fn finish(self: Box<Self>) -> Result<u64> {
        let name = self.name;
        self.inner.finish().map_err(|error| failed(&name, &error))?.end()
    }
}

fn failed(name: &str, error: &azure_table_arrow::Error) -> Failure {
    let option = match error {
        azure_table_arrow::Error::TimeOutOfRange { .. } => " (--datetimes micros or ticks)",
        _ => "",
    };
    Failure::new(Exit::Failed, format!("cannot write {name}: {error}{option}"))
}

/// Opens a Parquet file of rows.
pub(super) fn rows(path: &Path) -> Result<super::Rows> {
    let is_pipe = |path| fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
    if is_standard(path) || is_pipe(path) {
        let message = "Parquet cannot be read from standard input or a pipe: state a file";
        return Err(Failure::usage(message));
    }
    let name = name_of(path);
    let failed = move |row: u64, error: &azure_table_arrow::Error| {
        Failure::new(Exit::Different, format!("{name}:{row}: {error}"))
    };
    let rows: ParquetRows = parquet_rows(open(path)?).map_err(|error| failed(0, &error))?;
    let numbered =
        (1..).zip(rows).map(move |(number, row)| row.map_err(|error| failed(number, &error)));
    Ok(Box::new(UntilError::new(numbered)))
}
