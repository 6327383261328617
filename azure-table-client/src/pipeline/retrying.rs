//! The retries of one call: how many attempts failed, and when and where the next one is sent: to the primary, or for
//! reads to the secondary of an account with read access to it. And the budget of retries that the calls of a client
//! share, so that retries do not multiply the load of an outage.
//!
//! Source: [Azure Storage redundancy][redundancy], "Read access to data in the secondary region".
//!
//! [redundancy]: https://learn.microsoft.com/azure/storage/common/storage-redundancy

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tracing::warn;

use super::Pipeline;
use super::retry::{Failure, RetryPolicy};
use super::trace::integer;
use crate::error::Error;
use crate::operation::Location;

/// The retries of one call.
pub(super) struct Retrying<'c> {
    policy: &'c RetryPolicy,
    pub(super) route: Route,
    /// Requests that were sent.
    pub(super) count: u32,
    /// The failures that count for the policy.
    failures: u32,
    /// The wait before the next attempt.
    pub(super) waited: Duration,
    /// The tokens that the last retry took from the budget.
    pub(super) spent: Option<Spent>,
}

impl<'c> Retrying<'c> {
    pub(super) const fn new(policy: &'c RetryPolicy, route: Route) -> Self {
        Self { policy, route, count: 0, failures: 0, waited: Duration::ZERO, spent: None }
    }

    /// Waits before the next attempt. Returns `false` if the policy, the deadline or the retry budget allows none.
    pub(super) async fn waits(
        &mut self,
        pipeline: &Pipeline,
        failure: &Failure,
        is_write: bool,
        deadline: Option<Instant>,
    ) -> bool {
        let Some(wait) = self.wait(pipeline, failure, is_write, deadline) else { return false };
        warn!(
            target: "azure_table_client",
            attempt = integer(self.count),
            wait_ms = integer(wait.as_millis()),
            cause = failure.describe(),
            code = failure.code(),
            request_id = failure.request_id(),
            "will retry"
        );
        if !wait.is_zero() {
            pipeline.clock.sleep(wait).await;
        }
        self.waited = wait;
        self.spent = pipeline.budget.spend(failure.is_timeout());
        self.spent.is_some()
    }

    /// The wait before the next attempt; `None` ends the call.
    fn wait(
        &mut self,
        pipeline: &Pipeline,
        failure: &Failure,
        is_write: bool,
        deadline: Option<Instant>,
    ) -> Option<Duration> {
        self.failures += 1;
        if !failure.is_transient() || self.failures > self.policy.max_retries() {
            return None;
        }
        let mut wait =
            self.policy.wait(&failure.attempt(self.route.failures()), &*pipeline.clock)?;
        let is_harmless = failure.is_connect() || (failure.is_interrupted() && !is_write);
        if is_harmless && self.failures == 1 {
            // A connection that was closed, a stale address or a restart: the cause has passed by now.
            wait = Duration::ZERO;
        }
        let now = pipeline.clock.instant();
        let wait = self.route.failed(now, wait);
        let in_time = deadline.is_none_or(|at| now.checked_add(wait).is_some_and(|then| then < at));
        if !in_time {
            return None;
        }
        // The retry pays when it is sent, so that a dropped call pays nothing.
        pipeline.budget.affords(failure.is_timeout()).then_some(wait)
    }
}

/// The locations of reads. Writes always use the primary.
///
/// With both locations, each attempt uses the one whose wait ends first; each location has its own waits. A 404
/// from the secondary may be replication lag, so the primary is queried next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum LocationMode {
    /// The primary only.
    #[default]
    PrimaryOnly,
    /// The primary first; retries alternate between both.
    PrimaryThenSecondary,
    /// The secondary only; writes are an error.
    SecondaryOnly,
    /// The secondary first; retries alternate between both.
    SecondaryThenPrimary,
}

impl LocationMode {
    pub(crate) const fn uses_secondary(self) -> bool {
        !matches!(self, Self::PrimaryOnly)
    }
}

/// The locations of the attempts of one call.
#[derive(Debug)]
pub(super) struct Route {
    at: Location,
    /// Whether attempts use the other location too.
    alternates: bool,
    /// Attempts that failed, and when the next one may be: at the primary and at the secondary.
    failed: [(u32, Option<Instant>); 2],
}

impl Route {
    pub(super) fn new(mode: LocationMode, is_write: bool) -> Result<Self, Error> {
        use LocationMode::{PrimaryThenSecondary, SecondaryOnly, SecondaryThenPrimary};
        if is_write && mode == SecondaryOnly {
            return Err(Error::invalid_input(
                "cannot write to the secondary: the client uses the secondary only; change locations(..)",
            ));
        }
        let at = match mode {
            SecondaryOnly | SecondaryThenPrimary if !is_write => Location::Secondary,
            _ => Location::Primary,
        };
        let alternates = !is_write && matches!(mode, PrimaryThenSecondary | SecondaryThenPrimary);
        Ok(Self { at, alternates, failed: [(0, None); 2] })
    }

    /// Returns the location of the next attempt.
    pub(super) const fn location(&self) -> Location {
        self.at
    }

    /// The number of failed attempts at the current location, including the last one.
    fn failures(&self) -> u32 {
        self.failed[self.at as usize].0 + 1
    }

    /// Records a failed attempt; the next one at its location may follow after `wait`. Switches to the next
    /// location, and returns the wait.
    fn failed(&mut self, now: Instant, wait: Duration) -> Duration {
        let (count, next) = &mut self.failed[self.at as usize];
        *count += 1;
        *next = now.checked_add(wait);
        if !self.alternates {
            return wait;
        }
        let other = match self.at {
            Location::Primary => Location::Secondary,
            Location::Secondary => Location::Primary,
        };
        let wait_at = |location: Location| match self.failed[location as usize] {
            (0, _) => Duration::ZERO,
            // Later than any clock can show.
            (_, None) => Duration::MAX,
            (_, Some(at)) => at.saturating_duration_since(now),
        };
        // The locations alternate, unless the other one requires a longer wait.
        let (here, there) = (wait_at(self.at), wait_at(other));
        if here < there {
            return here;
        }
        self.at = other;
        there
    }

    /// Handles a 404 from the secondary. Returns whether the primary is queried next.
    pub(super) fn not_found(&mut self) -> bool {
        let uses_primary = self.alternates && self.at == Location::Secondary;
        if uses_primary {
            self.at = Location::Primary;
            self.alternates = false;
        }
        uses_primary
    }
}

/// The default budget: a hundred retries, or fifty after timeouts.
pub(crate) const DEFAULT_TOKENS: u32 = 500;
const COST: u32 = 5;
/// A timeout costs more, because it held a connection of an overloaded service.
const COST_OF_TIMEOUT: u32 = 10;
/// The income from a call that succeeds at the first attempt.
const INCOME: u32 = 1;

/// Tokens that all calls of a client share. A retry spends some of them, and returns them if it
/// succeeds. Without enough tokens, the call is not retried.
#[derive(Debug)]
pub(crate) struct Budget {
    most: u32,
    left: AtomicU32,
}

/// The tokens that a retry took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spent(u32);

impl Budget {
    /// Creates a budget; `None` is unlimited.
    pub(crate) fn new(tokens: Option<u32>) -> Self {
        let most = tokens.unwrap_or(u32::MAX);
        Self { most, left: AtomicU32::new(most) }
    }

    /// Whether there is enough for a retry now.
    pub(crate) fn affords(&self, is_timeout: bool) -> bool {
        self.left.load(Ordering::Relaxed) >= cost(is_timeout)
    }

    /// Pays for a retry, if there is enough.
    pub(crate) fn spend(&self, is_timeout: bool) -> Option<Spent> {
        let cost = cost(is_timeout);
        if self.most == u32::MAX {
            return Some(Spent(0));
        }
        let pay = |left: u32| left.checked_sub(cost);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, pay).ok()?;
        Some(Spent(cost))
    }

    /// Adds the income of a call that succeeded: the tokens of its last retry, or [`INCOME`] without a retry.
    pub(crate) fn earn(&self, spent: Option<Spent>) {
        let income = spent.map_or(INCOME, |spent| spent.0);
        let add =
            |left: u32| (left < self.most).then(|| left.saturating_add(income).min(self.most));
        // A full budget is not written, so that calls do not contend for it.
        let _ = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }
}

const fn cost(is_timeout: bool) -> u32 {
    if is_timeout { COST_OF_TIMEOUT } else { COST }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn where_attempts_go() {
        use Location::{Primary, Secondary};
        for (mode, reads) in [
            (LocationMode::PrimaryOnly, [Primary, Primary, Primary]),
            (LocationMode::PrimaryThenSecondary, [Primary, Secondary, Primary]),
            (LocationMode::SecondaryOnly, [Secondary, Secondary, Secondary]),
            (LocationMode::SecondaryThenPrimary, [Secondary, Primary, Secondary]),
        ] {
            let mut route = Route::new(mode, false).unwrap();
            for expected in reads {
                assert_eq!(route.location(), expected, "{mode:?}");
                route.failed(Instant::now(), SECOND);
            }
            match Route::new(mode, true) {
                Ok(mut route) => {
                    assert_eq!(route.location(), Primary);
                    route.failed(Instant::now(), SECOND);
                    assert_eq!(route.location(), Primary, "{mode:?}");
                }
                Err(_) => assert_eq!(mode, LocationMode::SecondaryOnly),
            }
        }
    }

    #[test]
    fn each_place_has_its_own_waits() {
        let mut route = Route::new(LocationMode::PrimaryThenSecondary, false).unwrap();
        let now = Instant::now();
        assert_eq!((route.failures(), route.failed(now, SECOND)), (1, Duration::ZERO));
        // The failure took the secondary some time; the primary is available once its own wait has ended.
        let later = now + SECOND / 4;
        assert_eq!((route.failures(), route.failed(later, SECOND)), (1, SECOND * 3 / 4));
        assert_eq!(route.failures(), 2);
    }

    #[test]
    fn what_the_secondary_lacks_is_asked_of_the_primary() {
        let mut route = Route::new(LocationMode::SecondaryThenPrimary, false).unwrap();
        assert!(route.not_found() && route.location() == Location::Primary && !route.not_found());
        route.failed(Instant::now(), SECOND);
        assert_eq!(route.location(), Location::Primary, "the other one does not have it");
        assert!(!Route::new(LocationMode::SecondaryOnly, false).unwrap().not_found());
    }

    #[test]
    fn retries_end_where_nothing_goes_well() {
        let budget = Budget::new(Some(23));
        assert!(budget.spend(true).is_some(), "13 are left");
        assert!(budget.spend(false).is_some(), "8");
        let last = budget.spend(false);
        assert!(last.is_some() && budget.spend(false).is_none(), "3");
        budget.earn(last);
        assert!(budget.spend(true).is_none() && budget.spend(false).is_some(), "8");
        (0..100).for_each(|_| budget.earn(None));
        assert_eq!(budget.left.load(Ordering::Relaxed), 23);
        assert!(Budget::new(Some(0)).spend(false).is_none());
        let unbounded = Budget::new(None);
        assert!((0..10_000).all(|_| unbounded.spend(true).is_some()));
    }
}
