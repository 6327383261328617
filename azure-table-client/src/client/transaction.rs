use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use crate::client_core::ClientCore;
use crate::entity::{IntoKey, TableEntity};
use crate::error::Error;
use crate::etag::IfMatch;
use crate::operation::Target;
use crate::operation::entity::{Update, Write};
use crate::operation::key::check_key;
use crate::operation::transaction::{Batch, Committed};
use crate::outcome;
use crate::pipeline::{CallOptions, RetryPolicy};

/// An entity group transaction: up to 100 operations on entities of one partition, of which all are
/// done or none is.
///
/// What the service would refuse is found before anything is sent: entities of several partitions, an
/// entity twice, more than 100 operations or 4 MiB (2 MiB for [Cosmos DB](crate::Dialect)). The error then is of the first operation that was
/// wrong, with its [index](Error::batch_index) and its [key](Error::entity_key).
///
/// ```
/// # use azure_table_client::{DynamicEntity, IfMatch, mock::MockTableService};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), azure_table_client::Error> {
/// # let blogs = MockTableService::new().client().table_named::<DynamicEntity>("Blogs");
/// # blogs.create().await?;
/// let (a, b) = (DynamicEntity::new("Channel9", "1"), DynamicEntity::new("Channel9", "2"));
/// let committed = blogs.transaction().insert(&a).insert_or_merge(&b).await?;
/// assert_eq!(committed.operations.len(), 2);
///
/// let error = blogs.transaction().delete(("Channel9", "1"), IfMatch::Any).insert(&b).await;
/// let error = error.unwrap_err();
/// assert!(error.is_conflict() && error.batch_index() == Some(1));
/// assert_eq!(blogs.query().count().await?, 2); // nothing was deleted
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The error of the operation that failed: the service says which one, and
/// [`batch_index`](Error::batch_index) is `None` where it does not. A retried transaction whose first
/// reply was lost meets its own writes, and succeeds where that can be
/// [told](crate::client::TableServiceClientBuilder::resolve_outcomes).
///
/// REST: [Performing entity group transactions](https://learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions), `POST`.
/// Retries: [guarded](crate::guide::errors#retry-classes).
#[must_use = "a transaction is sent when it is awaited"]
pub struct Transaction<T> {
    pipeline: Arc<ClientCore>,
    batch: Result<Batch, Error>,
    options: CallOptions,
    write_id: Option<Uuid>,
    entity: PhantomData<fn() -> T>,
}

impl<T: TableEntity> Transaction<T> {
    pub(super) fn new(pipeline: Arc<ClientCore>, target: Target) -> Self {
        let batch = match T::check_columns() {
            Ok(()) => Ok(Batch::new(target)),
            Err(fault) => Err(fault.into()),
        };
        Self {
            pipeline,
            batch,
            options: CallOptions::default(),
            write_id: None,
            entity: PhantomData,
        }
    }

    /// Goes on with entities of another type in the same table.
    pub fn with_entity<U: TableEntity>(self) -> Transaction<U> {
        let batch = self.batch.and_then(|batch| {
            U::check_columns()?;
            Ok(batch)
        });
        let (pipeline, options, write_id) = (self.pipeline, self.options, self.write_id);
        Transaction { pipeline, batch, options, write_id, entity: PhantomData }
    }

    /// Inserts a new entity.
    pub fn insert(self, entity: &T) -> Self {
        self.write(entity, Write::Insert)
    }

    /// Sets the entity's properties and leaves those that it does not have as they are.
    pub fn merge(self, entity: &T, condition: impl Into<IfMatch>) -> Self {
        self.write(entity, Write::Update(Update::Merge, &condition.into()))
    }

    /// Replaces the entity; properties that it does not have are removed.
    pub fn replace(self, entity: &T, condition: impl Into<IfMatch>) -> Self {
        self.write(entity, Write::Update(Update::Replace, &condition.into()))
    }

    /// Inserts the entity, or sets its properties if it is there, in whatever version.
    pub fn insert_or_merge(self, entity: &T) -> Self {
        self.write(entity, Write::Upsert(Update::Merge))
    }

    /// Inserts the entity, or replaces it if it is there, in whatever version.
    pub fn insert_or_replace(self, entity: &T) -> Self {
        self.write(entity, Write::Upsert(Update::Replace))
    }

    /// Deletes the entity with these keys. Keys that no `T` has are refused, as in
    /// [`get`](super::TableClient::get).
    pub fn delete(mut self, key: impl IntoKey, condition: impl Into<IfMatch>) -> Self {
        let (key, condition) = (key.into_key(), condition.into());
        self.batch = self.batch.and_then(|mut batch| {
            let key =
                key.map_err(|error| Error::from(error).with_batch(Some(batch.len()), None))?;
            check_key::<T>(&key)
                .map_err(|error| error.with_batch(Some(batch.len()), Some(key.clone())))?;
            batch.delete(&key, &condition)?;
            Ok(batch)
        });
        self
    }

    fn write(mut self, entity: &T, write: Write<'_>) -> Self {
        if let Ok(batch) = &mut self.batch
            && let Err(refused) = batch.write(entity, write)
        {
            self.batch = Err(refused.into());
        }
        self
    }
}

impl<T> Transaction<T> {
    /// The number of operations; 0 once one of them was refused.
    pub fn len(&self) -> usize {
        self.batch.as_ref().map_or(0, Batch::len)
    }

    /// Whether there are no operations.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes that will be sent, of at most 4 MiB (2 MiB for Cosmos DB); 0 once an operation was
    /// refused.
    pub fn bytes(&self) -> usize {
        self.batch.as_ref().map_or(0, Batch::bytes)
    }

    /// The time for the whole call, all attempts and waits included.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.options.deadline = Some(deadline);
        self
    }

    /// When and how often this call is tried again, instead of the client's policy.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.options.retry = Some(policy);
        self
    }

    /// The id that the service logs with the call (`x-ms-client-request-id`), at most 1,024
    /// visible ASCII characters. Without it, each call has a random UUID.
    pub fn client_request_id(mut self, id: impl Into<String>) -> Self {
        self.options.client_request_id = Some(id.into());
        self
    }

    /// Rows in the state that this transaction leaves do not count as success; see
    /// [`Call::exact`](super::Call::exact).
    pub fn exact(mut self) -> Self {
        self.options.exact = Some(true);
        self
    }

    /// Whether rows in the state that this transaction leaves count as success although it has updates
    /// that are conditional on an ETag; see
    /// [`Call::accept_matching_state`](super::Call::accept_matching_state).
    pub fn accept_matching_state(mut self, accept: bool) -> Self {
        self.options.accept_matching_state = Some(accept);
        self
    }

    /// The id of this transaction, which each entity that it writes gets in place of a random one; see
    /// [`Call::write_id`](super::Call::write_id).
    ///
    /// # Errors
    /// As there; also for a transaction that only deletes.
    pub fn write_id(mut self, id: Uuid) -> Self {
        self.write_id = Some(id);
        self
    }

    async fn send(self) -> Result<Committed, Error> {
        let operations = self.len();
        let (mut request, sent) = self.batch?.finish()?;
        if let Some(id) = self.write_id {
            request.set_write_id(id)?;
        }
        let trace = self.pipeline.trace(request.operation, &request.resource).batch(operations);
        let (pipeline, options) = (&self.pipeline, &self.options);
        let work = pin!(outcome::write(pipeline, &request, Some(&sent), options, &trace));
        trace.run(work).await
    }
}

impl<T: Send + 'static> IntoFuture for Transaction<T> {
    type Output = Result<Committed, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

impl<T> fmt::Debug for Transaction<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction")
            .field("operations", &self.len())
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}
