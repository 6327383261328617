//! Answers as the service writes them.

use std::time::SystemTime;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::failure::Failure;
use super::json::{push_member, push_text};
use super::request::{Incoming, Preference};
use super::store::{StoredEntity, StoredKey, Version};
use crate::edm::EdmDateTime;
use crate::transport::HttpResponse;
use crate::wire::{Metadata, encoding, headers};

/// An answer in the making.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    /// Whether it is an answer in a format of OData, or one of none.
    pub(super) is_odata: bool,
}

/// A row with its keys.
pub(super) type EntityAt<'r> = ((&'r str, &'r str), &'r StoredEntity);

/// Where the addresses in an answer begin.
pub(super) struct Addresses<'a> {
    /// `http://host:port`
    pub(super) origin: &'a str,
    pub(super) account: &'a str,
    /// What follows the account's name in addresses.
    pub(super) suffix: &'static str,
}

impl Reply {
    pub(super) fn new(status: StatusCode, body: Vec<u8>) -> Self {
        Self { status, headers: HeaderMap::new(), body, is_odata: true }
    }

    pub(super) fn no_content() -> Self {
        let mut reply = Self::new(StatusCode::NO_CONTENT, Vec::new());
        reply.headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
        reply
    }

    /// An answer without a body, about the service or about policies.
    pub(super) fn of_service(status: StatusCode) -> Self {
        Self { status, is_odata: false, ..Self::no_content() }
    }

    /// A document that is XML whatever format is asked for.
    pub(super) fn xml(body: Vec<u8>) -> Self {
        let mut reply = Self { is_odata: false, ..Self::new(StatusCode::OK, body) };
        reply.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/xml"));
        reply
    }

    pub(super) fn json(status: StatusCode, level: Metadata, body: Vec<u8>) -> Self {
        let mut reply = Self::new(status, body);
        let kind = HeaderValue::from_static(match level {
            Metadata::None => "application/json;odata=nometadata;streaming=true;charset=utf-8",
            Metadata::Minimal => {
                "application/json;odata=minimalmetadata;streaming=true;charset=utf-8"
            }
            Metadata::Full => "application/json;odata=fullmetadata;streaming=true;charset=utf-8",
        });
        reply.headers.insert(header::CONTENT_TYPE, kind);
        reply
    }

    /// A refusal in JSON at this level, or in XML.
    pub(super) fn failure(
        failure: &Failure,
        level: Option<Metadata>,
        request_id: &str,
        now: EdmDateTime,
    ) -> Self {
        let message = format!("{}\nRequestId:{request_id}\nTime:{now}", failure.message);
        match level {
            Some(level) => {
                let mut body = b"{\"odata.error\":{\"code\":".to_vec();
                push_text(&mut body, failure.code);
                body.extend_from_slice(b",\"message\":{\"lang\":\"en-US\",\"value\":");
                push_text(&mut body, &message);
                body.extend_from_slice(b"}}}");
                Self::json(failure.status, level, body)
            }
            None => {
                let body = format!(
                    "<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"yes\"?>\
                     <error xmlns=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\">\
                     <code>{}</code><message xml:lang=\"en-US\">{}</message></error>",
                    failure.code,
                    quick_xml::escape::escape(&message)
                );
                let mut reply = Self::new(failure.status, body.into());
                reply
                    .headers
                    .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/xml"));
                reply
            }
        }
    }

    /// Sets a header; text that cannot stand in one is left out.
    pub(super) fn text_header(&mut self, name: header::HeaderName, text: &str) {
        if let Ok(value) = HeaderValue::from_str(text) {
            self.headers.insert(name, value);
        }
    }

    pub(super) fn preference_applied(&mut self, preference: Preference) {
        let applied = match preference {
            Preference::None => return,
            Preference::ReturnContent => "return-content",
            Preference::ReturnNoContent => "return-no-content",
        };
        let name = header::HeaderName::from_static("preference-applied");
        self.headers.insert(name, HeaderValue::from_static(applied));
    }

    /// What a POST adds: where the new thing is.
    pub(super) fn location(&mut self, address: &str, preference: Preference) {
        self.text_header(header::LOCATION, address);
        if preference == Preference::ReturnNoContent {
            self.text_header(header::HeaderName::from_static("dataserviceid"), address);
        }
    }

    /// The finished answer, with what every answer has.
    pub(super) fn finish(
        mut self,
        request: &Incoming<'_>,
        request_id: &str,
        now: SystemTime,
    ) -> HttpResponse {
        let map = &mut self.headers;
        if self.is_odata {
            map.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            map.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        }
        if let Some(version) = request.headers.get(&headers::X_MS_VERSION) {
            map.insert(&headers::X_MS_VERSION, version.clone());
        }
        let returns_id = request.headers.get("x-ms-return-client-request-id");
        if returns_id.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"true"))
            && let Some(id) = request.headers.get(&headers::X_MS_CLIENT_REQUEST_ID)
        {
            map.insert(&headers::X_MS_CLIENT_REQUEST_ID, id.clone());
        }
        self.text_header(headers::X_MS_REQUEST_ID.clone(), request_id);
        self.text_header(header::DATE, &headers::http_date(now));
        HttpResponse { status: self.status, headers: self.headers, body: Bytes::from(self.body) }
    }
}

impl Addresses<'_> {
    pub(super) fn entity(&self, table: &str, key: &StoredKey) -> String {
        self.absolute(&encoding::entity_path(table, &key.partition, &key.row))
    }

    pub(super) fn table(&self, table: &str) -> String {
        self.absolute(&encoding::table_resource(table))
    }

    /// The address of a path below the account.
    fn absolute(&self, path: &str) -> String {
        format!("{}/{}{}{path}", self.origin, self.account, self.suffix)
    }

    /// The beginning of a body up to its first member: `{"odata.metadata":"…#Blogs…",`.
    pub(super) fn open(&self, out: &mut Vec<u8>, level: Metadata, what: &str) {
        out.push(b'{');
        if level != Metadata::None {
            out.extend_from_slice(b"\"odata.metadata\":");
            push_text(out, &self.absolute(&format!("/$metadata#{what}")));
            out.push(b',');
        }
    }

    /// The members of an entity, without braces.
    pub(super) fn entity_members(
        &self,
        out: &mut Vec<u8>,
        level: Metadata,
        table: &str,
        ((partition_key, row_key), entity): EntityAt<'_>,
        select: Option<&[String]>,
    ) {
        let start = out.len();
        if level == Metadata::Full {
            let path = encoding::entity_path(table, partition_key, row_key);
            push_member(out, "odata.type", &format!("{}.{table}", self.account));
            push_member(out, "odata.id", &self.absolute(&path));
            push_etag(out, &entity.version);
            push_member(out, "odata.editLink", &path[1..]);
        } else if level == Metadata::Minimal {
            push_etag(out, &entity.version);
        }
        match select {
            None => {
                push_member(out, "PartitionKey", partition_key);
                push_member(out, "RowKey", row_key);
                push_timestamp(out, level, &entity.version);
                let properties = &entity.properties;
                if level == Metadata::None {
                    properties.members().for_each(|member| push(out, member.text(false)));
                } else {
                    push(out, properties.text());
                }
            }
            Some(names) => {
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
        // Every member ends with a comma; the last one must not.
        if out.len() > start {
            out.pop();
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
