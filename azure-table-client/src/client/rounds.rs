use std::future::IntoFuture;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::client_core::ClientCore;
use crate::clock::SharedClock;
use crate::entity::{EntityKey, TableEntity};
use crate::error::{Error, Outcome};
use crate::operation::Proof;
use crate::outcome;
use crate::pipeline::{CallOptions, FailedAttempt, RetryPolicy};

/// The default limit on rounds.
pub(super) const ROUNDS: u32 = 10;
/// The delays between rounds, which separate concurrent writers of a row.
const WAITS: RetryPolicy =
    RetryPolicy::exponential(0, Duration::from_millis(20), Duration::from_secs(1));

/// The delay by which Tokio's timers may be late.
const TICK: Duration = Duration::from_millis(1);

/// The rounds of a call that reads and writes until no concurrent update intervenes. They share one deadline.
#[derive(Debug)]
pub(super) struct WriteRounds {
    done: u32,
    most: u32,
    /// `None` if the clock cannot represent it.
    deadline: Option<Instant>,
    options: CallOptions,
    clock: SharedClock,
    /// The error of the last write that may have been applied.
    open: Option<Error>,
}

impl WriteRounds {
    /// `is_idempotent` if the writes can be applied twice without harm.
    pub(super) fn new(
        core: &ClientCore,
        most: u32,
        options: CallOptions,
        is_idempotent: bool,
    ) -> Self {
        let proof = match core.settings.proof {
            Proof::Response => Proof::Response,
            _ if is_idempotent => Proof::MatchingUpdate,
            // Another program may have written the same values.
            _ => Proof::WriteId,
        };
        let whole = options.deadline.unwrap_or(core.deadline);
        let deadline = core.clock.instant().checked_add(whole);
        // The secondary may return the same outdated version in every round.
        let options = CallOptions {
            primary_only: true,
            whole_deadline: Some(whole),
            proof: Some(proof),
            ..options
        };
        let clock = Arc::clone(&core.clock);
        Self { done: 1, most, deadline, options, clock, open: None }
    }

    /// The number of this round, from 1.
    pub(super) fn number(&self) -> u32 {
        self.done
    }

    /// Whether a write of this call may have been applied without a confirmation.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Returns the settings of the next call of this round, with the time that is left.
    fn options(&self) -> CallOptions {
        let left = self.deadline.map(|at| self.clock.until(at));
        CallOptions { deadline: left, ..self.options.clone() }
    }

    /// Sends a call of this round, with the time that is left.
    pub(super) async fn send<T, F>(
        &mut self,
        call: impl FnOnce(CallOptions) -> F,
    ) -> Result<T, Error>
    where
        F: IntoFuture<Output = Result<T, Error>>,
    {
        let result = call(self.options()).await;
        result.map_err(|error| {
            if error.outcome() == Outcome::Unknown {
                self.open = Some(error.clone());
            }
            self.failed(error)
        })
    }

    /// Adds the number of rounds to an error. After a write that may have been applied, the outcome of the whole call
    /// is unknown, whatever fails later.
    pub(super) fn failed(&self, error: Error) -> Error {
        let error = error.with_rounds(self.done);
        if self.is_open() { outcome::unknown(error) } else { error }
    }

    /// Returns the error of a closure that ends the call. It states that nothing was written, so the error of a write
    /// that may have been applied replaces it.
    pub(super) fn refused<E: From<Error>>(&self, error: E) -> E {
        self.open.clone().map_or(error, |open| self.failed(open).into())
    }

    /// Waits for the next round; returns `error` if no round or time is left.
    pub(super) async fn next(&mut self, error: Error) -> Result<(), Error> {
        let wait = WAITS.wait(&FailedAttempt::new(self.done), &*self.clock).unwrap_or_default();
        let in_time = self.deadline.is_none_or(|at| {
            self.clock.instant().checked_add(wait + TICK).is_some_and(|then| then < at)
        });
        if self.done >= self.most || !in_time {
            return Err(error);
        }
        self.clock.sleep(wait).await;
        self.done += 1;
        Ok(())
    }
}

/// Checks that an entity has the key of the call.
pub(super) fn check_key<T: TableEntity>(entity: &T, key: &EntityKey) -> Result<(), Error> {
    let (partition_key, row_key) = (entity.partition_key()?, entity.row_key()?);
    if (&*partition_key, &*row_key) == (&*key.partition_key, &*key.row_key) {
        return Ok(());
    }
    let other = EntityKey::new(partition_key, row_key);
    Err(Error::invalid_input(format!("the entity of {key} would be written as {other}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;

    #[tokio::test(start_paused = true)]
    async fn no_round_begins_when_the_time_is_over() {
        for _ in 0..300 {
            let clock: SharedClock = Arc::new(SystemClock);
            let at = clock.instant() + Duration::from_millis(10);
            let options = CallOptions::default();
            let (deadline, open, clock) = (Some(at), None, Arc::clone(&clock));
            let mut rounds = WriteRounds { done: 1, most: 2, deadline, options, clock, open };
            if rounds.next(Error::invalid_input("the last one")).await.is_ok() {
                assert!(rounds.clock.instant() < at);
            }
        }
    }
}
