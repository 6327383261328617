//! The order of the service: by UTF-16 code units, as .NET compares ordinally.

use std::cmp::Ordering;

use super::EntityKey;

/// Compares as UTF-16 code units without encoding them.
///
/// UTF-8 bytes order as code points. UTF-16 differs in one thing: characters beyond U+FFFF begin
/// with a surrogate (D800 to DFFF) and so come before U+E000 to U+FFFF.
#[doc(hidden)]
pub fn ordinal(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    // Most keys differ in their first words.
    let (words, _) = a.as_chunks::<8>();
    let mut same = 0;
    for (x, y) in words.iter().zip(b.as_chunks::<8>().0) {
        let difference = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if difference != 0 {
            let at = difference.trailing_zeros() as usize / 8;
            return rank(x[at]).cmp(&rank(y[at]));
        }
        same += 8;
    }
    let (a, b) = (&a[same..], &b[same..]);
    match a.iter().zip(b).position(|(x, y)| x != y) {
        // Only lead bytes can meet here with 0xEE or more.
        Some(at) => rank(a[at]).cmp(&rank(b[at])),
        None => a.len().cmp(&b.len()),
    }
}

/// Compares keys as the service orders rows.
#[doc(hidden)]
pub fn by_keys(a: &EntityKey, b: &EntityKey) -> Ordering {
    ordinal(&a.partition_key, &b.partition_key).then_with(|| ordinal(&a.row_key, &b.row_key))
}

const fn rank(byte: u8) -> u8 {
    match byte {
        // U+E000 to U+FFFF: after everything else.
        0xEE | 0xEF => byte + 0x10,
        // Beyond U+FFFF.
        0xF0.. => byte - 2,
        other => other,
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
        fn agrees_with_utf_16(a in "[a\u{ff}\u{d7ff}\u{e000}-\u{e010}\u{fffe}\u{10000}-\u{10ffff}]{0,9}",
                              b in "[a\u{ff}\u{d7ff}\u{e000}-\u{e010}\u{fffe}\u{10000}-\u{10ffff}]{0,9}") {
            prop_assert_eq!(ordinal(&a, &b), by_units(&a, &b));
        }
    }
}
