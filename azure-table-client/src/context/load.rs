//! Loading the entities of a query into a context.

use std::collections::BTreeSet;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::TryStreamExt as _;

use super::MergeOption;
use super::TableContext;
use super::tracker::{Known, ServerRow, Tracked};
use crate::client::{EntityStream, Query, QueryCost};
use crate::client_core::ClientCore;
use crate::entity::{DynamicEntity, Readable, TableEntity};
use crate::error::Error;
use crate::outcome::Properties;

/// A query whose entities the context tracks. It is sent when it is awaited, and returns all of them.
#[must_use = "a query is sent when it is awaited"]
pub struct Load<'c, T> {
    context: &'c mut TableContext,
    query: Query<T>,
    option: MergeOption,
}

impl<T: TableEntity> Load<'_, T> {
    /// Sets how rows of tracked entities are merged, in place of the context's
    /// [`merge_option`](TableContext::merge_option).
    pub fn merge_option(self, option: MergeOption) -> Self {
        Self { option, ..self }
    }

    async fn send(self) -> Result<Vec<T>, Error> {
        let Self { context, query, option } = self;
        let table = query.table();
        let columns = query.tracked_columns(&context.core)?;
        let rows = query.into_dynamic().await?.into_iter();
        rows.map(|row| context.merge(&table, row, option, columns.as_ref())).collect()
    }
}

impl<T: TableEntity + 'static> Load<'_, T> {
    /// Returns the first entity in key order; `None` if the query finds no entity.
    ///
    /// # Errors
    /// The errors of the query.
    pub async fn first(self) -> Result<Option<T>, Error> {
        Ok(self.at_most(1).await?.pop())
    }

    /// Returns the only entity.
    ///
    /// # Errors
    /// [`ErrorKind::NotSingle`](crate::ErrorKind::NotSingle) if the query has no row, or more than one.
    pub async fn single(self) -> Result<T, Error> {
        let table = self.query.table();
        let entity = self.single_or_none().await?;
        entity.ok_or_else(|| Error::not_single(format!("the query of {table} has no result")))
    }

    /// Returns the only entity; `None` if the query finds no entity.
    ///
    /// # Errors
    /// [`ErrorKind::NotSingle`](crate::ErrorKind::NotSingle) if there are several.
    pub async fn single_or_none(self) -> Result<Option<T>, Error> {
        let table = self.query.table();
        let mut entities = self.at_most(2).await?;
        if entities.len() > 1 {
            return Err(Error::not_single(format!(
                "the query of {table} has more than one result"
            )));
        }
        Ok(entities.pop())
    }

    fn at_most(self, entities: u64) -> Self {
        Self { query: self.query.take_at_most(entities), ..self }
    }
}

impl<'c, T: TableEntity + 'static> IntoFuture for Load<'c, T> {
    type Output = Result<Vec<T>, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'c>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

opaque_debug!(<T> Load<'_, T>, |it| query: it.query);

/// The entities of a query, one by one, tracked by the context that each step receives.
pub struct Cursor<T> {
    core: Arc<ClientCore>,
    table: Arc<str>,
    rows: EntityStream<Readable>,
    option: MergeOption,
    columns: Option<BTreeSet<String>>,
    entity: PhantomData<fn() -> T>,
}

impl<T: TableEntity> Cursor<T> {
    /// Sets how rows of tracked entities are merged, in place of the context's
    /// [`merge_option`](TableContext::merge_option).
    #[must_use]
    pub fn merge_option(self, option: MergeOption) -> Self {
        Self { option, ..self }
    }

    /// Returns the next entity; `None` after the last one and after an error of a request.
    ///
    /// # Errors
    /// The errors of the query. A row that cannot be decoded is an error of its step, and is not tracked; the next
    /// step returns the next row. A context of another client, which may save to another account, is refused.
    pub async fn next(&mut self, context: &mut TableContext) -> Result<Option<T>, Error> {
        if !Arc::ptr_eq(&self.core, &context.core) {
            return Err(Error::invalid_input(
                "the context and the cursor are of different clients",
            ));
        }
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
    /// Sends a query of this context's client, and tracks its entities. The result has all of them. Use it for entities
    /// that the next save changes.
    ///
    /// A row that cannot be decoded is an error: the context cannot track it. A [`cursor`](Self::cursor) continues after
    /// it; [`Query::results`] finds such rows without a context. With [`Query::select_names`], an update cannot remove a
    /// property of such an entity: that requires a replace, which would lose the other properties.
    ///
    /// # Errors
    /// The errors of the query. A query that another client created, which may read another account, and a query
    /// [of one kind](Query::of_kind) are refused before anything is sent.
    pub fn load<T: TableEntity>(&mut self, query: Query<T>) -> Load<'_, T> {
        let option = self.merge_option;
        Load { context: self, query, option }
    }

    /// Returns the entities of a query of this context's client one by one. Use it to update or delete entities between
    /// the steps: the cursor borrows the context for each step only.
    ///
    /// # Errors
    /// A query that [`load`](Self::load) refuses.
    pub fn cursor<T: TableEntity>(&self, query: Query<T>) -> Result<Cursor<T>, Error> {
        let table = query.table();
        let columns = query.tracked_columns(&self.core)?;
        let (rows, option) = (query.into_dynamic().stream(), self.merge_option);
        let core = Arc::clone(&self.core);
        Ok(Cursor { core, table, rows, option, columns, entity: PhantomData })
    }

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
        let properties_of = |row: &DynamicEntity| -> Properties {
            row.properties().map(|(name, value)| (name.to_owned(), value.clone())).collect()
        };
        let stored = self.hooks.reading.as_mut().map(|hook| {
            let stored = properties_of(&row);
            hook(&mut row);
            stored
        });
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
        let properties = properties_of(&row);
        let server = ServerRow { key: row.key().clone(), etag, properties, stored, known };
        Ok((row, server))
    }
}
