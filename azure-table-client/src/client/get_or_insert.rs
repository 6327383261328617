use super::TableClient;
use super::rounds::{ROUNDS, WriteRounds, check_key};
use super::setters::{awaited, setters};
use crate::entity::{EntityKey, IntoKey, KeyError, TableEntity};
use crate::error::{Error, ErrorCode, Outcome};
use crate::operation::Stored;
use crate::pipeline::CallOptions;

impl<T: TableEntity> TableClient<T> {
    /// Reads the entity with the keys of `entity`; inserts `entity` if that entity does not exist.
    ///
    /// See [`get_or_insert_with`](Self::get_or_insert_with).
    ///
    /// ```
    /// use azure_table_client::mock::MockTableService;
    /// use azure_table_client::{DynamicEntity, Outcome};
    ///
    /// #[tokio::main(flavor = "current_thread")]
    /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     let jobs = MockTableService::new().client().table_named::<DynamicEntity>("Jobs");
    ///     jobs.create().await?;
    ///     let claim = |worker: &'static str| {
    ///         let job = DynamicEntity::new("2009-04-14", "report").with("Worker", worker);
    ///         jobs.get_or_insert_with(("2009-04-14", "report"), move || job)
    ///     };
    ///     let (a, b) = tokio::join!(claim("a").into_future(), claim("b").into_future());
    ///     let ((a, a_inserted), (b, b_inserted)) = (a?, b?);
    ///     assert!((a_inserted == Outcome::Applied) != (b_inserted == Outcome::Applied));
    ///     assert_eq!(a.value("Worker"), b.value("Worker"));
    ///     Ok(())
    /// }
    /// ```
    pub fn get_or_insert<'c>(&self, entity: &'c T) -> GetOrInsert<'c, T>
    where
        T: Clone + Sync,
    {
        GetOrInsert::new(self, entity.entity_key(), || entity.clone())
    }

    /// Reads the entity with these keys; creates and inserts one if it does not exist. If several programs do so
    /// at the same time, one of them inserts its entity, and all get that entity.
    ///
    /// Returns the entity, and whether this call inserted it: [`Applied`](Outcome::Applied) if it did,
    /// [`NotApplied`](Outcome::NotApplied) if the entity was found, [`Unknown`](Outcome::Unknown) if it was found
    /// after an insert whose response was lost.
    ///
    /// ```
    /// # use azure_table_client::{DynamicEntity, Outcome, mock::MockTableService};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), azure_table_client::Error> {
    /// # let channels = MockTableService::new().client().table_named::<DynamicEntity>("Channels");
    /// # channels.create().await?;
    /// let channel = || DynamicEntity::new("Channel9", "");
    /// let (_, inserted) = channels.get_or_insert_with(("Channel9", ""), channel).await?;
    /// assert_eq!(inserted, Outcome::Applied);
    /// let (_, inserted) = channels.get_or_insert_with(("Channel9", ""), channel).await?;
    /// assert_eq!(inserted, Outcome::NotApplied);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// 409 `EntityAlreadyExists` after the last [round](GetOrInsert::rounds), if in each round the entity existed
    /// when it was inserted and was missing when it was read; an error of kind
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput), before the insert, if the created entity has other keys.
    /// Before anything is sent: keys that no `T` has, like [`get`](Self::get). [`Error::rounds`] is the number of
    /// rounds.
    ///
    /// After an insert whose response was lost, the [`outcome`](Error::outcome) of every error is
    /// [`Unknown`](Outcome::Unknown), also that of a failed read: the entity may have been inserted.
    ///
    /// REST: [Query Entities](https://learn.microsoft.com/rest/api/storageservices/query-entities), `GET`,
    /// [Insert Entity](https://learn.microsoft.com/rest/api/storageservices/insert-entity), `POST`.
    /// Retries: [composite](crate::guide::errors#retry-classes).
    pub fn get_or_insert_with<'c>(
        &self,
        key: impl IntoKey,
        make: impl FnOnce() -> T + Send + 'c,
    ) -> GetOrInsert<'c, T> {
        GetOrInsert::new(self, key, make)
    }
}

/// A call that reads an entity, or inserts it if it is missing; see [`TableClient::get_or_insert_with`].
#[must_use = "an entity is read when this is awaited"]
pub struct GetOrInsert<'c, T> {
    table: TableClient<T>,
    key: Result<EntityKey, KeyError>,
    make: Box<dyn FnOnce() -> T + Send + 'c>,
    rounds: u32,
    options: CallOptions,
}

impl<'c, T> GetOrInsert<'c, T> {
    fn new(
        table: &TableClient<T>,
        key: impl IntoKey,
        make: impl FnOnce() -> T + Send + 'c,
    ) -> Self {
        Self {
            table: table.clone(),
            key: key.into_key(),
            make: Box::new(make),
            rounds: ROUNDS,
            options: CallOptions::default(),
        }
    }

    /// Sets the maximum number of rounds of insert and read, at least 1; 10 by default.
    pub fn rounds(mut self, rounds: u32) -> Self {
        self.rounds = rounds;
        self
    }

    setters! { options: deadline "the whole call with all its rounds", retry, client_request_id }
}

impl<T: TableEntity + 'static> GetOrInsert<'_, T> {
    async fn send(self) -> Result<(Stored<T>, Outcome), Error> {
        let key = self.key?;
        let mut rounds = WriteRounds::new(&self.table.core, self.rounds, self.options, false);
        let read = |options| self.table.get_if_exists(key.clone()).with_options(options);
        if let Some(stored) = rounds.send(read).await? {
            return Ok((stored, Outcome::NotApplied));
        }
        let mut entity = (self.make)();
        check_key(&entity, &key)
            .map_err(|error| rounds.failed(error).with_entity_key(|| Some(key.clone())))?;
        loop {
            let insert = self.table.insert(&entity);
            let insert = insert.expecting(|code| *code == ErrorCode::EntityAlreadyExists);
            let error = match rounds.send(|options| insert.with_options(options)).await {
                Ok(written) => {
                    entity.set_etag(&written.etag);
                    let stored = Stored::written(entity, written).with_rounds(rounds.number());
                    return Ok((stored, Outcome::Applied));
                }
                Err(error) if error.code() == Some(&ErrorCode::EntityAlreadyExists) => error,
                Err(error) => return Err(error),
            };
            if let Some(stored) = rounds.send(read).await? {
                let inserted =
                    if rounds.is_open() { Outcome::Unknown } else { Outcome::NotApplied };
                return Ok((stored.with_rounds(rounds.number()), inserted));
            }
            rounds.next(error).await?;
        }
    }
}

awaited!(
    'c ['c, T: TableEntity + 'static] GetOrInsert<'c, T> => Result<(Stored<T>, Outcome), Error>,
    |call| call.send()
);

opaque_debug!(<T> GetOrInsert<'_, T>, |it| table: it.table, key: it.key);
