//! The locations of requests: the primary, and for reads the secondary of an account with read access to it.
//!
//! Source: [Azure Storage redundancy][redundancy], "Read access to data in the secondary region".
//!
//! [redundancy]: https://learn.microsoft.com/azure/storage/common/storage-redundancy

use std::time::{Duration, Instant};

use crate::error::Error;
use crate::operation::Location;

/// The locations of reads. Writes always use the primary.
///
/// With both locations, each attempt uses the one whose wait ends first; each location has its own waits. A 404
/// from the secondary may be replication lag, so the primary is queried next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum LocationMode {
    /// The primary only.
    #[default]
    PrimaryOnly,
    /// The primary first; retries alternate between both.
    PrimaryThenSecondary,
    /// The secondary only; writes are an error.
    SecondaryOnly,
    /// The secondary first; retries alternate between both.
    SecondaryThenPrimary,
}

impl LocationMode {
    pub(crate) const fn uses_secondary(self) -> bool {
        !matches!(self, Self::PrimaryOnly)
    }
}

/// The locations of the attempts of one call.
#[derive(Debug)]
pub(crate) struct Route {
    at: Location,
    /// Whether attempts use the other location too.
    alternates: bool,
    /// Attempts that failed, and when the next one may be: at the primary and at the secondary.
    failed: [(u32, Option<Instant>); 2],
}

impl Route {
    pub(crate) fn new(mode: LocationMode, is_write: bool) -> Result<Self, Error> {
        use LocationMode::{PrimaryThenSecondary, SecondaryOnly, SecondaryThenPrimary};
        if is_write && mode == SecondaryOnly {
            return Err(Error::invalid_input(
                "cannot write to the secondary: the client uses the secondary only; change locations(..)",
            ));
        }
        let at = match mode {
            SecondaryOnly | SecondaryThenPrimary if !is_write => Location::Secondary,
            _ => Location::Primary,
        };
        let alternates = !is_write && matches!(mode, PrimaryThenSecondary | SecondaryThenPrimary);
        Ok(Self { at, alternates, failed: [(0, None); 2] })
    }

    /// Returns the location of the next attempt.
    pub(crate) const fn location(&self) -> Location {
        self.at
    }

    /// The number of failed attempts at the current location, including the last one.
    pub(crate) fn failures(&self) -> u32 {
        self.failed[self.at as usize].0 + 1
    }

    /// Records a failed attempt; the next one at its location may follow after `wait`. Switches to the next
    /// location, and returns the wait.
    pub(crate) fn failed(&mut self, now: Instant, wait: Duration) -> Duration {
        let (count, next) = &mut self.failed[self.at as usize];
        *count += 1;
        *next = now.checked_add(wait);
        if !self.alternates {
            return wait;
        }
        let other = match self.at {
            Location::Primary => Location::Secondary,
            Location::Secondary => Location::Primary,
        };
        let wait_at = |location: Location| match self.failed[location as usize] {
            (0, _) => Duration::ZERO,
            // Later than any clock can show.
            (_, None) => Duration::MAX,
            (_, Some(at)) => at.saturating_duration_since(now),
        };
        // The locations alternate, unless the other one requires a longer wait.
        let (here, there) = (wait_at(self.at), wait_at(other));
        if here < there {
            return here;
        }
        self.at = other;
        there
    }

    /// Handles a 404 from the secondary. Returns whether the primary is queried next.
    pub(crate) fn not_found(&mut self) -> bool {
        let uses_primary = self.alternates && self.at == Location::Secondary;
        if uses_primary {
            self.at = Location::Primary;
            self.alternates = false;
        }
        uses_primary
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn where_attempts_go() {
        use Location::{Primary, Secondary};
        for (mode, reads) in [
            (LocationMode::PrimaryOnly, [Primary, Primary, Primary]),
            (LocationMode::PrimaryThenSecondary, [Primary, Secondary, Primary]),
            (LocationMode::SecondaryOnly, [Secondary, Secondary, Secondary]),
            (LocationMode::SecondaryThenPrimary, [Secondary, Primary, Secondary]),
        ] {
            let mut route = Route::new(mode, false).unwrap();
            for expected in reads {
                assert_eq!(route.location(), expected, "{mode:?}");
                route.failed(Instant::now(), SECOND);
            }
            match Route::new(mode, true) {
                Ok(mut route) => {
                    assert_eq!(route.location(), Primary);
                    route.failed(Instant::now(), SECOND);
                    assert_eq!(route.location(), Primary, "{mode:?}");
                }
                Err(_) => assert_eq!(mode, LocationMode::SecondaryOnly),
            }
        }
    }

    #[test]
    fn each_place_has_its_own_waits() {
        let mut route = Route::new(LocationMode::PrimaryThenSecondary, false).unwrap();
        let now = Instant::now();
        assert_eq!((route.failures(), route.failed(now, SECOND)), (1, Duration::ZERO));
        // The failure took the secondary some time; the primary is available once its own wait has ended.
        let later = now + SECOND / 4;
        assert_eq!((route.failures(), route.failed(later, SECOND)), (1, SECOND * 3 / 4));
        assert_eq!(route.failures(), 2);
    }

    #[test]
    fn what_the_secondary_lacks_is_asked_of_the_primary() {
        let mut route = Route::new(LocationMode::SecondaryThenPrimary, false).unwrap();
        assert!(route.not_found() && route.location() == Location::Primary && !route.not_found());
        route.failed(Instant::now(), SECOND);
        assert_eq!(route.location(), Location::Primary, "the other one does not have it");
        assert!(!Route::new(LocationMode::SecondaryOnly, false).unwrap().not_found());
    }
}
