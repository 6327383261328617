//! Reading entities into a context: by a query, or one by its key.

use std::collections::BTreeSet;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::TryStreamExt as _;

use super::entity::{Known, Tracked};
use super::merge::ServerRow;
use super::{ContextTable, MergeOption, TableContext};
use crate::client::{EntityStream, Query, QueryCost, TableClient};
use crate::client_core::ClientCore;
use crate::entity::{DynamicEntity, EntityKey, IntoKey, NamedTable, Readable, TableEntity};
use crate::error::Error;
use crate::outcome::{Found, Properties};
use crate::pipeline::CallOptions;

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
        let etag = server.found.etag.clone();
        if option == MergeOption::NoTracking {
            return Ok(row.to_entity()?);
        }
        let id = self.tracker.identity(table, row.key());
        let values = self.tracker.merge_row(table, server, option);
        let version = self.tracker.get(&id).and_then(Tracked::etag);
        if version != Some(&etag) {
            // The values are not those of the row's version.
            row.set_version(version.cloned());
        }
        row.replace_properties(values.into_iter().collect());
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
            Some(columns) => Known::Selected(columns.clone()),
            // Properties that cannot be read stay in the service, as long as no replace removes them.
            None if !errors.is_empty() => {
                Known::Selected(row.properties().map(|(name, _)| name.to_owned()).collect())
            }
            None => Known::All,
        };
        let properties = row.properties().map(|(name, value)| (name.to_owned(), value.clone()));
        let properties: Properties = properties.collect();
        let found = Found { etag, timestamp: row.timestamp(), properties };
        let server = ServerRow { key: row.key().clone(), found, known };
        Ok((row, server))
    }
}

impl TableContext {
    /// Returns the entity with these keys, from the tracker or from the service; see
    /// [`ContextTable::find`].
    ///
    /// # Errors
    /// The same errors as that method.
    pub async fn find<T: NamedTable>(&mut self, key: impl IntoKey) -> Result<Option<T>, Error> {
        let key = key.into_key()?;
        self.table::<T>().find(key).await
    }

    /// Reads the entity's row and merges it into the tracker; see [`ContextTable::refresh`].
    ///
    /// # Errors
    /// The same errors as that method.
    pub async fn refresh<T: NamedTable>(
        &mut self,
        entity: &T,
        option: MergeOption,
    ) -> Result<Option<T>, Error> {
        let key = entity.entity_key()?;
        self.table::<T>().refresh_key(key, option).await
    }
}

impl<T: TableEntity> ContextTable<'_, T> {
    /// Returns the entity with these keys; `None` if the service has no such row, or if the next save deletes
    /// it.
    ///
    /// With [`MergeOption::AppendOnly`], the default, a tracked entity is returned with its local changes and
    /// without its Timestamp. That costs no request, unless a projection has left columns out. In all other
    /// cases one row is read at the primary and merged like by a query with the context's
    /// [`merge_option`](TableContext::merge_option): new entities are tracked; a tracked entity without a row
    /// does not change.
    ///
    /// # Errors
    /// Like [`TableClient::get`], but a missing row is `None`. Before anything is sent: keys that no `T` has.
    ///
    /// REST: [Query Entities](https://learn.microsoft.com/rest/api/storageservices/query-entities), `GET`.
    /// Retries: [read](crate::guide::errors#retry-classes).
    pub async fn find(&mut self, key: impl IntoKey) -> Result<Option<T>, Error> {
        let key = key.into_key()?;
        let client = self.client();
        client.check_key(&key)?;
        let option = self.context.merge_option;
        if option == MergeOption::AppendOnly {
            if self.is_deleted(&key) {
                return Ok(None);
            }
            if let Some(entity) = self.tracked(&key) {
                return Ok(Some(entity));
            }
        }
        let Some(row) = client.get_row(&key, CallOptions::default()).await? else {
            return Ok(None);
        };
        let entity = self.context.merge(&self.table, row, option, None)?;
        let is_hidden = option != MergeOption::NoTracking && self.is_deleted(&key);
        Ok(if is_hidden { None } else { Some(entity) })
    }

    /// Reads the entity's row at the primary, and merges it into the tracked entity. Returns the result; `None`
    /// if the row is gone.
    ///
    /// | option | the row exists | the row is gone |
    /// |---|---|---|
    /// | `AppendOnly` | a tracked entity does not change | no change |
    /// | `OverwriteChanges` | the server's values, `Unchanged`; local changes are lost | detached |
    /// | `PreserveChanges` | the server's values and ETag under the local changes: the client wins | `Added` and `Modified` are inserted by the next save; `Unchanged` and `Deleted` are detached |
    ///
    /// All three track an entity that is not tracked yet if its row exists. An entity whose state is
    /// [`Unknown`](super::EntityState::Unknown) does not change until the next save resolves it; see [`MergeOption`].
    ///
    /// # Errors
    /// [`MergeOption::NoTracking`] is an error of kind [`InvalidInput`](crate::ErrorKind::InvalidInput):
    /// [`TableClient::get`] reads without a context. Otherwise like [`find`](Self::find).
    ///
    /// REST: [Query Entities](https://learn.microsoft.com/rest/api/storageservices/query-entities), `GET`.
    /// Retries: [read](crate::guide::errors#retry-classes).
    pub async fn refresh(&mut self, entity: &T, option: MergeOption) -> Result<Option<T>, Error> {
        let key = entity.entity_key()?;
        self.refresh_key(key, option).await
    }

    /// Does the same for the entity with these keys; see [`refresh`](Self::refresh).
    ///
    /// # Errors
    /// The same errors as that method.
    pub async fn refresh_key(
        &mut self,
        key: impl IntoKey,
        option: MergeOption,
    ) -> Result<Option<T>, Error> {
        if option == MergeOption::NoTracking {
            return Err(Error::invalid_input(
                "a refresh without tracking has no effect: use `TableClient::get`",
            ));
        }
        let key = key.into_key()?;
        match self.client().get_row(&key, CallOptions::default()).await? {
            Some(row) => self.context.merge(&self.table, row, option, None).map(Some),
            None => {
                let id = self.context.tracker.identity(&self.table, &key);
                self.context.tracker.merge_missing(&id, option, false);
                Ok(None)
            }
        }
    }

    fn client(&self) -> TableClient<T> {
        TableClient::new(Arc::clone(&self.context.core), self.table.to_string())
    }

    fn is_deleted(&self, key: &EntityKey) -> bool {
        self.context.tracker.find(&self.table, key).is_some_and(Tracked::is_deleted)
    }

    /// Returns the tracked entity; `None` if only its row has the columns or the Timestamp of a `T`.
    fn tracked(&self, key: &EntityKey) -> Option<T> {
        let tracked = self.context.tracker.find(&self.table, key)?;
        if tracked.is_partly_known() {
            return None;
        }
        tracked.current().to_entity(tracked.etag()).ok()
    }
}
