//! Consistency across tables (the "Windows Azure Table" paper, 7.2): a channel is deleted with all its
//! blogs, which are in another table, whatever happens on the way.
//!
//! No transaction spans two tables. What is to be done is therefore an entity itself, and stays until all
//! of it is done. A worker takes a lease on it; if the worker dies the lease runs out, and another one
//! goes on from there. The paper has a queue for this; here it is a third table.
//!
//! `cargo run --example delete_channel` runs it on the embedded service, and then kills the worker at
//! every request, before and after it is done. With `AZURE_STORAGE_CONNECTION_STRING` set it deletes one
//! channel on that account or emulator.

#![expect(clippy::print_stdout, reason = "examples print")]

use std::error::Error as StdError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use azure_table_client::client::{TableSet, Transaction};
use azure_table_client::clock::{Clock, SystemClock};
use azure_table_client::entity::Descending;
use azure_table_client::mock::MockTableService;
use azure_table_client::transport::{HttpRequest, ResponseFuture, Transport};
use azure_table_client::{
    ETag, Error, TableClient, TableEntity, TableEnum, TableServiceClient, filter,
};
use chrono::{DateTime, TimeDelta, TimeZone, Utc};
use tokio::sync::Notify;

type AnyError = Box<dyn StdError + Send + Sync>;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "ExampleDeleteChannels", rename_all = "PascalCase")]
struct Channel {
    #[table(partition_key)]
    name: String,
    #[table(row_key)]
    kind: String,
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

/// A channel that is to be deleted with all its blogs.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "ExampleDeleteWork", rename_all = "PascalCase")]
struct Deletion {
    /// All work is in one partition, where it is found at once.
    #[table(partition_key)]
    queue: String,
    #[table(row_key)]
    channel: String,
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
    /// It has no blogs any more.
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
    let new = || Deletion {
        queue: QUEUE.to_owned(),
        channel: channel.to_owned(),
        state: State::Requested,
        worker: None,
        leased_until: DateTime::UNIX_EPOCH,
    };
    database.work.get_or_insert_with((QUEUE, channel), new).await?;
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
    /// Another one has the lease, or has done it all.
    NotMine,
    Failed(Error),
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Self::Failed(error)
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
            let done = match self.lease(&item.channel).await {
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

    async fn lease(&self, channel: &str) -> Result<Leased, Stopped> {
        let take = |item: &mut Deletion| {
            let is_mine = item.worker.as_deref() == Some(&self.name);
            if !is_mine && item.leased_until > self.now() {
                return Err(Stopped::NotMine);
            }
            item.worker = Some(self.name.clone());
            item.leased_until = self.lease_end();
            Ok(())
        };
        // If an answer was lost, it finds its own name there.
        match self.database.work.try_update_with((QUEUE, channel), take).idempotent().await {
            Ok(taken) => Ok(Leased { version: taken.etag.clone(), item: taken.into_entity() }),
            Err(Stopped::Failed(error)) if error.is_not_found() => Err(Stopped::NotMine),
            Err(stopped) => Err(stopped),
        }
    }

    /// Notes how far it is, and has the lease for longer.
    async fn renew(&self, leased: &mut Leased, state: State) -> Result<(), Stopped> {
        leased.item.state = state;
        leased.item.leased_until = self.lease_end();
        match self.database.work.merge(&leased.item, &leased.version).await {
            Ok(written) => {
                leased.version = written.etag;
                Ok(())
            }
            Err(error) if error.is_precondition_failed() || error.is_not_found() => {
                Err(Stopped::NotMine)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// From wherever the last worker stopped to the end.
    async fn delete(&self, mut leased: Leased) -> Result<(), Stopped> {
        let Database { channels, work, .. } = &self.database;
        let name = leased.item.channel.clone();
        loop {
            match leased.item.state {
                State::Requested => {
                    let mark = |channel: &mut Channel| channel.deleted = true;
                    match channels.update_with((&*name, CHANNEL_KIND), mark).idempotent().await {
                        Err(error) if !error.is_not_found() => return Err(error.into()),
                        _ => self.renew(&mut leased, State::Marked).await?,
                    }
                }
                State::Marked => {
                    while self.delete_blogs(&name).await? > 0 {
                        self.renew(&mut leased, State::Marked).await?;
                    }
                    self.renew(&mut leased, State::Emptied).await?;
                }
                State::Emptied => {
                    // A new channel of the same name is not marked, and stays.
                    let channel = channels.get_if_exists((&*name, CHANNEL_KIND)).await?;
                    if let Some(channel) = channel.filter(|channel| channel.deleted) {
                        let key = (&*name, CHANNEL_KIND);
                        channels.delete_if_exists(key, &channel.etag).await?;
                    }
                    return match work.delete_if_exists((QUEUE, &*name), &leased.version).await {
                        Err(error) if error.is_precondition_failed() => Err(Stopped::NotMine),
                        Err(error) => Err(error.into()),
                        Ok(_) => Ok(()),
                    };
                }
            }
        }
    }

    /// Deletes as many blogs as a transaction holds; the number of those that were found. Of the blogs
    /// only the keys travel.
    async fn delete_blogs(&self, channel: &str) -> Result<usize, Error> {
        let blogs = self.database.blogs.with_entity::<BlogKey>();
        let found = blogs
            .query()
            .filter(filter!(BlogKey, b => b.channel == channel))
            .select_names(["PartitionKey", "RowKey"])
            .take(TRANSACTION as u64)
            .await?;
        if found.is_empty() {
            return Ok(0);
        }
        let deletions = found.iter().fold(blogs.transaction(), |transaction, blog| {
            transaction.delete((&*blog.channel, &*blog.posted), &blog.version)
        });
        match deletions.await {
            // Somebody changed or deleted one of them, perhaps this worker, if an answer was lost: the
            // next query shows what is there.
            Err(error) if !error.is_not_found() && !error.is_precondition_failed() => Err(error),
            _ => Ok(found.len()),
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
    let work = database.work.get_if_exists((QUEUE, name)).await?.is_some();
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
        let tested = crash_at_every_request().await?;
        println!(
            "\nThe worker was killed at each of its {tested} requests, before and after the request was \
             done: {} crashes, and each time the deletion came to its end.",
            2 * tested
        );
    }
    Ok(())
}

/// Kills a worker at each of its requests, in both ways, and has another one go on; the number of the
/// requests.
async fn crash_at_every_request() -> Result<usize, AnyError> {
    for request in 0.. {
        for after in [false, true] {
            let crash = Crash { request, after };
            let has_crashed =
                crash.and_recover().await.map_err(|error| format!("{crash:?}: {error}"))?;
            if !has_crashed {
                return Ok(request);
            }
        }
    }
    Ok(0)
}

/// Where a worker dies: at this request, before the service has it or after it is done.
#[derive(Debug, Clone, Copy)]
struct Crash {
    request: usize,
    after: bool,
}

impl Crash {
    /// Runs a worker until this crash, and then others; `false` if the worker was done before.
    async fn and_recover(self) -> Result<bool, AnyError> {
        const BLOGS: usize = 205;
        let clock = Arc::new(ManualClock(Mutex::new(SystemTime::now())));
        let mock = MockTableService::builder().clock(clock.clone()).build();
        let database = Database::open(&mock.client());
        database.create_if_not_exist().await?;
        fill(&database, BLOGS).await?;
        request_deletion(&database, "Doomed").await?;
        let worker = |name: &str, service: &TableServiceClient| Worker {
            name: name.to_owned(),
            database: Database::open(service),
            clock: clock.clone(),
        };

        let end = Arc::new(Notify::new());
        let dying = Dying {
            inner: mock.transport(),
            crash: self,
            requests: AtomicUsize::new(0),
            end: Arc::clone(&end),
        };
        let service =
            TableServiceClient::builder_from_connection_string(&mock.connection_string())?
                .transport(Arc::new(dying))
                .clock(mock.clock())
                .build()?;
        let first = worker("first", &service);
        let has_crashed = tokio::select! {
            deleted = first.run() => { deleted?; false }
            // All that the worker was doing is dropped.
            () = end.notified() => true,
        };
        check(&database, BLOGS).await?;

        // The lease holds others off, and ends.
        let (_, _, is_left) = what_is_there(&database, "Doomed").await?;
        let lease = database.work.get_if_exists((QUEUE, "Doomed")).await?;
        let is_leased = lease.is_some_and(|item| item.worker.is_some());
        let deleted = worker("second", &mock.client()).run().await?;
        expect(deleted == usize::from(is_left && !is_leased), "the lease holds others off")?;
        clock.advance(LEASE + Duration::from_secs(1));
        let deleted = worker("third", &mock.client()).run().await?;
        expect(deleted == usize::from(is_leased), "the lease ends")?;
        expect(
            what_is_there(&database, "Doomed").await? == (false, 0, false),
            "all is deleted in the end",
        )?;
        check(&database, BLOGS).await?;
        Ok(has_crashed)
    }
}

/// What holds at every moment: blogs have their channel, a channel that is marked has its work, and
/// others are untouched.
async fn check(database: &Database, blogs: usize) -> Result<(), AnyError> {
    let (channel, left, work) = what_is_there(database, "Doomed").await?;
    expect(channel || left == 0, "no blog is without its channel")?;
    expect(work || !channel, "the work is there until all is done")?;
    let kept = what_is_there(database, "Kept").await?;
    expect(kept == (true, blogs as u64, false), "other channels stay as they are")
}

fn expect(holds: bool, what: &str) -> Result<(), AnyError> {
    if holds { Ok(()) } else { Err(format!("it does not hold that {what}").into()) }
}

/// The transport of a worker that dies: from its last request there is no answer.
#[derive(Debug)]
struct Dying {
    inner: Arc<dyn Transport>,
    crash: Crash,
    requests: AtomicUsize,
    end: Arc<Notify>,
}

impl Transport for Dying {
    fn send(&self, request: HttpRequest) -> ResponseFuture<'_> {
        let is_last = self.requests.fetch_add(1, Ordering::Relaxed) == self.crash.request;
        Box::pin(async move {
            if !is_last {
                return self.inner.send(request).await;
            }
            if self.crash.after {
                self.inner.send(request).await?;
            }
            self.end.notify_one();
            std::future::pending().await
        })
    }
}

/// A clock that is set by hand.
#[derive(Debug)]
struct ManualClock(Mutex<SystemTime>);

impl ManualClock {
    fn advance(&self, by: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += by;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> SystemTime {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
