//! The deletion of a channel with all its blogs, which are in another table.

use azure_table_client::client::TableSet;
use azure_table_client::entity::Descending;
use azure_table_client::{ETag, TableClient, TableEntity};
use azure_table_patterns::Error;
use azure_table_patterns::outbox::{Item, Outbox};
use chrono::{DateTime, Utc};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "ExampleDeleteChannels", rename_all = "PascalCase")]
pub(crate) struct Channel {
    #[table(partition_key)]
    pub(crate) name: String,
    #[table(row_key)]
    pub(crate) kind: String,
    /// Distinguishes the channel from earlier ones with the same name.
    pub(crate) created: DateTime<Utc>,
    pub(crate) owner: String,
    /// Programs neither read a deleted channel nor write blogs into it, and do not replace it by a new one.
    pub(crate) deleted: bool,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "ExampleDeleteBlogs", rename_all = "PascalCase")]
pub(crate) struct Blog {
    #[table(partition_key)]
    pub(crate) channel: String,
    #[table(row_key)]
    pub(crate) posted: Descending<DateTime<Utc>>,
    pub(crate) text: String,
}

/// The columns of a blog that its deletion needs.
#[derive(Debug, TableEntity)]
#[table(rename_all = "PascalCase")]
struct BlogKey {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    posted: String,
    #[table(etag)]
    version: ETag,
}

/// The work item, which is in the partition of the channel.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(rename_all = "PascalCase")]
pub(crate) struct Deletion {
    #[table(partition_key)]
    pub(crate) channel: String,
    /// A new channel of the same name has another stamp, so its deletion is another item.
    #[table(row_key)]
    pub(crate) created: DateTime<Utc>,
}

#[derive(Debug, TableSet)]
pub(crate) struct Database {
    pub(crate) channels: TableClient<Channel>,
    pub(crate) blogs: TableClient<Blog>,
}

pub(crate) const CHANNEL_KIND: &str = "channel";
/// The largest number of operations in a transaction.
pub(crate) const TRANSACTION: usize = 100;

impl Database {
    pub(crate) fn outbox(&self) -> Outbox<Deletion> {
        Outbox::new(&self.channels, "delete")
    }
}

/// The web site calls this when a user deletes a channel. Once it returns, the channel will be deleted.
pub(crate) async fn request_deletion(database: &Database, channel: &str) -> Result<(), Error> {
    // A secondary that lags may not have a new channel yet.
    let found = database.channels.get_if_exists((channel, CHANNEL_KIND)).primary_only().await?;
    let Some(mut channel) = found.filter(|channel| !channel.deleted) else { return Ok(()) };
    channel.deleted = true;
    let cause = database.channels.transaction().merge(&channel.entity, &channel.etag);
    let work = Deletion { channel: channel.name.clone(), created: channel.created };
    database.outbox().enqueue(cause, &work).await?;
    Ok(())
}

/// Deletes a marked channel and its blogs. A worker may stop or stall at each request, and another one begins again.
///
/// A lease alone is not enough: a worker may stall until its lease has expired, and then continue. In the meantime
/// others may have finished the work, and a new channel of the same name may exist. So the worker deletes blogs in
/// versions that it read while it held the item, and the channel in the transaction that deletes the item.
pub(crate) async fn delete(database: &Database, item: &mut Item<Deletion>) -> Result<(), Error> {
    let Database { channels, blogs } = database;
    let blogs = blogs.with_entity::<BlogKey>();
    let name = item.work.channel.clone();
    loop {
        // A secondary that lags may not have some of the blogs yet.
        let keys = blogs.query().partition(&name).primary_only().take(TRANSACTION as u64);
        let keys = keys.select_names(["PartitionKey", "RowKey"]).await?;
        if keys.is_empty() {
            break;
        }
        // Proves that no other worker held the item when the blogs were read, so they belong to this channel.
        item.renew().await?;
        let deletions = keys.iter().fold(blogs.transaction(), |deletions, blog| {
            deletions.delete((&*blog.channel, &*blog.posted), &blog.version)
        });
        match deletions.await {
            // Some were deleted or changed meanwhile; the next query returns the blogs that are left.
            Err(error) if !error.is_not_found() && !error.is_precondition_failed() => Err(error)?,
            _ => {}
        }
    }
    let key = (&*name, CHANNEL_KIND);
    let found = channels.get_if_exists(key).primary_only().await?;
    let channel = found.filter(|channel| channel.created == item.work.created);
    item.finish(|end| match &channel {
        Some(channel) => end.delete(key, &channel.etag),
        None => end,
    })
    .await
}
