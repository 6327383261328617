//! The retries of one call: how many attempts failed, and when and where the next one is sent. And the budget of retries
//! that the calls of a client share, so that retries do not multiply the load of an outage.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tracing::warn;

use super::Pipeline;
use super::failure::Failure;
use super::location::Route;
use super::retry::RetryPolicy;
use super::trace::integer;

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
