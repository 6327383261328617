//! What is done to whole partitions and tables.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};

use super::report::{BulkError, BulkReport, Cause};
use super::{Bulk, BulkOperation};
use crate::client::{Query, TableClient};
use crate::entity::{DecodeError, DynamicEntity, EntityKey, Row, TableEntity};
use crate::error::Error;
use crate::etag::{ETag, IfMatch};
use crate::filter::{Condition, Filter, HasColumns, Projection, Selection};

impl<T: TableEntity> TableClient<T> {
    /// Many rows at once; see [`Bulk`].
    pub fn bulk(&self) -> Bulk<T> {
        Bulk::new(self.clone())
    }
}

impl<T: TableEntity + 'static> TableClient<T> {
    /// Deletes all rows of a partition; see [`Bulk::delete_matching`].
    pub async fn delete_partition(
        &self,
        partition_key: impl Into<String>,
    ) -> Result<BulkReport, BulkError> {
        self.bulk().delete_matching(&Filter::partition(partition_key)).await
    }

    /// Deletes the rows for which the condition holds; see [`Bulk::delete_where`].
    pub async fn delete_where(
        &self,
        condition: impl FnOnce(T::Columns<T>) -> Condition<T>,
    ) -> Result<BulkReport, BulkError>
    where
        T: HasColumns,
    {
        self.bulk().delete_where(condition).await
    }

    /// Deletes all rows and keeps the table; see [`Bulk::delete_all`].
    pub async fn truncate(&self) -> Result<BulkReport, BulkError> {
        self.bulk().delete_all().await
    }

    /// Copies all rows into another table, which must be there; see [`Bulk::copy_from`].
    pub async fn copy_table<U: TableEntity + 'static>(
        &self,
        target: &TableClient<U>,
    ) -> Result<BulkReport, BulkError> {
        target.bulk().copy_from(self).await
    }
}

impl<T: TableEntity + 'static> Bulk<T> {
    /// Deletes the rows for which the condition holds.
    ///
    /// Only keys are read. Each row is deleted whatever its version then is, also one that somebody
    /// changed since it was found; that it is gone already counts as done.
    ///
    /// ```
    /// # use azure_table_client::{TableEntity, mock::MockTableService};
    /// # #[derive(TableEntity)]
    /// # #[table(name = "Blogs")]
    /// # struct Blog {
    /// #     #[table(partition_key)]
    /// #     channel: String,
    /// #     #[table(row_key)]
    /// #     id: u32,
    /// #     rating: i32,
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let blogs = MockTableService::new().client().table::<Blog>();
    /// # blogs.create().await?;
    /// # for id in 0..10 {
    /// #     blogs.insert(&Blog { channel: "Channel9".into(), id, rating: id as i32 }).await?;
    /// # }
    /// let report = blogs.delete_where(|b| b.channel.eq("Channel9") & b.rating.lt(4)).await?;
    /// assert_eq!((report.progress.applied, blogs.query().count().await?), (4, 6));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`run`](Self::run); that of the query ends the run. A checkpoint is refused: what was
    /// deleted is not found again, so that a second run does what is left.
    pub async fn delete_where(
        self,
        condition: impl FnOnce(T::Columns<T>) -> Condition<T>,
    ) -> Result<BulkReport, BulkError>
    where
        T: HasColumns,
    {
        let query = self.table.query().filter(condition);
        self.delete(query, false).await
    }

    /// Deletes the rows that match a filter; else as [`delete_where`](Self::delete_where).
    ///
    /// # Errors
    /// As [`delete_where`](Self::delete_where).
    pub async fn delete_matching(self, filter: &Filter) -> Result<BulkReport, BulkError> {
        let query = self.table.query().matching(filter);
        self.delete(query, false).await
    }

    /// Deletes the rows that match a filter, but not those that somebody changed since they were
    /// found: they fail with 412 `UpdateConditionNotSatisfied`.
    ///
    /// # Errors
    /// As [`delete_where`](Self::delete_where).
    pub async fn delete_unchanged(self, filter: &Filter) -> Result<BulkReport, BulkError> {
        let query = self.table.query().matching(filter);
        self.delete(query, true).await
    }

    /// Deletes all rows and keeps the table. To delete and create it is faster, but the service does
    /// not create a table while one of that name is being deleted.
    ///
    /// # Errors
    /// As [`delete_where`](Self::delete_where).
    pub async fn delete_all(self) -> Result<BulkReport, BulkError> {
        let query = self.table.query().allow_scan();
        self.delete(query, false).await
    }

    async fn delete(self, query: Query<T>, if_unchanged: bool) -> Result<BulkReport, BulkError> {
        if self.checkpoint.settled() > 0 {
            let error = Error::invalid_input(
                "a run that deletes what it finds is not resumed: what was deleted is not found again",
            );
            let input = stream::iter([Err(Arc::new(error) as Cause)]);
            return self.drive(input).await;
        }
        let found = query.project(Found).stream();
        let operations = found.map(move |found| {
            let (key, etag) = found.map_err(|error| Arc::new(error) as Cause)?;
            let condition = match etag {
                _ if !if_unchanged => IfMatch::Any,
                Some(etag) => IfMatch::Tag(etag),
                None => return Err(without_etags()),
            };
            Ok(BulkOperation::DeleteIfExists(key, condition))
        });
        self.drive(operations).await
    }

    /// Copies all rows of another table, also one of another account, into this one. A row that is
    /// there is replaced; others stay.
    ///
    /// Rows travel as [`DynamicEntity`], with all properties and their types. They are written as they
    /// are read, so that memory is bounded; what is changed in the source meanwhile may be copied or
    /// not. Timestamps and ETags are the target's own.
    ///
    /// ```
    /// # use azure_table_client::{DynamicEntity, mock::MockTableService};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let service = MockTableService::new().client();
    /// # let blogs = service.table_named::<DynamicEntity>("Blogs");
    /// # blogs.create().await?;
    /// # blogs.insert(&DynamicEntity::new("Channel9", "1")).await?;
    /// let archive = service.table_named::<DynamicEntity>("Archive");
    /// archive.create_if_not_exists().await?;
    /// let report = blogs.copy_table(&archive).await?;
    /// assert_eq!((report.progress.applied, archive.query().count().await?), (1, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`run`](Self::run); that of the query ends the run. It can be resumed if the source has the
    /// same rows.
    pub async fn copy_from<U: TableEntity>(
        self,
        source: &TableClient<U>,
    ) -> Result<BulkReport, BulkError> {
        let rows = source.with_entity::<DynamicEntity>().query().allow_scan().stream();
        self.with_entity::<DynamicEntity>()
            .try_run_stream(rows.map_ok(BulkOperation::InsertOrReplace))
            .await
    }

    fn with_entity<U: TableEntity>(self) -> Bulk<U> {
        Bulk {
            table: self.table.with_entity(),
            concurrency: self.concurrency,
            window: self.window,
            patience: self.patience,
            retry: self.retry,
            keeps_all: self.keeps_all,
            checkpoint: self.checkpoint,
            monitor: self.monitor,
            callbacks: self.callbacks,
        }
    }
}

/// Without a version, a delete would be one of any version.
fn without_etags() -> Cause {
    Arc::new(Error::invalid_input(
        "a delete of what is unchanged needs ETags, which Metadata::None leaves out; \
         use Metadata::Minimal",
    ))
}

/// What is read of a row that is to be deleted: its keys, and its version, which comes with them.
struct Found;

impl<E> Projection<E> for Found {
    type Output = (EntityKey, Option<ETag>);

    fn select(&self, selection: &mut Selection) {
        selection.system("PartitionKey");
        selection.system("RowKey");
    }

    fn read(&self, row: &mut Row<'_>, _: &mut usize) -> Result<Self::Output, DecodeError> {
        let key = row.entity_key().ok_or_else(|| row.missing("RowKey"))?;
        Ok((key, row.etag()))
    }
}
