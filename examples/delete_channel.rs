//! Consistency across tables (the "Windows Azure Table" paper, 7.2): a channel is deleted with all its
//! blogs, which are in another table, despite crashes at any point.
//!
//! No transaction spans two tables. The work is therefore an entity itself, which stays until all of it is
//! done. A worker acquires a lease on it. If the worker dies, the lease expires, and another worker
//! resumes the work. The paper has a queue for this; this example has a third table.
//!
//! A lease alone is not enough: a worker may stall until its lease has expired, and then continue. In the
//! meantime others may have finished the work, and a new channel of the same name may exist. So each
//! channel has a stamp of its own, the work is on the channel with that stamp only, and
//! deletes name the version that was read while the lease was held.
//!
//! `cargo run -p azure-table-examples --example delete_channel` runs it on the mock, and then kills it at every
//! request, before and after the request is applied. With `AZURE_STORAGE_CONNECTION_STRING` set it deletes one
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

use azure_table_client::client::{TableSet, Transaction};
use azure_table_client::clock::{Clock, SystemClock};
use azure_table_client::entity::Descending;
use azure_table_client::{
    ETag, Error, ErrorCode, Stored, TableClient, TableEntity, TableEnum, filter,
};
use azure_table_examples::{Columns, Style};
use chrono::{DateTime, TimeDelta, TimeZone, Utc};

type AnyError = Box<dyn StdError + Send + Sync>;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "ExampleDeleteChannels", rename_all = "PascalCase")]
struct Channel {
    #[table(partition_key)]
    name: String,
    #[table(row_key)]
    kind: String,
    /// Distinguishes the channel from earlier ones with the same name.
    created: DateTime<Utc>,
    owner: String,
    /// Programs neither read a deleted channel nor write blogs into it.
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

/// The deletion of a channel with all its blogs. A new channel of the same name has another stamp, so its
/// deletion is another entity.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "ExampleDeleteWork", rename_all = "PascalCase", row_key(channel, created))]
struct Deletion {
    /// All work is in one partition, so that one query finds it.
    #[table(partition_key)]
    queue: String,
    channel: String,
    created: DateTime<Utc>,
    state: State,
    /// The worker that holds the lease.
    worker: Option<String>,
    leased_until: DateTime<Utc>,
}

/// The progress of a deletion. Each step can be repeated without harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, TableEnum)]
enum State {
    Requested,
    /// The channel is marked as deleted.
    Marked,
    /// The channel has no blogs any more, or does not exist any more.
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
/// Much longer than a step, and than the difference between clocks.
const LEASE: Duration = Duration::from_secs(60);
/// The largest number of operations in a transaction.
const TRANSACTION: usize = 100;

/// The web site calls this when a user deletes a channel. Once it returns, the channel will be deleted.
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
    // If the row exists, the deletion was requested before.
    database.work.get_or_insert(&new).await?;
    Ok(())
}

/// Deletes the channels of the table of work.
struct Worker {
    /// Unique among all workers, including earlier ones.
    name: String,
    database: Database,
    clock: Arc<dyn Clock>,
}

/// The reason why a worker abandons a deletion.
#[derive(Debug)]
enum Stopped {
    /// Another program has written or deleted the row. If it was not a worker, the next worker resumes the
    /// deletion when the lease has expired.
    NotMine,
    Failed(Error),
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        let is_gone = error.is_not_found() && error.code() != Some(&ErrorCode::TableNotFound);
        if is_gone || error.is_precondition_failed() { Self::NotMine } else { Self::Failed(error) }
    }
}

/// A deletion whose lease this worker holds. The version is the proof, since acquiring the lease changes
/// it.
struct Leased {
    item: Deletion,
    version: ETag,
}

impl Worker {
    /// Does all work without a lease of another worker. Returns the number of deleted channels.
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
        // If a response was lost, the worker finds its own name in the row.
        let taken = self.database.work.try_update_with(key, take).idempotent().await?;
        Ok(Leased { version: taken.etag.clone(), item: taken.into_inner() })
    }

    /// Records the progress and extends the lease. Fails if another worker has acquired the lease.
    async fn renew(&self, leased: &mut Leased, state: State) -> Result<(), Stopped> {
        leased.item.state = state;
        leased.item.leased_until = self.lease_end();
        leased.version = self.database.work.merge(&leased.item, &leased.version).await?.etag;
        Ok(())
    }

    /// Resumes the deletion and completes it.
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
                    // While the lease is held, the channel exists, and these blogs belong to it.
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

    /// Reads the channel of the deletion; `None` for a newer channel of the same name.
    async fn channel(&self, item: &Deletion) -> Result<Option<Stored<Channel>>, Error> {
        let key = (&*item.channel, CHANNEL_KIND);
        let found = self.database.channels.get_if_exists(key).await?;
        Ok(found.filter(|channel| channel.created == item.created))
    }

    /// Reads as many blogs as a transaction can delete. Only their keys are transferred.
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
            // Another program changed or deleted one of them, or this worker did and the response was lost:
            // the next query returns the blogs that are left.
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

/// Writes two channels with their blogs.
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

/// Returns whether a channel exists, the number of its blogs, and whether work on it is pending.
async fn contents(database: &Database, name: &str) -> Result<(bool, u64, bool), Error> {
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
    let created = database.create_if_not_exists().await?;
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
    steps.done("a worker deletes the channel", format!("{deleted} channel deleted"));
    let (doomed, kept) = (contents(&database, "Doomed").await?, contents(&database, "Kept").await?);
    let mut columns = Columns::new(["channel", "exists", "blogs", "work left"]);
    for (name, (exists, blogs, work)) in [("Doomed", doomed), ("Kept", kept)] {
        let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
        columns.row([name.to_owned(), yes(exists), blogs.to_string(), yes(work)]);
    }
    steps.done("count what is left", columns.to_string());
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
            "\nKilled at each of its {tested} requests, before and after the request was applied:\n\
             {} crashes, and the deletion was completed each time.",
            Style::Green.of(2 * tested)
        );
    }
    Ok(())
}
