//! Atomic changes of several rows of a partition.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use super::partition_rows::PartitionRows;
use super::rounds::{ROUNDS, WriteRounds};
use super::setters::{awaited, setters};
use super::{Query, TableClient};
use crate::entity::{EntityKey, IntoKey, TableEntity, by_keys};
use crate::error::{Error, ErrorCode, Outcome};
use crate::filter::Filter;
use crate::limits::TRANSACTION_OPERATIONS;
use crate::operation::Stored;
use crate::operation::entity::Update;
use crate::pipeline::CallOptions;

impl<T: TableEntity> TableClient<T> {
    /// Changes several rows of one partition as a whole: reads the entities with these keys, changes them by the
    /// closure, and writes all changes in one [transaction](super::Transaction) under the versions that were read.
    /// After a concurrent write it starts again, at most [10 times](UpdateRowsWith::rounds).
    ///
    /// `change` is called once per round, each time with the rows as they are then. It changes them, [inserts
    /// rows](PartitionRows::insert) of the same partition and [deletes](PartitionRows::delete) rows; a key without an
    /// entity is missing in its rows. The call writes each row that differs afterwards, and returns the rows that exist
    /// then, in key order, with their versions; a row is missing if the response was lost and another program deleted
    /// the row before it was read back. If no row differs, nothing is sent.
    ///
    /// A changed row is merged, or replaced if the change removed a property, like by
    /// [`update_with`](Self::update_with).
    ///
    /// ```
    /// # use azure_table_client::{TableEntity, mock::MockTableService};
    /// #[derive(TableEntity)]
    /// #[table(name = "Accounts")]
    /// struct Account {
    ///     #[table(partition_key)]
    ///     bank: String,
    ///     #[table(row_key)]
    ///     name: String,
    ///     balance: i64,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// # let accounts = MockTableService::new().client().table::<Account>();
    /// # accounts.create().await?;
    /// # for (name, balance) in [("ann", 10), ("bob", 0)] {
    /// #     accounts.insert(&Account { bank: "oslo".into(), name: name.into(), balance }).await?;
    /// # }
    /// type AnyError = Box<dyn std::error::Error + Send + Sync>;
    ///
    /// let keys = [Account::key("oslo", "ann"), Account::key("oslo", "bob")];
    /// let paid = accounts
    ///     .try_update_rows_with(keys, |rows| -> Result<(), AnyError> {
    ///         let ann = rows.get_mut("ann").ok_or("no such account")?;
    ///         ann.balance = ann.balance.checked_sub(3).filter(|b| *b >= 0).ok_or("not enough")?;
    ///         rows.get_mut("bob").ok_or("no such account")?.balance += 3;
    ///         Ok(())
    ///     })
    ///     .await?;
    /// assert_eq!((paid[0].balance, paid[1].balance), (7, 3));
    ///
    /// // All rows that a query finds in a partition.
    /// let poor = accounts.query().filter(|a| a.bank.eq("oslo") & a.balance.lt(5));
    /// let gifts = poor.update_rows_with(|rows| rows.iter_mut().for_each(|a| a.balance += 1)).await?;
    /// assert_eq!((gifts.len(), gifts[0].balance), (1, 4));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Isolation
    /// - A row that was read and not changed is *fenced*: a merge without properties, under the version that was read.
    ///   The change is refused if another program wrote that row, so that decisions rest on rows that are still the
    ///   same. A fence counts as one of the 100 writes, and gives the row a new ETag and Timestamp, which makes
    ///   concurrent conditional writes of it fail, other fences included. With a
    ///   [write id](crate::TableServiceClientBuilder::write_id_column), a fence adds the column of the id to the row.
    ///   [`allow_write_skew`](UpdateRowsWith::allow_write_skew) omits the fences.
    /// - Rows that do not exist cannot be fenced. A row of another key, or one that the query would find, that another
    ///   program inserts meanwhile is not seen. To exclude it, change or fence a row that all writers change as well.
    /// - The rows are not read at the same moment. A closure that refuses may have seen a state that never existed; a
    ///   change that rests on such a state is refused by the service and repeated.
    ///
    /// # Errors
    /// - An error of kind [`InvalidInput`](crate::ErrorKind::InvalidInput), before the transaction: more than 100
    ///   writes, fences included; more than 4 MiB (2 MiB for [Cosmos DB](crate::Dialect)); a closure that changed a
    ///   key, inserted a row that was read or one of another partition, or removed a property of a row whose other
    ///   properties cannot be read and written back; a row that `T` cannot write as it was read, and that the closure
    ///   obtained by `get_mut` or `iter_mut` ([`replace`](UpdateRowsWith::replace) writes it). Before anything is sent:
    ///   keys of several partitions, keys that no `T` has.
    /// - An error of kind [`TooManyRows`](crate::ErrorKind::TooManyRows), before the closure is called: more than 100 rows
    ///   are found, and would have to be changed or fenced.
    /// - After the last round: 412 `UpdateConditionNotSatisfied`, 404 `ResourceNotFound` or 409 `EntityAlreadyExists`
    ///   for a row that another program changed, deleted or inserted. 409 ends the call after two rounds in a row that
    ///   inserted the same row, because a row that exists and is not among the keys does not appear in later rounds.
    ///
    /// [`Error::rounds`] is the number of rounds. Like in [`update_with`](Self::update_with), these errors may be caused
    /// by this call's own transaction, whose response was lost. If its outcome cannot be
    /// [proved](crate::TableServiceClientBuilder::write_id_column), the call ends with the outcome
    /// [`Unknown`](Outcome::Unknown), so that the change is not applied twice; see [`UpdateRowsWith::idempotent`].
    ///
    /// REST: [Query Entities](https://learn.microsoft.com/rest/api/storageservices/query-entities), `GET`,
    /// [Performing entity group transactions](https://learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions), `POST`.
    /// Retries: [composite](crate::guide::errors#retry-classes).
    #[doc(alias("partition", "transaction", "atomic", "compare_and_swap", "optimistic"))]
    pub fn update_rows_with<'c, K: IntoKey>(
        &self,
        keys: impl IntoIterator<Item = K>,
        mut change: impl FnMut(&mut PartitionRows<T>) + Send + 'c,
    ) -> UpdateRowsWith<'c, T> {
        self.try_update_rows_with(keys, move |rows| {
            change(rows);
            Ok(())
        })
    }

    /// Does the same as [`update_rows_with`](Self::update_rows_with), with a change that can fail: its error ends the
    /// call, and nothing is written.
    ///
    /// # Errors
    /// The error of `change`, and the errors of [`update_rows_with`](Self::update_rows_with).
    pub fn try_update_rows_with<'c, K: IntoKey, E: From<Error>>(
        &self,
        keys: impl IntoIterator<Item = K>,
        change: impl FnMut(&mut PartitionRows<T>) -> Result<(), E> + Send + 'c,
    ) -> UpdateRowsWith<'c, T, E> {
        UpdateRowsWith::new(self.clone(), RowSelection::of_keys(self, keys), change)
    }
}

impl<E: TableEntity> Query<E> {
    /// Changes the rows that the query finds in one partition as a whole; see
    /// [`TableClient::update_rows_with`](crate::TableClient::update_rows_with).
    ///
    /// The deadline, the retry policy and the client request id of the query become those of the whole call.
    ///
    /// # Errors
    /// The errors of that method and of the query. Before anything is sent, of kind
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput): the filter does not state one partition (a filter that no row
    /// can meet states none, and finds no rows), or the query selects columns or one kind of entities.
    pub fn update_rows_with<'c>(
        self,
        mut change: impl FnMut(&mut PartitionRows<E>) + Send + 'c,
    ) -> UpdateRowsWith<'c, E> {
        self.try_update_rows_with(move |rows| {
            change(rows);
            Ok(())
        })
    }

    /// Does the same as [`update_rows_with`](Self::update_rows_with), with a change that can fail: its error ends the
    /// call, and nothing is written.
    ///
    /// # Errors
    /// The error of `change`, and the errors of [`update_rows_with`](Self::update_rows_with).
    pub fn try_update_rows_with<'c, R: From<Error>>(
        self,
        change: impl FnMut(&mut PartitionRows<E>) -> Result<(), R> + Send + 'c,
    ) -> UpdateRowsWith<'c, E, R> {
        let table = TableClient::new(Arc::clone(self.core()), self.table().to_string());
        // The format is for the rows that are read.
        let options = CallOptions { format: None, ..self.options().clone() };
        UpdateRowsWith {
            options,
            ..UpdateRowsWith::new(table, RowSelection::of_query(self), change)
        }
    }
}

/// The number of rows that one transaction can fence.
const MAX_FENCES: u64 = TRANSACTION_OPERATIONS as u64;

/// The rows that each round reads.
struct RowSelection<T> {
    /// `None` without keys, and for a query that no row can meet.
    partition_key: Option<String>,
    query: Option<Query<T>>,
}

impl<T: TableEntity> RowSelection<T> {
    fn of_keys<K: IntoKey>(
        table: &TableClient<T>,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Self, Error> {
        let mut all: Vec<EntityKey> = Vec::new();
        for key in keys {
            let key = key.into_key()?;
            table.check_key(&key)?;
            if let Some(first) = all.first()
                && first.partition_key != key.partition_key
            {
                let message =
                    format!("a transaction is limited to one partition: {first} and {key}");
                return Err(Error::invalid_input(message));
            }
            all.push(key);
        }
        all.sort_unstable_by(by_keys);
        all.dedup();
        let partition_key = all.first().map(|key| key.partition_key.clone());
        let filter = partition_key.as_ref().and_then(|partition_key| {
            Filter::rows(partition_key, all.iter().map(|key| key.row_key.as_str()))
        });
        Ok(Self { partition_key, query: filter.map(|filter| table.query().matching(&filter)) })
    }

    fn of_query(query: Query<T>) -> Result<Self, Error> {
        Ok(Self { partition_key: query.updatable_partition()?, query: Some(query) })
    }

    /// Reads the rows with all their properties.
    async fn read(
        &self,
        table: &TableClient<T>,
        options: CallOptions,
        has_fences: bool,
    ) -> Result<PartitionRows<T>, Error> {
        let protocol = table.core.protocol;
        let mut found = Vec::new();
        if let Some(query) = &self.query {
            let left = options.deadline.unwrap_or(Duration::MAX);
            // Without types, other properties of a row could not be written back.
            let options = CallOptions { format: Some(protocol.typed().format()), ..options };
            let query = query.clone().with_options(options);
            let query = if has_fences { query.take_at_most(MAX_FENCES + 1) } else { query };
            let rows = pin!(query.into_dynamic().into_future());
            let late = || Error::timeout("no time is left to read the rows");
            found = table.core.clock.timeout(left, rows).await.ok_or_else(late)??.into_vec();
        }
        if has_fences && found.len() as u64 > MAX_FENCES {
            return Err(Error::too_many_rows_to_fence(MAX_FENCES));
        }
        PartitionRows::new(self.partition_key.clone(), found, protocol.dialect())
    }
}

type Change<'c, T, E> = Box<dyn FnMut(&mut PartitionRows<T>) -> Result<(), E> + Send + 'c>;

/// A call that changes several rows of one partition as a whole; see [`TableClient::update_rows_with`].
#[must_use = "rows are changed when this is awaited"]
pub struct UpdateRowsWith<'c, T, E = Error> {
    table: TableClient<T>,
    selection: Result<RowSelection<T>, Error>,
    change: Change<'c, T, E>,
    update: Update,
    has_fences: bool,
    is_idempotent: bool,
    rounds: u32,
    options: CallOptions,
}

impl<'c, T, E> UpdateRowsWith<'c, T, E> {
    fn new(
        table: TableClient<T>,
        selection: Result<RowSelection<T>, Error>,
        change: impl FnMut(&mut PartitionRows<T>) -> Result<(), E> + Send + 'c,
    ) -> Self {
        Self {
            table,
            selection,
            change: Box::new(change),
            update: Update::Merge,
            has_fences: true,
            is_idempotent: false,
            rounds: ROUNDS,
            options: CallOptions::default(),
        }
    }

    /// Replaces changed rows instead of merging them; see [`UpdateWith::replace`](super::UpdateWith::replace).
    pub fn replace(mut self) -> Self {
        self.update = Update::Replace;
        self
    }

    /// Does not fence rows that are read and not changed. Another program may change them before this change is
    /// applied, so that two changes, each right for the rows that it read, together break a rule between rows (*write
    /// skew*). Use it for rows that many changes read, such as settings, because fences make these changes exclude
    /// each other. Any number of rows can then be read; up to 100 can be changed.
    pub fn allow_write_skew(mut self) -> Self {
        self.has_fences = false;
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

impl<T: TableEntity + Send + 'static, E: From<Error>> UpdateRowsWith<'_, T, E> {
    async fn send(self) -> Result<Vec<Stored<T>>, E> {
        let Self { table, mut change, update, has_fences, is_idempotent, .. } = self;
        let selection = self.selection?;
        let mut rounds = WriteRounds::new(&table.core, self.rounds, self.options, is_idempotent);
        let mut existing = None;
        loop {
            let read = |options| selection.read(&table, options, has_fences);
            let mut rows = rounds.send(read).await?;
            change(&mut rows).map_err(|error| rounds.refused(error))?;
            let writes = rows.writes(update, has_fences).map_err(|error| rounds.failed(error))?;
            let Some(writes) = writes else { return Ok(rows.into_unchanged(rounds.number())) };
            let transaction = rows.transaction(&writes, &table);
            let send = |options| transaction.with_options(options, is_conflict);
            let error = match rounds.send(send).await {
                Ok(committed) => {
                    return Ok(rows.into_committed(&writes, &committed, rounds.number()));
                }
                Err(error) => error,
            };
            let is_conflict =
                error.is_precondition_failed() || error.code().is_some_and(is_conflict);
            let is_anothers = error.outcome() != Outcome::Unknown;
            let inserted = error.is_conflict().then(|| error.entity_key().cloned()).flatten();
            let is_unread = inserted.is_some() && inserted == existing;
            if !is_conflict || is_unread || !(is_anothers || is_idempotent) {
                return Err(error.into());
            }
            existing = inserted;
            rounds.next(error).await?;
        }
    }
}

/// Whether a row changed, appeared or disappeared since it was read.
fn is_conflict(code: &ErrorCode) -> bool {
    matches!(code, ErrorCode::UpdateConditionNotSatisfied | ErrorCode::EntityAlreadyExists)
        || code.is_missing_entity()
}

awaited!(
    'c ['c, T: TableEntity + Send + 'static, E: From<Error> + Send + 'c] UpdateRowsWith<'c, T, E>
        => Result<Vec<Stored<T>>, E>,
    |call| call.send()
);

opaque_debug!(<T, E> UpdateRowsWith<'_, T, E>, |it| table: it.table, rounds: it.rounds);
