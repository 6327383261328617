use super::order::ordinal;
use crate::limits::is_forbidden_in_keys;

/// The keys from a lower bound up to an upper one that is not included, in the service's order: by
/// UTF-16 code units.
///
/// ```
/// use azure_table_client::entity::KeyRange;
///
/// let pdc = KeyRange::of_prefix("PDC");
/// assert_eq!((pdc.lower(), pdc.upper()), ("PDC", Some("PDD")));
/// assert!(pdc.contains("PDC2009") && !pdc.contains("PDD"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    lower: String,
    upper: Option<String>,
}

/// The keys that begin with some parts.
#[doc(hidden)]
#[derive(Debug)]
pub enum LeadingKeys {
    /// All parts: one key.
    One(String),
    /// Some parts: all keys that begin with them.
    Range(KeyRange),
}

impl KeyRange {
    /// All keys that begin with `prefix`.
    pub fn of_prefix(prefix: impl Into<String>) -> Self {
        let lower = prefix.into();
        // The bound is itself sent as a key.
        let upper = after_prefix(&lower, is_forbidden_in_keys);
        Self { lower, upper }
    }

    /// The one key `key`.
    pub fn of_key(key: impl Into<String>) -> Self {
        let lower = key.into();
        // No key lies between a text and the same text followed by the smallest character that a key
        // can hold.
        let upper = Some(format!("{lower} "));
        Self { lower, upper }
    }

    /// The smallest key of the range.
    pub fn lower(&self) -> &str {
        &self.lower
    }

    /// The first key above the range; `None` if there is none.
    pub fn upper(&self) -> Option<&str> {
        self.upper.as_deref()
    }

    /// Whether `key` is in the range.
    pub fn contains(&self, key: &str) -> bool {
        ordinal(&self.lower, key).is_le()
            && self.upper().is_none_or(|upper| ordinal(key, upper).is_lt())
    }
}

/// The smallest text that comes after every text with this prefix; `None` if there is none.
///
/// The last character that has a successor is replaced by it. By UTF-16 code units, U+E000 to U+FFFF
/// come after all characters beyond U+FFFF, whose surrogates are D800 to DFFF.
#[doc(hidden)]
pub fn after_prefix(prefix: &str, is_forbidden: fn(char) -> bool) -> Option<String> {
    let (at, next) = prefix
        .char_indices()
        .rev()
        .find_map(|(at, c)| successor(c, is_forbidden).map(|next| (at, next)))?;
    let mut upper = String::with_capacity(at + next.len_utf8());
    upper.push_str(&prefix[..at]);
    upper.push(next);
    Some(upper)
}

/// The character that follows `c` in the order of UTF-16 among those that are not forbidden.
fn successor(c: char, is_forbidden: fn(char) -> bool) -> Option<char> {
    Some(match c {
        '\u{ffff}' => return None,
        // The last character before the surrogates is followed by the first one of two code units.
        '\u{d7ff}' => '\u{10000}',
        '\u{10ffff}' => '\u{e000}',
        _ => {
            let mut next = char::from_u32(c as u32 + 1)?;
            while is_forbidden(next) {
                next = char::from_u32(next as u32 + 1)?;
            }
            next
        }
    })
}
