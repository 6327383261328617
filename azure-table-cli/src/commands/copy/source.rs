//! The rows of the source table, from a position on.

use azure_table_client::client::Query;
use azure_table_client::edm::EdmDateTime;
use azure_table_client::filter::{CompareOp, Filter};
use azure_table_client::{DynamicEntity, EntityKey, Error, Stored, TableClient};
use futures_util::future::ready;
use futures_util::stream::{self, BoxStream, StreamExt as _, TryStreamExt as _};

use crate::side_table::SideTable;

/// The number of rows that are read again at the same time.
const AGAIN: usize = 8;

/// A step of reading the source.
#[derive(Debug)]
pub(super) enum Read {
    Row(DynamicEntity),
    /// A row that cannot be copied, for this reason.
    Refused(EntityKey, String),
    /// A row that an earlier run did not resolve and that the source does not have any more.
    Missing(EntityKey),
}

impl Read {
    pub(super) fn key(&self) -> &EntityKey {
        match self {
            Self::Row(row) => row.key(),
            Self::Refused(key, _) | Self::Missing(key) => key,
        }
    }
}

/// A key, and the rows of the source and of the target that have it.
pub(super) type Pair = (EntityKey, Option<DynamicEntity>, Option<DynamicEntity>);

/// The source table and the selection of its rows.
#[derive(Debug, Clone)]
pub(in crate::commands) struct Source {
    pub(in crate::commands) table: TableClient<DynamicEntity>,
    pub(in crate::commands) filter: Option<String>,
    /// Rows with an earlier Timestamp are left out.
    pub(in crate::commands) since: Option<EdmDateTime>,
    /// The number of key ranges that are read at the same time.
    pub(in crate::commands) ranges: usize,
}

impl Source {
    /// Selects the rows that were written since a time, or all rows.
    pub(in crate::commands) fn written_since(
        side: &SideTable,
        since: Option<EdmDateTime>,
        ranges: usize,
    ) -> Self {
        // In Cosmos DB, a filter on the Timestamp finds no row: all rows are read.
        let filter = since.filter(|_| side.has_key_order());
        let filter = filter.map(|since| format!("Timestamp ge datetime'{}'", since.trimmed()));
        Self { table: side.rows.clone(), filter, since, ranges }
    }

    /// Reads the keys of the rows.
    pub(in crate::commands) fn keys(&self) -> BoxStream<'static, Result<EntityKey, Error>> {
        let (since, ranges) = (self.since, self.ranges);
        let query = self.query().select_names(["PartitionKey", "RowKey", "Timestamp"]);
        let rows = if ranges > 1 { query.parallel(ranges).stream() } else { query.stream() };
        rows.try_filter(move |row| ready(is_since(row, since)))
            .map_ok(|row| row.key().clone())
            .boxed()
    }

    /// Reads the rows after this key in key order, or all rows.
    pub(super) fn rows_after(
        &self,
        after: Option<&EntityKey>,
    ) -> Result<BoxStream<'static, Result<Read, Error>>, Error> {
        let Some(EntityKey { partition_key, row_key }) = after else {
            return Ok(self.scan(None));
        };
        // One filter for both would make the service scan the table from its beginning.
        let rest = Filter::partition(partition_key)
            & Filter::compare("RowKey", CompareOp::Gt, row_key.as_str())?;
        let later = Filter::compare("PartitionKey", CompareOp::Gt, partition_key.as_str())?;
        Ok(self.scan(Some(rest)).chain(self.scan(Some(later))).boxed())
    }

    fn scan(&self, keys: Option<Filter>) -> BoxStream<'static, Result<Read, Error>> {
        let mut query = self.query();
        if let Some(keys) = keys {
            query = query.matching(&keys);
        }
        let query = query.results();
        let rows =
            if self.ranges > 1 { query.parallel(self.ranges).stream() } else { query.stream() };
        let since = self.since;
        let rows = rows.map(|row| match row? {
            Ok(row) => Ok(Read::Row(row)),
            Err(error) => match error.key().cloned() {
                Some(key) => Ok(Read::Refused(key, error.to_string())),
                None => Err(error.into()),
            },
        });
        let is_selected = move |read: &Read| match read {
            Read::Row(row) => is_since(row, since),
            Read::Refused(..) | Read::Missing(_) => true,
        };
        rows.try_filter(move |read| ready(is_selected(read))).boxed()
    }

    fn query(&self) -> Query<DynamicEntity> {
        let query = self.table.query().allow_scan();
        match &self.filter {
            Some(filter) => query.filter_text(filter),
            None => query,
        }
    }

    /// Reads the rows that an earlier run did not resolve.
    pub(super) fn rows_of(&self, keys: Vec<EntityKey>) -> BoxStream<'static, Result<Read, Error>> {
        let source = self.table.clone();
        let read = move |key| {
            let source = source.clone();
            async move {
                let row = source.get_if_exists(&key).await?;
                Ok(row.map_or(Read::Missing(key), |row| Read::Row(row.into_inner())))
            }
        };
        stream::iter(keys).map(read).buffered(AGAIN).boxed()
    }

    /// Reads these rows and those of the target with the same keys.
    pub(super) fn pairs_of(
        &self,
        keys: Vec<EntityKey>,
        target: &TableClient<DynamicEntity>,
    ) -> BoxStream<'static, Result<Pair, Error>> {
        let (source, target) = (self.table.clone(), target.clone());
        let read = move |key| {
            let (source, target) = (source.clone(), target.clone());
            async move {
                let row = source.get_if_exists(&key).await?;
                let copy = target.get_if_exists(&key).await?;
                Ok((key, row.map(Stored::into_inner), copy.map(Stored::into_inner)))
            }
        };
        stream::iter(keys).map(read).buffered(AGAIN).boxed()
    }
}

/// Whether a row was written since a time. A row without a Timestamp counts.
fn is_since(row: &DynamicEntity, since: Option<EdmDateTime>) -> bool {
    since.is_none_or(|since| row.timestamp().is_none_or(|time| time >= since))
}
