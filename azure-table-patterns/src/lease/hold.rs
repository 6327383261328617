//! Work that ends when its lease is lost.

use std::pin::pin;

use azure_table_client::Outcome;
use futures_util::future::{Either, select};

use super::Guard;
use crate::Error;

impl Guard {
    /// Runs `work` while it renews the lease every third of its time to live, and drops `work` when the guard becomes
    /// invalid.
    ///
    /// `work` should not block the thread. A program that is paused cannot drop it in time: fence its writes, see
    /// [`commit`](Self::commit).
    ///
    /// # Errors
    /// [`Lost`](Error::Lost), with an unknown outcome if `work` had begun.
    pub async fn hold<F: Future>(&mut self, work: F) -> Result<F::Output, Error> {
        let clock = std::sync::Arc::clone(self.table.clock());
        let mut work = pin!(work);
        // After a failure, the rest of the validity leaves time for several attempts.
        let (usual, soon) = (self.ttl / 3, self.ttl / 20);
        let mut pause = usual;
        if !self.is_valid() {
            return Err(Error::Lost { token: self.token, outcome: Outcome::NotApplied });
        }
        loop {
            // The timers come first, so that `work` does not run while the guard is invalid.
            let rest = clock.sleep(self.remaining().min(pause));
            if let Either::Right((output, _)) = select(rest, &mut work).await {
                return Ok(output);
            }
            if !self.is_valid() {
                break;
            }
            let end = clock.sleep(self.remaining());
            let renewal = pin!(self.renew());
            pause = match select(select(end, renewal), &mut work).await {
                Either::Left((Either::Right((Ok(()), _)), _)) => usual,
                Either::Left(_) => soon,
                Either::Right((output, _)) => return Ok(output),
            };
        }
        Err(Error::Lost { token: self.token, outcome: Outcome::Unknown })
    }
}
