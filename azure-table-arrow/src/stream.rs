//! Record batches from the stream of a query.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use azure_table_client::DynamicEntity;
use futures_core::Stream;

use crate::{BatchBuilder, Error, TableSchema};

type Rows = Pin<Box<dyn Stream<Item = Result<DynamicEntity, azure_table_client::Error>> + Send>>;

/// A stream of record batches; see [`stream`].
pub struct BatchStream {
    /// `None` after the last row or an error.
    rows: Option<Rows>,
    builder: BatchBuilder,
    /// The error that ended the rows, for after the batch with the rows before it.
    error: Option<Error>,
}

/// Returns the rows of a query as record batches of up to `batch_size` rows. A batch with values of 32 MiB has fewer, and so
/// has the last one.
///
/// The stream ends after the first error: of the query, or of a row that does not fit the schema. The rows before it are
/// returned first.
///
/// ```
/// use azure_table_arrow::{SchemaOptions, TableSchema, stream};
/// use azure_table_client::{DynamicEntity, mock::MockTableService};
/// use futures_util::TryStreamExt as _;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), azure_table_arrow::Error> {
/// # let blogs = MockTableService::new().client().table_named::<DynamicEntity>("Blogs");
/// # blogs.create().await?;
/// # for id in 0..5 {
/// #     blogs.insert(&DynamicEntity::new("Channel9", format!("{id}")).with("Rating", id)).await?;
/// # }
/// let sample = blogs.query().take(100).await?;
/// let schema = TableSchema::infer(&sample[..], &SchemaOptions::new())?;
/// let batches: Vec<_> =
///     stream(blogs.query().parallel(4).stream(), &schema, 2).try_collect().await?;
/// assert_eq!(batches.iter().map(|batch| batch.num_rows()).collect::<Vec<_>>(), [2, 2, 1]);
/// # Ok(())
/// # }
/// ```
pub fn stream<S>(rows: S, schema: &TableSchema, batch_size: usize) -> BatchStream
where
    S: Stream<Item = Result<DynamicEntity, azure_table_client::Error>> + Send + 'static,
{
    let builder = BatchBuilder::new(schema).batch_size(batch_size);
    BatchStream { rows: Some(Box::pin(rows)), builder, error: None }
}

impl BatchStream {
    /// Returns the schema of all batches: that of the [`TableSchema`] of the stream. It is known from the start, also if no
    /// batch follows.
    pub fn schema(&self) -> SchemaRef {
        self.builder.schema()
    }
}

impl Stream for BatchStream {
    type Item = Result<RecordBatch, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        while let Some(rows) = &mut this.rows {
            let added = match rows.as_mut().poll_next(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(row)) => {
                    row.map_err(Error::from).and_then(|row| this.builder.append(&row))
                }
                Poll::Ready(None) => {
                    this.rows = None;
                    break;
                }
            };
            if let Err(error) = added {
                (this.rows, this.error) = (None, Some(error));
            } else if this.builder.is_full() {
                return Poll::Ready(Some(this.builder.finish()));
            }
        }
        if this.builder.is_empty() {
            return Poll::Ready(this.error.take().map(Err));
        }
        Poll::Ready(Some(this.builder.finish()))
    }
}

impl fmt::Debug for BatchStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchStream").field("builder", &self.builder).finish_non_exhaustive()
    }
}
