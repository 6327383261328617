//! The secondary location: the same tables, some time ago.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, SystemTime};

use super::Store;
use super::journal::Entry;

/// A copy of the store that is `lag` behind it.
#[derive(Debug)]
pub(in crate::mock) struct Replica {
    lag: Duration,
    /// Changes that are not there yet, and when they were made.
    under_way: Mutex<VecDeque<(SystemTime, Entry)>>,
    store: RwLock<Store>,
}

impl Replica {
    pub(in crate::mock) fn new(lag: Duration) -> Self {
        Self { lag, under_way: Mutex::default(), store: RwLock::default() }
    }

    pub(super) fn add(&self, made: SystemTime, entry: Entry) {
        let mut under_way = self.under_way();
        under_way.push_back((made, entry));
        // Also where nobody reads, no more is kept than what is under way.
        self.arrive(&mut under_way, made);
    }

    /// Does what is there by now.
    fn arrive(&self, under_way: &mut VecDeque<(SystemTime, Entry)>, now: SystemTime) {
        if under_way.front().is_some_and(|(made, _)| self.is_there(*made, now)) {
            let mut store = self.store.write().unwrap_or_else(PoisonError::into_inner);
            while let Some((_, entry)) =
                under_way.pop_front_if(|(made, _)| self.is_there(*made, now))
            {
                store.replay(&entry);
            }
        }
    }

    /// Takes over a change at once, as it is older than the service.
    #[cfg(feature = "mock-data")]
    pub(in crate::mock) fn replay(&self, entry: &Entry) {
        self.store.write().unwrap_or_else(PoisonError::into_inner).replay(entry);
    }

    /// The store as it is there now.
    pub(in crate::mock) fn store(&self, now: SystemTime) -> RwLockReadGuard<'_, Store> {
        self.arrive(&mut self.under_way(), now);
        self.store.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Until when all changes are there.
    pub(in crate::mock) fn last_sync(&self, now: SystemTime) -> SystemTime {
        let under_way = self.under_way();
        let late = under_way.iter().find(|(made, _)| !self.is_there(*made, now));
        late.map_or(now, |(made, _)| *made)
    }

    fn is_there(&self, made: SystemTime, now: SystemTime) -> bool {
        made.checked_add(self.lag).is_some_and(|due| due <= now)
    }

    fn under_way(&self) -> MutexGuard<'_, VecDeque<(SystemTime, Entry)>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_there_when_the_lag_is_over() {
        let replica = Replica::new(Duration::from_secs(10));
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        replica.add(at(100), Entry::Created("Blogs".into()));
        replica.add(at(105), Entry::Created("Posts".into()));
        let tables = |now| replica.store(now).tables().count();
        assert_eq!(replica.last_sync(at(109)), at(100));
        assert_eq!(tables(at(109)), 0);
        assert_eq!(replica.last_sync(at(110)), at(105));
        assert_eq!(tables(at(110)), 1);
        assert_eq!(tables(at(115)), 2);
        assert_eq!(replica.last_sync(at(115)), at(115));
    }

    #[test]
    fn no_more_is_kept_than_what_is_under_way_though_nobody_reads() {
        let replica = Replica::new(Duration::from_secs(10));
        for seconds in 0..1000 {
            let made = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            replica.add(made, Entry::Created("Blogs".into()));
        }
        assert_eq!(replica.under_way().len(), 10);
    }
}
