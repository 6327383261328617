//! Claims about failed writes. Contexts, bulk runs and composite calls pass them on and make none of their
//! own.

use crate::error::{Error, Outcome};

/// The error of a write with an open attempt: one that may have been applied, or may still be.
pub(crate) fn unknown(error: Error) -> Error {
    error.with_outcome(Outcome::Unknown)
}

/// The error of a write whose attempts the service refused, all of them.
pub(crate) fn not_applied(error: Error) -> Error {
    error.with_outcome(Outcome::NotApplied)
}

/// The error that followed a write that the service confirmed.
pub(crate) fn applied(error: Error) -> Error {
    error.with_outcome(Outcome::Applied)
}
