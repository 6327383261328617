//! Ids of acquisitions, which tell the rows of one attempt from those of another.

use uuid::Uuid;

/// Returns a random id (version 4).
pub(crate) fn attempt_id() -> Uuid {
    uuid::Builder::from_random_bytes(fastrand::u128(..).to_le_bytes()).into_uuid()
}
