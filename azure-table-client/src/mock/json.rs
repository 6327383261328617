//! JSON in the service's form.

use std::io::Write as _;

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;

use crate::edm::EdmCow;

/// Writes a JSON string. Characters outside of ASCII are escaped, like in the service's responses.
pub(super) fn push_text(out: &mut Vec<u8>, text: &str) {
    if is_plain(text) {
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

/// Whether a text needs no escapes. Without an early end, which would prevent vector instructions.
fn is_plain(text: &str) -> bool {
    text.bytes().fold(true, |is_plain, byte| {
        is_plain & (b' '..=b'~').contains(&byte) & (byte != b'"') & (byte != b'\\')
    })
}

/// `"Name":"text",`
pub(super) fn push_member(out: &mut Vec<u8>, name: &str, text: &str) {
    push_text(out, name);
    out.push(b':');
    push_text(out, text);
    out.push(b',');
}

/// Writes a property and a comma. If JSON does not show the type, it also writes the type annotation.
pub(super) fn push_property(out: &mut Vec<u8>, name: &str, value: &EdmCow<'_>) {
    let is_native = match value {
        EdmCow::String(_) | EdmCow::Boolean(_) | EdmCow::Int32(_) => true,
        EdmCow::Double(value) => value.is_finite(),
        _ => false,
    };
    if !is_native {
        push_text(out, name);
        out.pop();
        let _ = write!(out, "@odata.type\":\"{}\",", value.edm_type());
    }
    push_text(out, name);
    out.push(b':');
    // Writing to a Vec cannot fail.
    let _ = match value {
        EdmCow::String(text) => {
            push_text(out, text);
            Ok(())
        }
        EdmCow::Boolean(value) => write!(out, "{value}"),
        EdmCow::Int32(value) => write!(out, "{value}"),
        EdmCow::Int64(value) => write!(out, "\"{value}\""),
        EdmCow::Double(value) if value.is_nan() => write!(out, "\"NaN\""),
        EdmCow::Double(value) if value.is_infinite() => {
            write!(out, "\"{}Infinity\"", if *value < 0.0 { "-" } else { "" })
        }
        // Debug keeps the fraction: 3.0.
        EdmCow::Double(value) => write!(out, "{value:?}"),
        EdmCow::DateTime(value) => write!(out, "\"{}\"", value.trimmed()),
        EdmCow::Guid(value) => write!(out, "\"{value}\""),
        EdmCow::Binary(bytes) => write!(out, "\"{}\"", Base64Display::new(bytes, &STANDARD)),
    };
    out.push(b',');
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
