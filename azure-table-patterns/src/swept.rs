//! The result of every sweep.

/// The result of the `sweep` of a pattern.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Swept {
    /// The number of rows scanned.
    pub scanned: u64,
    /// The number of writes that did not end within the grace time, and that the sweep has ended.
    pub unfinished: u64,
    /// The number of rows that the sweep has removed.
    pub removed: u64,
}
