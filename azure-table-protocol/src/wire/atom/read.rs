//! Atom into the rows from which entities are built, without a tree or a map in between.

use std::borrow::Cow;

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::{Namespace, ResolveResult};
use quick_xml::reader::NsReader;

use super::{ATOM, AtomError, DATA, METADATA};
use crate::edm::EdmType;
use crate::entity::{
    Annotation, Form, MAX_OTHERS, RawProperty, RawText, RawValue, ReadRow, Row, RowConsumer,
};
use crate::wire::ReadError;
use crate::wire::xml::{self, Reference};

/// Deeper than anything that the protocol or an extension of Atom nests.
const MAX_DEPTH: usize = 64;

/// Reads the rows of a query's reply, a feed.
pub fn read_page<T>(body: &[u8], form: Form, reader: &dyn ReadRow<T>) -> Result<Vec<T>, ReadError> {
    let mut values = Vec::new();
    let row = Row::with(reader.columns(), reader.keeps_others(), form);
    let mut consume = |row: &mut Row<'_>| reader.read_row(row).map(|value| values.push(value));
    AtomReader::new(body)?.feed(row, &mut consume)?;
    Ok(values)
}

/// Reads the reply of a point query, an entry.
pub fn read_one<T>(body: &[u8], form: Form, reader: &dyn ReadRow<T>) -> Result<T, ReadError> {
    let row = Row::with(reader.columns(), reader.keeps_others(), form);
    let mut row = read_row(body, row)?;
    reader.read_row(&mut row).map_err(ReadError::Decode)
}

/// Passes the rows of a feed, or the row of an entry, to `consume`.
pub(in crate::wire) fn read_rows(
    body: &[u8],
    row: Row<'_>,
    is_page: bool,
    consume: &mut RowConsumer<'_>,
) -> Result<(), ReadError> {
    if is_page {
        return AtomReader::new(body)?.feed(row, consume);
    }
    consume(&mut read_row(body, row)?).map_err(ReadError::Decode)
}

/// Fills a row from one entry, without building an entity.
pub fn read_row<'de>(body: &'de [u8], row: Row<'de>) -> Result<Row<'de>, AtomError> {
    AtomReader::new(body)?.entry(row)
}

/// The namespaces that have a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Space {
    Atom,
    Data,
    Metadata,
    Foreign,
}

impl Space {
    fn of(resolved: &ResolveResult<'_>) -> Self {
        match resolved {
            ResolveResult::Bound(Namespace(ATOM)) => Self::Atom,
            ResolveResult::Bound(Namespace(DATA)) => Self::Data,
            ResolveResult::Bound(Namespace(METADATA)) => Self::Metadata,
            _ => Self::Foreign,
        }
    }
}

/// The content of an element. Comments and processing instructions are skipped.
enum Node<'de> {
    Element(BytesStart<'de>),
    Text(Cow<'de, str>),
    Reference(Reference),
    End,
}

struct AtomReader<'de> {
    xml: NsReader<&'de [u8]>,
    /// How many elements are open.
    depth: usize,
}

impl<'de> AtomReader<'de> {
    fn new(body: &'de [u8]) -> Result<Self, AtomError> {
        let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
        let body =
            std::str::from_utf8(body).map_err(|_| AtomError::Form("the body is not UTF-8"))?;
        let mut xml = NsReader::from_str(body);
        xml.config_mut().expand_empty_elements = true;
        Ok(Self { xml, depth: 0 })
    }

    /// Reads a whole document that is a feed.
    fn feed(mut self, mut row: Row<'de>, consume: &mut RowConsumer<'_>) -> Result<(), ReadError> {
        self.root("feed")?;
        while let Some(element) = self.element()? {
            if self.is(&element, Space::Atom, "entry") {
                self.read_entry(&element, &mut row)?;
                consume(&mut row).map_err(ReadError::Decode)?;
            } else {
                self.skip()?;
            }
        }
        Ok(self.end()?)
    }

    /// Reads a whole document that is an entry.
    fn entry(mut self, mut row: Row<'de>) -> Result<Row<'de>, AtomError> {
        let root = self.root("entry")?;
        self.read_entry(&root, &mut row)?;
        self.end()?;
        Ok(row)
    }

    /// The first element of the document.
    fn root(&mut self, name: &str) -> Result<BytesStart<'de>, AtomError> {
        match self.element()? {
            Some(root) if self.is(&root, Space::Atom, name) => Ok(root),
            _ => Err(AtomError::Form(
                "the document element is not the expected feed or entry of Atom",
            )),
        }
    }

    /// Checks that nothing follows the last element of the document.
    fn end(&mut self) -> Result<(), AtomError> {
        match self.element()? {
            None => Ok(()),
            Some(_) => Err(AtomError::Form("there is more than one document")),
        }
    }

    /// `<entry m:etag="…"> … <content type="application/xml"><m:properties>`
    fn read_entry(&mut self, entry: &BytesStart<'de>, row: &mut Row<'de>) -> Result<(), AtomError> {
        row.clear();
        row.etag = self.metadata(entry, "etag")?.map(|etag| RawText::Plain(Cow::Owned(etag)));
        while let Some(element) = self.element()? {
            if !self.is(&element, Space::Atom, "content") {
                self.skip()?;
                continue;
            }
            while let Some(element) = self.element()? {
                if self.is(&element, Space::Metadata, "properties") {
                    self.read_properties(row)?;
                } else {
                    self.skip()?;
                }
            }
        }
        Ok(())
    }

    fn read_properties(&mut self, row: &mut Row<'de>) -> Result<(), AtomError> {
        while let Some(element) = self.element()? {
            let name = element.local_name().into_inner();
            if !self.is(&element, Space::Data, name) {
                self.skip()?;
                continue;
            }
            let Some(place) = place(row, name)? else {
                self.skip()?;
                continue;
            };
            let repeated = !matches!(place.value, RawValue::Missing);
            *place = self.read_property(&element)?;
            row.repeated |= repeated;
        }
        Ok(())
    }

    /// `<d:Name m:type="Edm.Int64">5</d:Name>`, `<d:Name m:null="true" />`
    fn read_property(&mut self, element: &BytesStart<'de>) -> Result<RawProperty<'de>, AtomError> {
        let annotation = match self.metadata(element, "type")? {
            Some(name) => Annotation::from_name(&name),
            None => Annotation::None,
        };
        let is_null = self.metadata(element, "null")?;
        let value = self.read_value()?;
        let value = match (value, annotation) {
            _ if is_null.is_some_and(|text| matches!(&*text, "true" | "1")) => RawValue::Null,
            (RawValue::Text(text), Annotation::Edm(ty)) => RawValue::Text(collapsed(text, ty)),
            (value, _) => value,
        };
        Ok(RawProperty { annotation, value })
    }

    /// The text up to the end of the element. White space is a part of it.
    fn read_value(&mut self) -> Result<RawValue<'de>, AtomError> {
        let mut text = Cow::Borrowed("");
        let mut spoilt = None;
        loop {
            match self.node()? {
                Some(Node::End) | None => break,
                Some(Node::Text(part)) if text.is_empty() => text = part,
                Some(Node::Text(part)) => text.to_mut().push_str(&part),
                Some(Node::Reference(Reference::Character(c))) => text.to_mut().push(c),
                Some(Node::Reference(Reference::Surrogate)) => {
                    spoilt.get_or_insert(RawValue::NoUnicode { offset: text.len() });
                }
                Some(Node::Reference(Reference::Unknown)) => {
                    return Err(AtomError::Form("an entity is not defined"));
                }
                Some(Node::Element(_)) => {
                    spoilt.get_or_insert(RawValue::NoScalar);
                    self.skip()?;
                }
            }
        }
        Ok(spoilt.unwrap_or(RawValue::Text(text)))
    }

    /// Returns the next element inside the current one, or in the document; text between elements is ignored.
    fn element(&mut self) -> Result<Option<BytesStart<'de>>, AtomError> {
        loop {
            match self.node()? {
                Some(Node::Element(element)) => return Ok(Some(element)),
                Some(Node::Text(text)) if self.depth > 0 || text.trim().is_empty() => {}
                Some(Node::Reference(_)) if self.depth > 0 => {}
                Some(Node::Text(_) | Node::Reference(_)) => {
                    return Err(AtomError::Form("there is text outside of the document"));
                }
                Some(Node::End) | None => return Ok(None),
            }
        }
    }

    /// Skips the rest of the current element.
    fn skip(&mut self) -> Result<(), AtomError> {
        let outer = self.depth - 1;
        while self.depth > outer {
            self.node()?;
        }
        Ok(())
    }

    /// Returns the next node; `None` at the end of the document.
    fn node(&mut self) -> Result<Option<Node<'de>>, AtomError> {
        loop {
            let node = match self.xml.read_event()? {
                Event::Start(start) => {
                    self.depth += 1;
                    if self.depth > MAX_DEPTH {
                        return Err(AtomError::Form("elements are nested too deeply"));
                    }
                    Node::Element(start)
                }
                Event::End(_) => {
                    self.depth = self.depth.saturating_sub(1);
                    Node::End
                }
                Event::Text(text) => Node::Text(text.xml10_content()),
                Event::CData(text) => Node::Text(text.xml10_content()),
                Event::GeneralRef(reference) => Node::Reference(xml::resolve(&reference)),
                // A DOCTYPE can define entities that expand without end, and the protocol does not use them.
                Event::DocType(_) => return Err(AtomError::Form("a DOCTYPE is not accepted")),
                Event::Eof if self.depth > 0 => {
                    return Err(AtomError::Form("the body is truncated"));
                }
                Event::Eof => return Ok(None),
                Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) => continue,
            };
            return Ok(Some(node));
        }
    }

    fn is(&self, element: &BytesStart<'_>, space: Space, name: &str) -> bool {
        let (resolved, local) = self.xml.resolver().resolve_element(element.name());
        local.as_ref() == name && Space::of(&resolved) == space
    }

    /// An attribute in the namespace of metadata.
    fn metadata(&self, element: &BytesStart<'_>, name: &str) -> Result<Option<String>, AtomError> {
        let mut attributes = element.attributes();
        // The check for duplicates would compare each with all others.
        for attribute in attributes.with_checks(false) {
            let attribute = attribute.map_err(quick_xml::Error::from)?;
            if attribute.key.local_name().as_ref() != name {
                continue;
            }
            let (resolved, _) = self.xml.resolver().resolve_attribute(attribute.key);
            if Space::of(&resolved) == Space::Metadata {
                let value = attribute.normalized_value(XmlVersion::Implicit1_0)?;
                return Ok(Some(value.into_owned()));
            }
        }
        Ok(None)
    }
}

/// The slot of the property with this name; `None` if it is not read.
fn place<'r, 'de>(
    row: &'r mut Row<'de>,
    name: &str,
) -> Result<Option<&'r mut RawProperty<'de>>, AtomError> {
    match row.find(name) {
        Some(slot) => Ok(Some(row.slot(slot))),
        None if !row.keeps_others() => Ok(None),
        None if row.other_count() >= MAX_OTHERS => {
            Err(AtomError::Form("an entity has too many properties"))
        }
        None => Ok(Some(row.other(Cow::Owned(name.to_owned())))),
    }
}

/// White space around any value except a String is insignificant, and also inside Base64.
fn collapsed(text: Cow<'_, str>, ty: EdmType) -> Cow<'_, str> {
    const BLANK: [char; 4] = [' ', '\t', '\r', '\n'];
    match ty {
        EdmType::String => text,
        EdmType::Binary if text.contains(BLANK) => Cow::Owned(text.replace(BLANK, "")),
        _ => match text {
            Cow::Borrowed(text) => Cow::Borrowed(text.trim_matches(BLANK)),
            Cow::Owned(text) => Cow::Owned(text.trim_matches(BLANK).to_owned()),
        },
    }
}
