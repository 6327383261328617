//! Operations on whole partitions and tables.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};

use super::operation::{InvalidRow, Row};
use super::report::{BulkError, BulkReport, Cause};
use super::{Bulk, BulkOperation};
use crate::client::{Query, TableClient};
use crate::entity::{self, DecodeError, DynamicEntity, EntityKey, Readable, TableEntity};
use crate::error::Error;
use crate::filter::{Projection, Selection};
use crate::operation::key::check_partition_key;
use crate::wire::Operation;
use crate::{ETag, IfMatch};

impl<T: TableEntity + 'static> Bulk<T> {
    /// Deletes the rows that a query of this table finds. Use it for rows with a known condition; the guide compares the
    /// [ways to delete](crate::guide::batches#deleting).
    ///
    /// Only keys and versions are read. A row that is already gone counts as success. A row that another program
    /// changed since it was found may no longer match: it is not deleted and fails with 412
    /// `UpdateConditionNotSatisfied`, unless [`any_version`](Self::any_version) is set. Rows of other kinds are deleted
    /// too if the query finds them. [`KeyColumn`](crate::filter::KeyColumn) describes the keys that a range includes.
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
    /// let poor = blogs.query().filter(|b| b.channel.eq("Channel9") & b.rating.lt(4));
    /// let report = blogs.bulk().concurrency(2).delete_found(poor).await?;
    /// assert_eq!((report.progress.applied, blogs.query().count().await?), (4, 6));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Like [`run`](Self::run); an error of the query ends the run. A query of another client or another table is
    /// refused. A checkpoint of a run is refused: the query does not find deleted rows again, so that a second run
    /// deletes the remaining rows. A client with `Metadata::None` reads no versions, and requires `any_version`.
    #[doc(alias("delete_many", "delete_where"))]
    pub async fn delete_found(self, query: Query<T>) -> Result<BulkReport, BulkError> {
        self.delete_rows_of(query).await
    }

    /// Deletes all rows of a partition, in any version, like [`delete_found`](Self::delete_found). Use it to remove
    /// everything under one PartitionKey.
    ///
    /// # Errors
    /// Like [`delete_found`](Self::delete_found). Before anything is sent: a PartitionKey that no `T` has,
    /// such as `"2009_4"` where `T::partition` creates `"2009_04"`.
    pub async fn delete_partition(
        self,
        partition_key: impl Into<String>,
    ) -> Result<BulkReport, BulkError> {
        let partition_key = partition_key.into();
        if let Err(error) = check_partition_key::<T>(&partition_key) {
            return self.refused(error).await;
        }
        let query = self.table.query().partition(partition_key);
        self.any_version().delete_rows_of(query).await
    }

    /// Deletes all rows, in any version, and keeps the table. Use it for a table that stays in use: deleting and creating
    /// the table is faster, but the service does not create a table while one of that name is being deleted.
    ///
    /// # Errors
    /// Like [`delete_found`](Self::delete_found).
    pub async fn truncate(self) -> Result<BulkReport, BulkError> {
        let query = self.table.query().allow_scan();
        self.any_version().delete_rows_of(query).await
    }

    async fn delete_rows_of(self, query: Query<T>) -> Result<BulkReport, BulkError> {
        if let Err(error) = query.check_reads(self.table.core(), self.table.name()) {
            return self.refused(error).await;
        }
        if self.monitor.is_resumed() {
            const REASON: &str = "a run that deletes the rows of a query cannot be resumed: \
                                  the query does not find deleted rows again";
            return self.refused(Error::invalid_input(REASON)).await;
        }
        let any_version = self.any_version;
        let found = query.project(FoundRow).stream();
        let operations = found.map(move |found| {
            let (key, etag) = found.map_err(|error| Arc::new(error) as Cause)?;
            let condition = match etag {
                _ if any_version => IfMatch::Any,
                Some(etag) => IfMatch::Tag(etag),
                None => return Err(without_etags()),
            };
            // The query may find rows that no `T` can be read from.
            Ok(BulkOperation::<DynamicEntity>::DeleteIfExists(key, condition))
        });
        self.apply(operations, Row::new).await
    }

    async fn refused(self, error: Error) -> Result<BulkReport, BulkError> {
        let error: Cause = Arc::new(error);
        let input = stream::iter([Err::<BulkOperation<T>, _>(error)]);
        self.apply(input, Row::new).await
    }

    /// Copies all rows of another table, also one of another account, into this one. Existing rows with the same
    /// keys are replaced; others stay.
    ///
    /// Rows are copied as [`DynamicEntity`], with all properties and their types. They are written while others are
    /// read, so that memory is bounded; concurrent changes of the source may be copied or not. The target sets its
    /// own Timestamps and ETags. A row with a property that cannot be read fails alone.
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
    /// let report = archive.bulk().copy_from(&blogs).await?;
    /// assert_eq!((report.progress.applied, archive.query().count().await?), (1, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Like [`run`](Self::run); an error of the query ends the run. A copy can be resumed if the source has the same
    /// rows. A copy from Cosmos DB, which returns rows in no order, refuses the checkpoint of a run.
    #[doc(alias("copy_table"))]
    pub async fn copy_from<U: TableEntity>(
        self,
        source: &TableClient<U>,
    ) -> Result<BulkReport, BulkError> {
        let dialect = source.core().protocol.dialect();
        if !dialect.has_key_order() && self.monitor.is_resumed() {
            const REASON: &str = "a copy from Cosmos DB cannot be resumed: its rows have no order, \
                                  so that their indices do not identify the copied ones";
            return self.refused(Error::invalid_input(REASON)).await;
        }
        let query = source.with_entity::<DynamicEntity>().query().allow_scan();
        let rows = query.into_dynamic().stream().map_err(|error| Arc::new(error) as Cause);
        self.apply(rows, |job, index, read: Readable| match read.errors.into_iter().next() {
            Some(error) => Err(Box::new(InvalidRow {
                operation: Operation::InsertOrReplace,
                key: Some(read.entity.key().clone()),
                error: error.into(),
            })),
            None => Row::new(job, index, BulkOperation::InsertOrReplace(read.entity)),
        })
        .await
    }
}

/// The error of a delete without a version, which would delete any version.
fn without_etags() -> Cause {
    Arc::new(Error::invalid_input(
        "a delete of unchanged rows requires ETags, which Metadata::None leaves out; \
         use Metadata::Minimal or any_version",
    ))
}

/// Reads the keys and the version of a row that will be deleted.
struct FoundRow;

impl<E> Projection<E> for FoundRow {
    type Output = (EntityKey, Option<ETag>);

    fn select(&self, selection: &mut Selection) {
        selection.system("PartitionKey");
        selection.system("RowKey");
    }

    fn read(&self, row: &mut entity::Row<'_>, _: &mut usize) -> Result<Self::Output, DecodeError> {
        let key = row.entity_key().ok_or_else(|| row.missing("RowKey"))?;
        Ok((key, row.etag()))
    }
}
