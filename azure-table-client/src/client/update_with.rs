use super::removal::Before;
use super::rounds::{ROUNDS, WriteRounds, check_key};
use super::setters::{awaited, setters};
use super::{Call, TableClient};
use crate::IfMatch;
use crate::entity::{DynamicEntity, EntityKey, IntoKey, KeyError, TableEntity};
use crate::error::{Error, ErrorCode, Outcome};
use crate::operation::entity::{RowSource, Update};
use crate::operation::{Stored, Written};
use crate::pipeline::CallOptions;

impl<T: TableEntity> TableClient<T> {
    /// Reads the entity with these keys, changes it, and writes it back by its version. After a concurrent write it
    /// starts again, at most [10 times](UpdateWith::rounds).
    ///
    /// `change` is called once per round, each time with the current entity. The properties of other
    /// programs stay: the entity is merged. If the change removed a property, which a merge cannot do, the whole
    /// row is replaced, including those properties; see [`UpdateWith::replace`].
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
    /// 404 `ResourceNotFound` if the entity does not exist, or was deleted during the call; 412 after the last
    /// round; an error of kind [`InvalidInput`](crate::ErrorKind::InvalidInput), before the write, if
    /// `change` changed a key, or removed a property of a row whose other properties cannot be read and written
    /// back (without metadata, no property can), or if `T` cannot write the row as it was read, so that a removal could
    /// not be detected. Before anything is sent: keys that no `T` has, like
    /// [`get`](Self::get). [`Error::rounds`] is the number of rounds.
    ///
    /// A 412 may be caused by this call's own write, whose response was lost. The
    /// [`outcome`](Error::outcome) then is [`Unknown`](Outcome::Unknown), and the call ends, so that the change is
    /// not applied twice; see [`UpdateWith::idempotent`].
    ///
    /// REST: [Query Entities](https://learn.microsoft.com/rest/api/storageservices/query-entities), `GET`,
    /// [Merge Entity](https://learn.microsoft.com/rest/api/storageservices/merge-entity), `MERGE`,
    /// [Update Entity](https://learn.microsoft.com/rest/api/storageservices/update-entity2), `PUT`.
    /// Retries: [composite](crate::guide::errors#retry-classes).
    #[doc(alias("lock", "compare_and_swap", "optimistic", "retry"))]
    pub fn update_with<'c>(
        &self,
        key: impl IntoKey,
        mut change: impl FnMut(&mut T) + Send + 'c,
    ) -> UpdateWith<'c, T> {
        self.try_update_with(key, move |entity| {
            change(entity);
            Ok(())
        })
    }

    /// Does the same as [`update_with`](Self::update_with), with a change that can fail: its error ends the call,
    /// and nothing is written.
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
    /// The error can be a type of your own into which [`Error`] converts:
    ///
    /// ```
    /// use azure_table_client::mock::MockTableService;
    /// use azure_table_client::{DynamicEntity, Error};
    ///
    /// #[derive(Debug)]
    /// enum SellError {
    ///     SoldOut,
    ///     Table(Error),
    /// }
    ///
    /// impl From<Error> for SellError {
    ///     fn from(error: Error) -> Self {
    ///         Self::Table(error)
    ///     }
    /// }
    ///
    /// #[tokio::main(flavor = "current_thread")]
    /// async fn main() -> Result<(), SellError> {
    ///     let stock = MockTableService::new().client().table_named::<DynamicEntity>("Stock");
    ///     stock.create().await?;
    ///     stock.insert(DynamicEntity::new("Oslo", "chair").set("Left", 0)).await?;
    ///     let sell = |item: &mut DynamicEntity| match item.get::<i32>("Left") {
    ///         Some(Ok(left)) if left > 0 => {
    ///             item.set("Left", left - 1);
    ///             Ok(())
    ///         }
    ///         _ => Err(SellError::SoldOut),
    ///     };
    ///     let refused = stock.try_update_with(("Oslo", "chair"), sell).await.unwrap_err();
    ///     assert!(matches!(refused, SellError::SoldOut)); // nothing was written
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// The error of `change`, and the errors of [`update_with`](Self::update_with).
    pub fn try_update_with<'c, E: From<Error>>(
        &self,
        key: impl IntoKey,
        change: impl FnMut(&mut T) -> Result<(), E> + Send + 'c,
    ) -> UpdateWith<'c, T, E> {
        UpdateWith {
            table: self.clone(),
            key: key.into_key(),
            change: Box::new(change),
            update: Update::Merge,
            is_idempotent: false,
            rounds: ROUNDS,
            options: CallOptions::default(),
        }
    }
}

type Change<'c, T, E> = Box<dyn FnMut(&mut T) -> Result<(), E> + Send + 'c>;

/// A call that reads an entity, changes it and writes it back by its version; see
/// [`TableClient::update_with`].
#[must_use = "an entity is changed when this is awaited"]
pub struct UpdateWith<'c, T, E = Error> {
    table: TableClient<T>,
    key: Result<EntityKey, KeyError>,
    change: Change<'c, T, E>,
    update: Update,
    is_idempotent: bool,
    rounds: u32,
    options: CallOptions,
}

impl<T, E> UpdateWith<'_, T, E> {
    /// Replaces the entity instead of merging it: every property that `T` does not write is removed,
    /// those of other programs included, unless it
    /// [keeps them](crate::entity::TableEntity::KEEPS_OTHERS).
    pub fn replace(mut self) -> Self {
        self.update = Update::Replace;
        self
    }

    /// Declares that the change can be applied twice without harm: setting a value can, adding to it cannot. The
    /// call then continues after a lost response. All later errors have the outcome [`Unknown`](Outcome::Unknown); if
    /// the change fails, the call ends with the error of the lost write. A row in the state that the change leaves then
    /// counts as [proof](crate::Proof::MatchingUpdate), unless the client accepts responses only.
    pub fn idempotent(mut self) -> Self {
        self.is_idempotent = true;
        self
    }

    /// Sets the maximum number of rounds of read and write, at least 1; 10 by default.
    pub fn rounds(mut self, rounds: u32) -> Self {
        self.rounds = rounds;
        self
    }

    setters! { options: deadline "the whole call with all its rounds", retry, client_request_id }
}

impl<T: TableEntity + 'static, E: From<Error>> UpdateWith<'_, T, E> {
    async fn send(mut self) -> Result<Stored<T>, E> {
        let options = std::mem::take(&mut self.options);
        let key = self.key.clone().map_err(Error::from)?;
        let mut rounds =
            WriteRounds::new(&self.table.core, self.rounds, options, self.is_idempotent);
        loop {
            let read = self.table.get_with_source(&key);
            let (fetched, source) = rounds.send(|options| read.with_options(options)).await?;
            let mut entity = fetched.entity;
            let failed = |error| rounds.failed(error).with_entity_key(|| Some(key.clone()));
            let before = self.before(&entity).map_err(failed)?;
            (self.change)(&mut entity).map_err(|error| rounds.refused(error))?;
            let call = self.write(before, &entity, &key, &source, &fetched.etag.into());
            let call = call.map_err(failed)?;
            let lost = |code: &ErrorCode| *code == ErrorCode::UpdateConditionNotSatisfied;
            let call = call.expecting(lost);
            let error = match rounds.send(|options| call.with_options(options)).await {
                Ok(written) => {
                    entity.set_etag(&written.etag);
                    return Ok(Stored::written(entity, written).with_rounds(rounds.number()));
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

    /// Returns the entity before the change; `None` if it is replaced, which removes properties by itself.
    fn before(&self, entity: &T) -> Result<Option<Before>, Error> {
        match self.update {
            Update::Merge => Before::of(entity, self.table.core.protocol.dialect()).map(Some),
            Update::Replace => Ok(None),
        }
    }

    fn write(
        &self,
        before: Option<Before>,
        entity: &T,
        key: &EntityKey,
        source: &RowSource,
        condition: &IfMatch,
    ) -> Result<Call<Written>, Error> {
        check_key(entity, key)?;
        if let Some(before) = before
            && let Some(row) = before.replacement(entity, || source.read())?
        {
            let rows = self.table.with_entity::<DynamicEntity>();
            return Ok(rows.send_update(&row, Update::Replace, condition));
        }
        Ok(self.table.send_update(entity, self.update, condition))
    }
}

awaited!(
    'c ['c, T: TableEntity + 'static, E: From<Error> + Send + 'c] UpdateWith<'c, T, E>
        => Result<Stored<T>, E>,
    |call| call.send()
);

opaque_debug!(<T, E> UpdateWith<'_, T, E>, |it| table: it.table, key: it.key);
