//! The few XML documents that the service sends whatever format is asked for.

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;

const MAX_DEPTH: usize = 16;

/// The first text at each of these places: the names of the elements that lead there, in lower case and
/// without namespaces. `None` if it is no XML, or nested deeper than any document of the service.
pub(crate) fn texts<const N: usize>(
    body: &str,
    places: [&[&str]; N],
) -> Option<[Option<String>; N]> {
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
