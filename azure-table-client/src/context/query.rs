use std::collections::BTreeSet;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt as _;

use super::MergeOption;
use super::TableContext;
use super::tracker::{Known, ServerRow, Tracked};
use crate::client::{EntityStream, Query, QueryCost};
use crate::entity::{DynamicEntity, Readable, TableEntity};
use crate::error::Error;
use crate::filter::{Condition, Filter, HasColumns, IntoCondition};
use crate::pipeline::RetryPolicy;

/// A query whose entities the context tracks. `.await` collects all of them; a
/// [`cursor`](Self::cursor) returns them one by one while the program changes the context.
///
/// A row that cannot be decoded is an error: the context cannot track it. A cursor continues after it;
/// [`Query::results`] finds such rows without a context.
#[must_use = "a query is sent when it is awaited"]
pub struct ContextQuery<'c, T> {
    context: &'c mut TableContext,
    table: Arc<str>,
    query: Query<T>,
    option: MergeOption,
    columns: Option<BTreeSet<String>>,
}

impl<'c, T: TableEntity> ContextQuery<'c, T> {
    pub(super) fn new(context: &'c mut TableContext, table: Arc<str>, query: Query<T>) -> Self {
        let option = context.merge_option;
        Self { context, table, query, option, columns: None }
    }

    fn map(mut self, change: impl FnOnce(Query<T>) -> Query<T>) -> Self {
        self.query = change(self.query);
        self
    }

    /// Keeps the entities for which the condition holds; see [`Query::filter`]. All filters of a query must match.
    pub fn filter<C>(self, condition: impl FnOnce(T::Columns<T>) -> C) -> Self
    where
        T: HasColumns,
        C: IntoCondition<T>,
    {
        self.map(|query| query.filter(condition))
    }

    /// Keeps the entities for which the condition holds, if there is one; see [`Query::filter_opt`].
    pub fn filter_opt(self, condition: Option<Condition<T>>) -> Self {
        self.map(|query| query.filter_opt(condition))
    }

    /// Keeps the entities of one partition; see [`Query::partition`].
    pub fn partition(self, partition_key: impl Into<String>) -> Self {
        self.map(|query| query.partition(partition_key))
    }

    /// Keeps the entities for which this OData filter holds; see [`Query::filter_text`].
    pub fn filter_text(self, text: &str) -> Self {
        self.map(|query| query.filter_text(text))
    }

    /// Keeps the entities for which this filter holds; see [`Query::matching`].
    pub fn matching(self, filter: &Filter) -> Self {
        self.map(|query| query.matching(filter))
    }

    /// Transfers only these properties; see [`Query::select_names`]. An update cannot remove a property of such
    /// an entity: that requires a replace, which would lose the other properties.
    pub fn select_names<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        self.columns = Some(names.iter().cloned().collect());
        self.map(|query| query.select_names(names))
    }

    /// Returns at most this many entities.
    pub fn take(self, entities: u64) -> Self {
        self.map(|query| query.take(entities))
    }

    /// Sets the maximum number of entities in a page, 1 to 1,000.
    pub fn page_size(self, entities: u32) -> Self {
        self.map(|query| query.page_size(entities))
    }

    /// Sends this query although it scans the whole table; see [`Query::allow_scan`].
    pub fn allow_scan(self) -> Self {
        self.map(Query::allow_scan)
    }

    /// Sets the time limit of each page, including all attempts and waits.
    pub fn deadline(self, deadline: Duration) -> Self {
        self.map(|query| query.deadline(deadline))
    }

    /// Sets the time limit of the whole query; see [`Query::total_deadline`].
    pub fn total_deadline(self, deadline: Duration) -> Self {
        self.map(|query| query.total_deadline(deadline))
    }

    /// Sets the number of rows above which the result is an error; see [`Query::max_rows`].
    pub fn max_rows(self, rows: u64) -> Self {
        self.map(|query| query.max_rows(rows))
    }

    /// Sets the retry policy of each request, in place of the client's policy.
    pub fn retry(self, policy: RetryPolicy) -> Self {
        self.map(|query| query.retry(policy))
    }

    /// Sets how rows of tracked entities are merged, in place of the context's
    /// [`merge_option`](TableContext::merge_option).
    pub fn merge_option(mut self, option: MergeOption) -> Self {
        self.option = option;
        self
    }

    /// Returns the entities one by one. The cursor borrows the context for each step only, so that the program can
    /// update or delete entities between the steps.
    pub fn cursor(self) -> Cursor<T> {
        Cursor {
            table: self.table,
            rows: self.query.into_dynamic().stream(),
            option: self.option,
            columns: self.columns,
            entity: PhantomData,
        }
    }

    async fn collect(self) -> Result<Vec<T>, Error> {
        let Self { context, table, query, option, columns } = self;
        let rows = query.into_dynamic().await?;
        let rows = rows.into_iter();
        rows.map(|row| context.merge(&table, row, option, columns.as_ref())).collect()
    }
}

impl<T: TableEntity + 'static> ContextQuery<'_, T> {
    /// Returns the first entity in key order; `None` if the query finds no entity.
    ///
    /// # Errors
    /// The errors of the query.
    pub async fn first(self) -> Result<Option<T>, Error> {
        Ok(self.map(|query| query.take_at_most(1)).await?.pop())
    }

    /// Returns the only entity.
    ///
    /// # Errors
    /// [`ErrorKind::NotSingle`](crate::ErrorKind::NotSingle) if the query has no row, or more than one.
    pub async fn single(self) -> Result<T, Error> {
        let table = Arc::clone(&self.table);
        let entity = self.single_or_none().await?;
        entity.ok_or_else(|| Error::not_single(format!("the query of {table} has no result")))
    }

    /// Returns the only entity; `None` if the query finds no entity.
    ///
    /// # Errors
    /// [`ErrorKind::NotSingle`](crate::ErrorKind::NotSingle) if there are several.
    pub async fn single_or_none(self) -> Result<Option<T>, Error> {
        let table = Arc::clone(&self.table);
        let mut entities = self.map(|query| query.take_at_most(2)).await?;
        if entities.len() > 1 {
            return Err(Error::not_single(format!(
                "the query of {table} has more than one result"
            )));
        }
        Ok(entities.pop())
    }
}

impl<'c, T: TableEntity + 'static> IntoFuture for ContextQuery<'c, T> {
    type Output = Result<Vec<T>, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'c>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.collect())
    }
}

opaque_debug!(<T> ContextQuery<'_, T>, |it| query: it.query);

/// The entities of a query, one by one, tracked by the context that each step receives.
pub struct Cursor<T> {
    table: Arc<str>,
    rows: EntityStream<Readable>,
    option: MergeOption,
    columns: Option<BTreeSet<String>>,
    entity: PhantomData<fn() -> T>,
}

impl<T: TableEntity> Cursor<T> {
    /// Returns the next entity; `None` after the last one and after an error of a request.
    ///
    /// # Errors
    /// The errors of the query. A row that cannot be decoded is an error of its step, and is not tracked; the next
    /// step returns the next row.
    pub async fn next(&mut self, context: &mut TableContext) -> Result<Option<T>, Error> {
        match self.rows.try_next().await? {
            Some(row) => {
                context.merge(&self.table, row, self.option, self.columns.as_ref()).map(Some)
            }
            None => Ok(None),
        }
    }

    /// The cost of the pages so far.
    pub const fn cost(&self) -> QueryCost {
        self.rows.cost()
    }
}

opaque_debug!(<T> Cursor<T>, |it| table: it.table);

impl TableContext {
    /// Merges a row of the service into the tracked entities, and returns it for the caller.
    pub(super) fn merge<T: TableEntity>(
        &mut self,
        table: &Arc<str>,
        row: Readable,
        option: MergeOption,
        columns: Option<&BTreeSet<String>>,
    ) -> Result<T, Error> {
        row.check::<T>()?;
        let (mut row, server) = self.server_row(row, columns)?;
        let etag = server.etag.clone();
        if option == MergeOption::NoTracking {
            return Ok(row.to_entity()?);
        }
        let id = self.tracker.identity(table, row.key());
        self.tracker.apply_write_id(&id, &server);
        let values = self.tracker.merge_row(table, server, option);
        let version = self.tracker.get(&id).and_then(Tracked::etag);
        if version != Some(&etag) {
            // The values are not those of the row's version.
            row.set_version(version.cloned());
        }
        let values = values.iter().map(|(name, value)| (name.clone(), value.clone()));
        row.replace_properties(values.collect());
        Ok(row.to_entity()?)
    }

    /// Calls the hook for reading, and returns the row for the caller and for the tracker.
    pub(super) fn server_row(
        &mut self,
        row: Readable,
        columns: Option<&BTreeSet<String>>,
    ) -> Result<(DynamicEntity, ServerRow), Error> {
        let Readable { entity: mut row, errors } = row;
        if let Some(hook) = &mut self.hooks.reading {
            hook(&mut row);
        }
        let etag = row
            .etag()
            .cloned()
            .ok_or_else(|| Error::unexpected_reply("a row without its ETag cannot be tracked"))?;
        let known = match columns {
            Some(columns) => Known::Some(columns.clone()),
            // Properties that cannot be read stay in the service, as long as no replace removes them.
            None if !errors.is_empty() => {
                Known::Some(row.properties().map(|(name, _)| name.to_owned()).collect())
            }
            None => Known::All,
        };
        let properties = row.properties().map(|(name, value)| (name.to_owned(), value.clone()));
        let properties = properties.collect();
        let server = ServerRow { key: row.key().clone(), etag, properties, known };
        Ok((row, server))
    }
}
