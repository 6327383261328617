//! Answers as the service writes them.

use std::io::Write as _;
use std::time::SystemTime;

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::failure::Failure;
use super::order::StoredKey;
use super::request::{Incoming, Preference};
use super::store::StoredEntity;
use super::version::Version;
use crate::edm::{EdmDateTime, EdmValue};
use crate::transport::HttpResponse;
use crate::wire::{Metadata, encoding, headers};

/// An answer in the making.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// Where the addresses in an answer begin.
pub(super) struct Addresses<'a> {
    /// `http://host:port`
    pub(super) origin: &'a str,
    pub(super) account: &'a str,
}

impl Reply {
    pub(super) fn no_content() -> Self {
        let mut reply =
            Self { status: StatusCode::NO_CONTENT, headers: HeaderMap::new(), body: Vec::new() };
        reply.headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
        reply
    }

    pub(super) fn json(status: StatusCode, level: Metadata, body: Vec<u8>) -> Self {
        let mut reply = Self { status, headers: HeaderMap::new(), body };
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
                let mut reply =
                    Self { status: failure.status, headers: HeaderMap::new(), body: body.into() };
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
        map.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        map.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
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
        format!("{}/{}{path}", self.origin, self.account)
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
        (key, entity): (&StoredKey, &StoredEntity),
        select: Option<&[String]>,
    ) {
        let start = out.len();
        if level == Metadata::Full {
            let path = encoding::entity_path(table, &key.partition, &key.row);
            push_member(out, "odata.type", &format!("{}.{table}", self.account));
            push_member(out, "odata.id", &self.absolute(&path));
            push_etag(out, &entity.version);
            push_member(out, "odata.editLink", &path[1..]);
        } else if level == Metadata::Minimal {
            push_etag(out, &entity.version);
        }
        match select {
            None => {
                push_member(out, "PartitionKey", &key.partition);
                push_member(out, "RowKey", &key.row);
                push_timestamp(out, level, &entity.version);
                for (name, value) in &entity.properties {
                    push_property(out, level, name, value);
                }
            }
            Some(names) => {
                for name in names {
                    match name.as_str() {
                        "PartitionKey" => push_member(out, name, &key.partition),
                        "RowKey" => push_member(out, name, &key.row),
                        "Timestamp" => push_timestamp(out, level, &entity.version),
                        _ => match entity.properties.iter().find(|(known, _)| known == name) {
                            Some((_, value)) => push_property(out, level, name, value),
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

fn push_member(out: &mut Vec<u8>, name: &str, text: &str) {
    push_text(out, name);
    out.push(b':');
    push_text(out, text);
    out.push(b',');
}

fn push_etag(out: &mut Vec<u8>, version: &Version) {
    push_member(out, "odata.etag", &version.etag());
}

fn push_timestamp(out: &mut Vec<u8>, level: Metadata, version: &Version) {
    if level == Metadata::Full {
        push_member(out, "Timestamp@odata.type", "Edm.DateTime");
    }
    push_member(out, "Timestamp", version.text());
}

/// A property, annotated where JSON does not show its type.
fn push_property(out: &mut Vec<u8>, level: Metadata, name: &str, value: &EdmValue) {
    let shows = match value {
        EdmValue::String(_) | EdmValue::Boolean(_) | EdmValue::Int32(_) => true,
        EdmValue::Double(value) => value.is_finite(),
        _ => false,
    };
    if level != Metadata::None && !shows {
        push_text(out, name);
        out.pop();
        let _ = write!(out, "@odata.type\":\"{}\",", value.edm_type());
    }
    push_text(out, name);
    out.push(b':');
    // Writing to a Vec cannot fail.
    let _ = match value {
        EdmValue::String(text) => {
            push_text(out, text);
            Ok(())
        }
        EdmValue::Boolean(value) => write!(out, "{value}"),
        EdmValue::Int32(value) => write!(out, "{value}"),
        EdmValue::Int64(value) => write!(out, "\"{value}\""),
        EdmValue::Double(value) if value.is_nan() => write!(out, "\"NaN\""),
        EdmValue::Double(value) if value.is_infinite() => {
            write!(out, "\"{}Infinity\"", if *value < 0.0 { "-" } else { "" })
        }
        // Debug keeps the fraction: 3.0.
        EdmValue::Double(value) => write!(out, "{value:?}"),
        EdmValue::DateTime(value) => write!(out, "\"{}\"", value.trimmed()),
        EdmValue::Guid(value) => write!(out, "\"{value}\""),
        EdmValue::Binary(bytes) => write!(out, "\"{}\"", Base64Display::new(bytes, &STANDARD)),
    };
    out.push(b',');
}

/// A JSON string; what is no ASCII is escaped, as the service does it.
pub(super) fn push_text(out: &mut Vec<u8>, text: &str) {
    if text.is_ascii() {
        // Writing to a Vec cannot fail.
        let _ = serde_json::to_writer(out, text);
        return;
    }
    out.push(b'"');
    let mut units = [0; 2];
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend_from_slice(&[b'\\', character as u8]),
            ' '..='~' => out.push(character as u8),
            _ => {
                for unit in character.encode_utf16(&mut units) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_reads_the_same() {
        for text in ["plain", "a\"b\\c\n\u{1}", "é \u{1f600} \"\\\u{7f}\u{85}", ""] {
            let mut out = Vec::new();
            push_text(&mut out, text);
            assert!(out.is_ascii());
            assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }
    }
}
