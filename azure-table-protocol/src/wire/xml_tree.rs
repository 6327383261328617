//! The documents that are XML in every format: stored access policies, and the settings and statistics of the
//! service.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::xml::{Reference, push_text, resolve};

/// No document of the service is nested deeper.
const MAX_DEPTH: usize = 8;

/// A document that is not well formed, or has not the elements that it should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidXml;

/// An element with its direct text. Its attributes are ignored, because none has a meaning here.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Element {
    pub name: String,
    pub text: String,
    pub children: Vec<Element>,
}

impl Element {
    /// Reads a document.
    ///
    /// # Errors
    /// It is not well formed, is nested too deeply or has a document type.
    pub fn read(body: &[u8]) -> Result<Self, InvalidXml> {
        let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
        let body = std::str::from_utf8(body).map_err(|_| InvalidXml)?;
        Self::root(body).ok_or(InvalidXml)
    }

    fn root(body: &str) -> Option<Self> {
        let mut reader = Reader::from_str(body);
        // Elements that are not closed yet, below something that holds the root.
        let mut open = vec![Self::default()];
        loop {
            let event = reader.read_event().ok()?;
            let is_too_deep = open.len() > MAX_DEPTH;
            let inner = open.last_mut()?;
            match event {
                Event::Start(start) if !is_too_deep => open.push(Self::named(&start)),
                Event::Start(_) | Event::DocType(_) => return None,
                Event::Empty(start) => inner.children.push(Self::named(&start)),
                Event::End(_) => {
                    let closed = open.pop()?;
                    open.last_mut()?.children.push(closed);
                }
                Event::Text(part) => inner.text.push_str(&part.xml10_content()),
                Event::CData(part) => inner.text.push_str(&part.xml10_content()),
                Event::GeneralRef(reference) => match resolve(&reference) {
                    Reference::Character(character) => inner.text.push(character),
                    Reference::Surrogate | Reference::Unknown => return None,
                },
                Event::Eof => break,
                Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
            }
        }
        let mut outermost = open.pop().filter(|_| open.is_empty())?;
        let root = outermost.children.pop()?;
        (outermost.children.is_empty() && outermost.has_no_text() && root.is_valid())
            .then_some(root)
    }

    fn named(start: &BytesStart<'_>) -> Self {
        Self { name: start.local_name().as_ref().to_owned(), ..Self::default() }
    }

    /// Returns whether XML allows all characters; a reference may name others.
    fn is_valid(&self) -> bool {
        let is_char = |c: char| !matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}');
        self.text.chars().all(is_char) && self.children.iter().all(Self::is_valid)
    }

    fn has_no_text(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Returns the first child of this name.
    pub fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }
}

/// The beginning of every document.
const DECLARATION: &[u8] = b"<?xml version=\"1.0\" encoding=\"utf-8\"?>";

/// A document in the making.
#[derive(Debug)]
pub struct XmlWriter(Vec<u8>);

impl XmlWriter {
    /// The body of a request.
    #[expect(clippy::new_without_default, reason = "a document has its declaration")]
    pub fn new() -> Self {
        Self(DECLARATION.to_vec())
    }

    /// Writes `<name>` with the content of `inner`, or `<name />` if the content is empty.
    pub fn element(&mut self, name: &str, inner: impl FnOnce(&mut Self)) {
        let start = self.0.len();
        self.push(["<", name, ">"]);
        let end = self.0.len();
        inner(self);
        if self.0.len() == end {
            self.0.truncate(start);
            self.push(["<", name, " />"]);
        } else {
            self.push(["</", name, ">"]);
        }
    }

    /// An element with text.
    pub fn leaf(&mut self, name: &str, text: &str) {
        self.element(name, |document| push_text(&mut document.0, text));
    }

    fn push(&mut self, parts: [&str; 3]) {
        for part in parts {
            self.0.extend_from_slice(part.as_bytes());
        }
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Element> {
        Element::read(text.as_bytes()).ok()
    }

    #[test]
    fn elements_and_texts() {
        let text = "\u{feff}<?xml version='1.0'?>\n<!-- c --><A x='1'>\n <B>a &lt;&#233;<![CDATA[<]]></B><C/></A>\n";
        let root = read(text).unwrap();
        assert_eq!(root.child("B").unwrap().text, "a <é<");
        assert_eq!(root.child("C").unwrap().text, "");
        assert_eq!((root.child("D"), root.children.len()), (None, 2));
    }

    #[test]
    fn what_is_no_document() {
        let deep = format!("{}{}", "<a>".repeat(9), "</a>".repeat(9));
        for text in [
            "",
            " ",
            "x",
            "<a>",
            "</a>",
            "<a></b>",
            "<a/><b/>",
            "<a/>x",
            "x<a/>",
            "<a>&bomb;</a>",
            "<a>&#1;</a>",
            "<!DOCTYPE a><a/>",
            "<a",
            "<a><b></a></b>",
            &deep,
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert!(Element::read(b"<a>\xff</a>").is_err());
        assert!(read(&format!("{}{}", "<a>".repeat(8), "</a>".repeat(8))).is_some());
    }

    #[test]
    fn what_is_written_reads_the_same() {
        let mut document = XmlWriter::new();
        document.element("A", |document| {
            document.leaf("B", "a <b> & \"c\" ]]> \r\n é");
            document.element("C", |_| ());
        });
        let bytes = document.into_bytes();
        let root = Element::read(&bytes).unwrap();
        assert_eq!(root.child("B").unwrap().text, "a <b> & \"c\" ]]> \r\n é");
        assert!(
            root.child("C").is_some() && String::from_utf8(bytes).unwrap().ends_with("<C /></A>")
        );
    }
}
