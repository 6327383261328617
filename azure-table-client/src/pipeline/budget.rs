//! The limit on the retries of a client, so that retries do not multiply the load of an outage.

use std::sync::atomic::{AtomicU32, Ordering};

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
