//! The few XML documents that the service sends whatever format is asked for.

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;

const MAX_DEPTH: usize = 16;

/// The texts of the elements in their order, each with the names that lead to it: in lower case and
/// without namespaces. `None` if it is no XML, or nested deeper than any document of the service.
pub(crate) fn texts(body: &str) -> Option<Vec<(Vec<String>, String)>> {
    let mut reader = Reader::from_str(body);
    let mut texts = Vec::new();
    let mut path = Vec::new();
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
                texts.push((path.clone(), std::mem::take(&mut text)));
                path.pop();
            }
            Event::Text(part) => text.push_str(&part.xml10_content()),
            Event::CData(part) => text.push_str(&part.xml10_content()),
            // `&lt;` and `&#233;` are events of their own.
            Event::GeneralRef(reference) => match reference.resolve_char_ref().ok()? {
                Some(character) => text.push(character),
                None => text.push_str(resolve_predefined_entity(&reference)?),
            },
            Event::Eof => return Some(texts),
            _ => {}
        }
    }
}

/// The first text at this place.
pub(crate) fn text_at<'t>(texts: &'t [(Vec<String>, String)], place: &[&str]) -> Option<&'t str> {
    let found = texts.iter().find(|(path, _)| path.iter().eq(place));
    found.map(|(_, text)| text.as_str())
}
