//! Reading one entity by its key, and merging its row into the tracker.

use std::sync::Arc;

use super::tracker::Tracked;
use super::{ContextTable, MergeOption, TableContext};
use crate::client::TableClient;
use crate::entity::{EntityKey, IntoKey, NamedTable, TableEntity};
use crate::error::Error;
use crate::pipeline::CallOptions;

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
                self.context.tracker.merge_missing(&self.table, &key, option);
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
