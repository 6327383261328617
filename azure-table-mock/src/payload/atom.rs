//! Bodies in Atom. The elements are in the order of the service's documentation.

use std::io::Write as _;

use super::{Payload, PayloadItem};
use crate::edm::EdmType;
use crate::failure::Failure;
use crate::store::StoredEntity;
use crate::wire::atom::write::{property, typed};
use crate::wire::atom::{ATOM, DATA, METADATA};
use crate::wire::xml;

pub(super) fn failure(failure: &Failure, message: &str) -> Vec<u8> {
    let mut body = xml::DECLARATION.to_vec();
    // Writing to a Vec cannot fail.
    let _ = write!(
        body,
        "<error xmlns=\"{METADATA}\"><code>{}</code><message xml:lang=\"en-US\">",
        failure.code
    );
    xml::push_text(&mut body, message);
    body.extend_from_slice(b"</message></error>");
    body
}

pub(super) fn close_page(out: &mut Vec<u8>, is_empty: bool) {
    if is_empty {
        // An empty feed has an author, which otherwise is in its entries.
        out.extend_from_slice(b"<author><name /></author>");
    }
    out.extend_from_slice(b"</feed>");
}

impl Payload<'_> {
    pub(super) fn atom_one(&self, out: &mut Vec<u8>, item: PayloadItem<'_>) {
        out.extend_from_slice(xml::DECLARATION);
        self.entry(out, item, true);
    }

    pub(super) fn atom_push(&self, out: &mut Vec<u8>, item: PayloadItem<'_>) {
        self.entry(out, item, false);
    }

    pub(super) fn atom_open_page(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(xml::DECLARATION);
        out.extend_from_slice(b"<feed");
        self.push_namespaces(out);
        let set = self.set;
        // Table names need no escapes.
        let _ = write!(out, "><title type=\"text\">{set}</title><id>");
        xml::push_text(out, &self.base_url.absolute(&format!("/{set}")));
        out.extend_from_slice(b"</id>");
        self.push_updated(out);
        let _ = write!(out, "<link rel=\"self\" title=\"{set}\" href=\"{set}\" />");
    }

    fn entry(&self, out: &mut Vec<u8>, item: PayloadItem<'_>, is_root: bool) {
        out.extend_from_slice(b"<entry");
        if is_root {
            self.push_namespaces(out);
        }
        if let PayloadItem::Entity(_, entity) = item {
            out.extend_from_slice(b" m:etag=\"");
            push_attribute(out, &entity.version.etag());
            out.push(b'"');
        }
        let path = self.path(item);
        out.extend_from_slice(b"><id>");
        xml::push_text(out, &self.base_url.absolute(&path));
        out.extend_from_slice(b"</id><title type=\"text\"></title>");
        self.push_updated(out);
        let _ = write!(
            out,
            "<author><name /></author><link rel=\"edit\" title=\"{}\" href=\"",
            self.set
        );
        push_attribute(out, &path[1..]);
        let _ = write!(
            out,
            "\" /><category term=\"{}\" scheme=\"{DATA}/scheme\" /><content \
             type=\"application/xml\"><m:properties>",
            self.type_name()
        );
        match item {
            PayloadItem::Entity(partition_key, entity) => {
                self.push_properties(out, partition_key, entity);
            }
            PayloadItem::Table(name) => typed(out, "TableName", EdmType::String, name),
        }
        out.extend_from_slice(b"</m:properties></content></entry>");
    }

    fn push_properties(&self, out: &mut Vec<u8>, partition_key: &str, entity: &StoredEntity) {
        let system = |out: &mut Vec<u8>, name: &str| match name {
            "PartitionKey" => typed(out, name, EdmType::String, partition_key),
            "RowKey" => typed(out, name, EdmType::String, entity.row_key()),
            _ => typed(out, name, EdmType::DateTime, entity.version.text().as_str()),
        };
        let Some(select) = self.select.filter(|select| !select.is_all()) else {
            for name in ["PartitionKey", "RowKey", "Timestamp"] {
                system(out, name);
            }
            for member in entity.properties().members() {
                if let Some(value) = member.read() {
                    property(out, &member.name(), &value);
                }
            }
            return;
        };
        let members = select.members(entity.properties());
        for (name, member) in select.names().zip(members) {
            if matches!(name, "PartitionKey" | "RowKey" | "Timestamp") {
                system(out, name);
                continue;
            }
            match member.and_then(|member| member.read()) {
                Some(value) => property(out, name, &value),
                None => _ = write!(out, "<d:{name} m:null=\"true\" />"),
            }
        }
    }

    fn push_namespaces(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b" xml:base=\"");
        push_attribute(out, &self.base_url.absolute("/"));
        let _ = write!(out, "\" xmlns:d=\"{DATA}\" xmlns:m=\"{METADATA}\" xmlns=\"{ATOM}\"");
    }

    /// Writes the time of the response, to the second.
    fn push_updated(&self, out: &mut Vec<u8>) {
        let text = self.clock.edm_now().to_string();
        let seconds = text.split('.').next().unwrap_or_default();
        let _ = write!(out, "<updated>{seconds}Z</updated>");
    }
}

/// Writes the value of an attribute in double quotes.
fn push_attribute(out: &mut Vec<u8>, text: &str) {
    let is_special = |byte| matches!(byte, b'&' | b'<' | b'>' | b'"') || byte < b' ';
    xml::push_escaped(out, text, is_special);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_escaped() {
        let mut out = Vec::new();
        push_attribute(&mut out, "a<b>&\"'\r\n\t\u{1}é\u{fffe}\u{fffd}\u{ffff}\u{f000}");
        let expected =
            "a&lt;b&gt;&amp;&quot;'&#xD;&#xA;&#x9;&#x1;é&#xFFFE;\u{fffd}&#xFFFF;\u{f000}";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
