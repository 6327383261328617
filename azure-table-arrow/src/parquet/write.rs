//! Writing Parquet.

use std::fmt;
use std::io::Write;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use azure_table_client::DynamicEntity;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use crate::{BatchBuilder, Error, TableSchema};

/// The limits of a row group. One is in memory.
const ROW_GROUP_BYTES: usize = 64 << 20;
const ROW_GROUP_ROWS: usize = 1 << 20;

/// Writes rows into a Parquet file with the compression Snappy.
///
/// A row group has up to 64 MiB of encoded values or 1,048,576 rows; one row group and one batch are in memory. A file that
/// is not [finished](Self::finish) cannot be read.
///
/// ```
/// use azure_table_arrow::{ParquetWriter, SchemaOptions, TableSchema};
/// use azure_table_client::DynamicEntity;
///
/// let row = DynamicEntity::new("p", "1").with("Rating", 3);
/// let schema = TableSchema::infer([&row], &SchemaOptions::new())?;
/// let mut writer = ParquetWriter::new(Vec::new(), &schema)?;
/// writer.write(&row)?;
/// let file = writer.finish()?;
/// assert_eq!(&file[..4], b"PAR1");
/// # Ok::<(), azure_table_arrow::Error>(())
/// ```
pub struct ParquetWriter<W: Write + Send> {
    writer: ArrowWriter<W>,
    builder: BatchBuilder,
    schema: SchemaRef,
    rows: u64,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(output: W, schema: &TableSchema) -> Result<Self, Error> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_bytes(Some(ROW_GROUP_BYTES))
            .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
            .build();
        let writer = ArrowWriter::try_new(output, schema.arrow(), Some(properties))?;
        let builder = BatchBuilder::new(schema).batch_size(1024);
        Ok(Self { writer, builder, schema: schema.arrow(), rows: 0 })
    }

    /// Writes a row. A row that does not fit the schema is not written, and the writer remains usable.
    ///
    /// # Errors
    /// The errors of [`BatchBuilder::append`], or the file cannot be written.
    pub fn write(&mut self, row: &DynamicEntity) -> Result<(), Error> {
        self.builder.append(row)?;
        self.rows += 1;
        if self.builder.is_full() { self.write_rows() } else { Ok(()) }
    }

    /// Writes the rows of a batch that has the columns of the file; their metadata may differ.
    ///
    /// # Errors
    /// The batch has another schema, or the file cannot be written.
    pub fn write_batch(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let own = self.schema.fields();
        let names = batch.schema();
        let names = names.fields().iter().map(|field| field.name());
        if !names.eq(own.iter().map(|field| field.name())) {
            return Err(Error::Schema("the batch has other columns than the file".to_owned()));
        }
        // It checks the types, and that required columns have no nulls.
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), batch.columns().to_vec())?;
        self.write_rows()?;
        self.writer.write(&batch)?;
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// The number of rows that were written or are buffered.
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// The number of bytes in the output, without those of the row group in memory.
    pub fn bytes_written(&self) -> u64 {
        self.writer.bytes_written() as u64
    }

    /// Completes the file, and returns the output. It is flushed.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self) -> Result<W, Error> {
        self.write_rows()?;
        Ok(self.writer.into_inner()?)
    }

    fn write_rows(&mut self) -> Result<(), Error> {
        if !self.builder.is_empty() {
            self.writer.write(&self.builder.finish()?)?;
        }
        Ok(())
    }
}

impl<W: Write + Send> fmt::Debug for ParquetWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParquetWriter").field("rows", &self.rows).finish_non_exhaustive()
    }
}
