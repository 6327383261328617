//! The headings of the options of commands with many of them.

pub(super) const WHAT: &str = "What";
pub(super) const WHERE: &str = "Where";
pub(super) const HOW_FAST: &str = "How fast";
pub(super) const ON_FAILURE: &str = "On failure";
