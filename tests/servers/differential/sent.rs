//! Requests before they are written for one of the two services, since each service has its own
//! ETags, tokens and address.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::SystemTime;

use azure_table_client::auth::DEVELOPMENT_KEY;
use azure_table_client::transport::HttpRequest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, HeaderName, HeaderValue, Method};

pub(super) const ACCOUNT: &str = "devstoreaccount1";
/// An ETag that no row ever has.
const NEVER: &str = "W/\"datetime'2001-01-01T00%3A00%3A00Z'\"";

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Row {
    pub(super) table: String,
    pub(super) partition: String,
    pub(super) key: String,
}

#[derive(Debug, Clone)]
pub(super) enum Resource {
    Tables,
    Table(String),
    Rows(String),
    Row(Row),
    Batch,
}

/// The value of `If-Match`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    None,
    Any,
    /// The last ETag that the service returned for the row.
    Present,
    /// An ETag that the row had earlier, or never had.
    Old,
    Text(&'static str),
}

#[derive(Debug, Clone)]
pub(super) enum Payload {
    None,
    Json(String),
    /// A document that is not JSON, or not UTF-8.
    Bytes(Vec<u8>),
    Changeset(Vec<Sent>),
    /// A changeset whose text is changed.
    Damaged(&'static Damage, Vec<Sent>),
    /// Separate operations; a batch allows only one query.
    Single(Vec<Sent>),
}

/// A change of the text of a batch.
#[derive(Debug)]
pub(super) struct Damage {
    /// Another `Content-Type` of the request.
    pub(super) content_type: Option<&'static str>,
    pub(super) apply: fn(&str) -> String,
}

/// Unusual parts of a request, by which the table of differences recognizes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Odd {
    /// A filter that compares a missing property or another type.
    Types,
    /// A filter that compares with a literal of another type, whose text or value is a stored one.
    Cast,
    /// A filter that orders Binary or Guid.
    Order,
    /// A filter with another spelling of a literal or an operator.
    Spelling,
    /// A filter that cannot be parsed.
    Filter,
    /// A text for which no source states whether it is valid.
    Doubtful,
    /// A `$top` that is not a number from 1 to 1,000.
    Top,
    Timeout,
    /// An unusual `Accept` or `$format`.
    Accept,
    ContentType,
    /// An unusual `x-ms-version`.
    Version,
    DataServiceVersion,
    /// An invalid table name.
    Name,
    /// An invalid property, key or body.
    Body,
    /// A valid value in another form than in a response.
    Value,
    /// An invalid text of a batch.
    Batch,
}

#[derive(Debug, Clone)]
pub(super) struct Sent {
    pub(super) verb: &'static str,
    pub(super) resource: Resource,
    pub(super) query: Vec<(&'static str, String)>,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) condition: Condition,
    pub(super) payload: Payload,
    /// Whether the tokens of the last page are sent.
    pub(super) continues: bool,
    /// The row that is written or read, also if only the body names it.
    pub(super) row: Option<Row>,
    pub(super) odd: Vec<Odd>,
}

impl Sent {
    pub(super) fn new(verb: &'static str, resource: Resource) -> Self {
        let row = match &resource {
            Resource::Row(row) => Some(row.clone()),
            _ => None,
        };
        Self {
            verb,
            resource,
            query: Vec::new(),
            headers: Vec::new(),
            condition: Condition::None,
            payload: Payload::None,
            continues: false,
            row,
            odd: Vec::new(),
        }
    }

    pub(super) fn is(&self, odd: Odd) -> bool {
        self.odd.contains(&odd) || self.parts().iter().any(|part| part.is(odd))
    }

    pub(super) fn is_odd(&self) -> bool {
        !self.odd.is_empty() || self.parts().iter().any(Self::is_odd)
    }

    pub(super) fn parts(&self) -> &[Self] {
        match &self.payload {
            Payload::Changeset(parts) | Payload::Damaged(_, parts) | Payload::Single(parts) => {
                parts
            }
            _ => &[],
        }
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| &**value)
    }

    pub(super) fn option(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| *known == name).map(|(_, value)| &**value)
    }

    /// The intended method.
    pub(super) fn meant(&self) -> &str {
        self.header("x-http-method").unwrap_or(self.verb)
    }

    /// The method in `X-HTTP-Method`, where it is allowed.
    fn tunnelled(&self) -> Option<&str> {
        let is_allowed = |verb: &&str| ["MERGE", "PUT", "DELETE", "PATCH"].contains(verb);
        self.header("x-http-method").filter(|_| self.verb == "POST").filter(is_allowed)
    }

    /// The rows that are written.
    pub(super) fn written(&self) -> Vec<&Row> {
        let own = if self.meant() == "GET" { None } else { self.row.as_ref() };
        self.parts().iter().flat_map(Self::written).chain(own).collect()
    }

    /// The table to which the token of a page belongs.
    pub(super) fn paged(&self) -> Option<&str> {
        match (&self.resource, self.verb) {
            (Resource::Tables, "GET") => Some("Tables"),
            (Resource::Rows(table), "GET") => Some(table),
            _ => None,
        }
    }
}

/// One of the services, and the ETags and tokens that it returned.
#[derive(Debug)]
pub(super) struct Service {
    /// `http://host:port/account`
    pub(super) base: String,
    /// Whether the service supports `X-HTTP-Method`; otherwise the intended method is sent.
    tunnels: bool,
    pub(super) etags: BTreeMap<Row, Vec<String>>,
    pub(super) tokens: BTreeMap<String, Vec<(String, String)>>,
}

impl Service {
    pub(super) fn new(base: impl Into<String>, tunnels: bool) -> Self {
        Self { base: base.into(), tunnels, etags: BTreeMap::new(), tokens: BTreeMap::new() }
    }

    /// The signed request for this service.
    pub(super) fn write(&self, sent: &Sent) -> HttpRequest {
        let mut url = format!("{}{}", self.base, path(&sent.resource));
        let mut options: Vec<(String, String)> =
            sent.query.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        if let (true, Some(paged)) = (sent.continues, sent.paged()) {
            options.extend(self.tokens.get(paged).cloned().unwrap_or_default());
        }
        for (index, (name, value)) in options.iter().enumerate() {
            let sign = if index == 0 { '?' } else { '&' };
            write!(url, "{sign}{}={}", encoded(name), encoded(value)).unwrap();
        }
        let mut headers = HeaderMap::new();
        let mut set = |name: &str, value: &str| {
            let name: HeaderName = name.parse().unwrap();
            headers.insert(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        };
        set("x-ms-version", "2019-02-02");
        set("accept", "application/json;odata=minimalmetadata");
        set("dataserviceversion", "3.0;");
        let body = self.body(sent);
        match &sent.payload {
            Payload::None => {}
            Payload::Json(_) | Payload::Bytes(_) => set("content-type", "application/json"),
            Payload::Damaged(Damage { content_type: Some(changed), .. }, _) => {
                set("content-type", changed);
            }
            _ => set("content-type", "multipart/mixed; boundary=batch_1"),
        }
        if let Some(tag) = self.condition(sent) {
            set("if-match", &tag);
        }
        let plain = sent.tunnelled().filter(|_| !self.tunnels);
        for (name, value) in &sent.headers {
            if plain.is_none() || *name != "x-http-method" {
                set(name, value);
            }
        }
        let date = httpdate::fmt_http_date(SystemTime::now());
        set("x-ms-date", &date);
        set("authorization", &authorization(&date, &url));
        let method = Method::from_bytes(plain.unwrap_or(sent.verb).as_bytes()).unwrap();
        let request = HttpRequest::new(method, url.parse().unwrap());
        HttpRequest { headers, body: Bytes::from(body), ..request }
    }

    fn condition(&self, sent: &Sent) -> Option<String> {
        let known = sent.row.as_ref().and_then(|row| self.etags.get(row));
        let tag = match sent.condition {
            Condition::None => return None,
            Condition::Any => "*",
            Condition::Text(text) => text,
            Condition::Present => {
                known.and_then(|etags| etags.last()).map_or(NEVER, String::as_str)
            }
            Condition::Old => match known.map(Vec::as_slice) {
                Some([old, .., _]) => old,
                _ => NEVER,
            },
        };
        Some(tag.to_owned())
    }

    fn body(&self, sent: &Sent) -> Vec<u8> {
        let boundary = |name: &str| format!("--{name}\r\n").into_bytes();
        match &sent.payload {
            Payload::None => Vec::new(),
            Payload::Json(text) => text.clone().into_bytes(),
            Payload::Bytes(bytes) => bytes.clone(),
            Payload::Single(parts) => {
                let parts =
                    parts.iter().map(|part| [boundary("batch_1"), self.part(part)].concat());
                [parts.collect::<Vec<_>>().concat(), b"--batch_1--\r\n".to_vec()].concat()
            }
            Payload::Changeset(parts) => {
                let head =
                    "--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_1\r\n\r\n";
                let parts =
                    parts.iter().map(|part| [boundary("changeset_1"), self.part(part)].concat());
                let end = b"--changeset_1--\r\n--batch_1--\r\n";
                [head.as_bytes(), &parts.collect::<Vec<_>>().concat(), end].concat()
            }
            Payload::Damaged(damage, parts) => {
                let sound = Sent { payload: Payload::Changeset(parts.clone()), ..sent.clone() };
                let text = String::from_utf8(self.body(&sound)).unwrap();
                (damage.apply)(&text).into_bytes()
            }
        }
    }

    /// An operation of a batch, after its boundary.
    fn part(&self, sent: &Sent) -> Vec<u8> {
        let url = format!("{}{}", self.base, path(&sent.resource));
        let mut part = format!(
            "Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
             {} {url} HTTP/1.1\r\nAccept: application/json;odata=minimalmetadata\r\n",
            sent.verb
        );
        if let Some(tag) = self.condition(sent) {
            write!(part, "If-Match: {tag}\r\n").unwrap();
        }
        for (name, value) in &sent.headers {
            write!(part, "{name}: {value}\r\n").unwrap();
        }
        let body = self.body(sent);
        if !matches!(sent.payload, Payload::None) {
            let length = body.len();
            write!(part, "Content-Type: application/json\r\nContent-Length: {length}\r\n").unwrap();
        }
        [part.as_bytes(), b"\r\n", &body, b"\r\n"].concat()
    }
}

fn path(resource: &Resource) -> String {
    match resource {
        Resource::Tables => "/Tables".into(),
        Resource::Table(name) => format!("/Tables('{}')", encoded(name)),
        Resource::Rows(table) => format!("/{}", encoded(table)),
        Resource::Row(Row { table, partition, key }) => {
            let key_of = |text: &str| encoded(&text.replace('\'', "''"));
            let (partition, key) = (key_of(partition), key_of(key));
            format!("/{}(PartitionKey='{partition}',RowKey='{key}')", encoded(table))
        }
        Resource::Batch => "/$batch".into(),
    }
}

fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~$".contains(&byte) {
            out.push(byte.into());
        } else {
            write!(out, "%{byte:02X}").unwrap();
        }
    }
    out
}

/// `SharedKeyLite`, signed here; both services check it.
fn authorization(date: &str, url: &str) -> String {
    let path = url.splitn(4, '/').nth(3).unwrap().split('?').next().unwrap();
    let text = format!("{date}\n/{ACCOUNT}/{path}");
    let key = STANDARD.decode(DEVELOPMENT_KEY).unwrap();
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(&key).unwrap();
    mac.update(text.as_bytes());
    format!("SharedKeyLite {ACCOUNT}:{}", STANDARD.encode(mac.finalize().into_bytes()))
}
