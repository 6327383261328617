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
    Changeset(Vec<Sent>),
    /// Separate operations; a batch allows only one query.
    Single(Vec<Sent>),
}

/// Invalid parts of a request, by which the table of differences recognizes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Odd {
    /// A filter that compares a missing property or another type.
    Types,
    /// A filter orders Binary or Guid.
    Order,
    /// A filter that cannot be parsed.
    Filter,
    /// An invalid table name.
    Name,
    /// An invalid property, key or body.
    Body,
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

    pub(super) fn parts(&self) -> &[Self] {
        match &self.payload {
            Payload::Changeset(parts) | Payload::Single(parts) => parts,
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
            Payload::Json(_) => set("content-type", "application/json"),
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

    fn body(&self, sent: &Sent) -> String {
        match &sent.payload {
            Payload::None => String::new(),
            Payload::Json(text) => text.clone(),
            Payload::Single(parts) => {
                let mut body = String::new();
                for part in parts {
                    write!(body, "--batch_1\r\n{}", self.part(part)).unwrap();
                }
                body + "--batch_1--\r\n"
            }
            Payload::Changeset(parts) => {
                let mut body =
                    "--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_1\r\n\r\n"
                        .to_owned();
                for part in parts {
                    write!(body, "--changeset_1\r\n{}", self.part(part)).unwrap();
                }
                body + "--changeset_1--\r\n--batch_1--\r\n"
            }
        }
    }

    /// An operation of a batch, after its boundary.
    fn part(&self, sent: &Sent) -> String {
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
        if let Payload::Json(text) = &sent.payload {
            let length = text.len();
            write!(
                part,
                "Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{text}"
            )
            .unwrap();
        } else {
            part.push_str("\r\n");
        }
        part + "\r\n"
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
