//! The tables at both locations, and the journal between them.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::SystemTime;

use super::{Journal, Store};
use crate::mock::request::Location;
use crate::mock::service_properties::ServiceProperties;

/// The tables at the primary location, and the journal that copies each change to the disk and to the
/// secondary location.
#[derive(Debug)]
pub(in crate::mock) struct Storage {
    primary: RwLock<Store>,
    pub(in crate::mock) journal: Journal,
}

impl Storage {
    pub(in crate::mock) fn new(primary: Store, journal: Journal) -> Self {
        Self { primary: RwLock::new(primary), journal }
    }

    /// Locks the primary tables. A panic of another holder is ignored, since every write is one step.
    pub(in crate::mock) fn read(&self) -> RwLockReadGuard<'_, Store> {
        self.primary.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::mock) fn write(&self) -> RwLockWriteGuard<'_, Store> {
        self.primary.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the tables at a location. Access policies are always read from the primary.
    pub(in crate::mock) fn at(
        &self,
        location: Location,
        now: SystemTime,
    ) -> RwLockReadGuard<'_, Store> {
        match (location, &self.journal.replica) {
            (Location::Secondary, Some(replica)) => replica.store(now),
            _ => self.read(),
        }
    }

    pub(in crate::mock) fn service_properties(&self) -> Arc<ServiceProperties> {
        Arc::clone(self.read().service_properties())
    }

    /// The secondary location shows all writes before this time.
    pub(in crate::mock) fn last_sync_time(&self, now: SystemTime) -> SystemTime {
        self.journal.replica.as_ref().map_or(now, |replica| replica.last_sync(now))
    }
}
