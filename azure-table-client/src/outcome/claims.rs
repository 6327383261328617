//! Claims about failed writes. Contexts, bulk runs and composite calls use only these claims.

use crate::error::{Error, Outcome};

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
