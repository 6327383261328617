//! Texts in filters.

use azure_table_client::limits::check_key;

/// The first code unit of UTF-16 that is not a character by itself.
pub(super) const SURROGATES: u32 = 0xD800;

/// Whether the service certainly accepts this text in a filter: control characters are refused in many parts of a URL.
pub(super) fn is_sendable(text: &str) -> bool {
    !text.contains(char::is_control)
}

/// Whether texts compare with this one in the same way on the service and in SQL. The service orders UTF-16 code units, SQL
/// code points: below U+D800 both are the same, and all other characters are greater in both.
pub(super) fn has_same_order(text: &str) -> bool {
    text.chars().all(|c| u32::from(c) < SURROGATES)
}

/// Whether the text can be a key. The client reads rows whose keys a filter states by an address with these keys.
pub(super) fn is_key(text: &str) -> bool {
    check_key("PartitionKey", text).is_ok()
}
