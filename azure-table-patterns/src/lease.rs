#![doc = include_str!("../docs/lease.md")]
//! # Safety argument
//!
//! **Validity.** Let a holder send a write of the lease row at *s* by its clock, and let the service apply it at
//! *a*, after *s*. The guard is then valid until *s* + TTL − margin. It counts from before the first attempt, since
//! a retry of the client may report success for an attempt that others saw long before. A contender first sees the
//! new ETag in a response that arrives after *a*. It takes over with that ETag as the condition, and only when its
//! own clock has measured the whole TTL since. The service applies the take-over only if the row kept the ETag for
//! all that time, so no renewal was applied. The holder's validity ended earlier, unless the two clocks differ in
//! rate by more than the margin allows. `Date` and `Timestamp` play no part, so wall clocks do not matter.
//!
//! **Late requests.** Every write names an ETag, or is an insert. The service applies at most one of the writes that
//! name the same ETag. A late renewal, release, commit or take-over is refused once the row has changed. The
//! exception is an insert after [`delete`][`Guard::delete`]: a late insert recreates the row with token 1. It has no
//! holder then, but tokens start again, so the key of a deleted row must not be used for another lease whose tokens
//! are compared elsewhere; see [`existing`][`Lease::existing`].
//!
//! **Unknown outcomes.** Each write leaves `Attempt` and `Writes` in the row, a pair that no other write leaves. The
//! guard reads the row after a lost response, and after a refusal, which may be the response to the second delivery
//! of a request that was applied. If the row has the number of this call, the call was applied. If the row has
//! another ETag and still this `Attempt`, the call is refused for good, and the guard sends it again with the new
//! ETag; after three rounds, it reports `Contended`. If the row has the same ETag, the guard sends the call again
//! too, since the service applies at most one of the two; after three rounds the outcome is unknown. If the row
//! names another holder, the lease is lost. The call was refused if the response states a refusal, and if an applied
//! write of this call would have kept the other holder out until then; otherwise the outcome is unknown. A release
//! or a deletion keeps no other program out, so its outcome is unknown whenever the row names another holder. A late
//! insert may create the row again after a deletion: a row whose number is that of an insert does not disprove the
//! deletion. A write id of the client proves a write, but the guard never uses the ETag of a row that is not its
//! own: the next holder's row may still have the id.
//!
//! **Acquisitions.** A refusal may be the response to the second delivery of a write that was applied, so the row is
//! read: with the `Attempt` of this write, the lease is held. An acquisition whose outcome is unknown is not held.
//! Its row may become visible later; others then wait for its TTL. The [`Lease`] value that sent it recognizes its
//! `Attempt`, for which it has never created a guard, and acquires the row at once with the next token. Each write
//! has an `Attempt` of its own, so that two copies of a program, from a snapshot of its memory before the `Attempt`
//! was drawn, never mistake each other's row for their own.
//!
//! **Renewals.** The writes of a guard follow one another: a commit waits for a renewal in flight, so that each
//! names the version that the one before has left. A renewal never follows a release, whose outcome may be unknown.
//! The renewals end with the guard, after the one in flight.
//!
//! **Paused programs.** A program that is paused, or a machine that sleeps, may find its guard valid for an instant
//! after it wakes up, and a monotonic clock may not count the sleep. The guard's writes are safe nevertheless; all
//! others are not. A guard is not released when it is dropped: a drop cannot wait for a response, so the program
//! would not know whether the lease is free, and a program that stops does not drop anything.

mod fence;
mod guard;
mod held;
mod renewal;
mod row;

use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use azure_table_client::entity::IntoKey;
use azure_table_client::{
    Confirmation, DynamicEntity, ETag, EntityKey, Error as ClientError, Outcome, Proof,
    TableClient, TableEntity,
};
use futures_util::future::{Either, select};
use uuid::Uuid;

use crate::delivery::was_never_applied;
use crate::{Error, input};
use held::{Held, Version};
use row::{Acquisition, LeaseRow};

pub use fence::merge_fenced;
pub use guard::Guard;

/// The shortest and the longest time to live.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// The most acquisitions of unknown outcome that a lease recognizes.
const MOST_OPEN: usize = 16;

/// The columns that only a lease writes.
pub(crate) const COLUMNS: [&str; 6] = row::COLUMNS;

/// A lease that this program may acquire.
///
/// A value acquires for one worker. Several workers of a program that exclude each other need a value each.
#[must_use = "a lease is held only by a guard that it acquires"]
pub struct Lease {
    table: TableClient<DynamicEntity>,
    key: EntityKey,
    ttl: Duration,
    margin: Duration,
    holder: String,
    inserts: bool,
    /// The ids of acquisitions whose outcome is unknown: no guard was created for them.
    open: Vec<Uuid>,
    seen: Option<Seen>,
}

/// A row that another program holds.
#[derive(Debug)]
struct Seen {
    etag: ETag,
    /// The end of the holder's time to live, counted from the arrival of the first response that showed this version.
    until: Instant,
}

impl Lease {
    /// Returns the lease in the row with this key, with a time to live from 1 second to 24 hours.
    ///
    /// The row may have more columns, which every call keeps; a row without the columns of a lease is free.
    ///
    /// # Errors
    /// The name of the table or the key is invalid, or the time to live is out of range.
    pub fn new<T: TableEntity>(
        table: &TableClient<T>,
        key: impl IntoKey,
        ttl: Duration,
    ) -> Result<Self, Error> {
        let key = key.into_key()?;
        input::check_row(table, &key)?;
        check_ttl(ttl)?;
        Ok(Self::in_row(table, key, ttl))
    }

    /// Returns the lease in a row that exists, with a time to live that was checked.
    pub(crate) fn in_row<T: TableEntity>(
        table: &TableClient<T>,
        key: EntityKey,
        ttl: Duration,
    ) -> Self {
        Self {
            table: table.with_entity(),
            key,
            ttl,
            margin: ttl / 10,
            holder: String::new(),
            inserts: true,
            open: Vec::new(),
            seen: None,
        }
    }

    /// Sets the name that the row shows to people while the lease is held. The default is empty.
    pub fn holder(mut self, name: impl Into<String>) -> Self {
        self.holder = name.into();
        self
    }

    /// Sets the time by which a guard becomes invalid before the time to live ends; a tenth of it by default.
    ///
    /// The clocks of two machines must not drift apart by more than this in one time to live.
    ///
    /// # Errors
    /// [`InvalidInput`](Error::InvalidInput) if the margin is not shorter than the time to live.
    pub fn margin(mut self, margin: Duration) -> Result<Self, Error> {
        if margin >= self.ttl {
            let ttl = self.ttl;
            return Err(Error::invalid_input(format!(
                "the margin of a lease is shorter than its time to live ({margin:?}, {ttl:?})"
            )));
        }
        self.margin = margin;
        Ok(self)
    }

    /// Acquires the lease only if its row exists: acquiring then never inserts it.
    ///
    /// For rows that are work, and that [`Guard::delete`] removes once the work is done.
    pub fn existing(mut self) -> Self {
        self.inserts = false;
        self
    }

    /// Looks at the row once, and acquires the lease if it is free. Returns `None` if another program holds it.
    ///
    /// A row that is held becomes free once this value has seen one version of it for the holder's whole time to
    /// live, so the call has to be repeated; [`acquire`](Self::acquire) does that. The observation stays in this value.
    ///
    /// # Errors
    /// A request failed. If the [outcome](Error::outcome) is unknown, the lease is not held by this program, although
    /// the row may show it as the holder; the next call of this value resolves that without a wait. With
    /// [`existing`](Self::existing), 404 if the row does not exist.
    pub async fn acquire_now(&mut self) -> Result<Option<Guard>, Error> {
        let rows = self.table.with_entity::<LeaseRow>();
        let row = if self.inserts {
            rows.get_if_exists(&self.key).primary_only().await?
        } else {
            Some(rows.get(&self.key).primary_only().await?)
        };
        // The response shows a version that was written before it arrived.
        let arrived = self.table.clock().instant();
        match row {
            None => self.write(1, None).await,
            Some(row) if self.is_free(&row, arrived)? => {
                let token = row.next_token(&self.key)?;
                self.write(token, Some(&row.etag)).await
            }
            Some(_) => Ok(None),
        }
    }

    /// Does the same with a row that a query returned before `arrived`, without another read.
    pub(crate) async fn acquire_row(
        &mut self,
        row: &DynamicEntity,
        arrived: Instant,
    ) -> Result<Option<Guard>, Error> {
        let row: LeaseRow = row.to_entity()?;
        if !self.is_free(&row, arrived)? {
            return Ok(None);
        }
        let token = row.next_token(&self.key)?;
        self.write(token, Some(&row.etag)).await
    }

    /// Waits until the lease is acquired, at most for `limit`. Returns `None` if another program held it until then.
    ///
    /// Between two requests it waits for a third of this lease's time to live, or until the row becomes free if that
    /// is earlier. Failures that may pass, such as a busy service, do not end the wait.
    ///
    /// If the limit is reached while a request that acquires the lease is in flight, its outcome is unknown: the lease is
    /// not held, and the next call of this value resolves that.
    ///
    /// # Errors
    /// The errors of [`acquire_now`](Self::acquire_now). A failure that may pass is an error only if it was the last
    /// result when the limit was reached.
    pub async fn acquire(&mut self, limit: Duration) -> Result<Option<Guard>, Error> {
        let clock = Arc::clone(self.table.clock());
        let mut end = pin!(clock.sleep(limit));
        let mut failure = None;
        // An earlier look may have written this program as the holder.
        let mut is_open = false;
        loop {
            match select(pin!(self.acquire_now()), &mut end).await {
                Either::Left((Ok(Some(guard)), _)) => return Ok(Some(guard)),
                Either::Left((Ok(None), _)) => failure = None,
                Either::Left((Err(error), _)) => {
                    let passes = error.may_pass();
                    let error = error.unless_proved(is_open);
                    if !passes {
                        return Err(error);
                    }
                    is_open |= error.outcome() == Outcome::Unknown;
                    failure = Some(error);
                }
                Either::Right(_) => return failure.map_or(Ok(None), Err),
            }
            if let Either::Right(_) = select(clock.sleep(self.pause()), &mut end).await {
                return failure.map_or(Ok(None), Err);
            }
        }
    }

    /// Whether no guard of this row can be valid any more.
    fn is_free(&mut self, row: &LeaseRow, arrived: Instant) -> Result<bool, Error> {
        let is_own = row.attempt.is_some_and(|id| self.open.contains(&id));
        if !row.is_held() || is_own {
            return Ok(true);
        }
        let ttl = row.ttl(&self.key, LONGEST)?;
        match &self.seen {
            Some(seen) if seen.etag == row.etag => Ok(arrived >= seen.until),
            _ => {
                let etag = row.etag.clone();
                self.seen = Some(Seen { etag, until: arrived + ttl });
                Ok(false)
            }
        }
    }

    /// Writes this program as the holder: an insert, or a merge of the version with this ETag.
    async fn write(&mut self, token: i64, etag: Option<&ETag>) -> Result<Option<Guard>, Error> {
        // Each write has an id of its own: a copy of this program, from before the write, draws another one.
        let mut acquisition = Acquisition::new(self.table.clock().random_id()?);
        let number = acquisition.next();
        if etag.is_none() {
            acquisition.last_insert = number;
        }
        if self.open.len() == MOST_OPEN {
            self.open.remove(0);
        }
        self.open.push(acquisition.id);
        let row = row::held(acquisition.columns(token, &self.key), &self.holder, self.ttl);
        let call = match etag {
            None => self.table.insert(&row),
            Some(etag) => self.table.merge(&row, etag),
        };
        // The id and the number of the write are in the row, so that a row in this state proves the write.
        let call = call.proof(Proof::MatchingUpdate).deadline(self.ttl / 3);
        // Another program may see the first attempt, although the client reports a later one.
        let sent = self.table.clock().instant();
        let etag = match call.await {
            // The write id proves the write, but it may still be in the row of a later holder.
            Ok(written) if written.confirmation == Confirmation::WriteId => {
                self.read_back(token, &acquisition).await.map_err(Error::unknown)?
            }
            Ok(written) => Some(written.etag),
            Err(error) if error.outcome() == Outcome::NotApplied && !was_never_applied(&error) => {
                match self.read_back(token, &acquisition).await.map_err(Error::unknown)? {
                    Some(etag) => Some(etag),
                    None if self.is_lost_race(&error) => None,
                    // Only the holder deletes the row, so this write was not applied.
                    None if error.is_not_found() => return Err(error.into()),
                    None => return Err(Error::unknown(error)),
                }
            }
            Err(error) => return Err(error.into()),
        };
        self.seen = None;
        Ok(etag.map(|etag| self.guard(token, acquisition, etag, sent)))
    }

    /// Reads the row after a write, and returns its version if it is that of the write.
    async fn read_back(
        &self,
        token: i64,
        acquisition: &Acquisition,
    ) -> Result<Option<ETag>, ClientError> {
        let rows = self.table.with_entity::<LeaseRow>();
        let row = rows.get_if_exists(&self.key).primary_only().await?;
        let row = row.filter(|row| row.write_of(token, acquisition).is_some());
        Ok(row.map(|row| row.etag.clone()))
    }

    /// Whether another program wrote the row first.
    fn is_lost_race(&self, error: &ClientError) -> bool {
        let is_gone = self.inserts && error.is_not_found();
        error.is_conflict() || error.is_precondition_failed() || is_gone
    }

    fn guard(&mut self, token: i64, acquisition: Acquisition, etag: ETag, sent: Instant) -> Guard {
        self.open.clear();
        let validity = self.ttl.saturating_sub(self.margin);
        let version = Version { acquisition, etag, deletes: false };
        let held = Held {
            table: self.table.clone(),
            key: self.key.clone(),
            ttl: self.ttl,
            validity,
            token,
            valid_until: Mutex::new(Some(sent + validity)),
            version: version.into(),
        };
        Guard { held: Arc::new(held) }
    }

    /// The time until the next look at the row.
    fn pause(&self) -> Duration {
        let clock = self.table.clock();
        let now = clock.instant();
        let longest = self.ttl / 3;
        let pause = match &self.seen {
            Some(seen) => seen.until.saturating_duration_since(now).min(longest),
            None => self.ttl / 20,
        };
        // Several programs that wait for one row do not all write at once.
        pause + (self.ttl / 20).mul_f64(clock.random_fraction())
    }
}

/// Checks a time to live.
pub(crate) fn check_ttl(ttl: Duration) -> Result<(), Error> {
    if !(SHORTEST..=LONGEST).contains(&ttl) {
        return Err(Error::invalid_input(format!(
            "the time to live of a lease is from 1 s to 24 h ({ttl:?})"
        )));
    }
    Ok(())
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("key", &self.key)
            .field("ttl", &self.ttl)
            .field("seen", &self.seen)
            .finish_non_exhaustive()
    }
}
