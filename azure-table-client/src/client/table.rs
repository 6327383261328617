use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use uuid::Uuid;

use super::{Call, Query, Transaction};
use crate::client_core::ClientCore;
use crate::edm::EdmValue;
use crate::entity::{EntityKey, Readable, TableEntity};
use crate::error::{Error, ErrorCode, Outcome};
use crate::etag::IfMatch;
use crate::limits::LimitError;
use crate::operation::access_policies::{self, StoredAccessPolicy};
use crate::operation::entity::{self, Fetched, Source, Update, Write};
use crate::operation::key::check_key;
use crate::operation::query;
use crate::operation::{Done, Reply, Request, Target, Written, table};
use crate::outcome;
use crate::pipeline::CallOptions;
use crate::wire::Operation;

/// One table whose rows are of type `T`. Cheap to clone.
///
/// ```
/// use azure_table_client::{IfMatch, TableEntity, mock::MockTableService};
///
/// #[derive(TableEntity)]
/// #[table(name = "Blogs", rename_all = "PascalCase")]
/// struct Blog {
///     #[table(partition_key)]
///     channel: String,
///     #[table(row_key)]
///     posted: String,
///     text: String,
///     rating: i32,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), azure_table_client::Error> {
/// let service = MockTableService::new().client();
/// let blogs = service.table::<Blog>();
/// blogs.create().await?;
/// let mut blog = Blog {
///     channel: "Channel9".into(),
///     posted: "2009-04-14".into(),
///     text: "Hello".into(),
///     rating: 3,
/// };
/// let inserted = blogs.insert(&blog).await?;
/// blog.rating = 5;
/// blogs.merge(&blog, &inserted.etag).await?;
/// let stored = blogs.get(("Channel9", "2009-04-14")).await?;
/// assert_eq!(stored.rating, 5);
/// blogs.delete(("Channel9", "2009-04-14"), IfMatch::Any).await?;
/// # Ok(())
/// # }
/// ```
///
/// Keys of which no URL holds both (over 15 KiB with the path, as a thousand Chinese characters in each are)
/// are sent in the body: every operation on such a row goes as a batch of its own, and is told as what it is.
/// Such a read goes to the primary, unless the client asks the [secondary](crate::LocationMode) only.
pub struct TableClient<T> {
    pub(super) pipeline: Arc<ClientCore>,
    target: Target,
    /// What is wrong with the columns of `T`; every call about an entity ends with it.
    fault: Option<LimitError>,
    entity: PhantomData<fn() -> T>,
}

impl<T> Clone for TableClient<T> {
    fn clone(&self) -> Self {
        Self {
            pipeline: Arc::clone(&self.pipeline),
            target: self.target.clone(),
            fault: self.fault.clone(),
            entity: PhantomData,
        }
    }
}

impl<T> fmt::Debug for TableClient<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableClient").field("name", &self.target.table).finish_non_exhaustive()
    }
}

impl<T: TableEntity> TableClient<T> {
    pub(crate) fn new(pipeline: Arc<ClientCore>, name: String) -> Self {
        let target = pipeline.target(&Arc::from(name));
        Self { pipeline, target, fault: T::check_columns().err(), entity: PhantomData }
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        &self.target.table
    }

    pub(crate) const fn target(&self) -> &Target {
        &self.target
    }

    pub(crate) fn pipeline(&self) -> &Arc<ClientCore> {
        &self.pipeline
    }

    /// The same table with rows of another type.
    pub fn with_entity<U: TableEntity>(&self) -> TableClient<U> {
        TableClient {
            pipeline: Arc::clone(&self.pipeline),
            target: self.target.clone(),
            fault: U::check_columns().err(),
            entity: PhantomData,
        }
    }

    /// The request, unless the columns of `T` are at fault.
    fn checked(&self, request: impl FnOnce() -> Result<Request, Error>) -> Result<Request, Error> {
        match &self.fault {
            Some(fault) => Err(fault.clone().into()),
            None => request(),
        }
    }

    /// Creates the table. The table exists once this returns.
    ///
    /// If the response is lost and the table exists, the call counts as applied by default, so that two
    /// programs that create the same table can both succeed; where only one may win, call `exact()`.
    ///
    /// # Errors
    /// 409 `TableAlreadyExists`; 409 `TableBeingDeleted` for 40 s or more after a table of that name was
    /// deleted: see [`create_table_and_wait`](super::TableServiceClient::create_table_and_wait).
    ///
    /// REST: [Create Table](https://learn.microsoft.com/rest/api/storageservices/create-table), `POST`.
    /// Retries: [guarded](crate::guide::errors#which-calls-are-tried-again).
    pub fn create(&self) -> Call<Done> {
        Call::new(
            &self.pipeline,
            table::create(self.pipeline.protocol, &self.target.table),
            Reply::done,
        )
    }

    /// Creates the table unless it is there; `true` if this call created it. One request either way.
    ///
    /// # Errors
    /// 409 `TableBeingDeleted` for 40 s or more after a table of that name was deleted.
    ///
    /// REST: [Create Table](https://learn.microsoft.com/rest/api/storageservices/create-table), `POST`.
    /// Retries: [guarded](crate::guide::errors#which-calls-are-tried-again).
    pub fn create_if_not_exists(&self) -> Call<bool> {
        Call::new(
            &self.pipeline,
            table::create(self.pipeline.protocol, &self.target.table),
            table::created_if_not_exists,
        )
        .expecting(table::already_exists)
    }

    /// Deletes the table with all its entities. The name cannot be used again for 40 s or more; see
    /// [`delete_table_and_wait`](super::TableServiceClient::delete_table_and_wait).
    ///
    /// # Errors
    /// 404 `ResourceNotFound` if there is no such table.
    ///
    /// REST: [Delete Table](https://learn.microsoft.com/rest/api/storageservices/delete-table), `DELETE`.
    /// Retries: [guarded](crate::guide::errors#which-calls-are-tried-again).
    pub fn delete_table(&self) -> Call<Done> {
        Call::new(
            &self.pipeline,
            table::delete(self.pipeline.protocol, &self.target.table),
            Reply::done,
        )
    }

    /// Deletes the table with all its entities if it is there; `false` if it was not.
    ///
    /// REST: [Delete Table](https://learn.microsoft.com/rest/api/storageservices/delete-table), `DELETE`.
    /// Retries: [guarded](crate::guide::errors#which-calls-are-tried-again).
    pub fn delete_table_if_exists(&self) -> Call<bool> {
        Call::new(
            &self.pipeline,
            table::delete(self.pipeline.protocol, &self.target.table),
            table::deleted_if_exists,
        )
        .expecting(table::not_found)
    }

    /// Whether the table is there: asks for it by its name in the list of tables.
    ///
    /// REST: [Query Tables](https://learn.microsoft.com/rest/api/storageservices/query-tables), `GET`.
    /// Retries: [read](crate::guide::errors#which-calls-are-tried-again).
    pub fn exists(&self) -> Call<bool> {
        Call::new(
            &self.pipeline,
            table::get(self.pipeline.protocol, &self.target.table),
            table::exists,
        )
        .expecting(table::not_found)
    }

    /// The stored access policies of the table.
    ///
    /// # Errors
    /// 404 if the table is not there. Before anything is sent: a
    /// [version](super::TableServiceClientBuilder::service_version) without them, or
    /// [Cosmos DB](crate::Dialect), which has none.
    ///
    /// REST: [Get Table ACL](https://learn.microsoft.com/rest/api/storageservices/get-table-acl), `GET`.
    /// Retries: [read](crate::guide::errors#which-calls-are-tried-again).
    pub fn access_policies(&self) -> Call<Vec<StoredAccessPolicy>> {
        let request = access_policies::get(&self.target.table);
        Call::new(&self.pipeline, request, access_policies::policies)
    }

    /// Sets the stored access policies of the table, in place of those that are there; it can take half
    /// a minute until they hold.
    ///
    /// # Errors
    /// Before anything is sent: more than 5 policies, two of one identifier, or one without an identifier or
    /// with more than 64 UTF-16 code units; a [version](super::TableServiceClientBuilder::service_version)
    /// without them, or [Cosmos DB](crate::Dialect), which has none. 404 if the table is not there.
    ///
    /// REST: [Set Table ACL](https://learn.microsoft.com/rest/api/storageservices/set-table-acl), `PUT`.
    /// Retries: [repeatable](crate::guide::errors#which-calls-are-tried-again).
    pub fn set_access_policies(&self, policies: &[StoredAccessPolicy]) -> Call<Done> {
        let request = access_policies::set(&self.target.table, policies);
        Call::new(&self.pipeline, request, Reply::done)
    }

    /// Inserts a new entity, and returns its version. The entity is not sent back.
    ///
    /// If the response is lost, the stored row is compared with `entity` by default, so that two programs
    /// that insert identical values can both succeed; where only one may win, call `exact()`, use a
    /// [write id column](super::TableServiceClientBuilder::write_id_column), or store the owner's id in the
    /// row.
    ///
    /// # Errors
    /// 409 `EntityAlreadyExists` if the keys are taken; 404 `TableNotFound`. A retried insert whose first
    /// reply was lost meets its own row, and succeeds where that can be
    /// [told](crate::client::TableServiceClientBuilder::resolve_outcomes).
    ///
    /// REST: [Insert Entity](https://learn.microsoft.com/rest/api/storageservices/insert-entity), `POST`.
    /// Retries: [guarded](crate::guide::errors#which-calls-are-tried-again).
    pub fn insert(&self, entity: &T) -> Call<Written> {
        self.write(entity, Write::Insert)
    }

    /// Reads the entity with these keys, with its version.
    ///
    /// # Errors
    /// 404 `ResourceNotFound` if it is not there, `TableNotFound` if the table is not; an error of
    /// kind [`Decode`](crate::ErrorKind::Decode) if the row does not fit `T`. Before anything is sent: keys that
    /// no `T` has, such as `"7"` where `T::key` makes `"0000000007"`.
    ///
    /// REST: [Query Entities](https://learn.microsoft.com/rest/api/storageservices/query-entities), `GET`.
    /// Retries: [read](crate::guide::errors#which-calls-are-tried-again).
    pub fn get(&self, key: impl Into<EntityKey>) -> Call<Fetched<T>> {
        Call::new(&self.pipeline, self.read(&key.into()), entity::fetched)
    }

    /// Reads the entity with these keys, and keeps the row that it was read from.
    pub(super) fn get_with_source(&self, key: &EntityKey) -> Call<(Fetched<T>, Source)> {
        Call::new(&self.pipeline, self.read(key), entity::fetched_with_source)
    }

    /// Reads the entity with these keys, `None` if it is not there.
    ///
    /// # Errors
    /// As [`get`](Self::get), also for keys that no `T` has; a missing table is an error here too.
    ///
    /// REST: [Query Entities](https://learn.microsoft.com/rest/api/storageservices/query-entities), `GET`.
    /// Retries: [read](crate::guide::errors#which-calls-are-tried-again).
    pub fn get_if_exists(&self, key: impl Into<EntityKey>) -> Call<Option<Fetched<T>>> {
        Call::new(&self.pipeline, self.read(&key.into()), entity::fetched_if_exists)
            .expecting(ErrorCode::is_missing_entity)
    }

    /// Reads the row with these keys at the primary, with types; `None` if the service has no such row.
    ///
    /// # Errors
    /// As [`get`](Self::get), but what of the row does not fit `T` is not an error.
    pub(crate) fn get_row(&self, key: &EntityKey, options: CallOptions) -> Call<Option<Readable>> {
        let format = Some(self.pipeline.protocol.typed().format());
        Call::new(&self.pipeline, self.read(key), entity::row_if_exists)
            .expecting(ErrorCode::is_missing_entity)
            .with_options(CallOptions { primary_only: true, format, ..options })
    }

    /// Refuses keys that no `T` can have.
    pub(crate) fn check_key(&self, key: &EntityKey) -> Result<(), Error> {
        self.read(key).map(drop)
    }

    fn read(&self, key: &EntityKey) -> Result<Request, Error> {
        let request = self.checked(|| {
            let request = query::point(self.pipeline.protocol, &self.target.table, key, &[])?;
            check_key::<T>(key)?;
            Ok(Request { needs_types: T::KEEPS_OTHERS, ..request })
        });
        request.map_err(|error| self.refused(error, Operation::Get, Some(key.clone())))
    }

    /// The error of a call about one entity of which nothing was sent.
    fn refused(&self, error: Error, operation: Operation, key: Option<EntityKey>) -> Error {
        error.with_operation(operation, &self.target.table).with_entity_key(|| key)
    }

    /// Sets the entity's properties and leaves those that it does not have as they are; returns the new
    /// version. A `None` changes nothing: the service takes no null in a merge.
    /// [`update_with`](Self::update_with) removes properties.
    ///
    /// # Errors
    /// 404 `ResourceNotFound` if it is not there, 412 `UpdateConditionNotSatisfied` if it has
    /// another version.
    ///
    /// REST: [Merge Entity](https://learn.microsoft.com/rest/api/storageservices/merge-entity), `MERGE`.
    /// Retries: [guarded, with `IfMatch::Any` repeatable](crate::guide::errors#which-calls-are-tried-again).
    pub fn merge(&self, entity: &T, condition: impl Into<IfMatch>) -> Call<Written> {
        self.update(entity, Update::Merge, &condition.into())
    }

    /// Replaces the entity, and returns the new version: properties that it does not have are gone.
    ///
    /// # Errors
    /// As [`merge`](Self::merge).
    ///
    /// REST: [Update Entity](https://learn.microsoft.com/rest/api/storageservices/update-entity2), `PUT`.
    /// Retries: [guarded, with `IfMatch::Any` repeatable](crate::guide::errors#which-calls-are-tried-again).
    pub fn replace(&self, entity: &T, condition: impl Into<IfMatch>) -> Call<Written> {
        self.update(entity, Update::Replace, &condition.into())
    }

    pub(super) fn update(&self, entity: &T, update: Update, condition: &IfMatch) -> Call<Written> {
        self.write(entity, Write::Update(update, condition))
    }

    fn write(&self, entity: &T, write: Write<'_>) -> Call<Written> {
        let request = self.checked(|| entity::checked_write(&self.target, entity, write));
        let request = request
            .map_err(|error| self.refused(error, write.operation(), entity.entity_key().ok()));
        Call::new(&self.pipeline, request, Reply::written)
    }

    /// Inserts the entity, or merges it into the one that is there, whatever its version; returns the new
    /// version, and not which of the two was done.
    ///
    /// # Errors
    /// 404 `TableNotFound`. Before anything is sent: a
    /// [version](super::TableServiceClientBuilder::service_version) without upserts.
    ///
    /// REST: [Insert Or Merge Entity](https://learn.microsoft.com/rest/api/storageservices/insert-or-merge-entity), `MERGE`.
    /// Retries: [repeatable](crate::guide::errors#which-calls-are-tried-again).
    pub fn insert_or_merge(&self, entity: &T) -> Call<Written> {
        self.write(entity, Write::Upsert(Update::Merge))
    }

    /// Inserts the entity, or replaces the one that is there, whatever its version; returns the new
    /// version, and not which of the two was done.
    ///
    /// # Errors
    /// As [`insert_or_merge`](Self::insert_or_merge).
    ///
    /// REST: [Insert Or Replace Entity](https://learn.microsoft.com/rest/api/storageservices/insert-or-replace-entity), `PUT`.
    /// Retries: [repeatable](crate::guide::errors#which-calls-are-tried-again).
    pub fn insert_or_replace(&self, entity: &T) -> Call<Written> {
        self.write(entity, Write::Upsert(Update::Replace))
    }

    /// Deletes the entity with these keys.
    ///
    /// If the response is lost and the row is gone, the delete counts as applied by default, so that two
    /// programs that delete the same version can both succeed; where only one may win, call `exact()`.
    ///
    /// # Errors
    /// 404 `ResourceNotFound` if it is not there, 412 `UpdateConditionNotSatisfied` if it has
    /// another version. Before anything is sent: keys that no `T` has, as for [`get`](Self::get).
    ///
    /// REST: [Delete Entity](https://learn.microsoft.com/rest/api/storageservices/delete-entity1), `DELETE`.
    /// Retries: [guarded](crate::guide::errors#which-calls-are-tried-again).
    pub fn delete(&self, key: impl Into<EntityKey>, condition: impl Into<IfMatch>) -> Call<Done> {
        let request = self.delete_request(&key.into(), &condition.into());
        Call::new(&self.pipeline, request, Reply::done)
    }

    /// Deletes the entity with these keys if it is there; `false` if it was not.
    ///
    /// If the response is lost and the row is gone, the delete counts as applied by default, so that two
    /// programs can both get `true`; where only one may win, call `exact()`.
    ///
    /// # Errors
    /// 412 `UpdateConditionNotSatisfied` if it has another version; a missing table is an error. Before
    /// anything is sent: keys that no `T` has, as for [`get`](Self::get).
    ///
    /// REST: [Delete Entity](https://learn.microsoft.com/rest/api/storageservices/delete-entity1), `DELETE`.
    /// Retries: [guarded](crate::guide::errors#which-calls-are-tried-again).
    pub fn delete_if_exists(
        &self,
        key: impl Into<EntityKey>,
        condition: impl Into<IfMatch>,
    ) -> Call<bool> {
        let request = self.delete_request(&key.into(), &condition.into());
        Call::new(&self.pipeline, request, entity::deleted_if_exists)
            .expecting(ErrorCode::is_missing_entity)
    }

    fn delete_request(&self, key: &EntityKey, condition: &IfMatch) -> Result<Request, Error> {
        entity::delete(self.pipeline.protocol, &self.target.table, key, condition)
            .and_then(|request| check_key::<T>(key).map(|()| request))
            .map_err(|error| self.refused(error, Operation::Delete, Some(key.clone())))
    }

    /// Whether the write with this id was applied to the entity with these keys, also in another run of
    /// the program: [`Outcome::Applied`] if the row has the id now, else [`Outcome::Unknown`]. A missing
    /// id proves nothing: another write may have replaced it.
    ///
    /// # Errors
    /// Of kind [`InvalidInput`](crate::ErrorKind::InvalidInput) if the client has no
    /// [`write_id_column`](super::TableServiceClientBuilder::write_id_column), or no entity of this type
    /// can have the keys; those of a query.
    ///
    /// REST: [Query Entities](https://learn.microsoft.com/rest/api/storageservices/query-entities), `GET`, at the
    /// primary. Retries: [read](crate::guide::errors#which-calls-are-tried-again).
    pub async fn was_applied(
        &self,
        key: impl Into<EntityKey>,
        write_id: Uuid,
    ) -> Result<Outcome, Error> {
        let (pipeline, key) = (&self.pipeline, key.into());
        check_key::<T>(&key)?;
        let Some(column) = pipeline.settings.write_id.as_deref() else {
            return Err(Error::invalid_input("the client has no `write_id_column` to look for"));
        };
        let rows =
            outcome::read_back(pipeline, &self.target.table, &[&key], &CallOptions::default())
                .await?;
        let has_id = rows.get(&key).and_then(|row| row.properties.get(column))
            == Some(&EdmValue::from(write_id));
        Ok(if has_id { Outcome::Applied } else { Outcome::Unknown })
    }

    /// Up to 100 operations in one partition, of which all are done or none is; see [`Transaction`].
    ///
    /// REST: [Performing entity group transactions](https://learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions), `POST`.
    /// Retries: [guarded](crate::guide::errors#which-calls-are-tried-again).
    pub fn transaction(&self) -> Transaction<T> {
        Transaction::new(Arc::clone(&self.pipeline), self.target.clone())
    }

    /// All entities of the table, until the query is narrowed; see [`Query`].
    ///
    /// REST: [Query Entities](https://learn.microsoft.com/rest/api/storageservices/query-entities), `GET`.
    /// Retries: [read](crate::guide::errors#which-calls-are-tried-again).
    pub fn query(&self) -> Query<T> {
        let fault = self.fault.clone().map(Error::from);
        Query::new(Arc::clone(&self.pipeline), Arc::clone(&self.target.table), fault)
    }
}
