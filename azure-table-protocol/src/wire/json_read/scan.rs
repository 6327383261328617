//! The lengths of the parts of JSON.

use memchr::memchr2;

/// Whether any byte is a control character. JSON allows them only between values.
///
/// Without an early end, which would prevent vector instructions.
pub(super) fn has_control(bytes: &[u8]) -> bool {
    bytes.iter().fold(u8::MAX, |least, byte| least.min(*byte)) < b' '
}

/// The offset of the first quote or backslash.
pub(super) fn quote_or_backslash(bytes: &[u8]) -> Option<usize> {
    const SHORT: usize = 32;
    const ONES: u64 = u64::MAX / 0xff;
    const QUOTES: u64 = ONES * b'"' as u64;
    const BACKSLASHES: u64 = ONES * b'\\' as u64;
    // The high bit of the first byte that is zero is set; those of the bytes before it are not.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & (ONES << 7);
    // Most texts are short, and end before a call of `memchr2` is worth its cost.
    let start = bytes.first_chunk::<SHORT>().map_or(&[][..], |start| start.as_chunks().0);
    for (index, word) in start.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = zeros(word ^ QUOTES) | zeros(word ^ BACKSLASHES);
        if found != 0 {
            return Some(index * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let start = start.len() * 8;
    memchr2(b'"', b'\\', &bytes[start..]).map(|found| start + found)
}

/// The length of an escape after its backslash.
pub(super) fn escape(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => Some(1),
        [b'u', a, b, c, d, ..] if [a, b, c, d].iter().all(|byte| byte.is_ascii_hexdigit()) => {
            Some(5)
        }
        _ => None,
    }
}

/// The most levels of objects and arrays within each other, up to 255.
pub(super) fn depth(bytes: &[u8]) -> u8 {
    let (mut depth, mut most, mut is_text) = (0_u8, 0, false);
    let mut bytes = bytes.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => is_text = !is_text,
            b'\\' if is_text => _ = bytes.next(),
            b'{' | b'[' if !is_text => {
                depth = depth.saturating_add(1);
                most = most.max(depth);
            }
            b'}' | b']' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    most
}

/// The length of a number, and whether it has neither a fraction nor an exponent.
pub(super) fn number(bytes: &[u8]) -> Option<(usize, bool)> {
    let digits = |from: usize| {
        let mut end = from;
        while bytes.get(end).is_some_and(u8::is_ascii_digit) {
            end += 1;
        }
        (end > from).then_some(end)
    };
    let start = usize::from(bytes.first() == Some(&b'-'));
    let integer = digits(start)?;
    if bytes[start] == b'0' && integer > start + 1 {
        return None;
    }
    let mut end = integer;
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1)?;
    }
    if let Some(b'e' | b'E') = bytes.get(end) {
        let is_signed = matches!(bytes.get(end + 1), Some(b'+' | b'-'));
        end = digits(end + 1 + usize::from(is_signed))?;
    }
    Some((end, end == integer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_text_is_found_at_any_offset() {
        for len in 0..100 {
            for fill in [b'a', b'!', b'#', b'[', b']', 0x80, 0xa2, 0xdc, 0xff] {
                assert_eq!(quote_or_backslash(&vec![fill; len]), None);
                for at in 0..len {
                    for end in [b'"', b'\\'] {
                        let mut bytes = vec![fill; len];
                        bytes[at..].fill(b'"');
                        bytes[at] = end;
                        assert_eq!(quote_or_backslash(&bytes), Some(at), "{bytes:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn numbers_are_those_of_json() {
        for (json, found) in [
            ("0", Some((1, true))),
            ("-0", Some((2, true))),
            ("120,", Some((3, true))),
            ("-1.50}", Some((5, false))),
            ("1e5", Some((3, false))),
            ("1.5E-10 ", Some((7, false))),
            ("1e+0", Some((4, false))),
            ("", None),
            ("-", None),
            ("+1", None),
            ("01", None),
            ("-00", None),
            (".5", None),
            ("1.", None),
            ("1.e5", None),
            ("1e", None),
            ("1e+", None),
            ("NaN", None),
        ] {
            assert_eq!(number(json.as_bytes()), found, "{json}");
        }
    }

    #[test]
    fn brackets_in_texts_are_not_levels() {
        for (json, expected) in [
            ("5", 0),
            (r#"{"a":[1,[2]],"b":{}}"#, 3),
            (r#"{"[[[":"{{\"{{","b":"\\"}"#, 1),
            ("[[],[],[[]]]", 3),
        ] {
            assert_eq!(depth(json.as_bytes()), expected, "{json}");
        }
        assert_eq!(depth("[".repeat(1000).as_bytes()), u8::MAX);
    }

    #[test]
    fn control_characters_are_found() {
        assert!(!has_control("a \u{7f}\u{80}é".as_bytes()));
        for control in 0..b' ' {
            assert!(has_control(&[b'a', control, b'b']));
        }
    }
}
