//! Where an account is asked: at its primary, or at the copy in another region.
//!
//! Source: [Azure Storage redundancy][redundancy], "Read access to data in the secondary region".
//!
//! [redundancy]: https://learn.microsoft.com/azure/storage/common/storage-redundancy

use std::sync::RwLockReadGuard;
use std::time::SystemTime;

use super::MockTableService;
use super::store::Store;

/// What follows the account's name where its copy is asked.
const SECONDARY: &str = "-secondary";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Primary,
    /// The copy, which can only be read.
    Secondary,
}

impl Place {
    /// The place that a path names, and the path behind `/account` or `/account-secondary`.
    pub(super) fn split<'p>(path: &'p str, account: &str) -> Option<(Self, &'p str)> {
        let rest = path.strip_prefix('/')?.strip_prefix(account)?;
        let (place, rest) = match rest.strip_prefix(SECONDARY) {
            Some(rest) => (Self::Secondary, rest),
            None => (Self::Primary, rest),
        };
        (rest.is_empty() || rest.starts_with('/')).then_some((place, rest))
    }

    /// What follows the account's name in addresses.
    pub(super) const fn suffix(self) -> &'static str {
        match self {
            Self::Primary => "",
            Self::Secondary => SECONDARY,
        }
    }
}

impl MockTableService {
    /// The tables as they are there. Policies are asked of the primary's.
    pub(super) fn store_at(&self, place: Place) -> RwLockReadGuard<'_, Store> {
        match (place, &self.0.journal.replica) {
            (Place::Secondary, Some(replica)) => replica.store(self.now()),
            _ => self.store(),
        }
    }

    /// All that was written before is in the copy.
    pub(super) fn last_sync_time(&self) -> SystemTime {
        let now = self.now();
        self.0.journal.replica.as_ref().map_or(now, |replica| replica.last_sync(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_in_the_account_segment() {
        for (path, expected) in [
            ("/me", Some((Place::Primary, ""))),
            ("/me/Tables", Some((Place::Primary, "/Tables"))),
            ("/me-secondary", Some((Place::Secondary, ""))),
            ("/me-secondary/", Some((Place::Secondary, "/"))),
            ("/me-secondaryTables", None),
            ("/me-other/Tables", None),
            ("/met/Tables", None),
            ("me/Tables", None),
            ("", None),
        ] {
            assert_eq!(Place::split(path, "me"), expected, "{path}");
        }
    }
}
