//! Consistency across tables (the "Windows Azure Table" paper, 7.2): a channel is deleted with all its
//! blogs, which are in another table, whatever happens on the way.
//!
//! No transaction spans two tables. What is to be done is therefore an entity itself, and stays until all
//! of it is done. A worker takes a lease on it; if the worker dies the lease runs out, and another one
//! goes on from there. The paper has a queue for this; here it is a third table.
//!
//! A lease alone is not enough: a worker may stall until its lease has run out, and then go on. In the
//! meantime others may have done it all, and there may be a new channel of the same name. So each
//! channel has a stamp of its own, the work is on the channel with that stamp and on no other, and
//! what is deleted is deleted by the version that was read while the lease was held.
//!
//! `cargo run -p azure-table-examples --example delete_channel` runs it on the embedded service, and then kills it at every
//! request, before and after it is done. With `AZURE_STORAGE_CONNECTION_STRING` set it deletes one
//! channel on that account or emulator.

#![expect(clippy::print_stdout, reason = "examples print")]

#[path = "delete_channel/crashes.rs"]
mod crashes;
#[cfg(test)]
#[path = "delete_channel/tests.rs"]
mod tests;

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use azure_table_client::client::{Fetched, TableSet, Transaction};
use azure_table_client::clock::{Clock, SystemClock};
use azure_table_client::entity::Descending;
use azure_table_client::{ETag, Error, ErrorCode, TableClient, TableEntity, TableEnum, filter};
use chrono::{DateTime, TimeDelta, TimeZone, Utc};

type AnyError = Box<dyn StdError + Send + Sync>;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "ExampleDeleteChannels", rename_all = "PascalCase")]
struct Channel {
    #[table(partition_key)]
    name: String,
    #[table(row_key)]
    kind: String,
    /// Tells it from the channels that had its name before.
    created: DateTime<Utc>,
    owner: String,
    /// Nobody reads a channel that is deleted, or writes a blog into it.
    deleted: bool,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "ExampleDeleteBlogs", rename_all = "PascalCase")]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    posted: Descending<DateTime<Utc>>,
    title: String,
    text: String,
}

/// What is needed of a blog to delete it.
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

/// A channel that is to be deleted with all its blogs. A new channel of the same name is another one,
/// and its deletion another entity.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "ExampleDeleteWork", rename_all = "PascalCase", row_key(channel, created))]
struct Deletion {
    /// All work is in one partition, where it is found at once.
    #[table(partition_key)]
    queue: String,
    channel: String,
    created: DateTime<Utc>,
    state: State,
    /// The worker that has the lease, and until when it has it.
    worker: Option<String>,
    leased_until: DateTime<Utc>,
}

/// How far a deletion is. Each step can be done twice without harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, TableEnum)]
enum State {
    Requested,
    /// The channel is marked as deleted.
    Marked,
    /// It has no blogs any more, or is gone itself.
    Emptied,
}

#[derive(Debug, TableSet)]
struct Database {
    channels: TableClient<Channel>,
    blogs: TableClient<Blog>,
    work: TableClient<Deletion>,
}

const QUEUE: &str = "delete";
const CHANNEL_KIND: &str = "channel";
/// Much longer than a step takes, and than clocks differ.
const LEASE: Duration = Duration::from_mins(1);
/// As many operations as a transaction has.
const TRANSACTION: usize = 100;

/// What the web site does when somebody deletes a channel: once this has returned, it will be deleted.
async fn request_deletion(database: &Database, channel: &str) -> Result<(), Error> {
    let Some(channel) = database.channels.get_if_exists((channel, CHANNEL_KIND)).await? else {
        return Ok(());
    };
    let new = Deletion {
        queue: QUEUE.to_owned(),
        channel: channel.name.clone(),
        created: channel.created,
        state: State::Requested,
        worker: None,
        leased_until: DateTime::UNIX_EPOCH,
    };
    // If it is there, somebody else has asked for the same.
    database.work.get_or_insert(&new).await?;
    Ok(())
}

/// Deletes channels as it finds them in the table of work.
struct Worker {
    /// No two workers have one name, also not one after the other.
    name: String,
    database: Database,
    clock: Arc<dyn Clock>,
}

/// Why a worker does not go on with a deletion.
#[derive(Debug)]
enum Stopped {
    /// Somebody else has written or deleted what it works on. If that was no other worker, the next one
    /// goes on when the lease has run out.
    NotMine,
    Failed(Error),
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        let is_gone = error.is_not_found() && error.code() != Some(&ErrorCode::TableNotFound);
        if is_gone || error.is_precondition_failed() { Self::NotMine } else { Self::Failed(error) }
    }
}

/// A deletion that this worker has the lease of. The version is proof of that: whoever takes the lease
/// changes it.
struct Leased {
    item: Deletion,
    version: ETag,
}

impl Worker {
    /// Does all work that nobody else has; the number of channels that were deleted.
    async fn run(&self) -> Result<usize, Error> {
        let mut deleted = 0;
        for item in
            self.database.work.query().filter(filter!(Deletion, w => w.queue == QUEUE)).await?
        {
            let done = match self.lease(&item).await {
                Ok(leased) => self.delete(leased).await,
                Err(stopped) => Err(stopped),
            };
            match done {
                Ok(()) => deleted += 1,
                Err(Stopped::NotMine) => {}
                Err(Stopped::Failed(error)) => return Err(error),
            }
        }
        Ok(deleted)
    }

    async fn lease(&self, item: &Deletion) -> Result<Leased, Stopped> {
        let take = |item: &mut Deletion| {
            let is_mine = item.worker.as_deref() == Some(&self.name);
            if !is_mine && item.leased_until > self.now() {
                return Err(Stopped::NotMine);
            }
            item.worker = Some(self.name.clone());
            item.leased_until = self.lease_end();
            Ok(())
        };
        let key = item.entity_key().map_err(Error::from)?;
        // If an answer was lost, it finds its own name there.
        let taken = self.database.work.try_update_with(key, take).idempotent().await?;
        Ok(Leased { version: taken.etag.clone(), item: taken.into_entity() })
    }

    /// Notes how far it is, and has the lease for longer; an error if another worker took it.
    async fn renew(&self, leased: &mut Leased, state: State) -> Result<(), Stopped> {
        leased.item.state = state;
        leased.item.leased_until = self.lease_end();
        leased.version = self.database.work.merge(&leased.item, &leased.version).await?.etag;
        Ok(())
    }

    /// From wherever the last worker stopped to the end.
    async fn delete(&self, mut leased: Leased) -> Result<(), Stopped> {
        let Database { channels, work, .. } = &self.database;
        loop {
            match leased.item.state {
                State::Requested => match self.channel(&leased.item).await? {
                    Some(mut channel) => {
                        channel.entity.deleted = true;
                        channels.merge(&channel.entity, &channel.etag).await?;
                        self.renew(&mut leased, State::Marked).await?;
                    }
                    None => self.renew(&mut leased, State::Emptied).await?,
                },
                State::Marked => {
                    let found = self.some_blogs(&leased.item.channel).await?;
                    let next = if found.is_empty() { State::Emptied } else { State::Marked };
                    // As long as it has the lease the channel is there, and what was found is its own.
                    self.renew(&mut leased, next).await?;
                    self.delete_blogs(&found).await?;
                }
                State::Emptied => {
                    if let Some(channel) = self.channel(&leased.item).await? {
                        let key = (&*channel.name, CHANNEL_KIND);
                        channels.delete_if_exists(key, &channel.etag).await?;
                    }
                    let key = leased.item.entity_key().map_err(Error::from)?;
                    work.delete_if_exists(key, &leased.version).await?;
                    return Ok(());
                }
            }
        }
    }

    /// The channel that is to be deleted; a new one of the same name is none of its business.
    async fn channel(&self, item: &Deletion) -> Result<Option<Fetched<Channel>>, Error> {
        let key = (&*item.channel, CHANNEL_KIND);
        let found = self.database.channels.get_if_exists(key).await?;
        Ok(found.filter(|channel| channel.created == item.created))
    }

    /// As many blogs as a transaction deletes. Only their keys travel.
    async fn some_blogs(&self, channel: &str) -> Result<Vec<BlogKey>, Error> {
        let blogs = self.database.blogs.with_entity::<BlogKey>();
        let found = blogs
            .query()
            .filter(filter!(BlogKey, b => b.channel == channel))
            .select_names(["PartitionKey", "RowKey"])
            .take(TRANSACTION as u64)
            .await?;
        Ok(found.into_iter().collect())
    }

    /// Deletes these blogs in these versions.
    async fn delete_blogs(&self, found: &[BlogKey]) -> Result<(), Error> {
        if found.is_empty() {
            return Ok(());
        }
        let blogs = self.database.blogs.with_entity::<BlogKey>();
        let deletions = found.iter().fold(blogs.transaction(), |transaction, blog| {
            transaction.delete((&*blog.channel, &*blog.posted), &blog.version)
        });
        match deletions.await {
            // Somebody changed or deleted one of them, perhaps this worker, if an answer was lost: the
            // next query shows what is there.
            Err(error) if !error.is_not_found() && !error.is_precondition_failed() => Err(error),
            _ => Ok(()),
        }
    }

    fn now(&self) -> DateTime<Utc> {
        self.clock.now().into()
    }

    fn lease_end(&self) -> DateTime<Utc> {
        (self.clock.now() + LEASE).into()
    }
}

/// Two channels with their blogs.
async fn fill(database: &Database, blogs: usize) -> Result<(), Error> {
    for channel in ["Doomed", "Kept"] {
        let entity = Channel {
            name: channel.to_owned(),
            kind: CHANNEL_KIND.to_owned(),
            created: SystemTime::now().into(),
            owner: "joe".to_owned(),
            deleted: false,
        };
        database.channels.insert_or_replace(&entity).await?;
        let blogs: Vec<Blog> = (0..blogs).map(|n| blog(channel, n)).collect();
        for some in blogs.chunks(TRANSACTION) {
            let new = database.blogs.transaction();
            some.iter().fold(new, Transaction::insert_or_replace).await?;
        }
    }
    Ok(())
}

fn blog(channel: &str, n: usize) -> Blog {
    let day = Utc.with_ymd_and_hms(2009, 4, 14, 0, 0, 0).earliest().unwrap_or_default();
    Blog {
        channel: channel.to_owned(),
        posted: Descending(day + TimeDelta::minutes(i64::try_from(n).unwrap_or(0))),
        title: format!("Blog {n}"),
        text: "Hello".to_owned(),
    }
}

/// What is there of a channel: the channel itself, its blogs, and the work on it.
async fn what_is_there(database: &Database, name: &str) -> Result<(bool, u64, bool), Error> {
    let channel = database.channels.get_if_exists((name, CHANNEL_KIND)).await?.is_some();
    let blogs =
        database.blogs.query().filter(filter!(Blog, b => b.channel == name)).count().await?;
    let work = database.work.query();
    let work = work.filter(|w| w.queue.eq(QUEUE) & w.row_key.starts_with((name,))).any().await?;
    Ok((channel, blogs, work))
}

#[tokio::main]
async fn main() -> Result<(), AnyError> {
    let (service, mut steps) =
        azure_table_examples::connect().map_err(|error| error.to_string())?;
    let database = Database::open(&service);
    let created = database.create_if_not_exist().await?;
    fill(&database, 205).await?;
    steps.done("two channels of 205 blogs each", "");

    request_deletion(&database, "Doomed").await?;
    steps.done("a deletion is requested", "");
    let worker = Worker {
        name: format!("worker of {}", DateTime::<Utc>::from(SystemTime::now())),
        database: Database::open(&service),
        clock: Arc::new(SystemClock),
    };
    let deleted = worker.run().await?;
    steps.done("a worker does it", format!("{deleted} channel deleted"));
    let (doomed, kept) =
        (what_is_there(&database, "Doomed").await?, what_is_there(&database, "Kept").await?);
    steps.done("channel, blogs, work", format!("Doomed: {doomed:?}, Kept: {kept:?}"));
    if doomed != (false, 0, false) || kept != (true, 205, false) {
        return Err("the tables are not consistent".into());
    }
    for name in created {
        service.delete_table(&name).await?;
    }
    steps.done("delete the tables that this run created", "");
    steps.total();

    if std::env::var_os("AZURE_STORAGE_CONNECTION_STRING").is_none() {
        let tested = crashes::at_every_request(&[], 205).await?;
        println!(
            "\nThe program was killed at each of its {tested} requests, before and after the request was \
             done: {} crashes, and each time the deletion came to its end.",
            2 * tested
        );
    }
    Ok(())
}
