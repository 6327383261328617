//! The store without the feature `disk`: there is no data file.

use super::{DiskStatus, JournalEntry};

/// A data file that does not exist.
#[derive(Debug)]
pub(crate) enum Disk {}

/// The changes so far are not on disk.
#[derive(Debug)]
pub(crate) struct DiskFailed;

impl Disk {
    pub(super) fn add(&self, _: JournalEntry) {
        match *self {}
    }

    #[expect(clippy::unused_async, reason = "the one with a file waits")]
    pub(crate) async fn written(&self) -> Result<(), DiskFailed> {
        match *self {}
    }

    pub(crate) fn has_failed(&self) -> bool {
        match *self {}
    }

    pub(crate) fn status(&self) -> DiskStatus {
        match *self {}
    }
}
