//! The core of the mock: the stored tables, the rules of the account and the clock. Request handlers
//! are functions over it.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use super::failure::Failure;
use super::keys::Keys;
use super::store::{JournalEntry, Storage, Table, Write, Written};
use crate::clock::SharedClock;
use crate::edm::EdmDateTime;
use crate::lock::lock;

pub(super) struct Core {
    pub(super) store: Storage,
    pub(super) rules: Rules,
    pub(super) clock: ServiceClock,
}

/// The account, and the rules that a builder can change.
pub(super) struct Rules {
    pub(super) keys: Keys,
    pub(super) loose: bool,
    pub(super) tokens: Option<TokenCheck>,
    pub(super) max_comparisons: Option<usize>,
    pub(super) max_key_units: usize,
    /// The account may be the first label of the host, as in the service.
    pub(super) account_in_host: bool,
}

/// The clock of the clients, and the skew that the fault plan adds to it.
pub(super) struct ServiceClock {
    pub(super) unskewed: SharedClock,
    skew: Mutex<Skew>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Skew {
    Ahead(Duration),
    Behind(Duration),
}

/// Returns `true` if a token is valid.
pub(super) type TokenCheck = Arc<dyn Fn(&str) -> bool + Send + Sync>;

impl Core {
    /// Adds a change to the journal. The caller still holds the lock under which it made the change.
    pub(super) fn log(&self, entry: impl Fn() -> JournalEntry) {
        self.store.journal.add(|| self.clock.now(), entry);
    }

    /// Applies writes to one partition in one step. If one fails, none is applied, and the error has its
    /// index.
    pub(super) fn apply(
        &self,
        table: &Table,
        writes: Vec<Write<'_>>,
    ) -> Result<Vec<Written>, (usize, Failure)> {
        // The clock is read under the partition's lock: a later write never has an earlier time.
        table.apply(
            writes,
            || self.clock.edm_now(),
            |written| {
                self.log(|| JournalEntry::Written {
                    table: table.name().clone(),
                    rows: written.to_vec(),
                });
            },
        )
    }
}

impl Rules {
    pub(super) fn account(&self) -> &str {
        self.keys.account()
    }
}

impl ServiceClock {
    pub(super) fn new(unskewed: SharedClock) -> Self {
        Self { unskewed, skew: Mutex::new(Skew::NONE) }
    }

    pub(super) fn set_skew(&self, skew: Skew) {
        *lock(&self.skew) = skew;
    }

    pub(super) fn now(&self) -> SystemTime {
        let now = self.unskewed.now();
        let skewed = match *lock(&self.skew) {
            Skew::Ahead(by) => now.checked_add(by),
            Skew::Behind(by) => now.checked_sub(by),
        };
        skewed.unwrap_or(now)
    }

    pub(super) fn edm_now(&self) -> EdmDateTime {
        edm_time(self.now())
    }
}

impl Skew {
    pub(super) const NONE: Self = Self::Ahead(Duration::ZERO);
}

pub(super) fn edm_time(time: SystemTime) -> EdmDateTime {
    EdmDateTime::from_system_time(time).unwrap_or(EdmDateTime::MIN)
}
