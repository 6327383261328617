//! The journal that copies changes to the disk and to the secondary location, in their order.

use std::sync::Arc;
use std::time::SystemTime;

use super::super::policies::Policies;
use super::super::service_properties::ServiceProperties;
#[cfg(feature = "mock-data")]
use super::disk::Disk;
use super::replica::Replica;
use super::table::Written;

/// A change of the store in one step.
#[derive(Debug, Clone)]
pub(in crate::mock) enum JournalEntry {
    Created(Arc<str>),
    Deleted(Arc<str>),
    Written { table: Arc<str>, rows: Vec<Written> },
    Policies { table: Arc<str>, policies: Arc<Policies> },
    ServiceProperties(Arc<ServiceProperties>),
}

/// The receivers of changes.
#[derive(Debug)]
pub(in crate::mock) struct Journal {
    #[cfg(feature = "mock-data")]
    pub(in crate::mock) disk: Option<Disk>,
    pub(in crate::mock) replica: Option<Replica>,
}

impl Journal {
    pub(in crate::mock) fn new(replica: Option<Replica>) -> Self {
        Self {
            #[cfg(feature = "mock-data")]
            disk: None,
            replica,
        }
    }

    /// Adds a change. The caller still holds the lock under which it made the change.
    pub(in crate::mock) fn add(
        &self,
        now: impl FnOnce() -> SystemTime,
        entry: impl Fn() -> JournalEntry,
    ) {
        #[cfg(feature = "mock-data")]
        if let Some(disk) = &self.disk {
            disk.add(entry());
        }
        if let Some(replica) = &self.replica {
            replica.add(now(), entry());
        }
    }
}
