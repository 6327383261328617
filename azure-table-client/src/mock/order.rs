//! The order of the service: by UTF-16 code units, as .NET compares ordinally.

use std::borrow::Borrow;
use std::cmp::Ordering;

/// Compares as UTF-16 code units without encoding them.
///
/// UTF-8 bytes order as code points. UTF-16 differs in one thing: characters beyond U+FFFF begin
/// with a surrogate (D800 to DFFF) and so come before U+E000 to U+FFFF.
pub(super) fn ordinal(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    match a.iter().zip(b).position(|(x, y)| x != y) {
        // Only lead bytes can meet here with 0xEE or more.
        Some(at) => rank(a[at]).cmp(&rank(b[at])),
        None => a.len().cmp(&b.len()),
    }
}

const fn rank(byte: u8) -> u8 {
    match byte {
        // U+E000 to U+FFFF: behind everything.
        0xEE | 0xEF => byte + 0x10,
        // Beyond U+FFFF.
        0xF0.. => byte - 2,
        other => other,
    }
}

/// PartitionKey and RowKey, in the order of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoredKey {
    pub(super) partition: Box<str>,
    pub(super) row: Box<str>,
}

impl StoredKey {
    pub(super) fn new(partition: impl Into<Box<str>>, row: impl Into<Box<str>>) -> Self {
        Self { partition: partition.into(), row: row.into() }
    }
}

/// Both keys, owned or not: a map of [`StoredKey`]s is searched with borrowed ones.
pub(super) trait Keys {
    /// PartitionKey and RowKey.
    fn keys(&self) -> (&str, &str);
}

impl Keys for StoredKey {
    fn keys(&self) -> (&str, &str) {
        (&self.partition, &self.row)
    }
}

impl Keys for (&str, &str) {
    fn keys(&self) -> (&str, &str) {
        *self
    }
}

impl<'a> Borrow<dyn Keys + 'a> for StoredKey {
    fn borrow(&self) -> &(dyn Keys + 'a) {
        self
    }
}

impl Ord for dyn Keys + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        let (a, b) = (self.keys(), other.keys());
        ordinal(a.0, b.0).then_with(|| ordinal(a.1, b.1))
    }
}

impl PartialOrd for dyn Keys + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for dyn Keys + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.keys() == other.keys()
    }
}

impl Eq for dyn Keys + '_ {}

impl Ord for StoredKey {
    fn cmp(&self, other: &Self) -> Ordering {
        <dyn Keys>::cmp(self, other)
    }
}

impl PartialOrd for StoredKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn by_units(a: &str, b: &str) -> Ordering {
        a.encode_utf16().cmp(b.encode_utf16())
    }

    #[test]
    fn surrogates_come_before_private_use() {
        for (a, b) in [
            ("\u{1f600}", "\u{ffff}"),
            ("\u{10ffff}", "\u{e000}"),
            ("\u{d7ff}", "\u{10000}"),
            ("a", "ab"),
        ] {
            assert_eq!(ordinal(a, b), Ordering::Less);
            assert_eq!(by_units(a, b), Ordering::Less);
        }
    }

    proptest! {
        #[test]
        fn agrees_with_utf_16(a in "[a\u{ff}\u{d7ff}\u{e000}-\u{e010}\u{fffe}\u{10000}-\u{10ffff}]{0,4}",
                              b in "[a\u{ff}\u{d7ff}\u{e000}-\u{e010}\u{fffe}\u{10000}-\u{10ffff}]{0,4}") {
            prop_assert_eq!(ordinal(&a, &b), by_units(&a, &b));
        }
    }
}
