//! Reading Parquet.

use std::fmt;
use std::iter::FusedIterator;

use azure_table_client::DynamicEntity;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::ChunkReader;

use super::damage::{self, guarded};
use crate::{Error, RowReader, TableSchema};

/// The size of the values that are read at a time, if the rows have about the same size.
const BATCH_BYTES: u64 = 8 << 20;

/// Reads the rows of a Parquet file; see [`parquet_rows`].
pub struct ParquetRows {
    batches: Option<ParquetRecordBatchReader>,
    rows: Option<RowReader>,
    schema: TableSchema,
    total_rows: u64,
    /// The number of rows in the batches so far.
    read_rows: u64,
}

/// Reads the rows of a Parquet file in order, from a [`File`](std::fs::File), from `bytes::Bytes` in memory, or from another
/// [`ChunkReader`], for example one that reads ranges of a blob. The file is of [`ParquetWriter`](crate::ParquetWriter), or of another program with the
/// same columns (see [`TableSchema::from_arrow`]), with the compression Snappy or none. A few MiB of rows are in memory,
/// besides a page of each column.
///
/// The iterator ends after an error of the file. After a row with an invalid value it continues. A file whose pages hold fewer
/// or more rows than [`ParquetRows::total_rows`] is an error, so that a damaged file does not lose rows silently.
///
/// The `parquet` crate panics on some damaged files. Unless the program aborts on panics, that is an error here; the panic
/// hook still prints its message.
///
/// # Errors
/// The file is not a Parquet file, does not have the keys, has a column of a type that no property has, or its row groups have
/// another number of rows than the file.
pub fn parquet_rows<R: ChunkReader + 'static>(input: R) -> Result<ParquetRows, Error> {
    let length = input.len();
    let builder = guarded(|| ParquetRecordBatchReaderBuilder::try_new(input))??;
    damage::check(builder.metadata(), length)?;
    let schema = TableSchema::from_arrow(builder.schema())?;
    let total_rows = builder.metadata().file_metadata().num_rows();
    let batch_rows = batch_rows(builder.metadata());
    Ok(ParquetRows {
        batches: Some(guarded(|| builder.with_batch_size(batch_rows).build())??),
        rows: None,
        schema,
        total_rows: u64::try_from(total_rows).unwrap_or_default(),
        read_rows: 0,
    })
}

fn batch_rows(metadata: &ParquetMetaData) -> usize {
    let groups = metadata.row_groups().iter();
    let bytes = groups.map(|group| {
        let (bytes, rows) = (group.total_byte_size().max(1), group.num_rows().max(1));
        u64::try_from(bytes / rows).unwrap_or(1).max(1)
    });
    let rows = BATCH_BYTES / bytes.max().unwrap_or(1);
    usize::try_from(rows.clamp(1, 8192)).unwrap_or(1)
}

impl ParquetRows {
    /// The columns of the file.
    pub const fn schema(&self) -> &TableSchema {
        &self.schema
    }

    /// The number of rows in the file.
    pub const fn total_rows(&self) -> u64 {
        self.total_rows
    }

    fn next_batch(&mut self) -> Option<Result<RowReader, Error>> {
        // After an error it is not used again.
        let mut batches = self.batches.take()?;
        match guarded(|| batches.next()) {
            Ok(None) => (self.read_rows != self.total_rows).then(|| Err(self.other_count())),
            Ok(Some(Ok(batch))) => {
                self.read_rows += batch.num_rows() as u64;
                if self.read_rows > self.total_rows {
                    return Some(Err(self.other_count()));
                }
                self.batches = Some(batches);
                Some(RowReader::new(&batch))
            }
            Ok(Some(Err(error))) => Some(Err(error.into())),
            Err(error) => Some(Err(error.into())),
        }
    }

    fn other_count(&self) -> Error {
        let Self { read_rows, total_rows, .. } = self;
        damage::damaged(&format!("its pages have {read_rows} rows instead of {total_rows}")).into()
    }
}

impl Iterator for ParquetRows {
    type Item = Result<DynamicEntity, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.rows.as_mut().and_then(Iterator::next) {
                return Some(row);
            }
            match self.next_batch()? {
                Ok(rows) => self.rows = Some(rows),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl FusedIterator for ParquetRows {}

impl fmt::Debug for ParquetRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParquetRows").field("schema", &self.schema).finish_non_exhaustive()
    }
}
