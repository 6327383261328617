//! JSON in the service's form.

use std::io::Write as _;

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;

use crate::edm::EdmCow;

/// Writes a JSON string. Characters outside of ASCII are escaped, like in the service's responses.
pub(super) fn push_text(out: &mut Vec<u8>, text: &str) {
    if is_plain(text) {
        out.reserve(text.len() + 2);
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
        return;
    }
    if text.is_ascii() {
        // Writing to a Vec cannot fail.
        let _ = serde_json::to_writer(out, text);
        return;
    }
    out.push(b'"');
    let mut units = [0; 2];
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend_from_slice(&[b'\\', character as u8]),
            ' '..='~' => out.push(character as u8),
            _ => {
                for unit in character.encode_utf16(&mut units) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push(b'"');
}

/// Returns `true` if a text needs no escapes.
fn is_plain(text: &str) -> bool {
    // Blocks of a fixed length, whose bytes the processor compares at once.
    let (blocks, rest) = text.as_bytes().as_chunks::<16>();
    let special =
        |byte: &u8| u8::from(!matches!(byte, b' '..=b'~')) | u8::from(matches!(byte, b'"' | b'\\'));
    let is_plain_block =
        |block: &[u8; 16]| block.iter().fold(0, |found, byte| found | special(byte)) == 0;
    blocks.iter().all(is_plain_block) && rest.iter().all(|byte| PLAIN_BYTES[usize::from(*byte)])
}

/// Whether each byte of a text needs no escape.
const PLAIN_BYTES: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = b' ';
    while byte <= b'~' {
        plain[byte as usize] = byte != b'"' && byte != b'\\';
        byte += 1;
    }
    plain
};

/// `"Name":"text",`
pub(super) fn push_member(out: &mut Vec<u8>, name: &str, text: &str) {
    push_text(out, name);
    out.push(b':');
    push_text(out, text);
    out.push(b',');
}

/// Writes a value. The JSON of some types does not show the type.
pub(super) fn push_value(out: &mut Vec<u8>, value: &EdmCow<'_>) {
    match value {
        EdmCow::String(text) => push_text(out, text),
        EdmCow::Boolean(value) => {
            out.extend_from_slice(if *value { b"true" } else { b"false" });
        }
        EdmCow::Int32(value) => push_integer(out, (*value).into()),
        EdmCow::Int64(value) => push_quoted(out, |out| push_integer(out, *value)),
        EdmCow::Double(value) if value.is_nan() => out.extend_from_slice(b"\"NaN\""),
        EdmCow::Double(value) if value.is_infinite() => {
            let text = if *value < 0.0 { b"\"-Infinity\"".as_slice() } else { b"\"Infinity\"" };
            out.extend_from_slice(text);
        }
        // Debug keeps the fraction: 3.0. Writing to a Vec cannot fail.
        EdmCow::Double(value) => _ = write!(out, "{value:?}"),
        EdmCow::DateTime(value) => push_quoted(out, |out| {
            let (text, length) = value.trimmed_text();
            out.extend_from_slice(&text[..length]);
        }),
        EdmCow::Guid(value) => push_quoted(out, |out| {
            let mut text = uuid::Uuid::encode_buffer();
            out.extend_from_slice(value.hyphenated().encode_lower(&mut text).as_bytes());
        }),
        EdmCow::Binary(bytes) => push_quoted(out, |out| {
            _ = write!(out, "{}", Base64Display::new(bytes, &STANDARD));
        }),
    }
}

fn push_quoted(out: &mut Vec<u8>, push: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    push(out);
    out.push(b'"');
}

fn push_integer(out: &mut Vec<u8>, value: i64) {
    // A number in JSON is its digits, and writing to a Vec cannot fail.
    let _ = serde_json::to_writer(out, &value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_text_round_trips() {
        for text in ["plain", "a\"b\\c\n\u{1}", "é \u{1f600} \"\\\u{7f}\u{85}", ""] {
            let mut out = Vec::new();
            push_text(&mut out, text);
            assert!(out.is_ascii());
            assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }
    }
}
