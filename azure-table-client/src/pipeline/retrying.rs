//! The retries of one call: how many attempts failed, and when and where the next one is sent.

use std::time::{Duration, Instant};

use tracing::warn;

use super::Pipeline;
use super::budget::Spent;
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
