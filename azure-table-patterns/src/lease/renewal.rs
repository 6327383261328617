//! Renewals of a lease during long work.

use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use azure_table_client::Outcome;
use futures_util::future::{Either, select};

use super::Guard;
use super::held::Held;
use crate::Error;

impl Guard {
    /// Returns a future that renews the lease every third of its time to live, for a task of its own. It ends once the
    /// guard becomes invalid, and after the renewal in flight once the guard is dropped or gives the lease up. Drop the
    /// future to end it before.
    ///
    /// Poll it until then, as a task does: the writes of a guard follow one another, so that [`commit`](Self::commit)
    /// waits for the end of a renewal that has begun.
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
    /// let Some(guard) = lease.acquire_now().await? else { return Ok(()) };
    /// tokio::spawn(guard.renewal());
    /// for file in ["a.csv", "b.csv"] {
    ///     // Work of any length.
    ///     let done = DynamicEntity::new("imports", file).with("Rows", 1200);
    ///     guard.commit(|tx| tx.insert(&done)).await?;
    /// }
    /// guard.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// If another program acquires the lease, the next write of the guard fails with [`Lost`](Error::Lost).
    pub fn renewal(&self) -> impl Future<Output = ()> + Send + use<> {
        renew(Arc::downgrade(&self.held))
    }

    /// Runs `work` while it renews the lease every third of its time to live, and drops `work` when the guard becomes
    /// invalid. `work` may borrow the guard, and commit.
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
    /// let Some(guard) = lease.acquire_now().await? else { return Ok(()) };
    /// let work = async {
    ///     let report = DynamicEntity::new("imports", "2009-04-14").with("Rows", 1200);
    ///     guard.commit(|tx| tx.insert(&report)).await
    /// };
    /// guard.hold(work).await??;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A commit in `work` should have a [deadline](azure_table_client::client::Transaction::deadline) below a third of the
    /// time to live: the renewals wait for it, and `work` is dropped in the middle of it if the lease ends.
    ///
    /// `work` should not block the thread. A program that is paused cannot drop it in time: fence its writes, see
    /// [`commit`](Self::commit).
    ///
    /// # Errors
    /// [`Lost`](Error::Lost), with an unknown outcome if `work` had begun.
    pub async fn hold<F: Future>(&self, work: F) -> Result<F::Output, Error> {
        if !self.is_valid() {
            return Err(self.held.lost());
        }
        // The renewal comes first, so that `work` does not run while the guard is invalid.
        match select(pin!(self.renewal()), pin!(work)).await {
            Either::Left(_) => Err(Error::Lost { token: self.token(), outcome: Outcome::Unknown }),
            Either::Right((output, _)) => Ok(output),
        }
    }
}

/// Renews a lease until its guard is gone or invalid.
async fn renew(guard: Weak<Held>) {
    let mut failed = false;
    loop {
        let Some(held) = guard.upgrade() else { return };
        let (clock, pause) = (Arc::clone(held.table.clock()), pause(&held, failed));
        drop(held);
        clock.sleep(pause).await;
        let Some(held) = guard.upgrade().filter(|held| !held.remaining().is_zero()) else { return };
        let end = clock.sleep(held.remaining());
        failed = !matches!(select(end, pin!(held.renew())).await, Either::Right((Ok(()), _)));
    }
}

/// The time until the next renewal. After a failure, the rest of the validity leaves time for several attempts.
fn pause(held: &Held, failed: bool) -> Duration {
    let usual = if failed { held.ttl / 20 } else { held.ttl / 3 };
    held.remaining().min(usual)
}
