//! The core of the mock: the stored tables, the rules of the account and the clock. Request handlers
//! are functions over it.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fastrand::Rng;
use http::HeaderValue;

use crate::clock::SharedClock;
use crate::dialect::ServiceDialect;
use crate::edm::EdmDateTime;
use crate::failure::Failure;
use crate::keys::AccountKeys;
use crate::lock::lock;
use crate::step::Work;
use crate::store::{AppliedWrite, JournalEntry, StagedWrite, Storage, Store, Table, WriteRefusal};
use crate::wire::headers::http_date;

pub(super) struct Core {
    pub(super) store: Storage,
    pub(super) rules: Rules,
    pub(super) clock: ServiceClock,
}

/// The account, and the rules that a builder can change.
pub(super) struct Rules {
    pub(super) dialect: ServiceDialect,
    pub(super) keys: AccountKeys,
    pub(super) loose: bool,
    pub(super) tokens: Option<TokenCheck>,
    pub(super) max_comparisons: Option<usize>,
    pub(super) max_key_units: usize,
    /// A literal in a filter matches values of its own type only.
    pub(super) exact_types: bool,
    /// The account may be the first label of the host, as in the service.
    pub(super) account_in_host: bool,
}

/// The clock of the clients, and the change that the fault plan makes to it.
pub(super) struct ServiceClock {
    pub(super) unskewed: SharedClock,
    setting: Mutex<ClockSetting>,
    /// The last time in seconds for which `date` was asked, and its text.
    date: Mutex<(u64, HeaderValue)>,
    /// Seeded from the clock unless the service has a seed. The ids never prove an outcome.
    random: Mutex<Rng>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ClockSetting {
    pub(super) skew: ClockSkew,
    /// The dates of signed requests must be close to this clock. Otherwise they must be close to the
    /// clients' clock.
    pub(super) checks_dates: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClockSkew {
    Ahead(Duration),
    Behind(Duration),
    /// The clock stands still.
    Frozen(SystemTime),
}

/// Returns `true` if a token is valid.
pub(super) type TokenCheck = Arc<dyn Fn(&str) -> bool + Send + Sync>;

impl Core {
    /// Adds a change to the journal. The caller still holds the lock under which it made the change.
    pub(super) fn log(&self, entry: impl Fn() -> JournalEntry) {
        self.store.journal.add(|| self.clock.now(), entry);
    }

    /// Applies writes to one partition of a table in one step, or none of them. Returns the table too.
    pub(super) async fn apply(
        &self,
        table: &str,
        mut writes: Vec<StagedWrite<'_>>,
    ) -> Result<(Arc<Table>, Vec<AppliedWrite>), NotApplied> {
        loop {
            let prepared = self.prepare(table, &mut writes).await?;
            // The lock of the store ensures that no other request deletes the table meanwhile.
            let store = self.store.read();
            let current = self.existing_table(&store, table)?;
            if prepared.is_some_and(|prepared| !Arc::ptr_eq(&prepared, current)) {
                continue;
            }
            // The clock is read under the partition's lock: a later write never has an earlier time.
            let written = current.apply(
                &writes,
                || self.clock.edm_now(),
                |written| {
                    self.log(|| JournalEntry::Written {
                        table: current.name().clone(),
                        rows: written.to_vec(),
                    });
                },
            );
            match written {
                Ok(written) => return Ok((Arc::clone(current), written)),
                Err(WriteRefusal::Failed(index, failure)) => {
                    return Err(NotApplied::Write(index, failure));
                }
                Err(WriteRefusal::Stale) => {}
            }
        }
    }

    /// Computes merges with the current rows, without a lock. Returns the table of the rows.
    async fn prepare(
        &self,
        table: &str,
        writes: &mut [StagedWrite<'_>],
    ) -> Result<Option<Arc<Table>>, NotApplied> {
        if !writes.iter().any(StagedWrite::merges) {
            return Ok(None);
        }
        let table = {
            let store = self.store.read();
            Arc::clone(self.existing_table(&store, table)?)
        };
        let mut work = Work::default();
        for write in writes.iter_mut().filter(|write| write.merges()) {
            let old = table.get((&write.key.partition, &write.key.row));
            write.prepare(old.as_ref(), self.rules.dialect);
            let bytes = old.map_or(0, |old| old.properties().text().len());
            work.add(Work::of_bytes(4 * bytes));
            work.step().await;
        }
        Ok(Some(table))
    }

    fn existing_table<'s>(
        &self,
        store: &'s Store,
        name: &str,
    ) -> Result<&'s Arc<Table>, NotApplied> {
        store.existing_table(name, self.clock.now()).map_err(NotApplied::Table)
    }
}

/// The reason why no write was applied.
pub(super) enum NotApplied {
    /// The table does not exist.
    Table(Failure),
    /// The write with this index failed.
    Write(usize, Failure),
}

impl From<NotApplied> for Failure {
    fn from(reason: NotApplied) -> Self {
        match reason {
            NotApplied::Table(failure) | NotApplied::Write(_, failure) => failure,
        }
    }
}

impl Rules {
    pub(super) fn account(&self) -> &str {
        self.keys.account()
    }
}

impl ServiceClock {
    pub(super) fn new(unskewed: SharedClock, seed: Option<u64>) -> Self {
        let date = (0, HeaderValue::from_static("Thu, 01 Jan 1970 00:00:00 GMT"));
        let seed = seed.unwrap_or_else(|| {
            let mut bytes = [0; 8];
            // Without a random source, ids repeat those of another service.
            let _ = unskewed.fill_random(&mut bytes);
            u64::from_le_bytes(bytes)
        });
        Self {
            unskewed,
            setting: Mutex::new(ClockSetting::NONE),
            date: Mutex::new(date),
            random: Mutex::new(Rng::with_seed(seed)),
        }
    }

    /// A random id for a request or a boundary.
    pub(super) fn new_id(&self) -> String {
        let bytes = lock(&self.random).u128(..).to_le_bytes();
        uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
    }

    /// A random time up to `longest`, in whole milliseconds like the timers of tokio.
    pub(super) fn random_wait(&self, longest: Duration) -> Duration {
        let longest = u64::try_from(longest.as_millis()).unwrap_or(u64::MAX);
        Duration::from_millis(lock(&self.random).u64(..=longest))
    }

    pub(super) fn setting(&self) -> ClockSetting {
        *lock(&self.setting)
    }

    pub(super) fn set(&self, setting: ClockSetting) {
        *lock(&self.setting) = setting;
    }

    /// Sets whether the dates of signed requests must be close to this clock.
    pub(super) fn set_checks_dates(&self, checks_dates: bool) {
        lock(&self.setting).checks_dates = checks_dates;
    }

    pub(super) fn now(&self) -> SystemTime {
        let now = self.unskewed.now();
        let skewed = match self.setting().skew {
            ClockSkew::Ahead(by) => now.checked_add(by),
            ClockSkew::Behind(by) => now.checked_sub(by),
            ClockSkew::Frozen(at) => Some(at),
        };
        skewed.unwrap_or(now)
    }

    /// The present time as the value of `Date`, which is formatted at most once a second.
    pub(super) fn date(&self) -> HeaderValue {
        let now = self.now();
        let seconds = now.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let mut last = lock(&self.date);
        if last.0 != seconds
            && let Ok(date) = HeaderValue::try_from(http_date(now))
        {
            *last = (seconds, date);
        }
        last.1.clone()
    }

    /// The time to which the date of a signed request that arrived at this time must be close.
    pub(super) fn date_of_signatures(&self, arrived: SystemTime) -> SystemTime {
        if self.setting().checks_dates { arrived } else { self.unskewed.now() }
    }

    pub(super) fn edm_now(&self) -> EdmDateTime {
        edm_time(self.now())
    }
}

impl ClockSkew {
    pub(super) const NONE: Self = Self::Ahead(Duration::ZERO);
}

impl ClockSetting {
    pub(super) const NONE: Self = Self::checked(ClockSkew::NONE);

    pub(super) const fn checked(skew: ClockSkew) -> Self {
        Self { skew, checks_dates: true }
    }
}

pub(super) fn edm_time(time: SystemTime) -> EdmDateTime {
    EdmDateTime::from_system_time(time).unwrap_or(EdmDateTime::MIN)
}
