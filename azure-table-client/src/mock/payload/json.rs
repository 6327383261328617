//! Bodies in JSON.

use super::super::failure::Failure;
use super::super::handlers::Select;
use super::super::json::{push_member, push_text};
use super::super::store::{StoredEntity, Version};
use super::{Item, Payload};
use crate::wire::Metadata;

pub(super) fn failure(failure: &Failure, message: &str) -> Vec<u8> {
    let mut body = b"{\"odata.error\":{\"code\":".to_vec();
    push_text(&mut body, failure.code);
    body.extend_from_slice(b",\"message\":{\"lang\":\"en-US\",\"value\":");
    push_text(&mut body, message);
    body.extend_from_slice(b"}}}");
    body
}

impl Payload<'_> {
    pub(super) fn json_one(&self, out: &mut Vec<u8>, level: Metadata, item: Item<'_>) {
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
        item: Item<'_>,
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
    fn members(&self, out: &mut Vec<u8>, level: Metadata, item: Item<'_>) {
        let start = out.len();
        if level == Metadata::Full {
            let path = self.path(item);
            push_member(out, "odata.type", &self.type_name());
            push_member(out, "odata.id", &self.base_url.absolute(&path));
            if let Item::Entity(_, entity) = item {
                push_etag(out, &entity.version);
            }
            push_member(out, "odata.editLink", &path[1..]);
        } else if level == Metadata::Minimal
            && let Item::Entity(_, entity) = item
        {
            push_etag(out, &entity.version);
        }
        match item {
            Item::Entity(keys, entity) => self.properties(out, level, keys, entity),
            Item::Table(name) => push_member(out, "TableName", name),
        }
        // Remove the comma of the last member.
        if out.len() > start {
            out.pop();
        }
    }

    fn properties(
        &self,
        out: &mut Vec<u8>,
        level: Metadata,
        (partition_key, row_key): (&str, &str),
        entity: &StoredEntity,
    ) {
        let Some(names) = self.select.and_then(Select::names) else {
            push_member(out, "PartitionKey", partition_key);
            push_member(out, "RowKey", row_key);
            push_timestamp(out, level, &entity.version);
            let properties = &entity.properties;
            if level == Metadata::None {
                properties.members().for_each(|member| push(out, member.text(false)));
            } else {
                push(out, properties.text());
            }
            return;
        };
        for name in names {
            match name.as_str() {
                "PartitionKey" => push_member(out, name, partition_key),
                "RowKey" => push_member(out, name, row_key),
                "Timestamp" => push_timestamp(out, level, &entity.version),
                _ => match entity.properties.member(name) {
                    Some(member) => push(out, member.text(level != Metadata::None)),
                    None => {
                        push_text(out, name);
                        out.extend_from_slice(b":null,");
                    }
                },
            }
        }
    }
}

fn push(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

fn push_etag(out: &mut Vec<u8>, version: &Version) {
    out.extend_from_slice(br#""odata.etag":"W/\""#);
    version.push_tag(out);
    out.extend_from_slice(br#"\"","#);
}

fn push_timestamp(out: &mut Vec<u8>, level: Metadata, version: &Version) {
    if level == Metadata::Full {
        push_member(out, "Timestamp@odata.type", "Edm.DateTime");
    }
    push_member(out, "Timestamp", version.text());
}
