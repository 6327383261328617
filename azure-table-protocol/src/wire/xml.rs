//! The basics of all XML of the protocol, and the documents that are XML in every format.

use std::io::Write as _;

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, Event};

/// The first line of every document.
pub const DECLARATION: &[u8] = b"<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"yes\"?>";

const MAX_DEPTH: usize = 16;

/// Returns the first text at each of these paths: the names of the elements in lower case and without
/// namespaces. `None` if the body is not XML, or nested deeper than any document of the service.
pub fn texts<const N: usize>(body: &str, places: [&[&str]; N]) -> Option<[Option<String>; N]> {
    let mut reader = Reader::from_str(body);
    let mut texts = [const { None }; N];
    let mut path: Vec<String> = Vec::new();
    let mut text = String::new();
    loop {
        match reader.read_event().ok()? {
            Event::Start(start) => {
                if path.len() >= MAX_DEPTH {
                    return None;
                }
                path.push(start.local_name().as_ref().to_ascii_lowercase());
                text.clear();
            }
            Event::End(_) => {
                let place = places.iter().position(|place| path.iter().eq(place.iter()));
                if let Some(place) = place {
                    texts[place].get_or_insert_with(|| std::mem::take(&mut text));
                }
                text.clear();
                path.pop();
            }
            Event::Text(part) => text.push_str(&part.xml10_content()),
            Event::CData(part) => text.push_str(&part.xml10_content()),
            Event::GeneralRef(reference) => match resolve(&reference) {
                Reference::Character(character) => text.push(character),
                Reference::Surrogate | Reference::Unknown => return None,
            },
            Event::Eof => return Some(texts),
            _ => {}
        }
    }
}

/// The character of a reference such as `&lt;` or `&#233;`. Each reference is an event of its own, so a reader
/// of text events alone would lose it.
#[derive(Debug, PartialEq, Eq)]
pub enum Reference {
    Character(char),
    /// A half of a UTF-16 pair, which is not a character.
    Surrogate,
    /// An entity that XML does not define, or a number of no character.
    Unknown,
}

/// Resolves a reference. Characters that XML forbids, such as `&#x1;`, are taken: .NET writes them.
pub fn resolve(reference: &BytesRef<'_>) -> Reference {
    let Some(number) = reference.strip_prefix('#') else {
        let text = resolve_predefined_entity(reference).and_then(|text| text.chars().next());
        return text.map_or(Reference::Unknown, Reference::Character);
    };
    let (figures, radix) = match number.strip_prefix('x') {
        Some(figures) => (figures, 16),
        None => (number, 10),
    };
    // The parser of integers also accepts a sign.
    let code = figures.bytes().all(|byte| byte.is_ascii_hexdigit());
    match code.then(|| u32::from_str_radix(figures, radix)) {
        Some(Ok(0xd800..=0xdfff)) => Reference::Surrogate,
        Some(Ok(code)) => char::from_u32(code).map_or(Reference::Unknown, Reference::Character),
        _ => Reference::Unknown,
    }
}

/// Writes the text of an element, escaped so that a parser reads every character unchanged.
pub fn push_text(out: &mut Vec<u8>, text: &str) {
    push_escaped(out, text, |byte| match byte {
        b'&' | b'<' | b'>' => true,
        b'\t' | b'\n' => false,
        // A carriage return is read as a line feed unless it is a reference.
        byte => byte < b' ',
    });
}

pub fn push_escaped(out: &mut Vec<u8>, text: &str, is_special: fn(u8) -> bool) {
    // U+FFFE and U+FFFF, which XML does not have.
    const NO_CHARACTERS: [&str; 2] = ["\u{fffe}", "\u{ffff}"];
    let is_no_character = |at: usize| NO_CHARACTERS.iter().any(|no| text[at..].starts_with(no));
    let mut start = 0;
    for (at, byte) in text.bytes().enumerate() {
        // Each of the two begins with this byte, and no other byte of a character is it.
        let is_wide = byte == 0xef && is_no_character(at);
        if !is_special(byte) && !is_wide {
            continue;
        }
        out.extend_from_slice(&text.as_bytes()[start..at]);
        start = at + 1;
        // Writing to a Vec cannot fail.
        let _ = match byte {
            b'&' => out.write_all(b"&amp;"),
            b'<' => out.write_all(b"&lt;"),
            b'>' => out.write_all(b"&gt;"),
            b'"' => out.write_all(b"&quot;"),
            0xef => {
                start = at + NO_CHARACTERS[0].len();
                let code = if text[at..].starts_with(NO_CHARACTERS[0]) { 'E' } else { 'F' };
                write!(out, "&#xFFF{code};")
            }
            byte => write!(out, "&#x{byte:X};"),
        };
    }
    out.extend_from_slice(&text.as_bytes()[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references() {
        for (text, expected) in [
            ("lt", Reference::Character('<')),
            ("quot", Reference::Character('"')),
            ("#233", Reference::Character('é')),
            ("#x1F600", Reference::Character('\u{1f600}')),
            ("#x1", Reference::Character('\u{1}')),
            ("#0", Reference::Character('\0')),
            ("#xD800", Reference::Surrogate),
            ("#x110000", Reference::Unknown),
            ("#99999999999999999999", Reference::Unknown),
            ("#+5", Reference::Unknown),
            ("#", Reference::Unknown),
            ("#x", Reference::Unknown),
            ("#5a", Reference::Unknown),
            ("nbsp", Reference::Unknown),
            ("", Reference::Unknown),
        ] {
            assert_eq!(resolve(&BytesRef::new(text)), expected, "{text}");
        }
    }

    #[test]
    fn what_markup_would_change_is_escaped() {
        let written = |write: fn(&mut Vec<u8>, &str), text: &str| {
            let mut out = Vec::new();
            write(&mut out, text);
            String::from_utf8(out).unwrap()
        };
        let text = "a<b>&\"'\r\n\t\u{1}é\u{fffe}\u{fffd}\u{ffff}\u{f000}";
        assert_eq!(
            written(push_text, text),
            "a&lt;b&gt;&amp;\"'&#xD;\n\t&#x1;é&#xFFFE;\u{fffd}&#xFFFF;\u{f000}"
        );
        assert_eq!(written(push_text, ""), "");
    }
}
