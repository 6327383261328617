#![doc = include_str!("../docs/retention.md")]
//! # Safety argument
//!
//! **The margin.** A program whose clock shows `now` drops a period that ended at `end` if `now >= end + keep +
//! margin`. Every row has a time `t < end`, and any other clock shows at least `now - margin >= end + keep > t +
//! keep`. Tables are also created earlier by the margin: a table exists from the margin before its period to the
//! margin after it, so that every program finds the table of its own time.
//!
//! **Names.** The suffix begins after the last letter of a prefix, or, for weeks, after the last letter but one; its
//! length differs for each period; and the suffix must be a date of the period. So a name has at most one meaning,
//! and `Logs`, `Logs2026` or `LogsX20261123` are never dropped.
//!
//! **Late drops.** A table is dropped by name, without a condition. A late or repeated drop is harmless because
//! nothing creates a table of that time again: `maintain` only creates tables for times after the margin ago. A
//! table that the service is still deleting (409 `TableBeingDeleted`) counts as dropped.
//!
//! **The ETag.** A sweep deletes each row under the version that its query found. A row that was extended since has
//! another version, so that the deletion is refused, however late it arrives. A repeated or late deletion finds no
//! row, or another version.
//!
//! **No checkpoint.** A deleted row is not found again, so the next sweep continues a sweep that stopped.

mod expiring;
mod period;
mod tables;

use std::time::Duration;

pub use expiring::Expiring;
pub use period::Period;
pub use tables::{Maintained, PeriodTables};

/// The default time by which the clocks of any two programs may differ.
const MARGIN: Duration = Duration::from_secs(24 * 3600);
