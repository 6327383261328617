use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Call;
use crate::client_core::ClientCore;
use crate::clock::SharedClock;
use crate::entity::{EntityKey, TableEntity};
use crate::error::Error;
use crate::pipeline::{CallOptions, FailedAttempt, RetryPolicy};

/// How often a row is read and written at most, unless the call says otherwise.
pub(super) const ROUNDS: u32 = 10;
/// The waits between rounds: those who met at a row do not meet there again.
const WAITS: RetryPolicy =
    RetryPolicy::exponential(0, Duration::from_millis(20), Duration::from_secs(1));

/// Tokio's timers may be late by that.
const TICK: Duration = Duration::from_millis(1);

/// Several calls that are one to the user: with one time limit, and a bound.
#[derive(Debug)]
pub(super) struct Rounds {
    done: u32,
    most: u32,
    /// `None` is later than any clock can show.
    deadline: Option<Instant>,
    options: CallOptions,
    clock: SharedClock,
}

impl Rounds {
    pub(super) fn new(pipeline: &ClientCore, most: u32, options: CallOptions) -> Self {
        let whole = options.deadline.unwrap_or(pipeline.deadline);
        let deadline = pipeline.clock.instant().checked_add(whole);
        // A version that lags behind is met again in every round.
        let options = CallOptions { primary_only: true, whole_deadline: Some(whole), ..options };
        Self { done: 1, most, deadline, options, clock: Arc::clone(&pipeline.clock) }
    }

    /// The number of this round, from 1.
    pub(super) fn number(&self) -> u32 {
        self.done
    }

    /// Sends one of the calls, with what is left of the time.
    pub(super) async fn send<T: Send + 'static>(&self, call: Call<T>) -> Result<T, Error> {
        let left = self.deadline.map(|at| self.clock.until(at));
        let call = call.with_options(CallOptions { deadline: left, ..self.options.clone() });
        call.await.map_err(|error| self.failed(error))
    }

    /// The error of this round.
    pub(super) fn failed(&self, error: Error) -> Error {
        error.with_rounds(self.done)
    }

    /// Waits for the next round; `error` if there is none.
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

/// An entity that would be written has the key that was asked for.
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
