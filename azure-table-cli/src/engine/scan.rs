//! The rows of a table that a command reads: which ones, from which key on, and how fast.

use azure_table_client::client::{Query, QueryPlan};
use azure_table_client::edm::EdmDateTime;
use azure_table_client::filter::{CompareOp, Filter};
use azure_table_client::{DynamicEntity, ETag, EntityKey, Error, TableClient, TableEntity};
use futures_util::future::ready;
use futures_util::stream::{self, BoxStream, StreamExt as _, TryStreamExt as _};

use crate::args::Rate;
use crate::failure::{Failure, Result};

/// The results of a scan, one after another.
pub(crate) type Rows<T = DynamicEntity> = BoxStream<'static, Result<T>>;

/// A scan that is about to begin.
#[derive(Debug, Clone)]
pub(crate) struct Scan {
    pub(crate) table: TableClient<DynamicEntity>,
    pub(crate) filter: Option<String>,
    /// The properties that are read; all if there is none.
    pub(crate) select: Vec<String>,
    /// Rows with an earlier Timestamp are left out.
    pub(crate) since: Option<EdmDateTime>,
    /// The limit on the rows.
    pub(crate) take: Option<u64>,
    /// The number of key ranges that are read at the same time.
    pub(crate) ranges: usize,
    pub(crate) rate: Rate,
}

/// The keys of a row.
#[derive(Debug, TableEntity)]
pub(crate) struct Keys {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    row: String,
}

/// A row, or the key of one that cannot be read, with the reason.
#[derive(Debug)]
pub(crate) enum Read {
    Row(DynamicEntity),
    Unreadable(EntityKey, String),
}

impl Read {
    pub(crate) fn key(&self) -> &EntityKey {
        match self {
            Self::Row(row) => row.key(),
            Self::Unreadable(key, _) => key,
        }
    }
}

impl Scan {
    /// A scan of all rows, one range at a time.
    pub(crate) fn of(table: TableClient<DynamicEntity>, rate: Rate) -> Self {
        let (filter, since, take) = (None, None, None);
        Self { table, filter, select: Vec::new(), since, take, ranges: 1, rate }
    }

    /// The part of the table that the service scans.
    pub(crate) fn plan(&self) -> Result<QueryPlan> {
        Ok(self.query::<DynamicEntity>().plan()?)
    }

    /// The whole rows, or their selected properties.
    pub(crate) fn rows(&self) -> Rows {
        self.results(self.selected())
    }

    /// The rows after a key in key order, or all rows.
    pub(crate) fn rows_after(&self, after: Option<&EntityKey>) -> Result<Rows> {
        let parts = parts(self.selected(), after)?.into_iter().map(|query| self.results(query));
        Ok(stream::iter(parts.collect::<Vec<_>>()).flatten().boxed())
    }

    /// The rows after a key in key order, or all rows. A row that cannot be read does not end the scan.
    pub(crate) fn reads_after(&self, after: Option<&EntityKey>) -> Result<Rows<Read>> {
        let since = self.since;
        let read = |row| match row {
            Ok(row) => Ok(Read::Row(row)),
            Err(error) => read_error(error),
        };
        let is_selected = move |read: &Read| match read {
            Read::Row(row) => is_since(row, since),
            Read::Unreadable(..) => true,
        };
        let parts = parts(self.selected(), after)?.into_iter().map(|query| {
            let rows = self.results(query.results()).and_then(move |row| ready(read(row)));
            rows.try_filter(move |read| ready(is_selected(read))).boxed()
        });
        Ok(stream::iter(parts.collect::<Vec<_>>()).flatten().boxed())
    }

    /// The rows with their versions.
    pub(crate) fn versions(&self) -> Rows<(DynamicEntity, ETag)> {
        self.results(self.selected().with_etags())
    }

    /// The keys of the rows.
    pub(crate) fn keys(&self) -> Rows<EntityKey> {
        let Some(since) = self.since else {
            let keys = self.query::<Keys>().select(|keys| (keys.partition, keys.row));
            let key = |(partition, row): (String, String)| EntityKey::new(partition, row);
            return self.results(keys).map_ok(key).boxed();
        };
        let keys =
            self.query::<DynamicEntity>().select_names(["PartitionKey", "RowKey", "Timestamp"]);
        let rows = self.results(keys).try_filter(move |row| ready(is_since(row, Some(since))));
        rows.map_ok(|row| row.key().clone()).boxed()
    }

    /// The keys of the rows with the versions of the rows.
    pub(crate) fn key_versions(&self) -> Rows<(EntityKey, ETag)> {
        let keys = self.query::<Keys>().select(|keys| (keys.partition, keys.row)).with_etags();
        let key = |((partition, row), etag): ((String, String), ETag)| {
            (EntityKey::new(partition, row), etag)
        };
        self.results(keys).map_ok(key).boxed()
    }

    /// The PartitionKey of each row. Those of one partition follow each other if they are to be `grouped`.
    pub(crate) fn partitions(&self, grouped: bool) -> Rows<String> {
        let keys = self.query::<Keys>().select(|keys| keys.partition);
        if self.ranges > 1 && !grouped {
            let keys = keys.parallel(self.ranges).unordered().stream();
            return keys.map_err(Failure::from).boxed();
        }
        self.results(keys)
    }

    fn selected(&self) -> Query<DynamicEntity> {
        let query = self.query();
        if self.select.is_empty() { query } else { query.select_names(&self.select) }
    }

    fn query<E: TableEntity>(&self) -> Query<E> {
        let query = self.rate.limit_query(self.table.with_entity::<E>().query().allow_scan());
        let query = match self.take {
            Some(rows) => query.take(rows),
            None => query,
        };
        match &self.filter {
            Some(filter) => query.filter_text(filter),
            None => query,
        }
    }

    fn results<E: 'static, T: Send + 'static>(&self, query: Query<E, T>) -> Rows<T> {
        let rows =
            if self.ranges > 1 { query.parallel(self.ranges).stream() } else { query.stream() };
        rows.map_err(Failure::from).boxed()
    }
}

/// One query of all rows, or the queries of the rows after a key: first the rest of its partition, then the partitions after
/// it. A single filter with `or` would make the service scan the table from its beginning.
fn parts(
    query: Query<DynamicEntity>,
    after: Option<&EntityKey>,
) -> Result<Vec<Query<DynamicEntity>>> {
    let Some(key) = after else { return Ok(vec![query]) };
    let beyond = |name: &str, value: &str| {
        Filter::compare(name, CompareOp::Gt, value)
            .map_err(|error| Failure::from(Error::from(error)))
    };
    let rest = query.clone().partition(&key.partition_key);
    Ok(vec![
        rest.matching(&beyond("RowKey", &key.row_key)?),
        query.matching(&beyond("PartitionKey", &key.partition_key)?),
    ])
}

fn read_error(error: azure_table_client::entity::DecodeError) -> Result<Read> {
    match error.key().cloned() {
        Some(key) => Ok(Read::Unreadable(key, error.to_string())),
        None => Err(Error::from(error).into()),
    }
}

/// Whether a row was written since a time. A row without a Timestamp counts.
fn is_since(row: &DynamicEntity, since: Option<EdmDateTime>) -> bool {
    since.is_none_or(|since| row.timestamp().is_none_or(|time| time >= since))
}

/// Whether a table has a row. Only its keys are read.
pub(crate) async fn has_row(table: &TableClient<DynamicEntity>, key: &EntityKey) -> Result<bool> {
    let row = Filter::compare("RowKey", CompareOp::Eq, key.row_key.as_str());
    let filter = Filter::partition(&*key.partition_key) & row.map_err(Error::from)?;
    let query = table.with_entity::<Keys>().query().matching(&filter);
    Ok(!query.select(|keys| keys.row).await?.is_empty())
}
