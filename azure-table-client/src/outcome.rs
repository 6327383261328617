//! Decides whether a write was applied whose attempts have no response.
//!
//! A response of the service closes its attempt; `operation::answer` decides which responses do. An attempt without such
//! a response stays *open*: it may have been applied, or may be applied later. [`open`] then reads the rows
//! back, and [`evidence`] compares them with the write. Calls and transactions send with [`write`] and bulk runs settle
//! with [`settle`](fn@settle); a context, which keeps the requests of several saves, calls [`open`] itself.

mod evidence;
mod settle;

use crate::error::{Error, Outcome};

pub(crate) use evidence::{Found, MapEntity, Properties, Verdict, properties_of};
#[cfg(test)]
pub(crate) use settle::judged;
pub(crate) use settle::{Doubtful, Judged, Unconfirmed, accepted, open, read_back, settle, write};

// The claims about failed writes. Contexts, bulk runs and composite calls use only these.

/// Marks the error of a write with an open attempt, which may have been applied, or may be applied later.
pub(crate) fn unknown(error: Error) -> Error {
    error.with_outcome(Outcome::Unknown)
}

/// Marks the error of a write whose attempts were all refused by the service.
pub(crate) fn not_applied(error: Error) -> Error {
    error.with_outcome(Outcome::NotApplied)
}

/// Marks an error after a write that the service confirmed.
pub(crate) fn applied(error: Error) -> Error {
    error.with_outcome(Outcome::Applied)
}
