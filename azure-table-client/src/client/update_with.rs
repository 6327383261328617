use std::fmt;
use std::future::{Future, IntoFuture};
use std::ops::Deref;
use std::pin::Pin;

use super::removal::Before;
use super::rounds::{ROUNDS, Rounds, check_key};
use super::setters::setters;
use super::{Call, TableClient};
use crate::entity::{DynamicEntity, EntityKey, TableEntity};
use crate::error::{Error, ErrorCode, Outcome};
use crate::etag::{ETag, IfMatch};
use crate::operation::Written;
use crate::operation::entity::{Source, Update};
use crate::pipeline::CallOptions;

impl<T: TableEntity> TableClient<T> {
    /// Reads the entity with these keys, changes it, and writes it back if nobody wrote it in between;
    /// otherwise does all that again, at most [10 times](UpdateWith::rounds).
    ///
    /// `change` is called once a round, each time with the entity as it is then. The properties of other
    /// programs stay: the entity is merged, or, if the change removed a property, which no merge can do,
    /// the row as it was read is replaced with all that it has beside; see [`UpdateWith::replace`].
    ///
    /// ```
    /// # use azure_table_client::{TableEntity, mock::MockTableService};
    /// #[derive(TableEntity)]
    /// #[table(name = "Counters")]
    /// struct Counter {
    ///     #[table(partition_key)]
    ///     name: String,
    ///     #[table(row_key)]
    ///     day: String,
    ///     hits: i64,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), azure_table_client::Error> {
    /// # let counters = MockTableService::new().client().table::<Counter>();
    /// # counters.create().await?;
    /// let new = || Counter { name: "home".into(), day: "2009-04-14".into(), hits: 0 };
    /// counters.get_or_insert_with(("home", "2009-04-14"), new).await?;
    /// let updated = counters.update_with(("home", "2009-04-14"), |c| c.hits += 1).await?;
    /// assert_eq!((updated.hits, updated.rounds()), (1, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// 404 `ResourceNotFound` if the entity is not there, or was deleted in between; 412 after the last
    /// round; an error of kind [`InvalidInput`](crate::ErrorKind::InvalidInput), before the write, if the
    /// change was to a key, or removed a property of a row with others that cannot be read and written
    /// back (without metadata none can). Before anything is sent: keys that no `T` has, as for
    /// [`get`](Self::get). [`Error::rounds`] says how many rounds there were.
    ///
    /// A 412 may be about this call's own write, whose answer was lost. The
    /// [`outcome`](Error::outcome) then is [`Unknown`](Outcome::Unknown), and there are no more rounds,
    /// lest the change be made twice; see [`UpdateWith::idempotent`].
    ///
    /// REST: [Query Entities](https://learn.microsoft.com/rest/api/storageservices/query-entities), `GET`,
    /// [Merge Entity](https://learn.microsoft.com/rest/api/storageservices/merge-entity), `MERGE`,
    /// [Update Entity](https://learn.microsoft.com/rest/api/storageservices/update-entity2), `PUT`.
    /// Retries: [composite](crate::guide::errors#which-calls-are-tried-again).
    pub fn update_with<'c>(
        &self,
        key: impl Into<EntityKey>,
        mut change: impl FnMut(&mut T) + Send + 'c,
    ) -> UpdateWith<'c, T> {
        self.try_update_with(key, move |entity| {
            change(entity);
            Ok(())
        })
    }

    /// As [`update_with`](Self::update_with), with a change that may refuse: its error ends the call, and
    /// nothing is written.
    ///
    /// ```
    /// # use azure_table_client::{DynamicEntity, mock::MockTableService};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// # let accounts = MockTableService::new().client().table_named::<DynamicEntity>("Accounts");
    /// # accounts.create().await?;
    /// # accounts.insert(DynamicEntity::new("joe", "").set("Balance", 5)).await?;
    /// type AnyError = Box<dyn std::error::Error + Send + Sync>;
    ///
    /// let withdraw = |account: &mut DynamicEntity| -> Result<(), AnyError> {
    ///     match account.get::<i32>("Balance").transpose()? {
    ///         Some(balance) if balance >= 7 => account.set("Balance", balance - 7),
    ///         _ => return Err("not enough".into()),
    ///     };
    ///     Ok(())
    /// };
    /// let error = accounts.try_update_with(("joe", ""), withdraw).await.unwrap_err();
    /// assert_eq!(error.to_string(), "not enough");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// That of `change`, and those of [`update_with`](Self::update_with).
    pub fn try_update_with<'c, E: From<Error>>(
        &self,
        key: impl Into<EntityKey>,
        change: impl FnMut(&mut T) -> Result<(), E> + Send + 'c,
    ) -> UpdateWith<'c, T, E> {
        UpdateWith {
            table: self.clone(),
            key: key.into(),
            change: Box::new(change),
            update: Update::Merge,
            is_idempotent: false,
            rounds: ROUNDS,
            options: CallOptions::default(),
        }
    }
}

type Change<'c, T, E> = Box<dyn FnMut(&mut T) -> Result<(), E> + Send + 'c>;

/// A change of an entity that is made when nobody else is writing it; see
/// [`TableClient::update_with`].
#[must_use = "an entity is changed when this is awaited"]
pub struct UpdateWith<'c, T, E = Error> {
    table: TableClient<T>,
    key: EntityKey,
    change: Change<'c, T, E>,
    update: Update,
    is_idempotent: bool,
    rounds: u32,
    options: CallOptions,
}

/// An entity that was changed. Derefs to the entity.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Updated<T> {
    /// The entity as it was written, with the new version if it has a field for that. A Timestamp is the
    /// one that was read: the answer to a write does not tell the new one.
    pub entity: T,
    /// Its new version.
    pub etag: ETag,
    rounds: u32,
    status: u16,
    request_id: Option<String>,
}

impl<T> Updated<T> {
    /// How often it was read and changed: 1 if nobody wrote it in between.
    pub const fn rounds(&self) -> u32 {
        self.rounds
    }

    /// The HTTP status of the write, 204.
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// The service's id of the write.
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// The entity alone.
    pub fn into_entity(self) -> T {
        self.entity
    }
}

impl<T> Deref for Updated<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.entity
    }
}

impl<T, E> UpdateWith<'_, T, E> {
    /// Replaces the entity instead of merging it: every property that `T` does not write is removed,
    /// those of other programs included, unless it
    /// [keeps them](crate::entity::TableEntity::KEEPS_OTHERS).
    pub fn replace(mut self) -> Self {
        self.update = Update::Replace;
        self
    }

    /// The change may be made twice without harm, as one that sets a value may, and one that adds to it
    /// may not. A lost answer then is no reason to stop.
    pub fn idempotent(mut self) -> Self {
        self.is_idempotent = true;
        self
    }

    /// How often the entity is read and written at most, at least once; 10 unless it is set.
    pub fn rounds(mut self, rounds: u32) -> Self {
        self.rounds = rounds;
        self
    }

    setters! { options: deadline "all rounds", retry, client_request_id }
}

impl<T: TableEntity + Send + 'static, E: From<Error>> UpdateWith<'_, T, E> {
    async fn send(mut self) -> Result<Updated<T>, E> {
        // Another program may have changed it in the same way.
        let options = CallOptions {
            exact: Some(!self.is_idempotent),
            accept_matching_state: Some(self.is_idempotent),
            ..std::mem::take(&mut self.options)
        };
        let mut rounds = Rounds::new(&self.table.pipeline, self.rounds, options);
        loop {
            let (fetched, source) = rounds.send(self.table.get_with_source(&self.key)).await?;
            let mut entity = fetched.entity;
            let before = Before::of(&entity, self.table.pipeline.protocol.dialect());
            (self.change)(&mut entity)?;
            let call = self.write(&before, &entity, &source, &fetched.etag.into());
            let call = call
                .map_err(|error| rounds.failed(error).with_entity_key(|| Some(self.key.clone())))?;
            let lost = |code: &ErrorCode| *code == ErrorCode::UpdateConditionNotSatisfied;
            let error = match rounds.send(call.expecting(lost)).await {
                Ok(written) => {
                    entity.set_etag(&written.etag);
                    return Ok(Updated {
                        entity,
                        etag: written.etag,
                        rounds: rounds.number(),
                        status: written.status,
                        request_id: written.request_id,
                    });
                }
                Err(error) => error,
            };
            let is_anothers = error.outcome() != Outcome::Unknown;
            if !error.is_precondition_failed() || !(is_anothers || self.is_idempotent) {
                return Err(error.into());
            }
            rounds.next(error).await?;
        }
    }

    fn write(
        &self,
        before: &Before,
        entity: &T,
        source: &Source,
        condition: &IfMatch,
    ) -> Result<Call<Written>, Error> {
        check_key(entity, &self.key)?;
        if self.update == Update::Merge
            && let Some(row) = before.replacement(entity, source)?
        {
            let rows = self.table.with_entity::<DynamicEntity>();
            return Ok(rows.update(&row, Update::Replace, condition));
        }
        Ok(self.table.update(entity, self.update, condition))
    }
}

impl<'c, T, E> IntoFuture for UpdateWith<'c, T, E>
where
    T: TableEntity + Send + 'static,
    E: From<Error> + Send + 'c,
{
    type Output = Result<Updated<T>, E>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'c>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

impl<T, E> fmt::Debug for UpdateWith<'_, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpdateWith")
            .field("table", &self.table)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
