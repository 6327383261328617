//! The rows of the source table, from a position on.

use azure_table_client::filter::{CompareOp, Filter};
use azure_table_client::{DynamicEntity, EntityKey, Error, TableClient};
use futures_util::stream::{self, BoxStream, StreamExt as _};

/// The number of rows that are read again at the same time.
const AGAIN: usize = 8;

/// A step of reading the source.
#[derive(Debug)]
pub(super) enum Read {
    Row(DynamicEntity),
    /// A row that cannot be copied, for this reason.
    Refused(EntityKey, String),
    /// A row that an earlier run did not resolve and that the target has.
    Copied(EntityKey),
    /// A row that an earlier run did not resolve and that the source does not have any more.
    Missing(EntityKey),
}

/// The source table and the selection of its rows.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) table: TableClient<DynamicEntity>,
    pub(super) filter: Option<String>,
    /// The number of key ranges that are read at the same time.
    pub(super) ranges: usize,
}

impl Source {
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
        let mut query = self.table.query().allow_scan();
        if let Some(filter) = &self.filter {
            query = query.filter_text(filter);
        }
        if let Some(keys) = keys {
            query = query.matching(&keys);
        }
        let query = query.results();
        let rows =
            if self.ranges > 1 { query.parallel(self.ranges).stream() } else { query.stream() };
        rows.map(|row| match row? {
            Ok(row) => Ok(Read::Row(row)),
            Err(error) => match error.key().cloned() {
                Some(key) => Ok(Read::Refused(key, error.to_string())),
                None => Err(error.into()),
            },
        })
        .boxed()
    }

    /// Reads the rows that an earlier run did not resolve. Rows that the copy `inserts_into` a table are read there first,
    /// because another insert would only fail.
    pub(super) fn rows_of(
        &self,
        keys: Vec<EntityKey>,
        inserts_into: Option<TableClient<DynamicEntity>>,
    ) -> BoxStream<'static, Result<Read, Error>> {
        let source = self.table.clone();
        let read = move |key| read_again(source.clone(), inserts_into.clone(), key);
        stream::iter(keys).map(read).buffered(AGAIN).boxed()
    }
}

async fn read_again(
    source: TableClient<DynamicEntity>,
    inserts_into: Option<TableClient<DynamicEntity>>,
    key: EntityKey,
) -> Result<Read, Error> {
    let Some(row) = source.get_if_exists(&key).await? else {
        return Ok(Read::Missing(key));
    };
    let existing = match inserts_into {
        Some(target) => target.get_if_exists(&key).await?,
        None => None,
    };
    Ok(match existing {
        None => Read::Row(row.entity),
        Some(existing) if has_same_properties(&row, &existing) => Read::Copied(key),
        Some(_) => Read::Refused(key, "the target has a different row with this key".to_owned()),
    })
}

/// Compares the properties, in any order.
fn has_same_properties(a: &DynamicEntity, b: &DynamicEntity) -> bool {
    a.properties().len() == b.properties().len()
        && a.properties().all(|(name, value)| b.value(name) == Some(value))
}
