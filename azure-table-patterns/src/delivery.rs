//! Writes that a proxy delivers more than once.

use azure_table_client::{Error, Outcome};

/// Whether the service may have received the write.
pub(crate) fn was_sent(error: &Error) -> bool {
    error.status().is_some() || error.attempts() > 1 || error.outcome() != Outcome::NotApplied
}

/// Whether no delivery of the write can be applied any more. A service that is too busy for one delivery may apply
/// another one, which arrives later; an error after several attempts does not report whether that happened before.
pub(crate) fn is_refused_for_good(error: &Error) -> bool {
    let is_single = error.attempts() <= 1 && !error.is_throttled();
    error.outcome() == Outcome::NotApplied && is_single
}

/// Whether the failure also proves that no other delivery of the write was applied before: the first delivery changes the
/// rows, so that the second one is refused (404, 409, 412).
pub(crate) fn was_never_applied(error: &Error) -> bool {
    let may_follow = matches!(error.status(), Some(404 | 409 | 412));
    !was_sent(error) || is_refused_for_good(error) && !may_follow
}
