//! Bodies of Cosmos DB in JSON.
//!
//! Unlike in Azure Storage, a time has seven digits after the point, the Timestamp is the last property, the
//! metadata of a page follow its rows, and text outside of ASCII is not escaped.

use super::{Payload, PayloadItem};
use crate::edm::EdmCow;
use crate::json::push_member;
use crate::row::Member;
use crate::store::StoredEntity;
use crate::wire::Metadata;

pub(super) fn open_page(out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"value\":[");
}

impl Payload<'_> {
    pub(super) fn cosmos_one(&self, out: &mut Vec<u8>, level: Metadata, item: PayloadItem<'_>) {
        out.push(b'{');
        match item {
            PayloadItem::Entity(partition_key, entity) => {
                self.links(out, level, item);
                let path = format!("/{0}/$metadata#{0}/@Element", self.set);
                self.metadata(out, level, &path);
                self.entity(out, level, partition_key, entity);
            }
            PayloadItem::Table(_) => {
                self.item(out, level, item);
                self.metadata(out, level, &format!("/$metadata#{}/@Element", self.set));
            }
        }
        close(out);
    }

    pub(super) fn cosmos_push(
        &self,
        out: &mut Vec<u8>,
        level: Metadata,
        item: PayloadItem<'_>,
        is_first: bool,
    ) {
        out.extend_from_slice(if is_first { b"{" } else { b",{" });
        self.item(out, level, item);
        close(out);
    }

    pub(super) fn cosmos_close_page(&self, out: &mut Vec<u8>, level: Metadata) {
        out.extend_from_slice(b"],");
        self.metadata(out, level, &format!("/$metadata#{}", self.set));
        close(out);
    }

    fn item(&self, out: &mut Vec<u8>, level: Metadata, item: PayloadItem<'_>) {
        self.links(out, level, item);
        match item {
            PayloadItem::Entity(partition_key, entity) => {
                self.entity(out, level, partition_key, entity);
            }
            PayloadItem::Table(name) => push(out, "TableName", name),
        }
    }

    fn metadata(&self, out: &mut Vec<u8>, level: Metadata, path: &str) {
        if level != Metadata::None {
            push_member(out, "odata.metadata", &self.base_url.absolute(path));
        }
    }

    fn links(&self, out: &mut Vec<u8>, level: Metadata, item: PayloadItem<'_>) {
        if level == Metadata::Full {
            let path = self.path(item);
            push_member(out, "odata.type", &self.type_name());
            push_member(out, "odata.id", &self.base_url.absolute(&path));
            push_member(out, "odata.editLink", &path[1..]);
        }
    }

    fn entity(
        &self,
        out: &mut Vec<u8>,
        level: Metadata,
        partition_key: &str,
        entity: &StoredEntity,
    ) {
        if level != Metadata::None {
            push_member(out, "odata.etag", &entity.version.etag_in(self.dialect));
        }
        let timestamp = |out: &mut Vec<u8>| {
            if level == Metadata::Full {
                push_member(out, "Timestamp@odata.type", "Edm.DateTime");
            }
            push_member(out, "Timestamp", entity.version.text_in(self.dialect).as_str());
        };
        let Some(select) = self.select.filter(|select| !select.is_all()) else {
            push(out, "PartitionKey", partition_key);
            push(out, "RowKey", entity.row_key());
            entity.properties().members().for_each(|member| push_value(out, level, &member));
            timestamp(out);
            return;
        };
        for (name, member) in select.names().zip(select.members(entity.properties())) {
            match (name, member) {
                ("PartitionKey", _) => push(out, "PartitionKey", partition_key),
                ("RowKey", _) => push(out, "RowKey", entity.row_key()),
                ("Timestamp", _) => timestamp(out),
                (_, Some(member)) => push_value(out, level, &member),
                (name, None) if name.contains(' ') => {
                    push_text(out, name);
                    out.extend_from_slice(b":null,");
                }
                // Any other property that the row does not have is left out.
                (_, None) => {}
            }
        }
    }
}

/// Writes a property of a row and a comma.
fn push_value(out: &mut Vec<u8>, level: Metadata, member: &Member<'_>) {
    let is_typed = level != Metadata::None;
    match member.read() {
        Some(EdmCow::String(text)) => push(out, &member.name(), &text),
        Some(EdmCow::DateTime(time)) => {
            let name = member.name();
            if is_typed {
                push(out, &format!("{name}@odata.type"), "Edm.DateTime");
            }
            push(out, &name, std::str::from_utf8(&time.text()).unwrap_or_default());
        }
        _ => member.push_to(out, is_typed),
    }
}

/// `"Name":"text",`
fn push(out: &mut Vec<u8>, name: &str, text: &str) {
    push_text(out, name);
    out.push(b':');
    push_text(out, text);
    out.push(b',');
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    // Writing to a Vec cannot fail.
    let _ = serde_json::to_writer(out, text);
}

/// Replaces the comma of the last member by the end of the object.
fn close(out: &mut Vec<u8>) {
    if out.last() == Some(&b',') {
        out.pop();
    }
    out.push(b'}');
}
