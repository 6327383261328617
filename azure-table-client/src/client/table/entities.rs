//! Operations on one entity.

use uuid::Uuid;

use super::TableClient;
use crate::client::{Call, GetMany};
use crate::edm::EdmValue;
use crate::entity::{EntityKey, IntoKey, Readable, TableEntity};
use crate::error::{Error, ErrorCode, Outcome};
use crate::limits::{PARTITION_KEY, ROW_KEY};
use crate::operation::entity::{self, RowSource, Update, Write};
use crate::operation::key::check_key;
use crate::operation::{Request, ResponseInfo, Stored, Written, query};
use crate::operation::{done, written};
use crate::outcome;
use crate::pipeline::CallOptions;
use crate::wire::Operation;
use azure_table_protocol::{IfMatch, IntoIfMatch};

impl<T: TableEntity> TableClient<T> {
    /// The request, unless the columns of `T` are at fault.
    fn checked(&self, request: impl FnOnce() -> Result<Request, Error>) -> Result<Request, Error> {
        match &self.fault {
            Some(fault) => Err(fault.clone().into()),
            None => request(),
        }
    }

    /// Inserts a new entity, and returns its version. The response does not contain the entity.
    ///
    /// If the response is lost, the stored row is compared with `entity` by default, so that two programs
    /// that insert identical values can both succeed; if only one may win, call
    /// [`proof(Proof::WriteId)`](crate::Proof), use a
    /// [write id column](crate::TableServiceClientBuilder::write_id_column), or store the owner's id in the
    /// row.
    ///
    /// # Errors
    /// 409 `EntityAlreadyExists` if the table has an entity with these keys; 404 `TableNotFound`. A retried insert
    /// whose first response was lost finds its own row, and succeeds if the client can
    /// [resolve the outcome](crate::Proof).
    ///
    /// REST: [Insert Entity](https://learn.microsoft.com/rest/api/storageservices/insert-entity), `POST`.
    /// Retries: [guarded](crate::guide::errors#retry-classes).
    #[doc(alias("add", "AddEntity", "create_entity", "POST"))]
    pub fn insert(&self, entity: &T) -> Call<Written> {
        self.send_write(entity, Write::Insert)
    }

    /// Reads the entity with these keys, with its version.
    ///
    /// # Errors
    /// 404 `ResourceNotFound` if the entity does not exist, `TableNotFound` if the table does not; an error of
    /// kind [`Decode`](crate::ErrorKind::Decode) if the row is not a valid `T`. Before anything is sent: keys that
    /// no `T` has, such as `"7"` where `T::key` creates `"0000000007"`.
    ///
    /// REST: [Query Entities](https://learn.microsoft.com/rest/api/storageservices/query-entities), `GET`.
    /// Retries: [read](crate::guide::errors#retry-classes).
    #[doc(alias("find", "GetEntity", "get_entity", "Retrieve"))]
    pub fn get(&self, key: impl IntoKey) -> Call<Stored<T>> {
        Call::new(&self.core, self.read_at(key), entity::fetched)
    }

    /// Reads the entity with these keys, and keeps its row.
    pub(in crate::client) fn get_with_source(
        &self,
        key: &EntityKey,
    ) -> Call<(Stored<T>, RowSource)> {
        Call::new(&self.core, self.read_request(key, &[]), entity::fetched_with_source)
    }

    /// Reads the entity with these keys; `None` if it does not exist.
    ///
    /// # Errors
    /// The same errors as [`get`](Self::get), except for a missing entity; a missing table is an error here too.
    ///
    /// REST: [Query Entities](https://learn.microsoft.com/rest/api/storageservices/query-entities), `GET`.
    /// Retries: [read](crate::guide::errors#retry-classes).
    #[doc(alias("GetEntityIfExists", "FirstOrDefault"))]
    pub fn get_if_exists(&self, key: impl IntoKey) -> Call<Option<Stored<T>>> {
        Call::new(&self.core, self.read_at(key), entity::fetched_if_exists)
            .expecting(ErrorCode::is_missing_entity)
    }

    /// Reads the entities with these keys: one request each, several at the same time. Use it for known keys in any
    /// partitions; see [`GetMany`]. A query whose filter lists keys can have other conditions, and returns the rows that
    /// it finds in key order.
    pub fn get_many<K: IntoKey>(&self, keys: impl IntoIterator<Item = K>) -> GetMany<T> {
        let requests = keys.into_iter().map(|key| self.read_at(key)).collect();
        GetMany::new(&self.core, &self.target.table, requests)
    }

    /// Returns whether the table has an entity with these keys. Only the keys are transferred.
    ///
    /// # Errors
    /// The same errors as [`get_if_exists`](Self::get_if_exists), except for a row that is not a valid `T`.
    ///
    /// REST: [Query Entities](https://learn.microsoft.com/rest/api/storageservices/query-entities), `GET`.
    /// Retries: [read](crate::guide::errors#retry-classes).
    #[doc(alias("exists", "any"))]
    pub fn contains(&self, key: impl IntoKey) -> Call<bool> {
        let keys = [PARTITION_KEY, ROW_KEY].map(str::to_owned);
        let request = self.key_of(key).and_then(|key| self.read_request(&key, &keys));
        Call::new(&self.core, request, entity::exists).expecting(ErrorCode::is_missing_entity)
    }

    /// Reads the row with these keys at the primary, with types; `None` if the service has no such row.
    ///
    /// # Errors
    /// The same errors as [`get`](Self::get), except for a row that is not a valid `T`.
    pub(crate) fn get_row(&self, key: &EntityKey, options: CallOptions) -> Call<Option<Readable>> {
        let format = Some(self.core.protocol.typed().format());
        Call::new(&self.core, self.read_request(key, &[]), entity::row_if_exists)
            .expecting(ErrorCode::is_missing_entity)
            .with_options(CallOptions { primary_only: true, format, ..options })
    }

    /// Refuses keys that no `T` can have.
    pub(crate) fn check_key(&self, key: &EntityKey) -> Result<(), Error> {
        self.read_request(key, &[]).map(drop)
    }

    fn read_at(&self, key: impl IntoKey) -> Result<Request, Error> {
        self.read_request(&self.key_of(key)?, &[])
    }

    fn key_of(&self, key: impl IntoKey) -> Result<EntityKey, Error> {
        key.into_key().map_err(|error| self.refused(error.into(), Operation::Get, None))
    }

    /// The request for these properties of a row, or for all of them.
    fn read_request(&self, key: &EntityKey, properties: &[String]) -> Result<Request, Error> {
        let request = self.checked(|| {
            let request = query::point(self.core.protocol, &self.target.table, key, properties)?;
            check_key::<T>(key)?;
            Ok(Request { needs_types: T::KEEPS_OTHERS && properties.is_empty(), ..request })
        });
        request.map_err(|error| self.refused(error, Operation::Get, Some(key.clone())))
    }

    /// The error of a call about one entity that sent no request.
    fn refused(&self, error: Error, operation: Operation, key: Option<EntityKey>) -> Error {
        error.about(operation, &self.target.table, || key)
    }

    /// Sets the entity's properties and keeps all other properties of the row; returns the new version. A `None`
    /// changes nothing, since the service ignores nulls in a merge; [`update_with`](Self::update_with) removes
    /// properties.
    ///
    /// # Errors
    /// 404 `ResourceNotFound` if the entity does not exist, 412 `UpdateConditionNotSatisfied` if it has
    /// another version.
    ///
    /// REST: [Merge Entity](https://learn.microsoft.com/rest/api/storageservices/merge-entity), `MERGE`.
    /// Retries: [guarded, with `IfMatch::Any` repeatable](crate::guide::errors#retry-classes).
    #[doc(alias("MERGE", "PATCH", "UpdateEntity", "update_entity", "update"))]
    pub fn merge(&self, entity: &T, etag: impl IntoIfMatch) -> Call<Written> {
        self.send_update(entity, Update::Merge, &etag.into_if_match())
    }

    /// Replaces the entity, and returns the new version. Properties that `entity` does not have are removed.
    ///
    /// # Errors
    /// The same errors as [`merge`](Self::merge).
    ///
    /// REST: [Update Entity](https://learn.microsoft.com/rest/api/storageservices/update-entity2), `PUT`.
    /// Retries: [guarded, with `IfMatch::Any` repeatable](crate::guide::errors#retry-classes).
    #[doc(alias("PUT", "UpdateEntity", "update_entity", "update"))]
    pub fn replace(&self, entity: &T, etag: impl IntoIfMatch) -> Call<Written> {
        self.send_update(entity, Update::Replace, &etag.into_if_match())
    }

    pub(in crate::client) fn send_update(
        &self,
        entity: &T,
        update: Update,
        condition: &IfMatch,
    ) -> Call<Written> {
        self.send_write(entity, Write::Update(update, condition))
    }

    fn send_write(&self, entity: &T, write: Write<'_>) -> Call<Written> {
        let request = self.checked(|| entity::checked_write(&self.target, None, entity, write));
        let request = request
            .map_err(|error| self.refused(error, write.operation(), entity.entity_key().ok()));
        Call::write(&self.core, request, written)
    }

    /// Inserts the entity, or merges it into the existing one of any version; returns the new version. The result
    /// does not show which of the two was applied.
    ///
    /// # Errors
    /// 404 `TableNotFound`. Before anything is sent: a
    /// [version](crate::TableServiceClientBuilder::service_version) without upserts.
    ///
    /// REST: [Insert Or Merge Entity](https://learn.microsoft.com/rest/api/storageservices/insert-or-merge-entity), `MERGE`.
    /// Retries: [repeatable](crate::guide::errors#retry-classes).
    #[doc(alias("upsert", "UpsertEntity", "upsert_entity", "InsertOrMerge"))]
    pub fn insert_or_merge(&self, entity: &T) -> Call<Written> {
        self.send_write(entity, Write::Upsert(Update::Merge))
    }

    /// Inserts the entity, or replaces the existing one of any version; returns the new version. The result does
    /// not show which of the two was applied.
    ///
    /// # Errors
    /// The same errors as [`insert_or_merge`](Self::insert_or_merge).
    ///
    /// REST: [Insert Or Replace Entity](https://learn.microsoft.com/rest/api/storageservices/insert-or-replace-entity), `PUT`.
    /// Retries: [repeatable](crate::guide::errors#retry-classes).
    #[doc(alias("upsert", "UpsertEntity", "upsert_entity", "InsertOrReplace"))]
    pub fn insert_or_replace(&self, entity: &T) -> Call<Written> {
        self.send_write(entity, Write::Upsert(Update::Replace))
    }

    /// Deletes the entity with these keys. The guide compares the [ways to delete](crate::guide::batches#deleting).
    ///
    /// If the response is lost and the row is gone, the delete counts as applied by default, so that two
    /// programs that delete the same version can both succeed; if only one may win, call
    /// [`proof(Proof::WriteId)`](crate::Proof).
    ///
    /// # Errors
    /// 404 `ResourceNotFound` if the entity does not exist, 412 `UpdateConditionNotSatisfied` if it has
    /// another version. Before anything is sent: keys that no `T` has, like [`get`](Self::get).
    ///
    /// REST: [Delete Entity](https://learn.microsoft.com/rest/api/storageservices/delete-entity1), `DELETE`.
    /// Retries: [guarded](crate::guide::errors#retry-classes).
    #[doc(alias("remove", "DeleteEntity", "delete_entity"))]
    pub fn delete(&self, key: impl IntoKey, etag: impl IntoIfMatch) -> Call<ResponseInfo> {
        let request = self.delete_request(key, &etag.into_if_match());
        Call::write(&self.core, request, done)
    }

    /// Deletes the entity with these keys if it exists; `false` if it did not. The guide compares the
    /// [ways to delete](crate::guide::batches#deleting).
    ///
    /// If the response is lost and the row is gone, the delete counts as applied by default, so that two
    /// programs can both get `true`; if only one may win, call
    /// [`proof(Proof::WriteId)`](crate::Proof).
    ///
    /// # Errors
    /// 412 `UpdateConditionNotSatisfied` if it has another version; a missing table is an error. Before
    /// anything is sent: keys that no `T` has, like [`get`](Self::get).
    ///
    /// REST: [Delete Entity](https://learn.microsoft.com/rest/api/storageservices/delete-entity1), `DELETE`.
    /// Retries: [guarded](crate::guide::errors#retry-classes).
    pub fn delete_if_exists(&self, key: impl IntoKey, etag: impl IntoIfMatch) -> Call<bool> {
        let request = self.delete_request(key, &etag.into_if_match());
        Call::write(&self.core, request, entity::deleted_if_exists)
            .expecting(ErrorCode::is_missing_entity)
    }

    fn delete_request(&self, key: impl IntoKey, condition: &IfMatch) -> Result<Request, Error> {
        let key =
            key.into_key().map_err(|error| self.refused(error.into(), Operation::Delete, None))?;
        entity::delete(self.core.protocol, &self.target.table, &key, condition)
            .and_then(|request| check_key::<T>(&key).map(|()| request))
            .map_err(|error| self.refused(error, Operation::Delete, Some(key)))
    }

    /// Whether the write with this id was applied to the entity with these keys, also in another run of
    /// the program: [`Outcome::Applied`] if the row has the id now, otherwise [`Outcome::Unknown`]. A missing
    /// id proves nothing: another write may have replaced it.
    ///
    /// # Errors
    /// An error of kind [`InvalidInput`](crate::ErrorKind::InvalidInput) if the client has no
    /// [`write_id_column`](crate::TableServiceClientBuilder::write_id_column), or if no entity of this type
    /// can have the keys; the errors of a query.
    ///
    /// REST: [Query Entities](https://learn.microsoft.com/rest/api/storageservices/query-entities), `GET`, at the
    /// primary. Retries: [read](crate::guide::errors#retry-classes).
    pub async fn was_applied(&self, key: impl IntoKey, write_id: Uuid) -> Result<Outcome, Error> {
        let (core, key) = (&self.core, key.into_key()?);
        check_key::<T>(&key)?;
        let Some(column) = core.settings.write_id.as_deref() else {
            return Err(Error::invalid_input("the client has no `write_id_column` to look for"));
        };
        let rows =
            outcome::read_back(core, &self.target.table, &[&key], &CallOptions::default()).await?;
        let has_id = rows.get(&key).and_then(|row| row.properties.get(column))
            == Some(&EdmValue::from(write_id));
        Ok(if has_id { Outcome::Applied } else { Outcome::Unknown })
    }
}
