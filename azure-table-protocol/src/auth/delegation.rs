//! The limits of user delegation keys, which the client and the mock share. `user_delegation.rs` lists the sources.

use std::time::Duration;

/// The longest lifetime of a key.
pub const MAX_LIFETIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Returns `true` if the text can be signed as an id, a time, a version or a service: an id is a GUID, and a line break
/// would move the lines of the string to sign.
pub fn is_part(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}
