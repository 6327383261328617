//! The tables at both locations, and the journal that copies changes to the disk and to the secondary
//! location, in their order.

use std::collections::VecDeque;
#[cfg(feature = "disk")]
use std::convert::Infallible;
use std::sync::{Arc, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, SystemTime};

use super::disk::Disk;
#[cfg(feature = "disk")]
use super::disk::Opened;
#[cfg(feature = "disk")]
use super::snapshot::snapshot;
use super::{Deleted, JournalEntry, Store};
use crate::dialect::ServiceDialect;
use crate::lock::{lock, read, write};
use crate::service_properties::ServiceProperties;
use crate::wire::Location;

/// The tables at the primary location, and the journal that copies each change to the disk and to the
/// secondary location.
#[derive(Debug)]
pub(crate) struct Storage {
    primary: Arc<RwLock<Store>>,
    pub(crate) journal: Journal,
}

impl Storage {
    pub(crate) fn new(primary: Store, journal: Journal) -> Self {
        Self { primary: Arc::new(RwLock::new(primary)), journal }
    }

    /// Returns the tables of a data file, to which all further changes are written.
    #[cfg(feature = "disk")]
    pub(crate) fn on_disk(opened: Opened, mut journal: Journal) -> Self {
        if let Some(replica) = &journal.replica {
            let replayed = snapshot(&opened.store, |entry| {
                replica.replay(entry);
                Ok::<_, Infallible>(())
            });
            let Ok(()) = replayed;
        }
        journal.disk = Some(opened.disk);
        Self { primary: opened.store, journal }
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Store> {
        read(&self.primary)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Store> {
        write(&self.primary)
    }

    /// Locks the tables at a location. Access policies are always read from the primary.
    pub(crate) fn at(&self, location: Location, now: SystemTime) -> RwLockReadGuard<'_, Store> {
        match (location, &self.journal.replica) {
            (Location::Secondary, Some(replica)) => replica.store(now),
            _ => self.read(),
        }
    }

    pub(crate) fn service_properties(&self) -> Arc<ServiceProperties> {
        Arc::clone(self.read().service_properties())
    }

    /// Removes everything at both locations as if it had never existed, also changes that have not arrived at the
    /// secondary location. The caller drops the deleted tables.
    pub(crate) fn reset(&self) {
        let mut store = self.write();
        let tables = store.reset();
        if let Some(disk) = &self.journal.disk {
            for table in &tables {
                disk.add(JournalEntry::Deleted(Arc::clone(table.name())));
            }
            disk.add(JournalEntry::LastDeleted(store.last_deleted()));
            disk.add(JournalEntry::ServiceProperties(Arc::clone(store.service_properties())));
        }
        if let Some(replica) = &self.journal.replica {
            replica.reset();
        }
        for table in tables {
            self.journal.deleted.add(table);
        }
    }

    /// The secondary location shows all writes before this time.
    pub(crate) fn last_sync_time(&self, now: SystemTime) -> SystemTime {
        self.journal.replica.as_ref().map_or(now, |replica| replica.last_sync(now))
    }
}

/// The receivers of changes.
#[derive(Debug)]
pub(crate) struct Journal {
    pub(crate) disk: Option<Disk>,
    pub(crate) replica: Option<Replica>,
    /// The deleted tables of both locations.
    pub(crate) deleted: Arc<Deleted>,
}

impl Journal {
    pub(crate) fn new(replica: Option<Replica>) -> Self {
        Self {
            disk: None,
            deleted: replica.as_ref().map(|it| Arc::clone(&it.deleted)).unwrap_or_default(),
            replica,
        }
    }

    /// Returns `true` if changes cannot be written to the disk now.
    pub(crate) fn has_failed(&self) -> bool {
        self.disk.as_ref().is_some_and(Disk::has_failed)
    }

    /// Adds a change. The caller still holds the lock under which it made the change.
    pub(crate) fn add(&self, now: impl FnOnce() -> SystemTime, entry: impl Fn() -> JournalEntry) {
        if let Some(disk) = &self.disk {
            disk.add(entry());
        }
        if let Some(replica) = &self.replica {
            replica.add(now(), entry());
        }
    }
}

/// A copy of the store that is `lag` behind it.
#[derive(Debug)]
pub(crate) struct Replica {
    lag: Duration,
    /// Changes that have not arrived yet, and the time of each.
    in_flight: Mutex<VecDeque<(SystemTime, JournalEntry)>>,
    store: RwLock<Store>,
    /// Tables whose rows are dropped later, since the locks of both locations are held.
    deleted: Arc<Deleted>,
}

impl Replica {
    pub(crate) fn new(lag: Duration, dialect: ServiceDialect) -> Self {
        Self {
            lag,
            in_flight: Mutex::default(),
            store: RwLock::new(Store::new(dialect)),
            deleted: Arc::default(),
        }
    }

    pub(super) fn add(&self, time: SystemTime, entry: JournalEntry) {
        let mut in_flight = lock(&self.in_flight);
        in_flight.push_back((time, entry));
        // Apply changes even without reads, so that the queue stays short.
        self.arrive(&mut in_flight, time);
    }

    /// Applies the changes that have arrived by now.
    fn arrive(&self, in_flight: &mut VecDeque<(SystemTime, JournalEntry)>, now: SystemTime) {
        let has_arrived = |(time, _): &&(SystemTime, JournalEntry)| self.has_arrived(*time, now);
        let arrived = in_flight.iter().take_while(has_arrived).count();
        if arrived > 0 {
            let mut store = write(&self.store);
            for (_, entry) in in_flight.drain(..arrived) {
                if let Some(table) = store.replay(entry) {
                    self.deleted.add(table);
                }
            }
        }
    }

    /// Applies a change from the disk at once, since it is older than the service.
    #[cfg(feature = "disk")]
    pub(crate) fn replay(&self, entry: JournalEntry) {
        let deleted = write(&self.store).replay(entry);
        drop(deleted);
    }

    fn reset(&self) {
        let mut in_flight = lock(&self.in_flight);
        in_flight.clear();
        for table in write(&self.store).reset() {
            self.deleted.add(table);
        }
    }

    /// The tables at the secondary location now.
    pub(crate) fn store(&self, now: SystemTime) -> RwLockReadGuard<'_, Store> {
        self.arrive(&mut lock(&self.in_flight), now);
        read(&self.store)
    }

    /// All changes before this time have arrived.
    pub(crate) fn last_sync(&self, now: SystemTime) -> SystemTime {
        let in_flight = lock(&self.in_flight);
        let missing = in_flight.iter().find(|(time, _)| !self.has_arrived(*time, now));
        missing.map_or(now, |(time, _)| *time)
    }

    fn has_arrived(&self, time: SystemTime, now: SystemTime) -> bool {
        time.checked_add(self.lag).is_some_and(|due| due <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AppliedWrite, RowText, Version};
    use super::*;
    use crate::edm::EdmDateTime;
    use crate::row::StoredKey;

    fn created(name: &str) -> JournalEntry {
        JournalEntry::Created { name: name.into(), number: 1 }
    }

    #[test]
    fn a_change_is_there_when_the_lag_is_over() {
        let replica = Replica::new(Duration::from_secs(10), ServiceDialect::default());
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        replica.add(at(100), created("Blogs"));
        replica.add(at(105), created("Posts"));
        let tables = |now| replica.store(now).tables().count();
        assert_eq!(replica.last_sync(at(109)), at(100));
        assert_eq!(tables(at(109)), 0);
        assert_eq!(replica.last_sync(at(110)), at(105));
        assert_eq!(tables(at(110)), 1);
        assert_eq!(tables(at(115)), 2);
        assert_eq!(replica.last_sync(at(115)), at(115));
    }

    #[test]
    fn the_rows_of_a_deleted_table_are_dropped_by_the_caller() {
        let replica = Replica::new(Duration::ZERO, ServiceDialect::default());
        let deleted = Arc::clone(&replica.deleted);
        let row = RowText::new("r", &vec![]).at(Version::at(EdmDateTime::MIN));
        let rows = vec![AppliedWrite { key: StoredKey::new("p", "r"), row: Some(row) }];
        let now = SystemTime::UNIX_EPOCH;
        replica.add(now, created("Blogs"));
        replica.add(now, JournalEntry::Written { table: "Blogs".into(), rows });
        assert_eq!(replica.store(now).table("Blogs").map(|table| table.len()), Some(1));
        assert!(deleted.pop().is_none());
        replica.add(now, JournalEntry::Deleted("Blogs".into()));
        assert!(replica.store(now).table("Blogs").is_none());
        assert_eq!(deleted.pop().map(|chunk| chunk.rows().len()), Some(1));
        assert!(deleted.pop().is_none());
    }

    #[test]
    fn the_queue_stays_short_without_reads() {
        let replica = Replica::new(Duration::from_secs(10), ServiceDialect::default());
        for seconds in 0..1000 {
            let made = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            replica.add(made, created("Blogs"));
        }
        assert_eq!(lock(&replica.in_flight).len(), 10);
    }
}
