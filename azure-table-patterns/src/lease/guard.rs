//! The holder of a lease.

mod columns;

use std::fmt;
use std::future::IntoFuture;
use std::time::{Duration, Instant};

use azure_table_client::client::{Committed, ResponseInfo, Transaction};
use azure_table_client::{
    Confirmation, DynamicEntity, ETag, EntityKey, Error as ClientError, Outcome, TableClient,
    TableEntity, Written,
};
use futures_util::future::{BoxFuture, FutureExt as _};

use super::row::{self, Acquisition, LeaseRow};
use crate::Error;

/// The number of times that a write is sent before its outcome is unknown.
const ROUNDS: usize = 3;

/// The result of an attempt: the new version of the row, if it is known.
type Pending = BoxFuture<'static, Result<Option<ETag>, ClientError>>;

/// A lease that this program holds.
///
/// Dropping a guard sends nothing: the row shows this holder until the time to live ends. A drop cannot wait for a
/// response, and a program that stops does not drop at all; call [`release`](Self::release).
#[must_use = "the lease is held until it is released, or until its time to live ends"]
pub struct Guard {
    pub(super) table: TableClient<DynamicEntity>,
    pub(super) key: EntityKey,
    pub(super) ttl: Duration,
    /// The time to live without the margin.
    pub(super) validity: Duration,
    pub(super) token: i64,
    pub(super) acquisition: Acquisition,
    /// The latest known version of the row.
    pub(super) etag: ETag,
    pub(super) valid_until: Instant,
    /// Another program holds the lease, or the row is gone.
    pub(super) is_lost: bool,
    /// A call has tried to delete the row.
    pub(super) deletes: bool,
}

/// One attempt of a write.
struct Attempt<'g> {
    table: &'g TableClient<DynamicEntity>,
    /// The columns of the lease.
    row: DynamicEntity,
    /// The version that the write requires.
    etag: &'g ETag,
    limit: Option<Duration>,
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
enum Failure {
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

impl Guard {
    /// The fencing token: greater than that of every earlier holder of this row.
    pub const fn token(&self) -> i64 {
        self.token
    }

    /// Returns whether no other program can hold the lease now. The result is out of date once the program pauses.
    pub fn is_valid(&self) -> bool {
        !self.remaining().is_zero()
    }

    /// Returns how long the guard stays valid without a renewal; zero once it is not valid.
    pub fn remaining(&self) -> Duration {
        if self.is_lost {
            return Duration::ZERO;
        }
        self.valid_until.saturating_duration_since(self.table.clock().instant())
    }

    /// Renews the lease: it is then valid for its time to live, counted from this call, minus the margin.
    ///
    /// An invalid guard becomes valid again if no other program has acquired the lease since. The call ends after a third
    /// of the time to live. A failure leaves the validity as it was, and the call can be repeated.
    ///
    /// # Errors
    /// [`Lost`](Error::Lost) if another program holds the lease, or if the row is gone. A request failed.
    pub async fn renew(&mut self) -> Result<(), Error> {
        let end = self.table.clock().instant() + self.ttl / 3;
        let renewed = self.write(Some(end), |attempt| attempt.merge(|row| row)).await;
        renewed.map_err(|failure| failure.of(self.token))
    }

    /// Releases the lease, so that another program can acquire it at once. The row and its token stay.
    ///
    /// # Errors
    /// The errors of [`renew`](Self::renew). The lease is then free once its time to live has ended.
    /// If the row shows another holder, the outcome is unknown: that program may have acquired the lease because of the
    /// release.
    pub async fn release(mut self) -> Result<(), Error> {
        let released = self.write(None, |attempt| attempt.merge(row::released)).await;
        // The next holder does not wait after a release, so its row does not prove that this one was refused.
        released.map_err(|failure| failure.unproved(self.token))
    }

    /// Merges `columns` into the row of the lease, which this guard must still hold. Also renews the lease.
    ///
    /// # Errors
    /// The errors of [`commit`](Self::commit). [`InvalidInput`](Error::InvalidInput), before anything is sent:
    /// `columns` has another key, or a column of the lease.
    pub async fn update(&mut self, columns: &DynamicEntity) -> Result<(), Error> {
        row::check_columns(&self.key, columns)?;
        let merge = |attempt: Attempt<'_>| attempt.merge(|row| row::with_columns(row, columns));
        self.write(None, merge).await.map_err(|failure| failure.of(self.token))
    }

    /// Applies a transaction in the partition of the lease, if this guard still holds the lease. Also renews it.
    ///
    /// `work` adds up to 99 operations to a transaction whose first operation is on the row of the lease. It is called
    /// again for each attempt. The service refuses the transaction once another program has acquired the lease, also
    /// if it arrives late.
    ///
    /// ```
    /// # use azure_table_client::{DynamicEntity, mock::MockTableService};
    /// # use azure_table_patterns::lease::Lease;
    /// # use std::time::Duration;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let jobs = MockTableService::new().client().table_named::<DynamicEntity>("Jobs");
    /// # jobs.create().await?;
    /// let mut lease = Lease::new(&jobs, ("imports", "lease"), Duration::from_secs(30));
    /// if let Some(mut guard) = lease.acquire_now().await? {
    ///     let report = DynamicEntity::new("imports", "2009-04-14").with("Rows", 1200);
    ///     guard.commit(|tx| tx.insert(&report)).await?;
    ///     guard.release().await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Lost`](Error::Lost) if another program holds the lease, or if the row is gone. The error of an operation of
    /// `work`, whose index counts from 1. [`Failed`](Error::Failed) or an error of the client with an unknown
    /// outcome, if several attempts failed: the next call of this guard ends them.
    pub async fn commit<U: TableEntity + Send + 'static>(
        &mut self,
        mut work: impl FnMut(Transaction<DynamicEntity>) -> Transaction<U> + Send,
    ) -> Result<(), Error> {
        let committed = self.write(None, |attempt| {
            let transaction = attempt.table.transaction().merge(&attempt.row, attempt.etag);
            // The row states which write left it, so that rows in this state prove the transaction.
            send(work(transaction).accept_matching_state(true))
        });
        committed.await.map_err(|failure| failure.of(self.token))
    }

    /// Deletes the row of the lease in a transaction with the last work, if this guard still holds the lease.
    ///
    /// The tokens of a row that is inserted again start at 1, so do not use its key again for a lease whose tokens
    /// other rows or services compare.
    ///
    /// # Errors
    /// The errors of [`commit`](Self::commit). If the row is gone after a lost response, the call succeeds only while
    /// the guard is valid: no other program can then have deleted the row.
    pub async fn delete<U: TableEntity + Send + 'static>(
        mut self,
        work: impl FnMut(Transaction<DynamicEntity>) -> Transaction<U> + Send,
    ) -> Result<(), Error> {
        self.delete_row(work).await
    }

    /// Sends a write under the version of the row, until it is known whether it was applied. `end` limits the whole
    /// call.
    async fn write(
        &mut self,
        end: Option<Instant>,
        mut send: impl FnMut(Attempt<'_>) -> Pending + Send,
    ) -> Result<(), Failure> {
        if self.is_lost {
            let (token, outcome) = (self.token, Outcome::NotApplied);
            return Err(Failure::Error(Error::Lost { token, outcome }));
        }
        // Another program may see the first attempt, although the client reports a later one.
        let started = self.table.clock().instant();
        let first = self.acquisition.next();
        let mut round = 1;
        // An attempt under the present version may have been applied, or may be applied later.
        let mut is_open = false;
        loop {
            let error = match send(self.attempt(end)).await {
                Ok(etag) => {
                    self.written(etag, started);
                    return Ok(());
                }
                Err(error) => error,
            };
            if !may_be_applied(&error) {
                return Err(unresolved(error, is_open));
            }
            is_open = true;
            match self.find(first, end).await {
                Some(Found::Applied(etag)) => {
                    self.written(Some(etag), started);
                    return Ok(());
                }
                Some(Found::Moved(etag)) => {
                    self.etag = etag;
                    is_open = false;
                }
                Some(Found::Unchanged) => {}
                Some(found @ (Found::Other | Found::Missing)) => {
                    // A proxy that delivers a request twice returns the refusal of the second delivery.
                    let is_refused = round == 1 && error.outcome() == Outcome::NotApplied;
                    return Err(self.not_held(&found, is_refused, started));
                }
                None => return Err(unresolved(error, is_open)),
            }
            if round == ROUNDS || self.limit(end).is_some_and(|limit| limit.is_zero()) {
                return Err(unresolved(error, is_open));
            }
            round += 1;
            self.acquisition.next();
        }
    }

    fn attempt(&self, end: Option<Instant>) -> Attempt<'_> {
        let row = self.acquisition.columns(self.token, &self.key);
        Attempt { table: &self.table, row, etag: &self.etag, limit: self.limit(end) }
    }

    /// The time until `end`.
    fn limit(&self, end: Option<Instant>) -> Option<Duration> {
        let now = self.table.clock().instant();
        end.map(|end| end.saturating_duration_since(now))
    }

    fn written(&mut self, etag: Option<ETag>, started: Instant) {
        // With the version before this write, the next one is refused, and reads the row.
        if let Some(etag) = etag {
            self.etag = etag;
        }
        self.valid_until = started + self.validity;
    }

    /// Reads the row to find the writes of this call, which begin with the number `first`. `None` if that fails.
    async fn find(&self, first: i64, end: Option<Instant>) -> Option<Found> {
        let rows = self.table.with_entity::<LeaseRow>();
        let read = rows.get_if_exists(&self.key).primary_only();
        let read = match self.limit(end) {
            Some(limit) => read.deadline(limit),
            None => read,
        };
        let Some(row) = read.await.ok()? else { return Some(Found::Missing) };
        Some(match row.write_of(self.token, &self.acquisition) {
            None => Found::Other,
            Some(write) if write >= first => Found::Applied(row.etag.clone()),
            Some(_) if row.etag == self.etag => Found::Unchanged,
            // A late insert of this acquisition may have recreated the row after it was deleted.
            Some(write) if self.deletes && write <= self.acquisition.last_insert => Found::Other,
            Some(_) => Found::Moved(row.etag.clone()),
        })
    }

    fn not_held(&mut self, found: &Found, is_refused: bool, started: Instant) -> Failure {
        let now = self.table.clock().instant();
        self.is_lost = true;
        Failure::NotHeld {
            is_missing: matches!(found, Found::Missing),
            was_valid: now < self.valid_until,
            // A write of this call would have kept other programs out until then.
            is_refused: is_refused && now < started + self.validity,
        }
    }
}

impl Attempt<'_> {
    fn merge(self, change: impl FnOnce(DynamicEntity) -> DynamicEntity) -> Pending {
        let call = self.table.merge(&change(self.row), self.etag);
        // The row states which write left it, so that a row in this state proves the write.
        let call = call.accept_matching_state(true);
        let call = match self.limit {
            Some(limit) => call.deadline(limit),
            None => call,
        };
        let own = |written: Written| own_version(&written.response, Some(&written.etag));
        call.into_future().map(move |written| written.map(own)).boxed()
    }
}

fn send<T: Send + 'static>(transaction: Transaction<T>) -> Pending {
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

/// Whether a failed attempt may have been applied, or may be applied later. A proxy may deliver a request twice: the
/// second delivery is refused at the row of the lease.
fn may_be_applied(error: &ClientError) -> bool {
    let is_at_lease = error.batch_index().is_none_or(|index| index == 0);
    error.outcome() != Outcome::NotApplied
        || is_at_lease && (error.is_precondition_failed() || error.is_not_found())
}

fn unresolved(error: ClientError, is_open: bool) -> Failure {
    let is_known = !is_open || error.outcome() != Outcome::NotApplied;
    Failure::Error(if is_known { Error::Client(error) } else { Error::unknown(error) })
}

impl Failure {
    /// The error of a guard with this token.
    fn of(self, token: i64) -> Error {
        match self {
            Self::NotHeld { is_refused: true, .. } => {
                Error::Lost { token, outcome: Outcome::NotApplied }
            }
            other => other.unproved(token),
        }
    }

    /// The error of a write that frees the row: another program may hold it because the write was applied.
    fn unproved(self, token: i64) -> Error {
        match self {
            Self::NotHeld { .. } => Error::Lost { token, outcome: Outcome::Unknown },
            Self::Error(error) => error,
        }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("key", &self.key)
            .field("token", &self.token)
            .field("remaining", &self.remaining())
            .finish_non_exhaustive()
    }
}
