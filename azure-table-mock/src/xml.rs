//! XML documents of the service: strict reading, and writing with a byte order mark.

use crate::failure::Failure;
use crate::wire::xml_tree::{Element, XmlWriter};

/// Returns the children of an element with this name and without text.
pub(super) fn children<'e>(element: &'e Element, name: &str) -> Result<&'e [Element], Failure> {
    let is_valid = element.name == name && element.text.trim().is_empty();
    is_valid.then_some(&*element.children).ok_or_else(Failure::invalid_xml)
}

/// Returns the children with these names. Duplicates and other children are errors.
pub(super) fn fields<'e, const N: usize>(
    element: &'e Element,
    names: [&str; N],
) -> Result<[Option<&'e Element>; N], Failure> {
    let mut fields = [None; N];
    for child in children(element, &element.name)? {
        let index = names.iter().position(|name| *name == child.name);
        let field = index.map(|index| &mut fields[index]).filter(|field| field.is_none());
        *field.ok_or_else(Failure::invalid_xml)? = Some(child);
    }
    Ok(fields)
}

/// Returns the text of an element without children.
pub(super) fn leaf(element: &Element) -> Result<&str, Failure> {
    element.children.is_empty().then_some(&*element.text).ok_or_else(Failure::invalid_xml)
}

/// Writes a document with this root element.
pub(super) fn document(root: &str, content: impl FnOnce(&mut XmlWriter)) -> Vec<u8> {
    let mut document = XmlWriter::new();
    document.element(root, content);
    ["\u{feff}".as_bytes(), &document.into_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_and_duplicate_elements_and_mixed_text_are_refused() {
        let read = |text: &str| Element::read(text.as_bytes()).unwrap();
        let root = read("<A> <B>b</B><C/></A>");
        let [c, b, missing] = fields(&root, ["C", "B", "D"]).unwrap();
        assert_eq!((leaf(b.unwrap()), leaf(c.unwrap())), (Ok("b"), Ok("")));
        assert!(missing.is_none() && leaf(&root).is_err());
        assert!(fields(&root, ["B"]).is_err(), "C is unknown");
        assert!(fields(&read("<A><B/><B/></A>"), ["B"]).is_err(), "duplicate");
        assert!(fields(&read("<A>x<B/></A>"), ["B"]).is_err(), "text next to elements");
        assert!(children(&root, "B").is_err(), "another name");
    }
}
