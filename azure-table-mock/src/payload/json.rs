//! Bodies in JSON.

use super::{Payload, PayloadItem};
use crate::failure::Failure;
use crate::json::{push_member, push_text};
use crate::select::Select;
use crate::store::{StoredEntity, VersionText};
use crate::wire::Metadata;

pub(super) fn failure(failure: &Failure, message: &str) -> Vec<u8> {
    let mut body = b"{\"odata.error\":{\"code\":".to_vec();
    push_text(&mut body, &failure.code);
    body.extend_from_slice(b",\"message\":{\"lang\":\"en-US\",\"value\":");
    push_text(&mut body, message);
    body.extend_from_slice(b"}}}");
    body
}

impl Payload<'_> {
    pub(super) fn json_one(&self, out: &mut Vec<u8>, level: Metadata, item: PayloadItem<'_>) {
        self.open(out, level, "/@Element");
        self.members(out, level, item);
        out.push(b'}');
    }

    pub(super) fn json_open_page(&self, out: &mut Vec<u8>, level: Metadata) {
        self.open(out, level, "");
        out.extend_from_slice(b"\"value\":[");
    }

    pub(super) fn json_push(
        &self,
        out: &mut Vec<u8>,
        level: Metadata,
        item: PayloadItem<'_>,
        is_first: bool,
    ) {
        out.extend_from_slice(if is_first { b"{" } else { b",{" });
        self.members(out, level, item);
        out.push(b'}');
    }

    /// Writes the start of a body: `{"odata.metadata":"…#Blogs…",`.
    fn open(&self, out: &mut Vec<u8>, level: Metadata, element: &str) {
        out.push(b'{');
        if level != Metadata::None {
            let select = Select::suffix(self.select);
            let path = ["/$metadata#", self.set, element, &select].concat();
            push_member(out, "odata.metadata", &self.base_url.absolute(&path));
        }
    }

    /// Writes the members of an item, without braces.
    fn members(&self, out: &mut Vec<u8>, level: Metadata, item: PayloadItem<'_>) {
        let start = out.len();
        match item {
            PayloadItem::Entity(partition_key, entity) => {
                let version = entity.version.text();
                self.annotations(out, level, item, Some(&version));
                self.properties(out, level, partition_key, entity, &version);
            }
            PayloadItem::Table(name) => {
                self.annotations(out, level, item, None);
                push_member(out, "TableName", name);
            }
        }
        // Remove the comma of the last member.
        if out.len() > start {
            out.pop();
        }
    }

    fn annotations(
        &self,
        out: &mut Vec<u8>,
        level: Metadata,
        item: PayloadItem<'_>,
        version: Option<&VersionText>,
    ) {
        let path = (level == Metadata::Full).then(|| self.path(item));
        if let Some(path) = &path {
            push_member(out, "odata.type", &self.type_name());
            push_member(out, "odata.id", &self.base_url.absolute(path));
        }
        if level != Metadata::None
            && let Some(version) = version
        {
            push_etag(out, version);
        }
        if let Some(path) = &path {
            push_member(out, "odata.editLink", &path[1..]);
        }
    }

    fn properties(
        &self,
        out: &mut Vec<u8>,
        level: Metadata,
        partition_key: &str,
        entity: &StoredEntity,
        version: &VersionText,
    ) {
        let properties = entity.properties();
        let Some(select) = self.select.filter(|select| !select.is_all()) else {
            push_key(out, "\"PartitionKey\":", partition_key);
            push_key(out, "\"RowKey\":", entity.row_key());
            push_timestamp(out, level, version);
            properties.push_to(out, level != Metadata::None);
            return;
        };
        for (name, member) in select.names().zip(select.members(properties)) {
            match (name, member) {
                ("PartitionKey", _) => push_key(out, "\"PartitionKey\":", partition_key),
                ("RowKey", _) => push_key(out, "\"RowKey\":", entity.row_key()),
                ("Timestamp", _) => push_timestamp(out, level, version),
                (_, Some(member)) => member.push_to(out, level != Metadata::None),
                (_, None) => {
                    push_text(out, name);
                    out.extend_from_slice(b":null,");
                }
            }
        }
    }
}

/// Writes a key and its name, which has its quotes and its colon.
fn push_key(out: &mut Vec<u8>, name: &str, key: &str) {
    push(out, name);
    push_text(out, key);
    out.push(b',');
}

fn push(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

fn push_etag(out: &mut Vec<u8>, version: &VersionText) {
    out.extend_from_slice(br#""odata.etag":"W/\""#);
    version.push_tag(out);
    out.extend_from_slice(br#"\"","#);
}

fn push_timestamp(out: &mut Vec<u8>, level: Metadata, version: &VersionText) {
    if level == Metadata::Full {
        push(out, "\"Timestamp@odata.type\":\"Edm.DateTime\",");
    }
    push(out, "\"Timestamp\":\"");
    out.extend_from_slice(version.as_bytes());
    push(out, "\",");
}
