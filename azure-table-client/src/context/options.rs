use std::time::Duration;

use super::conflict::ConflictResolver;
use crate::pipeline::{CallOptions, RetryPolicy};

/// How a context saves its changes. By default each change is a request of its own, in the order in
/// which they were made, and the first failure ends the save.
#[derive(Debug, Clone)]
pub struct SaveOptions {
    pub(super) mode: Mode,
    pub(super) continue_on_error: bool,
    pub(super) replace_on_update: bool,
    pub(super) missing_is_deleted: bool,
    pub(super) at_once: usize,
    pub(super) call: CallOptions,
    pub(super) resolver: ConflictResolver,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Each,
    Atomic,
    PerPartition,
}

/// Transactions of a save by partitions that are on their way at the same time.
const AT_ONCE: usize = 8;

impl Default for SaveOptions {
    fn default() -> Self {
        Self::each()
    }
}

impl SaveOptions {
    /// One request for each change, in order; the first failure ends the save.
    pub fn each() -> Self {
        Self {
            mode: Mode::Each,
            continue_on_error: false,
            replace_on_update: false,
            missing_is_deleted: false,
            at_once: AT_ONCE,
            call: CallOptions::default(),
            resolver: ConflictResolver::abort(),
        }
    }

    /// All changes in one entity group transaction: all are made or none is. They must be of one
    /// table and one partition, at most 100 and at most 4 MiB, or nothing is sent.
    pub fn atomic() -> Self {
        Self { mode: Mode::Atomic, ..Self::each() }
    }

    /// As few entity group transactions as there can be, each of one table and one partition.
    pub fn per_partition() -> Self {
        Self { mode: Mode::PerPartition, ..Self::each() }
    }

    /// Tries the other changes after one has failed.
    #[must_use]
    pub fn continue_on_error(mut self) -> Self {
        self.continue_on_error = true;
        self
    }

    /// Replaces what is updated as a whole, instead of merging what was changed.
    #[must_use]
    pub fn replace_on_update(mut self) -> Self {
        self.replace_on_update = true;
        self
    }

    /// Takes an entity that is to be deleted and is not there for deleted, in a save that sends
    /// [each](Self::each) change by itself. A transaction with such a change fails as a whole.
    #[must_use]
    pub fn missing_is_deleted(mut self) -> Self {
        self.missing_is_deleted = true;
        self
    }

    /// How many transactions of a save [by partitions](Self::per_partition) are on their way at the
    /// same time; 8 by default, 1 at least.
    #[must_use]
    pub fn at_once(mut self, transactions: usize) -> Self {
        self.at_once = if transactions == 0 { 1 } else { transactions };
        self
    }

    /// Resolves conflicts with other writers, and sends the changes again;
    /// [`ConflictResolver::abort`] by default.
    #[must_use]
    pub fn on_conflict(mut self, resolver: ConflictResolver) -> Self {
        self.resolver = resolver;
        self
    }

    /// The time for each request of the save, all its attempts and waits included.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.call.deadline = Some(deadline);
        self
    }

    /// Rows in the state that a change leaves do not count as success; see
    /// [`Call::exact`](crate::client::Call::exact).
    #[must_use]
    pub fn exact(mut self) -> Self {
        self.call.exact = Some(true);
        self
    }

    /// Whether a row in the state that an update leaves counts as success although its response was lost;
    /// see [`Call::accept_matching_state`](crate::client::Call::accept_matching_state).
    #[must_use]
    pub fn accept_matching_state(mut self, accept: bool) -> Self {
        self.call.accept_matching_state = Some(accept);
        self
    }

    /// When and how often each request is tried again, instead of the client's policy.
    #[must_use]
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.call.retry = Some(policy);
        self
    }
}
