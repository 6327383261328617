use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Call;
use crate::client_core::ClientCore;
use crate::clock::SharedClock;
use crate::entity::{EntityKey, TableEntity};
use crate::error::Error;
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
pub(super) struct Rounds {
    done: u32,
    most: u32,
    /// `None` if the clock cannot represent it.
    deadline: Option<Instant>,
    options: CallOptions,
    clock: SharedClock,
}

impl Rounds {
    pub(super) fn new(core: &ClientCore, most: u32, options: CallOptions) -> Self {
        let whole = options.deadline.unwrap_or(core.deadline);
        let deadline = core.clock.instant().checked_add(whole);
        // The secondary may return the same outdated version in every round.
        let options = CallOptions { primary_only: true, whole_deadline: Some(whole), ..options };
        Self { done: 1, most, deadline, options, clock: Arc::clone(&core.clock) }
    }

    /// The number of this round, from 1.
    pub(super) fn number(&self) -> u32 {
        self.done
    }

    /// Returns the settings of the next call of this round, with the time that is left.
    pub(super) fn options(&self) -> CallOptions {
        let left = self.deadline.map(|at| self.clock.until(at));
        CallOptions { deadline: left, ..self.options.clone() }
    }

    /// Sends a call of this round, with the time that is left.
    pub(super) async fn send<T: Send + 'static>(&self, call: Call<T>) -> Result<T, Error> {
        call.with_options(self.options()).await.map_err(|error| self.failed(error))
    }

    /// Adds the number of rounds to an error.
    pub(super) fn failed(&self, error: Error) -> Error {
        error.with_rounds(self.done)
    }

    /// Waits for the next round; returns `error` if no round or time is left.
    pub(super) async fn next(&mut self, error: Error) -> Result<(), Error> {
        let wait = WAITS.wait(&FailedAttempt::new(self.done)).unwrap_or_default();
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
            let mut rounds =
                Rounds { done: 1, most: 2, deadline: Some(at), options, clock: Arc::clone(&clock) };
            if rounds.next(Error::invalid_input("the last one")).await.is_ok() {
                assert!(clock.instant() < at);
            }
        }
    }
}
