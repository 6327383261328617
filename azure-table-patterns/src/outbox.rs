#![doc = include_str!("../docs/outbox.md")]
//! # Safety argument
//!
//! - **An item is a lease row.** A worker acquires it by a conditional write with the next token, at once if it is
//!   free, and otherwise after it has seen one version for the holder's time to live on its own monotonic clock. The
//!   worker observes versions by the query of each pass. No time of day is compared, also not for the wait after a
//!   failure.
//! - **Each write of an item is conditional on the last version that this worker wrote.** A take-over changes the
//!   version, so all writes of the earlier holder are refused from then on, however late they arrive. The service
//!   checks this, so no clock matters.
//! - **`renew` after a read is a proof.** The version of the item is unbroken from the acquisition to the renewal,
//!   so no other worker held the item until then, and the rows that were read belong to this work. A clock alone
//!   could not prove it: the program may be paused after it looked at the clock.
//! - **A write of unknown outcome ends the attempt.** The next attempt begins with the stored row: the progress
//!   shows whether a `commit` was applied. If a late `commit` arrives after that, the version has changed.
//! - **`finish` deletes the item with the last effect.** A worker that stops before `finish` leaves the item to the
//!   next worker; after `finish`, no work is left. A late write finds no item, or a new one with another version.
//! - **An item whose worker stops in each attempt does not run for ever.** Acquisitions count as attempts, so the
//!   item is parked.

mod item;
mod row;
mod worker;

use std::fmt;
use std::marker::PhantomData;

use azure_table_client::TableEntity;
use azure_table_client::client::{Query, Transaction};
use azure_table_client::entity::{IntoKey, KeyRange};
use azure_table_client::filter::Filter;
use azure_table_client::{
    DynamicEntity, EntityKey, Error as ClientError, Outcome, Proof, TableClient,
};
use uuid::Uuid;

use crate::delivery::was_never_applied;
#[cfg(doc)]
use crate::lease::{self, merge_fenced};
use crate::{Error, input};
use row::{NewItem, State};

pub use item::Item;
pub use worker::{Failed, Pass, Worker};

/// Items of work in a table, which workers find and run; see the [module](self). Cheap to clone.
///
/// `W` is the work: an entity whose columns the item holds, next to those of its lease. Its PartitionKey is the
/// partition of the item, and its RowKey identifies the work within the outbox and that partition.
pub struct Outbox<W> {
    table: TableClient<DynamicEntity>,
    name: String,
    work: PhantomData<fn() -> W>,
}

impl<W> Clone for Outbox<W> {
    fn clone(&self) -> Self {
        Self { table: self.table.clone(), name: self.name.clone(), work: PhantomData }
    }
}

impl<W> fmt::Debug for Outbox<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Outbox");
        debug.field("table", &self.table.name()).field("name", &self.name).finish_non_exhaustive()
    }
}

impl<W: TableEntity> Outbox<W> {
    /// Opens the outbox `name` in the table of its causes. The RowKeys of its items begin with the name and `!`; no
    /// other rows of the table may. Sends nothing.
    ///
    /// # Errors
    /// The name of the table is invalid, or the name of the outbox: it is empty, or contains `!` or a character that keys
    /// cannot have.
    pub fn new<T: TableEntity>(
        table: &TableClient<T>,
        name: impl Into<String>,
    ) -> Result<Self, Error> {
        let name = name.into();
        row::check_name(&name)?;
        input::check_row(table, &EntityKey::new("p", format!("{name}{}", row::SEPARATOR)))?;
        Ok(Self { table: table.with_entity(), name, work: PhantomData })
    }

    /// Applies the transaction of a cause together with the insert of an item: both or neither. The item is the last
    /// operation.
    ///
    /// The cause must name the version of a row that it changes, or insert a row that stays. Otherwise, if the request
    /// arrives twice and a worker has done the first item before, a second item is inserted and its steps run again.
    ///
    /// An error after a request was sent makes the call read the item back: if the item is that of this call, the call
    /// succeeds. Read the cause again for its new version.
    ///
    /// # Errors
    /// Before anything is sent: another table or partition than the item's, a column of the work with the name of a column
    /// of the outbox, or an operation that the client refuses. The service refuses the whole transaction if it refuses the
    /// cause, and with 409 `EntityAlreadyExists` if the outbox has an item with this RowKey. The [outcome](Error::outcome)
    /// of 404, 409, 412, 429 and 503 is unknown unless the item of this call is found: a proxy may have delivered the request
    /// twice, and a worker may have done the item since. [`client`](Error::client) returns the refusal. Read the cause again
    /// and decide, like after any conflict:
    ///
    /// - 409 for an operation of the cause ([`batch_index`](azure_table_client::Error::batch_index)) means that the cause
    ///   exists, if the program has chosen its key.
    /// - 409 for the item, the last operation, means only that an item of this RowKey exists.
    /// - A program that repeats the call until the outcome is known must stop at 409: once the item is done, each
    ///   repetition is refused by the cause, with an unknown outcome.
    pub async fn enqueue<T: TableEntity>(
        &self,
        transaction: Transaction<T>,
        work: &W,
    ) -> Result<(), Error> {
        let id = self.table.clock().random_id()?;
        let item = NewItem::new(&self.name, work, id);
        let (table, other) = (self.table.name(), transaction.table());
        let item = if table == other {
            item
        } else {
            item.refused(format!(
                "the outbox is in table {table}, the transaction in table {other}"
            ))
        };
        match transaction.with_entity().insert(&item).await {
            Ok(_) => Ok(()),
            Err(error) => self.confirm(error, item, id).await,
        }
    }

    /// Inserts an item without a cause in this table.
    ///
    /// # Errors
    /// The errors of [`enqueue`](Self::enqueue). If the outcome is unknown, the item may be running, or already done:
    /// insert it again only if its steps may run again.
    pub async fn insert(&self, work: &W) -> Result<(), Error> {
        self.enqueue(self.table.transaction(), work).await
    }

    /// Returns whether the work has an item that is not done. It may be held, waiting or parked.
    ///
    /// # Errors
    /// The errors of a read.
    pub async fn contains(&self, work: &W) -> Result<bool, Error> {
        let key = row::item_key(&self.name, work)?;
        Ok(self.table.contains(key).primary_only().await?)
    }

    /// Lets workers run a parked item again, with the attempts of a new one.
    ///
    /// `key` is the key of the item in [`Pass::parked`]. If a column of the outbox has an invalid value, correct the row
    /// first: otherwise the call fails, or the next pass parks the item again.
    ///
    /// # Errors
    /// 404 if the item does not exist. 412, with an unknown outcome, if another program changed it concurrently and it is
    /// still parked. A request failed.
    pub async fn resume(&self, key: impl IntoKey) -> Result<(), Error> {
        let key = key.into_key()?;
        let items = self.table.with_entity::<State>();
        let found = items.get(&key).primary_only().await?;
        let row = row::resumed(&key, &found);
        match self.table.merge(&row, &found.etag).proof(Proof::MatchingUpdate).await {
            Ok(_) => Ok(()),
            Err(error) if was_never_applied(&error) => Err(error.into()),
            Err(error) => match items.get_if_exists(&key).primary_only().await {
                Ok(Some(item)) if !item.is_parked() => Ok(()),
                _ => Err(Error::unknown(error)),
            },
        }
    }

    /// Creates a worker. `holder` is a text for people, such as the name of the machine.
    pub fn worker(&self, holder: impl Into<String>) -> Worker<W> {
        Worker::new(self.clone(), holder.into())
    }

    /// Reads an item back after its insert failed: its id proves the transaction.
    async fn confirm(&self, error: ClientError, item: NewItem, id: Uuid) -> Result<(), Error> {
        if error.outcome() == Outcome::Applied {
            return Ok(());
        }
        if was_never_applied(&error) {
            return Err(error.into());
        }
        let items = self.table.with_entity::<State>();
        let found = items.get_if_exists(item.key?).primary_only().await;
        match found {
            Ok(Some(item)) if item.enqueue_id == Some(id) => Ok(()),
            // A worker may have done the item and deleted it.
            _ => Err(Error::unknown(error)),
        }
    }

    /// The rows of the items in this partition, or in all partitions.
    fn rows(&self, partition: Option<&str>) -> Query<DynamicEntity> {
        let range = KeyRange::of_prefix(format!("{}{}", self.name, row::SEPARATOR));
        let query = self.table.query().primary_only().matching(&Filter::rows_in(&range));
        match partition {
            Some(partition) => query.partition(partition),
            None => query.allow_scan(),
        }
    }
}
