//! Text as a JSON string, with the escapes that `serde_json` writes.

/// Appends `text` in quotes.
pub(super) fn push(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    out.reserve(rest.len() + 2);
    out.push(b'"');
    while let Some(at) = first_escaped(rest) {
        out.extend_from_slice(&rest[..at]);
        push_escape(out, rest[at]);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// The position of the first byte that must be escaped in a JSON string.
fn first_escaped(text: &[u8]) -> Option<usize> {
    if has_no_escapes(text) { None } else { text.iter().position(|byte| is_escaped(*byte)) }
}

/// Compares 16 or 8 bytes at a time. The last two blocks overlap.
fn has_no_escapes(text: &[u8]) -> bool {
    if let (Some(first), Some(last)) = (text.first_chunk::<8>(), text.last_chunk::<8>())
        && text.len() <= 16
    {
        return is_plain_word(*first) && is_plain_word(*last);
    }
    let mut at = 0;
    while let Some(block) = text[at..].first_chunk::<16>() {
        // The compiler has instructions for this fold over a block of 16.
        if block.iter().fold(false, |found, byte| found | is_escaped(*byte)) {
            return false;
        }
        if at + 16 == text.len() {
            return true;
        }
        at = (at + 16).min(text.len() - 16);
    }
    !text.iter().any(|byte| is_escaped(*byte))
}

fn is_plain_word(word: [u8; 8]) -> bool {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    let word = u64::from_le_bytes(word);
    // The highest bit of each byte is set if the byte is below the limit.
    let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word;
    let is = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (below(word, 0x20) | is(b'"') | is(b'\\')) & (ONES << 7) == 0
}

/// Quotes, backslashes and control characters.
#[expect(
    clippy::needless_bitwise_bool,
    reason = "branches would prevent comparing a block at once"
)]
const fn is_escaped(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

fn push_escape(out: &mut Vec<u8>, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let letter = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        _ => {
            let digit = |value: u8| HEX[usize::from(value & 15)];
            return out.extend_from_slice(&[
                b'\\',
                b'u',
                b'0',
                b'0',
                digit(byte >> 4),
                digit(byte),
            ]);
        }
    };
    out.extend_from_slice(&[b'\\', letter]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str) {
        let mut out = b"before".to_vec();
        push(&mut out, text);
        let expected = format!("before{}", serde_json::to_string(text).unwrap());
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn every_character_at_every_position() {
        for length in [1, 3, 7, 8, 9, 15, 16, 17, 24, 31] {
            for at in 0..length {
                for character in ('\0'..='\u{ff}').chain(['\u{2028}', '\u{ffff}', '\u{1f600}']) {
                    let mut text: Vec<char> = vec!['a'; length];
                    text[at] = character;
                    check(&text.into_iter().collect::<String>());
                }
            }
        }
        check("");
    }

    proptest! {
        #[test]
        fn any_text_is_written_as_serde_json_writes_it(
            text in "[ -~]{0,80}|\\PC{0,40}|[a\"\\\\\0-\u{20}\u{7f}-\u{a0}]{0,40}|.{0,80}"
        ) {
            check(&text);
        }
    }
}
