use std::fmt;
use std::future::{Future, IntoFuture};
use std::ops::Deref;
use std::pin::Pin;

use super::TableClient;
use super::rounds::{ROUNDS, Rounds, check_key};
use super::setters::setters;
use crate::entity::{EntityKey, TableEntity};
use crate::error::{Error, ErrorCode, Outcome};
use crate::etag::ETag;
use crate::operation::entity::Fetched;
use crate::pipeline::CallOptions;

impl<T: TableEntity> TableClient<T> {
    /// Reads the entity with the keys of this one; inserts this one if there is none.
    ///
    /// As [`get_or_insert_with`](Self::get_or_insert_with).
    pub fn get_or_insert<'c>(&self, entity: &'c T) -> GetOrInsert<'c, T>
    where
        T: Clone + Sync,
    {
        let key = match (entity.partition_key(), entity.row_key()) {
            (Ok(partition_key), Ok(row_key)) => Ok(EntityKey::new(partition_key, row_key)),
            (Err(error), _) | (_, Err(error)) => Err(error.into()),
        };
        GetOrInsert::new(self, key, || entity.clone())
    }

    /// Reads the entity with these keys; makes and inserts one if there is none. Of several programs that
    /// do so at the same time one inserts its entity, and all get it.
    ///
    /// ```
    /// # use azure_table_client::{DynamicEntity, mock::MockTableService};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), azure_table_client::Error> {
    /// # let channels = MockTableService::new().client().table_named::<DynamicEntity>("Channels");
    /// # channels.create().await?;
    /// let channel = || DynamicEntity::new("Channel9", "");
    /// assert!(channels.get_or_insert_with(("Channel9", ""), channel).await?.was_inserted());
    /// assert!(!channels.get_or_insert_with(("Channel9", ""), channel).await?.was_inserted());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// 409 `EntityAlreadyExists` after the last [round](GetOrInsert::rounds), in each of which the entity
    /// was there when it was inserted and gone when it was read; an error of kind
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput), before the insert, if the entity that was made has
    /// other keys. Before anything is sent: keys that no `T` has, as for [`get`](Self::get).
    /// [`Error::rounds`] says how many rounds there were.
    ///
    /// REST: [Query Entities](https://learn.microsoft.com/rest/api/storageservices/query-entities), `GET`,
    /// [Insert Entity](https://learn.microsoft.com/rest/api/storageservices/insert-entity), `POST`.
    /// Retries: [composite](crate::guide::errors#which-calls-are-tried-again).
    pub fn get_or_insert_with<'c>(
        &self,
        key: impl Into<EntityKey>,
        make: impl FnOnce() -> T + Send + 'c,
    ) -> GetOrInsert<'c, T> {
        GetOrInsert::new(self, Ok(key.into()), make)
    }
}

/// A read of an entity that is inserted if it is not there; see [`TableClient::get_or_insert_with`].
#[must_use = "an entity is read when this is awaited"]
pub struct GetOrInsert<'c, T> {
    table: TableClient<T>,
    key: Result<EntityKey, Error>,
    make: Box<dyn FnOnce() -> T + Send + 'c>,
    rounds: u32,
    options: CallOptions,
}

/// An entity that was there, or is now. Derefs to the entity.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Obtained<T> {
    /// The entity, with its version if it has a field for that. A Timestamp is there only if it was
    /// read: the answer to an insert does not tell it.
    pub entity: T,
    /// Its version.
    pub etag: ETag,
    inserted: Outcome,
    status: u16,
    request_id: Option<String>,
}

impl<T> Obtained<T> {
    /// Whether this call inserted it; unknown if it was found after an insert whose answer was lost.
    pub const fn inserted(&self) -> Outcome {
        self.inserted
    }

    /// The HTTP status of the last request, 200, 201 or 204.
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// The service's id of the last request.
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    fn found(fetched: Fetched<T>, inserted: Outcome) -> Self {
        let Fetched { entity, etag, status, request_id, .. } = fetched;
        Self { entity, etag, inserted, status, request_id }
    }

    /// Whether this call inserted the entity for certain.
    pub fn was_inserted(&self) -> bool {
        self.inserted == Outcome::Applied
    }

    /// The entity alone.
    pub fn into_entity(self) -> T {
        self.entity
    }
}

impl<T> Deref for Obtained<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.entity
    }
}

impl<'c, T> GetOrInsert<'c, T> {
    fn new(
        table: &TableClient<T>,
        key: Result<EntityKey, Error>,
        make: impl FnOnce() -> T + Send + 'c,
    ) -> Self {
        let (table, make) = (table.clone(), Box::new(make));
        Self { table, key, make, rounds: ROUNDS, options: CallOptions::default() }
    }

    /// How often the entity is inserted and read at most, at least once; 10 unless it is set.
    pub fn rounds(mut self, rounds: u32) -> Self {
        self.rounds = rounds;
        self
    }

    setters! { options: deadline "all rounds", retry, client_request_id }
}

impl<T: TableEntity + Send + 'static> GetOrInsert<'_, T> {
    async fn send(self) -> Result<Obtained<T>, Error> {
        let key = self.key?;
        // Another program may have inserted the same.
        let options = CallOptions { exact: Some(true), ..self.options };
        let mut rounds = Rounds::new(&self.table.pipeline, self.rounds, options);
        let read = || self.table.get_if_exists(key.clone());
        if let Some(fetched) = rounds.send(read()).await? {
            return Ok(Obtained::found(fetched, Outcome::NotApplied));
        }
        let mut entity = (self.make)();
        check_key(&entity, &key)
            .map_err(|error| rounds.failed(error).with_entity_key(|| Some(key.clone())))?;
        let mut inserted = Outcome::NotApplied;
        loop {
            let insert = self.table.insert(&entity);
            let insert = insert.expecting(|code| *code == ErrorCode::EntityAlreadyExists);
            let error = match rounds.send(insert).await {
                Ok(written) => {
                    entity.set_etag(&written.etag);
                    return Ok(Obtained {
                        entity,
                        etag: written.etag,
                        inserted: Outcome::Applied,
                        status: written.status,
                        request_id: written.request_id,
                    });
                }
                Err(error) if error.code() == Some(&ErrorCode::EntityAlreadyExists) => error,
                Err(error) => return Err(error),
            };
            if error.outcome() == Outcome::Unknown {
                inserted = Outcome::Unknown;
            }
            if let Some(fetched) = rounds.send(read()).await? {
                return Ok(Obtained::found(fetched, inserted));
            }
            rounds.next(error).await?;
        }
    }
}

impl<'c, T: TableEntity + Send + 'static> IntoFuture for GetOrInsert<'c, T> {
    type Output = Result<Obtained<T>, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'c>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

impl<T> fmt::Debug for GetOrInsert<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GetOrInsert")
            .field("table", &self.table)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
