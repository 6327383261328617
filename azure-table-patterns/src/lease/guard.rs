//! The holder of a lease.

mod columns;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use azure_table_client::client::Transaction;
use azure_table_client::{DynamicEntity, Proof, TableEntity};

use super::held::{Attempt, Held, Pending, Purpose, send};
use super::row;
use crate::Error;

/// A lease that this program holds.
///
/// Long work renews the lease meanwhile: [`hold`](Self::hold) does so around a future, and [`renewal`](Self::renewal) in a
/// task of its own. The guard can commit at the same time; its writes follow one another.
///
/// Dropping a guard sends nothing, and ends its renewals after the one in flight: the row shows this holder until the time
/// to live ends. A drop cannot wait for a response, and a program that stops does not drop at all; call
/// [`release`](Self::release).
#[must_use = "the lease is held until it is released, or until its time to live ends"]
pub struct Guard {
    pub(super) held: Arc<Held>,
}

impl Guard {
    /// The fencing token: greater than that of every earlier holder of this row.
    pub fn token(&self) -> i64 {
        self.held.token
    }

    /// Returns whether no other program can hold the lease now. The result is out of date once the program pauses.
    pub fn is_valid(&self) -> bool {
        !self.remaining().is_zero()
    }

    /// Returns how long the guard stays valid without a renewal; zero once it is not valid.
    pub fn remaining(&self) -> Duration {
        self.held.remaining()
    }

    /// Renews the lease: it is then valid for its time to live, counted from this call, minus the margin.
    ///
    /// An invalid guard becomes valid again if no other program has acquired the lease since. The call ends after a third
    /// of the time to live, also if another write of the guard is in flight until then. A failure leaves the validity as it
    /// was, and the call can be repeated.
    ///
    /// # Errors
    /// [`Lost`](Error::Lost) if another program holds the lease, or if the row is gone. [`Contended`](Error::Contended) if
    /// other programs wrote the row in each of 3 rounds. A request failed.
    pub async fn renew(&self) -> Result<(), Error> {
        self.held.renew().await
    }

    /// Releases the lease, so that another program can acquire it at once. The row and its token stay.
    ///
    /// # Errors
    /// The errors of [`renew`](Self::renew). The lease is then free once its time to live has ended.
    /// If the row shows another holder, the outcome is unknown: that program may have acquired the lease because of the
    /// release.
    pub async fn release(self) -> Result<(), Error> {
        let merge = |attempt: Attempt<'_>| attempt.merge(row::released);
        let released = self.held.write(Purpose::Release, None, merge).await;
        // The next holder does not wait after a release, so its row does not prove that this one was refused.
        released.map_err(|failure| failure.unproved(self.token()))
    }

    /// Merges `columns` into the row of the lease, which this guard must still hold. Also renews the lease.
    ///
    /// # Errors
    /// The errors of [`commit`](Self::commit). [`InvalidInput`](Error::InvalidInput), before anything is sent:
    /// `columns` has another key, or a column of the lease.
    pub async fn update(&self, columns: &DynamicEntity) -> Result<(), Error> {
        row::check_columns(&self.held.key, columns)?;
        let merge = |attempt: Attempt<'_>| attempt.merge(|row| row::with_columns(row, columns));
        self.keep(merge).await
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
    /// let mut lease = Lease::new(&jobs, ("imports", "lease"), Duration::from_secs(30))?;
    /// if let Some(guard) = lease.acquire_now().await? {
    ///     let report = DynamicEntity::new("imports", "2009-04-14").with("Rows", 1200);
    ///     guard.commit(|tx| tx.insert(&report)).await?;
    ///     guard.release().await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`renew`](Self::renew). The error of an operation of `work`, whose index counts from 1.
    /// [`Failed`](Error::Failed) or an error of the client with an unknown outcome, if several attempts failed: the next
    /// call of this guard ends them.
    pub async fn commit<U: TableEntity + Send + 'static>(
        &self,
        mut work: impl FnMut(Transaction<DynamicEntity>) -> Transaction<U> + Send,
    ) -> Result<(), Error> {
        self.keep(|attempt| {
            let transaction = attempt.table.transaction().merge(&attempt.row, attempt.etag);
            // The row states which write left it, so that rows in this state prove the transaction.
            send(work(transaction).proof(Proof::MatchingUpdate))
        })
        .await
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
        self,
        work: impl FnMut(Transaction<DynamicEntity>) -> Transaction<U> + Send,
    ) -> Result<(), Error> {
        self.delete_row(work).await
    }

    /// Sends a write that keeps the lease.
    async fn keep(&self, send: impl FnMut(Attempt<'_>) -> Pending + Send) -> Result<(), Error> {
        let written = self.held.write(Purpose::Keep, None, send).await;
        written.map_err(|failure| failure.of(self.token()))
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("key", &self.held.key)
            .field("token", &self.token())
            .field("remaining", &self.remaining())
            .finish_non_exhaustive()
    }
}
