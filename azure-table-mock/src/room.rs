//! The memory that a host grants for the body of a response.

use std::fmt;

/// The decision of a host on whether a body may grow to a number of bytes. Otherwise a page ends early.
#[derive(Clone, Copy)]
pub(super) struct Room<'a>(pub(super) &'a (dyn Fn(usize) -> bool + Send + Sync));

impl Room<'static> {
    pub(super) const UNLIMITED: Self = Self(&|_| true);
}

impl Room<'_> {
    pub(super) fn has(self, bytes: usize) -> bool {
        self.0(bytes)
    }
}

impl fmt::Debug for Room<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Room")
    }
}
