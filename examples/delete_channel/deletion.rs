//! The deletion of a channel with all its blogs, which are in another table.
//!
//! Requests may be lost, late, or delivered twice by a proxy: each write names the version that it has read, and the outbox
//! reads back its own writes after a refusal. A deletion of blogs that is refused reads the blogs again.

use azure_table_client::client::TableSet;
use azure_table_client::{DynamicEntity, TableClient, TableEntity};
use azure_table_patterns::Error;
use azure_table_patterns::outbox::{Item, Outbox};
use chrono::{DateTime, Utc};

#[derive(Debug, TableEntity)]
#[table(name = "ExampleDeleteChannels", row_key = "channel", rename_all = "PascalCase")]
pub(crate) struct Channel {
    #[table(partition_key)]
    pub(crate) name: String,
    /// Distinguishes the channel from earlier ones with the same name.
    pub(crate) created: DateTime<Utc>,
    pub(crate) owner: String,
    /// Programs neither read a deleted channel nor write blogs into it, and do not replace it by a new one.
    pub(crate) deleted: bool,
}

/// The work item, which is in the partition of the channel.
#[derive(Debug, TableEntity)]
pub(crate) struct Deletion {
    #[table(partition_key)]
    channel: String,
    /// A new channel of the same name has another stamp, so its deletion is another item.
    #[table(row_key)]
    created: DateTime<Utc>,
}

#[derive(TableSet)]
pub(crate) struct Database {
    pub(crate) channels: TableClient<Channel>,
    #[table(name = "ExampleDeleteBlogs")]
    pub(crate) blogs: TableClient<DynamicEntity>,
}

impl Database {
    pub(crate) fn outbox(&self) -> Result<Outbox<Deletion>, Error> {
        Outbox::new(&self.channels, "delete")
    }
}

/// The web site calls this when a user deletes a channel. Once it returns, the channel will be deleted.
pub(crate) async fn request_deletion(database: &Database, name: &str) -> Result<(), Error> {
    let found = database.channels.get_if_exists((name, "channel")).primary_only().await?;
    let Some(mut channel) = found.filter(|channel| !channel.deleted) else { return Ok(()) };
    channel.deleted = true;
    let cause = database.channels.transaction().merge(&channel.entity, &channel.etag);
    let work = Deletion { channel: name.to_owned(), created: channel.created };
    database.outbox()?.enqueue(cause, &work).await?;
    Ok(())
}

/// Deletes a marked channel and its blogs. A worker may stop or stall at each request, and another one begins again.
pub(crate) async fn delete(database: &Database, item: &mut Item<Deletion>) -> Result<(), Error> {
    let Database { channels, blogs } = database;
    let (name, created) = (item.work.channel.clone(), item.work.created);
    loop {
        let found = blogs.query().partition(&name).select_names(["PartitionKey", "RowKey"]);
        let found = found.take(100).primary_only().await?;
        if found.is_empty() {
            break;
        }
        // Proves that no other worker held the item when the blogs were read, so they belong to this channel.
        item.renew().await?;
        let versions = found.iter().filter_map(|blog| Some((blog.key(), blog.etag()?)));
        let deletions =
            versions.fold(blogs.transaction(), |all, (key, etag)| all.delete(key, etag));
        match deletions.await {
            // Some were deleted or changed meanwhile; the next query returns the blogs that are left.
            Err(error) if !error.is_not_found() && !error.is_precondition_failed() => Err(error)?,
            _ => {}
        }
    }
    let found = channels.get_if_exists((&*name, "channel")).primary_only().await?;
    let channel = found.filter(|channel| channel.created == created);
    item.finish(|end| match &channel {
        Some(channel) => end.delete((&*name, "channel"), &channel.etag),
        None => end,
    })
    .await
}
