//! The formats of results.

mod doubles;
mod guids;
mod part_file;
mod sink;
mod table;

use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use azure_table_cli::failure::{self as cli, Failure};
use azure_table_cli::links::followed;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::csv::WriterBuilder;
use datafusion::arrow::json::writer::{LineDelimited, WriterBuilder as JsonWriterBuilder};
use datafusion::dataframe::DataFrame;
use datafusion::error::Result;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::Compression;
use datafusion::parquet::file::properties::WriterProperties;
use futures_util::TryStreamExt as _;

use crate::args::OutputFormat;
use part_file::PartFile;
use sink::Sink;

/// The advice in the error of a path that is not a regular file.
const ADVICE: &str = "redirect standard output instead of --to";
/// The limits of a row group, one of which is in memory: those of `azure_table_arrow::ParquetWriter`.
const ROW_GROUP_BYTES: usize = 64 << 20;
const ROW_GROUP_ROWS: usize = 1 << 20;

/// The destination of results: a file, or standard output.
#[derive(Debug)]
pub(crate) struct Output {
    format: OutputFormat,
    to: Option<PathBuf>,
    is_first: bool,
}

impl Output {
    pub(crate) fn new(format: OutputFormat, to: Option<&Path>) -> cli::Result<Self> {
        if to.is_none() && format == OutputFormat::Parquet && io::stdout().is_terminal() {
            return Err(Failure::usage(
                "a Parquet file cannot be shown at a terminal; pass --to FILE",
            ));
        }
        Ok(Self { format, to: to.map(|path| followed(path, ADVICE)).transpose()?, is_first: true })
    }

    /// Returns the existing file that the result replaces.
    pub(crate) fn replaced(&self) -> Option<&Path> {
        self.to.as_deref().filter(|file| file.exists())
    }

    /// Runs a query and writes its result. A statement without a result, such as `SET`, writes nothing.
    pub(crate) async fn write(&mut self, frame: DataFrame) -> cli::Result<()> {
        let has_result = !frame.schema().fields().is_empty();
        match &self.to {
            Some(_) if !has_result => {
                Err(Failure::usage("--to FILE holds the result of a query; the statement has none"))
            }
            Some(path) => {
                let file = PartFile::create(path)?;
                let mut sink = Sink::new(file.writer());
                let written = write_to(frame, self.format, true, &mut sink).await;
                sink.finish(written, |error| Failure::file("write", path, error))?;
                file.persist()
            }
            None if !has_result => Ok(()),
            None => {
                let is_first = std::mem::take(&mut self.is_first);
                let mut sink = Sink::new(io::stdout());
                let written = write_to(frame, self.format, is_first, &mut sink).await;
                sink.finish(written, Failure::stdout)
            }
        }
    }
}

async fn write_to(
    frame: DataFrame,
    format: OutputFormat,
    is_first: bool,
    output: &mut Sink<impl Write + Send>,
) -> Result<()> {
    let schema = Arc::clone(frame.schema().inner());
    let mut batches = frame.execute_stream().await?;
    match format {
        OutputFormat::Table => {
            let batches: Vec<_> = batches.try_collect().await?;
            if !is_first {
                writeln!(output)?;
            }
            table::write(output, &schema, &batches)?;
        }
        OutputFormat::Csv => {
            let mut writer = WriterBuilder::new().with_header(true).build(&mut *output);
            let mut is_empty = true;
            while let Some(batch) = batches.try_next().await? {
                writer.write(&doubles::as_texts(&guids::as_texts(&batch)?)?)?;
                is_empty = false;
            }
            if is_empty {
                writer.write(&RecordBatch::new_empty(schema))?;
            }
        }
        OutputFormat::Jsonl => {
            let builder = JsonWriterBuilder::new().with_encoder_factory(Arc::new(doubles::Json));
            let mut writer = builder.build::<_, LineDelimited>(&mut *output);
            while let Some(batch) = batches.try_next().await? {
                writer.write(&guids::as_texts(&batch)?)?;
            }
            writer.finish()?;
        }
        OutputFormat::Parquet => {
            let properties = WriterProperties::builder()
                .set_compression(Compression::SNAPPY)
                .set_max_row_group_bytes(Some(ROW_GROUP_BYTES))
                .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
                .build();
            let mut writer = ArrowWriter::try_new(&mut *output, schema, Some(properties))?;
            while let Some(batch) = batches.try_next().await? {
                writer.write(&batch)?;
            }
            writer.close()?;
        }
    }
    Ok(output.flush()?)
}
