//! The secondary location, which lags behind the primary.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, SystemTime};

use super::Store;
use super::journal::JournalEntry;

/// A copy of the store that is `lag` behind it.
#[derive(Debug)]
pub(in crate::mock) struct Replica {
    lag: Duration,
    /// Changes that have not arrived yet, and the time of each.
    in_flight: Mutex<VecDeque<(SystemTime, JournalEntry)>>,
    store: RwLock<Store>,
}

impl Replica {
    pub(in crate::mock) fn new(lag: Duration) -> Self {
        Self { lag, in_flight: Mutex::default(), store: RwLock::default() }
    }

    pub(super) fn add(&self, time: SystemTime, entry: JournalEntry) {
        let mut in_flight = self.in_flight();
        in_flight.push_back((time, entry));
        // Apply changes even without reads, so that the queue stays short.
        self.arrive(&mut in_flight, time);
    }

    /// Applies the changes that have arrived by now.
    fn arrive(&self, in_flight: &mut VecDeque<(SystemTime, JournalEntry)>, now: SystemTime) {
        let has_arrived = |(time, _): &&(SystemTime, JournalEntry)| self.has_arrived(*time, now);
        let arrived = in_flight.iter().take_while(has_arrived).count();
        if arrived > 0 {
            let mut store = self.store.write().unwrap_or_else(PoisonError::into_inner);
            for (_, entry) in in_flight.drain(..arrived) {
                store.replay(&entry);
            }
        }
    }

    /// Applies a change from the disk at once, since it is older than the service.
    #[cfg(feature = "mock-data")]
    pub(in crate::mock) fn replay(&self, entry: &JournalEntry) {
        self.store.write().unwrap_or_else(PoisonError::into_inner).replay(entry);
    }

    /// The tables at the secondary location now.
    pub(in crate::mock) fn store(&self, now: SystemTime) -> RwLockReadGuard<'_, Store> {
        self.arrive(&mut self.in_flight(), now);
        self.store.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// All changes before this time have arrived.
    pub(in crate::mock) fn last_sync(&self, now: SystemTime) -> SystemTime {
        let in_flight = self.in_flight();
        let missing = in_flight.iter().find(|(time, _)| !self.has_arrived(*time, now));
        missing.map_or(now, |(time, _)| *time)
    }

    fn has_arrived(&self, time: SystemTime, now: SystemTime) -> bool {
        time.checked_add(self.lag).is_some_and(|due| due <= now)
    }

    fn in_flight(&self) -> MutexGuard<'_, VecDeque<(SystemTime, JournalEntry)>> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_there_when_the_lag_is_over() {
        let replica = Replica::new(Duration::from_secs(10));
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        replica.add(at(100), JournalEntry::Created("Blogs".into()));
        replica.add(at(105), JournalEntry::Created("Posts".into()));
        let tables = |now| replica.store(now).tables().count();
        assert_eq!(replica.last_sync(at(109)), at(100));
        assert_eq!(tables(at(109)), 0);
        assert_eq!(replica.last_sync(at(110)), at(105));
        assert_eq!(tables(at(110)), 1);
        assert_eq!(tables(at(115)), 2);
        assert_eq!(replica.last_sync(at(115)), at(115));
    }

    #[test]
    fn the_queue_stays_short_without_reads() {
        let replica = Replica::new(Duration::from_secs(10));
        for seconds in 0..1000 {
            let made = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            replica.add(made, JournalEntry::Created("Blogs".into()));
        }
        assert_eq!(replica.in_flight().len(), 10);
    }
}
