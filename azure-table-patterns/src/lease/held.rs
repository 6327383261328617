//! The state of a lease that a guard and its renewals share.

use std::future::IntoFuture;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use azure_table_client::client::{Committed, ResponseInfo, Transaction};
use azure_table_client::{
    Confirmation, DynamicEntity, ETag, EntityKey, Error as ClientError, Outcome, Proof,
    TableClient, Written,
};
use futures_util::future::{BoxFuture, Either, FutureExt as _, select};
use futures_util::lock::{Mutex as AsyncMutex, MutexGuard};

use super::row::{Acquisition, LeaseRow};
use crate::Error;
use crate::delivery::was_never_applied;

/// The number of times that a write is sent before its outcome is unknown.
const ROUNDS: u32 = 3;

/// The result of an attempt: the new version of the row, if it is known.
pub(super) type Pending = BoxFuture<'static, Result<Option<ETag>, ClientError>>;

/// A lease that this program holds.
pub(super) struct Held {
    pub(super) table: TableClient<DynamicEntity>,
    pub(super) key: EntityKey,
    pub(super) ttl: Duration,
    /// The time to live without the margin.
    pub(super) validity: Duration,
    pub(super) token: i64,
    /// The end of the validity; `None` once another program holds the lease, the row is gone, or a release was sent.
    pub(super) valid_until: Mutex<Option<Instant>>,
    /// Locked for the whole of a write, so that each one requires the version that the one before has left.
    pub(super) version: AsyncMutex<Version>,
}

/// The latest known version of the row.
pub(super) struct Version {
    pub(super) acquisition: Acquisition,
    pub(super) etag: ETag,
    /// A call has tried to delete the row.
    pub(super) deletes: bool,
}

/// One attempt of a write.
pub(super) struct Attempt<'h> {
    pub(super) table: &'h TableClient<DynamicEntity>,
    /// The columns of the lease.
    pub(super) row: DynamicEntity,
    /// The version that the write requires.
    pub(super) etag: &'h ETag,
    limit: Option<Duration>,
}

/// The purpose of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Keep,
    /// Frees the lease: this program does not hold it from the first attempt on.
    Release,
    Delete,
}

/// The state of the row after an attempt that failed.
enum Found {
    /// An attempt of this call was applied.
    Applied(ETag),
    /// No attempt was applied, and none can be: the row has another version, which this guard also holds.
    Moved(ETag),
    /// No attempt was applied so far.
    Unchanged,
    /// Another program holds the row.
    Other,
    Missing,
}

/// The reason why a write was not confirmed.
pub(super) enum Failure {
    /// The row does not show this guard.
    NotHeld {
        is_missing: bool,
        /// No other program could hold the lease when the row was read.
        was_valid: bool,
        /// No attempt of the call was applied, and none will be.
        is_refused: bool,
    },
    Error(Error),
}

impl Held {
    /// Returns how long the lease stays valid without a renewal.
    pub(super) fn remaining(&self) -> Duration {
        let now = self.table.clock().instant();
        self.valid_until().map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }

    fn valid_until(&self) -> Option<Instant> {
        *self.valid_until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_valid_until(&self, until: Option<Instant>) {
        *self.valid_until.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }

    /// Renews the lease; the call ends after a third of the time to live.
    pub(super) async fn renew(&self) -> Result<(), Error> {
        let end = self.table.clock().instant() + self.ttl / 3;
        let renewed = self.write(Purpose::Keep, Some(end), |attempt| attempt.merge(|row| row));
        renewed.await.map_err(|failure| failure.of(self.token))
    }

    /// The error of a call that sends nothing because the lease is lost.
    pub(super) const fn lost(&self) -> Error {
        Error::Lost { token: self.token, outcome: Outcome::NotApplied }
    }

    fn contended(&self) -> Error {
        Error::Contended { what: format!("write {}", self.key), rounds: ROUNDS }
    }

    /// Sends a write under the version of the row, until it is known whether it was applied. `end` limits the whole
    /// call.
    pub(super) async fn write(
        &self,
        purpose: Purpose,
        end: Option<Instant>,
        mut send: impl FnMut(Attempt<'_>) -> Pending + Send,
    ) -> Result<(), Failure> {
        let mut version = self.lock(end).await.map_err(Failure::Error)?;
        let Some(valid_until) = self.valid_until() else {
            return Err(Failure::Error(self.lost()));
        };
        match purpose {
            Purpose::Keep => {}
            Purpose::Release => self.set_valid_until(None),
            Purpose::Delete => version.deletes = true,
        }
        // Another program may see the first attempt, although the client reports a later one.
        let started = self.table.clock().instant();
        let first = version.acquisition.next();
        let mut round = 1;
        // An attempt under the present version may have been applied, or may be applied later.
        let mut is_open = false;
        loop {
            let error = match send(self.attempt(&version, end)).await {
                Ok(etag) => {
                    self.written(&mut version, etag, purpose, started);
                    return Ok(());
                }
                Err(error) => error,
            };
            if !may_be_applied(&error) {
                return Err(unresolved(error, is_open));
            }
            is_open = true;
            match self.find(&version, first, end).await {
                Some(Found::Applied(etag)) => {
                    self.written(&mut version, Some(etag), purpose, started);
                    return Ok(());
                }
                Some(Found::Moved(etag)) => {
                    version.etag = etag;
                    is_open = false;
                    if round == ROUNDS {
                        return Err(Failure::Error(self.contended()));
                    }
                }
                Some(Found::Unchanged) => {}
                Some(found @ (Found::Other | Found::Missing)) => {
                    // A proxy that delivers a request twice returns the refusal of the second delivery.
                    let is_refused = round == 1 && error.outcome() == Outcome::NotApplied;
                    return Err(self.not_held(&found, is_refused, started, valid_until));
                }
                None => return Err(unresolved(error, is_open)),
            }
            let is_over = self.limit(end).is_some_and(|limit| limit.is_zero());
            if round == ROUNDS || is_over || error.is_throttled() {
                return Err(unresolved(error, is_open));
            }
            round += 1;
            version.acquisition.next();
        }
    }

    /// Waits until the write in flight has ended, at most until `end`.
    async fn lock(&self, end: Option<Instant>) -> Result<MutexGuard<'_, Version>, Error> {
        let lock = self.version.lock();
        let Some(limit) = self.limit(end) else { return Ok(lock.await) };
        match select(lock, self.table.clock().sleep(limit)).await {
            Either::Left((version, _)) => Ok(version),
            Either::Right(_) => Err(Error::not_applied(None)),
        }
    }

    fn attempt<'h>(&'h self, version: &'h Version, end: Option<Instant>) -> Attempt<'h> {
        let row = version.acquisition.columns(self.token, &self.key);
        Attempt { table: &self.table, row, etag: &version.etag, limit: self.limit(end) }
    }

    /// The time until `end`.
    fn limit(&self, end: Option<Instant>) -> Option<Duration> {
        let now = self.table.clock().instant();
        end.map(|end| end.saturating_duration_since(now))
    }

    fn written(
        &self,
        version: &mut Version,
        etag: Option<ETag>,
        purpose: Purpose,
        started: Instant,
    ) {
        // With the version before this write, the next one is refused, and reads the row.
        if let Some(etag) = etag {
            version.etag = etag;
        }
        let is_held = purpose == Purpose::Keep;
        self.set_valid_until(is_held.then(|| started + self.validity));
    }

    /// Reads the row to find the writes of this call, which begin with the number `first`. `None` if that fails.
    async fn find(&self, version: &Version, first: i64, end: Option<Instant>) -> Option<Found> {
        let rows = self.table.with_entity::<LeaseRow>();
        let read = rows.get_if_exists(&self.key).primary_only();
        let read = match self.limit(end) {
            Some(limit) => read.deadline(limit),
            None => read,
        };
        let Some(row) = read.await.ok()? else { return Some(Found::Missing) };
        Some(match row.write_of(self.token, &version.acquisition) {
            None => Found::Other,
            Some(write) if write >= first => Found::Applied(row.etag.clone()),
            Some(_) if row.etag == version.etag => Found::Unchanged,
            // A late insert of this acquisition may have recreated the row after it was deleted.
            Some(write) if version.deletes && write <= version.acquisition.last_insert => {
                Found::Other
            }
            Some(_) => Found::Moved(row.etag.clone()),
        })
    }

    fn not_held(
        &self,
        found: &Found,
        is_refused: bool,
        started: Instant,
        valid_until: Instant,
    ) -> Failure {
        let now = self.table.clock().instant();
        self.set_valid_until(None);
        Failure::NotHeld {
            is_missing: matches!(found, Found::Missing),
            was_valid: now < valid_until,
            // A write of this call would have kept other programs out until then.
            is_refused: is_refused && now < started + self.validity,
        }
    }
}

impl Attempt<'_> {
    pub(super) fn merge(self, change: impl FnOnce(DynamicEntity) -> DynamicEntity) -> Pending {
        let call = self.table.merge(&change(self.row), self.etag);
        // The row states which write left it, so that a row in this state proves the write.
        let call = call.proof(Proof::MatchingUpdate);
        let call = match self.limit {
            Some(limit) => call.deadline(limit),
            None => call,
        };
        let own = |written: Written| own_version(&written.response, Some(&written.etag));
        call.into_future().map(move |written| written.map(own)).boxed()
    }
}

pub(super) fn send<T: Send + 'static>(transaction: Transaction<T>) -> Pending {
    let own = |committed: Committed| {
        let first = committed.operations.first();
        own_version(&committed.response, first.and_then(|operation| operation.etag.as_ref()))
    };
    transaction.into_future().map(move |committed| committed.map(own)).boxed()
}

/// The version of the row, if it is certainly of this guard. The client's write id proves the write, but it may still
/// be in the row of the next holder, whose client writes no ids.
fn own_version(response: &ResponseInfo, etag: Option<&ETag>) -> Option<ETag> {
    etag.filter(|_| response.confirmation != Confirmation::WriteId).cloned()
}

/// Whether a failed attempt may have been applied, or may be applied later. A second delivery of a request is refused at
/// the row of the lease.
fn may_be_applied(error: &ClientError) -> bool {
    let is_at_lease = error.batch_index().is_none_or(|index| index == 0);
    error.outcome() != Outcome::NotApplied || is_at_lease && !was_never_applied(error)
}

fn unresolved(error: ClientError, is_open: bool) -> Failure {
    let is_known = !is_open || error.outcome() != Outcome::NotApplied;
    Failure::Error(if is_known { Error::Client { error } } else { Error::unknown(error) })
}

impl Failure {
    /// The error of a guard with this token.
    pub(super) fn of(self, token: i64) -> Error {
        match self {
            Self::NotHeld { is_refused: true, .. } => {
                Error::Lost { token, outcome: Outcome::NotApplied }
            }
            other => other.unproved(token),
        }
    }

    /// The error of a write that frees the row: another program may hold it because the write was applied.
    pub(super) fn unproved(self, token: i64) -> Error {
        match self {
            Self::NotHeld { .. } => Error::Lost { token, outcome: Outcome::Unknown },
            Self::Error(error) => error,
        }
    }
}
