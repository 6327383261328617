//! A worker, which finds items and runs their steps.

mod run;

use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, Instant};

use azure_table_client::TableEntity;
use azure_table_client::client::EntityStream;
use azure_table_client::{DynamicEntity, ETag, EntityKey, ErrorCode, ErrorKind, Proof};
use futures_util::TryStreamExt as _;

use super::item::HeldItem;
use super::row::{self, State};
use super::{Item, Outbox};
use crate::Error;
use crate::lease::{Guard, Lease, check_ttl};

/// Finds the items of an [`Outbox`] and runs their steps, one item at a time. [`run`](Self::run) does this until the
/// program stops.
///
/// A worker remembers since when it has seen the same version of an item. One that is created for each pass therefore never
/// repeats a failed item, and never takes over the items of a worker that has stopped. Programs that call
/// [`next`](Self::next) keep the worker and make another pass later.
pub struct Worker<W> {
    outbox: Outbox<W>,
    holder: String,
    ttl: Duration,
    attempts: u32,
    waits: (Duration, Duration),
    partitions: Vec<String>,
    interval: Duration,
    on_pass: Box<dyn FnMut(&Pass) + Send>,
    /// The versions that were seen last.
    sightings: HashMap<EntityKey, Sighting>,
    passes: u64,
    pass: Pass,
    cursor: Option<Cursor>,
}

/// The position of a pass.
struct Cursor {
    rows: EntityStream<DynamicEntity>,
    /// The partitions that follow, the next one last.
    partitions: Vec<String>,
}

/// The version of an item, and the time since which the worker has seen it.
#[derive(Debug)]
struct Sighting {
    lease: Lease,
    etag: Option<ETag>,
    since: Instant,
    pass: u64,
}

/// The results of a pass of a [`Worker`] over the items.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pass {
    /// The number of items whose steps ended; they are deleted.
    pub done: usize,
    /// The number of items that another worker holds or acquired first, and that wait after a failure.
    pub waiting: usize,
    /// The number of items that another worker took over while this one ran their steps.
    pub lost: usize,
    /// The items that could not be acquired or read as the work, and those whose steps failed.
    pub failed: Vec<Failed>,
    /// The items that are kept for people: their attempts are used up, or another program wrote an invalid value to a
    /// column of the outbox; correct such a row first. See [`Outbox::resume`].
    pub parked: Vec<EntityKey>,
    /// The error of the query that ended the pass before it had found all items.
    pub error: Option<String>,
}

/// An item that failed in this pass.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failed {
    /// The key of the item.
    pub key: EntityKey,
    /// The error.
    pub error: String,
}

impl<W> fmt::Debug for Worker<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Worker");
        debug.field("outbox", &self.outbox).field("holder", &self.holder);
        debug.field("pass", &self.pass).finish_non_exhaustive()
    }
}

impl<W: TableEntity> Worker<W> {
    pub(super) fn new(outbox: Outbox<W>, holder: String) -> Self {
        Self {
            outbox,
            holder,
            ttl: Duration::from_secs(60),
            attempts: 10,
            waits: (Duration::from_secs(1), Duration::from_secs(5 * 60)),
            partitions: Vec::new(),
            interval: Duration::from_secs(5),
            on_pass: Box::new(|_| {}),
            sightings: HashMap::new(),
            passes: 0,
            pass: Pass::default(),
            cursor: None,
        }
    }

    /// Sets the time to live of the leases of this worker; by default, 60 s. Each request of an [`Item`] begins it
    /// again. If the worker stops, another one takes the item over after this time.
    ///
    /// # Errors
    /// [`InvalidInput`](Error::InvalidInput) if the time to live is not from 1 second to 24 hours.
    pub fn ttl(mut self, ttl: Duration) -> Result<Self, Error> {
        check_ttl(ttl)?;
        self.ttl = ttl;
        Ok(self)
    }

    /// Sets the number of attempts without progress after which an item is parked; by default, 10. An attempt of a
    /// worker that stopped counts too.
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self
    }

    /// Sets the wait after the first failure, which doubles with each attempt, and the longest one; by default, 1 s and
    /// 5 minutes. Each worker measures it on its own clock, from when it first sees the failure.
    #[must_use]
    pub fn waits(mut self, first: Duration, longest: Duration) -> Self {
        self.waits = (first, longest);
        self
    }

    /// Queries only these partitions, one query each. By default, one query scans the whole table.
    #[must_use]
    pub fn partitions<P: Into<String>>(mut self, partitions: impl IntoIterator<Item = P>) -> Self {
        self.partitions = partitions.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the wait of [`run`](Self::run) between two passes; by default, 5 s.
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// Calls `report` after each pass of [`run`](Self::run), also one that is stopped or fails, to log the items that
    /// failed or are parked.
    #[must_use]
    pub fn on_pass(mut self, report: impl FnMut(&Pass) + Send + 'static) -> Self {
        self.on_pass = Box::new(report);
        self
    }

    /// Returns the next item that this worker has acquired, or `None` once it has looked at each item; the call after
    /// that begins again, so wait before it. Items come in the order of their keys.
    ///
    /// Run the steps of the item, and pass their result to [`end`](Self::end). An item that is dropped instead becomes
    /// free when its lease ends.
    ///
    /// # Errors
    /// The items could not be queried; the next call begins again. Failures of single items are in [`Pass::failed`].
    pub async fn next(&mut self) -> Result<Option<Item<W>>, Error> {
        if self.cursor.is_none() {
            self.begin();
        }
        while let Some(cursor) = &mut self.cursor {
            match cursor.rows.try_next().await {
                Ok(Some(row)) => {
                    if let Some(item) = self.acquire(&row).await {
                        return Ok(Some(item));
                    }
                }
                Ok(None) => match cursor.partitions.pop() {
                    Some(partition) => cursor.rows = self.outbox.rows(Some(&partition)).stream(),
                    None => self.cursor = None,
                },
                Err(error) => {
                    self.cursor = None;
                    self.pass.error = Some(error.to_string());
                    return Err(error.into());
                }
            }
        }
        let passes = self.passes;
        self.sightings.retain(|_, sighting| sighting.pass == passes);
        Ok(None)
    }

    /// Ends an item whose steps have returned.
    ///
    /// If `ended` is `Ok`, the item is deleted, unless the steps called [`Item::finish`]. If it is an error, the worker
    /// records its text and releases the item, which waits for its next attempt. An item that another worker has taken
    /// over is left to that worker.
    pub async fn end<E: fmt::Display>(&mut self, item: Item<W>, ended: Result<(), E>) {
        self.end_held(&item.held, ended.map_err(|error| error.to_string())).await;
    }

    async fn end_held(&mut self, item: &HeldItem, ended: Result<(), String>) {
        let ended = match ended {
            Ok(()) if item.is_finished() => Ok(()),
            Ok(()) => item.finish(|transaction| transaction).await.map_err(|it| it.to_string()),
            Err(error) => Err(error),
        };
        match ended {
            Ok(()) => self.pass.done += 1,
            Err(error) if item.is_finished() => self.failed(&item.key, &error),
            Err(error) => self.fail(&item.key, &item.guard, item.attempts(), error).await,
        }
    }

    /// The results of the present pass over the items, or of the last one.
    pub const fn pass(&self) -> &Pass {
        &self.pass
    }

    fn begin(&mut self) {
        let mut partitions = self.partitions.clone();
        partitions.reverse();
        let rows = self.outbox.rows(partitions.pop().as_deref()).stream();
        self.cursor = Some(Cursor { rows, partitions });
        self.pass = Pass::default();
        self.passes += 1;
    }

    /// Acquires an item if it is free and its wait has passed.
    async fn acquire(&mut self, row: &DynamicEntity) -> Option<Item<W>> {
        match self.try_acquire(row).await {
            Ok(item) => return item,
            // Another worker has deleted it since the query.
            Err(Error::Client { error: gone })
                if gone.code() == Some(&ErrorCode::ResourceNotFound) => {}
            Err(error) if error.kind() == Some(ErrorKind::Decode) => self.park(row, error).await,
            Err(error) => self.failed(row.key(), &error),
        }
        None
    }

    async fn try_acquire(&mut self, row: &DynamicEntity) -> Result<Option<Item<W>>, Error> {
        if row::is_parked(row) {
            self.pass.parked.push(row.key().clone());
            return Ok(None);
        }
        let state: State = row.to_entity()?;
        let now = self.outbox.table.clock().instant();
        let sighting = self.look(row, now);
        let is_waiting = now.saturating_duration_since(sighting.since) < state.wait();
        let guard = if is_waiting { None } else { sighting.lease.acquire_row(row, now).await? };
        let Some(guard) = guard else {
            self.pass.waiting += 1;
            return Ok(None);
        };
        let attempts = state.attempts(guard.token());
        let work = if attempts > i64::from(self.attempts) {
            // The workers of the last attempts have stopped without recording a failure.
            Err(format!("{} attempts ended without a result", attempts - 1))
        } else {
            // A newer version of the program may read the work, so this attempt counts like one of the steps.
            row::work_of(&self.outbox.name, row).map_err(|error| error.to_string())
        };
        match work {
            Ok(work) => {
                let (name, key) = (self.outbox.name.clone(), row.key().clone());
                Ok(Some(Item::new(work, guard, name, key, attempts)))
            }
            Err(error) => {
                self.fail(row.key(), &guard, attempts, error).await;
                Ok(None)
            }
        }
    }

    /// Parks an item that no worker can acquire, because a column of the outbox has an invalid value.
    async fn park(&mut self, row: &DynamicEntity, error: Error) {
        let columns = row::failed(row.key(), &error.to_string(), Duration::ZERO, true);
        let Some(etag) = row.etag() else { return self.failed(row.key(), &error) };
        match self.outbox.table.merge(&columns, etag).proof(Proof::MatchingUpdate).await {
            Ok(_) => self.pass.parked.push(row.key().clone()),
            Err(_) => self.failed(row.key(), &error),
        }
    }

    /// Remembers the version of an item.
    fn look(&mut self, row: &DynamicEntity, now: Instant) -> &mut Sighting {
        let (outbox, holder, ttl) = (&self.outbox, &self.holder, self.ttl);
        let sighting = self.sightings.entry(row.key().clone()).or_insert_with(|| {
            let lease = Lease::in_row(&outbox.table, row.key().clone(), ttl);
            let lease = lease.existing().holder(holder);
            Sighting { lease, etag: None, since: now, pass: 0 }
        });
        if sighting.etag.as_ref() != row.etag() {
            (sighting.etag, sighting.since) = (row.etag().cloned(), now);
        }
        sighting.pass = self.passes;
        sighting
    }

    /// Records a failure and releases the item.
    async fn fail(&mut self, key: &EntityKey, guard: &Guard, attempts: i64, error: String) {
        let is_parked = attempts >= i64::from(self.attempts);
        let columns = row::failed(key, &error, self.wait(attempts), is_parked);
        match guard.release_with(&columns).await {
            Err(Error::Lost { .. }) => self.pass.lost += 1,
            Ok(()) if is_parked => self.pass.parked.push(key.clone()),
            // An item whose failure is not recorded becomes free when its lease ends.
            _ => self.failed(key, &error),
        }
    }

    fn failed(&mut self, key: &EntityKey, error: &impl fmt::Display) {
        self.pass.failed.push(Failed { key: key.clone(), error: error.to_string() });
    }

    /// The wait after this number of attempts.
    fn wait(&self, attempts: i64) -> Duration {
        let (first, longest) = self.waits;
        let doublings = u32::try_from(attempts - 1).unwrap_or(0).min(31);
        first.saturating_mul(1 << doublings).min(longest)
    }
}

impl Pass {
    /// Returns whether no item was left: the pass found all items, and they are done.
    pub const fn is_drained(&self) -> bool {
        let is_left = self.waiting > 0 || self.lost > 0 || !self.failed.is_empty();
        !is_left && self.parked.is_empty() && self.error.is_none()
    }
}
