use std::marker::PhantomData;
use std::pin::pin;
use std::sync::Arc;

use uuid::Uuid;

use super::setters::{awaited, setters};
use crate::client_core::ClientCore;
use crate::entity::{IntoKey, TableEntity};
use crate::error::Error;
use crate::operation::Committed;
use crate::operation::Target;
use crate::operation::entity::{Update, Write};
use crate::operation::key::check_key;
use crate::operation::transaction::{Batch, Refused};
use crate::outcome;
use crate::pipeline::{CallOptions, Expects};
use azure_table_protocol::IntoIfMatch;

/// An entity group transaction: up to 100 operations on entities of one partition, which are all applied or
/// not at all.
///
/// Some operations are refused before anything is sent: entities of several partitions, an entity twice, more
/// than 100 operations or 4 MiB (2 MiB for [Cosmos DB](crate::Dialect)). The result is then the error of the
/// first refused operation, with its [index](Error::batch_index) and its [key](Error::entity_key).
///
/// ```
/// # use azure_table_client::{DynamicEntity, IfMatch, mock::MockTableService};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), azure_table_client::Error> {
/// # let blogs = MockTableService::new().client().table_named::<DynamicEntity>("Blogs");
/// # blogs.create().await?;
/// let (a, b) = (DynamicEntity::new("Channel9", "1"), DynamicEntity::new("Channel9", "2"));
/// let transaction = blogs.transaction().insert(&a).insert_or_merge(&b);
/// assert_eq!((transaction.table(), transaction.len()), ("Blogs", 2));
/// let committed = transaction.await?;
/// assert_eq!(committed.operations.len(), 2);
///
/// let error = blogs.transaction().delete(("Channel9", "1"), IfMatch::Any).insert(&b).await;
/// let error = error.unwrap_err();
/// assert!(error.is_conflict() && error.batch_index() == Some(1));
/// assert_eq!(blogs.query().count().await?, 2); // no row was deleted
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The error of the operation that failed, with its [`batch_index`](Error::batch_index) if the service
/// reports it. A retry after a lost response may find the transaction applied; it succeeds if
/// the rows [prove](crate::Proof) that.
///
/// REST: [Performing entity group transactions](https://learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions), `POST`.
/// Retries: [guarded](crate::guide::errors#retry-classes).
#[doc(alias(
    "batch",
    "TableBatchOperation",
    "submit_transaction",
    "SubmitTransaction",
    "EntityGroupTransaction"
))]
#[must_use = "a transaction is sent when it is awaited"]
pub struct Transaction<T> {
    core: Arc<ClientCore>,
    /// The operations before the first refused one.
    batch: Box<Batch>,
    operations: usize,
    /// The error of the first refused operation.
    refusal: Option<Error>,
    options: CallOptions,
    write_id: Option<Uuid>,
    expects: Option<Expects>,
    entity: PhantomData<fn() -> T>,
}

impl<T: TableEntity> Transaction<T> {
    pub(super) fn new(core: Arc<ClientCore>, target: Target) -> Self {
        Self {
            core,
            batch: Box::new(Batch::new(target)),
            operations: 0,
            refusal: T::check_columns().err().map(Error::from),
            options: CallOptions::default(),
            write_id: None,
            expects: None,
            entity: PhantomData,
        }
    }

    /// Continues with entities of another type in the same table:
    /// `orders.transaction().insert(&order).with_entity::<Line>().insert(&line).await?`.
    pub fn with_entity<U: TableEntity>(self) -> Transaction<U> {
        Transaction {
            core: self.core,
            batch: self.batch,
            operations: self.operations,
            refusal: self.refusal.or_else(|| U::check_columns().err().map(Error::from)),
            options: self.options,
            write_id: self.write_id,
            expects: self.expects,
            entity: PhantomData,
        }
    }

    /// Inserts a new entity.
    pub fn insert(self, entity: &T) -> Self {
        self.add_write(entity, Write::Insert)
    }

    /// Sets the properties of the entity. The service keeps the other properties of the row.
    #[doc(alias("update"))]
    pub fn merge(self, entity: &T, etag: impl IntoIfMatch) -> Self {
        self.add_write(entity, Write::Update(Update::Merge, &etag.into_if_match()))
    }

    /// Replaces the entity; properties that it does not have are removed.
    #[doc(alias("update"))]
    pub fn replace(self, entity: &T, etag: impl IntoIfMatch) -> Self {
        self.add_write(entity, Write::Update(Update::Replace, &etag.into_if_match()))
    }

    /// Inserts the entity, or sets its properties if it exists, in any version.
    #[doc(alias("upsert"))]
    pub fn insert_or_merge(self, entity: &T) -> Self {
        self.add_write(entity, Write::Upsert(Update::Merge))
    }

    /// Inserts the entity, or replaces it if it exists, in any version.
    #[doc(alias("upsert"))]
    pub fn insert_or_replace(self, entity: &T) -> Self {
        self.add_write(entity, Write::Upsert(Update::Replace))
    }

    /// Deletes the entity with these keys. Keys that no `T` has are refused, like in
    /// [`get`](super::TableClient::get).
    pub fn delete(self, key: impl IntoKey, etag: impl IntoIfMatch) -> Self {
        let (key, condition) = (key.into_key(), etag.into_if_match());
        self.add_operation(|batch| {
            let key = key.map_err(Error::from)?;
            check_key::<T>(&key)?;
            batch.delete(&key, &condition)
        })
    }

    /// Adds a write of an entity of any type.
    pub(super) fn add_write<U: TableEntity>(self, entity: &U, write: Write<'_>) -> Self {
        self.add_operation(|batch| batch.write(None, entity, write))
    }

    /// Adds an operation. The first refusal becomes the result of the transaction.
    fn add_operation(mut self, operation: impl FnOnce(&mut Batch) -> Result<(), Refused>) -> Self {
        self.operations += 1;
        if self.refusal.is_none() {
            let index = self.batch.len();
            let refused = operation(&mut self.batch).err();
            self.refusal = refused.map(|refused| Error::from(refused).at_index(Some(index)));
        }
        self
    }
}

impl<T> Transaction<T> {
    /// The name of the table to which all operations belong.
    pub fn table(&self) -> &str {
        self.batch.table()
    }

    /// The number of operations, including refused ones.
    pub const fn len(&self) -> usize {
        self.operations
    }

    /// Whether there are no operations.
    pub const fn is_empty(&self) -> bool {
        self.operations == 0
    }

    /// The bytes of the request, of at most [`max_bytes`](Self::max_bytes). Operations from the first refused one
    /// on do not count.
    pub fn bytes(&self) -> usize {
        self.batch.bytes()
    }

    /// The limit of the client's service on the bytes of a request: 4 MiB, or 2 MiB for Cosmos DB.
    pub fn max_bytes(&self) -> usize {
        self.batch.max_bytes()
    }

    /// Checks the operations before the transaction is sent: programs that write in several steps refuse invalid input
    /// before the first one.
    ///
    /// ```
    /// # use azure_table_client::{DynamicEntity, mock::MockTableService};
    /// # let blogs = MockTableService::new().client().table_named::<DynamicEntity>("Blogs");
    /// let valid = blogs.transaction().insert(&DynamicEntity::new("Channel9", "1"));
    /// assert!(valid.check().is_ok());
    /// let invalid = valid.insert(&DynamicEntity::new("Channel9", "a/b"));
    /// assert_eq!(invalid.check().unwrap_err().batch_index(), Some(1));
    /// ```
    ///
    /// # Errors
    /// The error of the first refused operation, which sending the transaction would return as well.
    pub fn check(&self) -> Result<(), Error> {
        self.refusal.clone().map_or(Ok(()), Err)
    }

    /// Replaces all settings, and sets the error codes that observers do not count as failures.
    pub(super) fn with_options(self, options: CallOptions, expects: Expects) -> Self {
        Self { options, expects: Some(expects), ..self }
    }

    setters! { options:
        deadline "the whole call", retry, client_request_id, proof, write_id
    }

    async fn send(self) -> Result<Committed, Error> {
        if let Some(refusal) = self.refusal {
            return Err(refusal);
        }
        let mut request = self.batch.finish()?;
        if let Some(id) = self.write_id {
            request.set_write_id(id)?;
        }
        let trace = self.core.trace(request.operation, &request.resource);
        let trace = trace.batch(self.operations).expecting(self.expects);
        let (core, options) = (&self.core, &self.options);
        let work = pin!(outcome::write(core, &request, options, &trace));
        trace.run(work).await
    }
}

awaited!(
    'static [T: Send + 'static] Transaction<T> => Result<Committed, Error>,
    |call| call.send()
);

opaque_debug!(<T> Transaction<T>, |it| operations: it.len(), bytes: it.bytes());
