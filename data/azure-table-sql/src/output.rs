//! The formats of results.

mod guids;
mod table;

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::Path;

use datafusion::arrow::csv::WriterBuilder;
use datafusion::arrow::json::LineDelimitedWriter;
use datafusion::dataframe::DataFrame;
use datafusion::error::{DataFusionError, Result};
use datafusion::parquet::arrow::ArrowWriter;
use futures_util::TryStreamExt as _;

use crate::args::OutputFormat;
use crate::failure::{self, Failure};

/// Runs a query and writes its result to a file, or to standard output.
pub(crate) async fn write(
    frame: DataFrame,
    format: OutputFormat,
    to: Option<&Path>,
    is_first: bool,
) -> failure::Result<()> {
    let Some(path) = to else {
        if format == OutputFormat::Parquet && io::stdout().is_terminal() {
            return Err(Failure::usage(
                "a Parquet file cannot be shown at a terminal; pass --to FILE",
            ));
        }
        let mut output = BufWriter::new(io::stdout());
        if !is_first && format == OutputFormat::Table {
            writeln!(output).map_err(DataFusionError::IoError)?;
        }
        return Ok(write_to(frame, format, output).await?);
    };
    let failed = |action: &str, path: &Path, error: io::Error| {
        Failure::failed(format!("cannot {action} {}: {error}", path.display()))
    };
    // An incomplete file must not look like a complete one.
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = Path::new(&part);
    let file = File::create(part).map_err(|error| failed("create", part, error))?;
    write_to(frame, format, BufWriter::new(file)).await?;
    std::fs::rename(part, path).map_err(|error| failed("rename", part, error))
}

async fn write_to(
    frame: DataFrame,
    format: OutputFormat,
    mut output: impl Write + Send,
) -> Result<()> {
    let schema = std::sync::Arc::clone(frame.schema().inner());
    let mut batches = frame.execute_stream().await?;
    match format {
        OutputFormat::Table => {
            let batches: Vec<_> = batches.try_collect().await?;
            table::write(&mut output, &schema, &batches)?;
        }
        OutputFormat::Csv => {
            let mut writer = WriterBuilder::new().with_header(true).build(&mut output);
            let mut is_empty = true;
            while let Some(batch) = batches.try_next().await? {
                writer.write(&guids::as_texts(&batch)?)?;
                is_empty = false;
            }
            if is_empty {
                writer.write(&datafusion::arrow::array::RecordBatch::new_empty(schema))?;
            }
        }
        OutputFormat::Jsonl => {
            let mut writer = LineDelimitedWriter::new(&mut output);
            while let Some(batch) = batches.try_next().await? {
                writer.write(&guids::as_texts(&batch)?)?;
            }
            writer.finish()?;
        }
        OutputFormat::Parquet => {
            let mut writer = ArrowWriter::try_new(&mut output, schema, None)?;
            while let Some(batch) = batches.try_next().await? {
                writer.write(&batch)?;
            }
            writer.close()?;
        }
    }
    Ok(output.flush()?)
}
