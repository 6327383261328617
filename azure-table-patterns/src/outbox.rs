#![doc = include_str!("../docs/links.md")]
#![doc = include_str!("../docs/pictures.md")]
#![doc = include_str!("../docs/outbox.md")]

mod item;
mod row;
mod worker;

use std::fmt;
use std::marker::PhantomData;

use azure_table_client::client::{Query, Transaction};
use azure_table_client::entity::{IntoKey, KeyRange, TableEntity};
use azure_table_client::filter::Filter;
use azure_table_client::{DynamicEntity, TableClient};

use crate::Error;
use row::NewItem;

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
    /// An empty name and a name with `!` are an error of each call.
    pub fn new<T: TableEntity>(table: &TableClient<T>, name: impl Into<String>) -> Self {
        Self { table: table.with_entity(), name: name.into(), work: PhantomData }
    }

    /// Adds the insert of an item to the transaction of its cause, so that the service applies both or neither.
    ///
    /// The transaction succeeds at most once if its cause does: if it names the version of a row that it changes, or
    /// inserts a row that stays. Otherwise a request that arrives twice inserts the item again, also after the first one
    /// is done.
    ///
    /// # Errors
    /// The transaction reports them, before it is sent: another table or partition than the item's, a column of the
    /// work with the name of a column of the outbox. The service refuses the whole transaction with 409
    /// `EntityAlreadyExists` if the outbox has an item with this RowKey.
    pub fn enqueue<T: TableEntity>(&self, transaction: Transaction<T>, work: &W) -> Transaction<T> {
        let item = NewItem::new(&self.name, work);
        let (table, other) = (self.table.name(), transaction.table());
        let item = if table == other {
            item
        } else {
            item.refused(format!(
                "the outbox is in table {table}, the transaction in table {other}"
            ))
        };
        transaction.with_entity().insert(&item).with_entity()
    }

    /// Inserts an item without a cause in this table.
    ///
    /// # Errors
    /// 409 `EntityAlreadyExists` if the outbox has an item with this RowKey. If the outcome is unknown, the item may be
    /// running, or already done: insert it again only if its steps may run again.
    pub async fn insert(&self, work: &W) -> Result<(), Error> {
        let item = NewItem::new(&self.name, work);
        self.table.with_entity().insert(&item).exact().await?;
        Ok(())
    }

    /// Returns whether the work has an item that is not done. It may be held, waiting or parked.
    ///
    /// # Errors
    /// The errors of a read.
    pub async fn contains(&self, work: &W) -> Result<bool, Error> {
        row::check_name(&self.name).map_err(azure_table_client::Error::from)?;
        let key = row::item_key(&self.name, work).map_err(azure_table_client::Error::from)?;
        Ok(self.table.contains(key).primary_only().await?)
    }

    /// Lets workers run a parked item again, with the attempts of a new one.
    ///
    /// `key` is the key of the item in [`Pass::parked`].
    ///
    /// # Errors
    /// 404 if the item does not exist, 412 if another program changed it concurrently.
    pub async fn resume(&self, key: impl IntoKey) -> Result<(), Error> {
        let key = key.into_key().map_err(azure_table_client::Error::from)?;
        let found = self.table.with_entity::<row::State>().get(&key).primary_only().await?;
        let row = row::resumed(&key, &found);
        self.table.merge(&row, &found.etag).accept_matching_state(true).await?;
        Ok(())
    }

    /// Creates a worker. `holder` is a text for people, such as the name of the machine.
    pub fn worker(&self, holder: impl Into<String>) -> Worker<W> {
        Worker::new(self.clone(), holder.into())
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
