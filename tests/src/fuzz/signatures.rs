//! Signed requests that are changed after they were signed.

mod changes;

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use azure_table_client::auth::{
    AccountPermissions, AccountSas, DEVELOPMENT_KEY, ResourceTypes, SharedKey, TablePermissions,
    TableSas,
};
use azure_table_client::clock::Clock as _;
use azure_table_client::mock::MockTableService;
use azure_table_client::transport::{HttpRequest, HttpResponse};
use azure_table_client::{DynamicEntity, TableClient};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use percent_encoding::percent_decode_str;
use sha2::Sha256;

use self::changes::{Input, change};
use super::canned::block_on;
use super::requests::Standing;

const ACCOUNT: &str = "devstoreaccount1";
/// The time of the service.
const DATE: &str = "Wed, 19 Aug 2009 17:00:00 GMT";
/// All media types, and XML by its name, which access policies require.
const ACCEPT: &str = "*/*, application/xml";
const ENTITY: &str = "/devstoreaccount1/Blogs(PartitionKey='p',RowKey='r')";
const QUERY: &str = "/devstoreaccount1/Blogs()";
/// More changes in one input find no more bugs.
const MAX_CHANGES: usize = 8;

/// The authorization of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Scheme {
    Full,
    Lite,
    /// Reads of `Blogs`.
    TableSas,
    /// Reads of entities.
    AccountSas,
    /// Reads of `Blogs`, signed with a user delegation key.
    UserDelegation,
}

impl Scheme {
    fn is_sas(self) -> bool {
        matches!(self, Self::TableSas | Self::AccountSas | Self::UserDelegation)
    }
}

/// A request before it is parsed.
#[derive(Debug, Clone, PartialEq)]
struct Text {
    method: String,
    path: String,
    query: String,
    headers: Vec<(String, String)>,
    body: String,
}

/// The result of one input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    /// The changes are not a request.
    Unsendable,
    /// The signature does not cover the changes.
    StillSigned,
    /// A change is covered, and the service refused the request.
    Refused,
}

/// Changes a signed request, and checks that the service refuses it unless the signature does not cover the
/// changes.
pub fn signed_request(data: &[u8]) {
    check(data);
}

/// Like [`signed_request`], with the result.
///
/// # Panics
/// The service accepts a request whose signature does not match.
pub fn check(data: &[u8]) -> Checked {
    let mut input = Input(data);
    let (scheme, original) = signed(input.byte());
    let mut text = original.clone();
    let mut changes = 0;
    while !input.0.is_empty() && changes < MAX_CHANGES {
        change(&mut text, &mut input);
        changes += 1;
    }
    let Some(request) = text.request() else { return Checked::Unsendable };
    let reply = respond(&request);
    let is_signed = is_covered(scheme, &original, &text);
    assert!(reply.status != 500, "{text:?}: {reply:?}");
    if text == original {
        assert!(reply.status.is_success(), "{text:?}: {reply:?}");
    }
    if is_signed {
        if scheme.is_sas() {
            assert!(!has_written(&reply) || text.method == "GET", "{text:?}: {reply:?}");
        }
        return Checked::StillSigned;
    }
    assert!(!reply.status.is_success(), "{scheme:?} {original:?}\n{text:?}\n{reply:?}");
    Checked::Refused
}

/// Returns `true` if the signature of the original request is one of the changed request too, by the rules of
/// the documentation.
fn is_covered(scheme: Scheme, original: &Text, text: &Text) -> bool {
    match scheme {
        Scheme::Full => text.canonical() == original.canonical(),
        Scheme::Lite => {
            let lite = |text: &Text| {
                let (authorization, _, date, path, comp) = text.canonical();
                (authorization, date, path, comp)
            };
            lite(text) == lite(original)
        }
        Scheme::TableSas | Scheme::AccountSas | Scheme::UserDelegation => {
            let has_header = text.headers.iter().any(|(name, _)| name == "authorization");
            let names = ["sv", "sp", "st", "se", "sip", "spr", "sig"].iter().chain(match scheme {
                Scheme::TableSas => &["si", "spk", "srk", "epk", "erk", "ss", "srt"][..],
                Scheme::UserDelegation => &[
                    "si", "spk", "srk", "epk", "erk", "ss", "srt", "skoid", "sktid", "skt", "ske",
                    "sks", "skv", "skdutid", "sduoid",
                ],
                _ => &["ss", "srt", "ses"],
            });
            // The text to sign does not distinguish an empty field from a missing one.
            let signed = |text: &Text, name: &str| text.option(name).unwrap_or_default();
            let same = |name: &str| signed(text, name) == signed(original, name);
            let table = |text: &Text| text.option("tn").map(|name| name.to_ascii_lowercase());
            let is_same_table = scheme == Scheme::AccountSas || table(text) == table(original);
            !has_header && is_same_table && names.copied().all(same)
        }
    }
}

/// Authorization, headers of the full scheme, date, path, component.
type Canonical = (Option<String>, [String; 3], String, String, Option<String>);

impl Text {
    fn canonical(&self) -> Canonical {
        let header = |name: &str| {
            let mut values = self.headers.iter().filter(|(known, _)| known == name);
            values.next().map(|(_, value)| value.as_str()).filter(|value| is_plain(value))
        };
        let twice = self.headers.iter().filter(|(name, _)| name == "authorization").count() > 1;
        let authorization = header("authorization").filter(|_| !twice).map(|value| {
            let (scheme, rest) = value.trim().split_once(' ').unwrap_or_default();
            format!("{} {}", scheme.to_ascii_lowercase(), rest.trim())
        });
        // A second kind of authorization is refused.
        let authorization = authorization.filter(|_| self.option("sig").is_none());
        let text = |name: &str| header(name).unwrap_or_default().to_owned();
        let date = header("x-ms-date").or_else(|| header("date")).unwrap_or_default().to_owned();
        let secondary = format!("/{ACCOUNT}-secondary");
        let path = match self.path.strip_prefix(&secondary) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("/{ACCOUNT}{rest}"),
            _ => self.path.clone(),
        };
        let others = [self.method.clone(), text("content-md5"), text("content-type")];
        (authorization, others, date, path, self.option("comp"))
    }

    /// The first option with this name, decoded. Names are case-insensitive.
    fn option(&self, name: &str) -> Option<String> {
        let decoded = |text: &str| {
            let spaced = text.replace('+', " ");
            percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
        };
        self.query.split('&').filter(|pair| !pair.is_empty()).find_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            decoded(key).eq_ignore_ascii_case(name).then(|| decoded(value))
        })
    }

    fn request(&self) -> Option<HttpRequest> {
        let mut url = format!("http://127.0.0.1:10002{}", self.path);
        if !self.query.is_empty() {
            url = format!("{url}?{}", self.query);
        }
        let uri: http::Uri = url.parse().ok()?;
        // The path ends at the first question mark, and a fragment is not sent.
        if uri.path() != self.path || uri.query().unwrap_or_default() != self.query {
            return None;
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            headers.append(name, HeaderValue::from_bytes(value.as_bytes()).ok()?);
        }
        let method = Method::from_bytes(self.method.as_bytes()).ok()?;
        let body = Bytes::copy_from_slice(self.body.as_bytes());
        Some(HttpRequest { headers, body, ..HttpRequest::new(method, uri) })
    }
}

fn is_plain(value: &str) -> bool {
    value.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte))
}

/// Returns `true` if the response reports a success, also of an operation in a batch.
fn has_written(reply: &HttpResponse) -> bool {
    let has_part = reply.body.windows(10).any(|window| window == b"HTTP/1.1 2");
    reply.status.is_success() && (reply.status != 202 || has_part)
}

/// The requests that are changed, by their number.
fn signed(number: u8) -> (Scheme, Text) {
    const BODY: &str = r#"{"PartitionKey":"p","RowKey":"r","A":1}"#;
    const POLICIES: &str = "<SignedIdentifiers></SignedIdentifiers>";
    let number = usize::from(number);
    let requests = [
        ("GET", QUERY, "", ""),
        ("GET", ENTITY, "$select=A", ""),
        ("PUT", ENTITY, "", BODY),
        ("MERGE", ENTITY, "timeout=5", BODY),
        ("GET", "/devstoreaccount1/Tables", "$top=5", ""),
        ("GET", "/devstoreaccount1/Blogs", "comp=acl", ""),
        ("PUT", "/devstoreaccount1/Blogs", "comp=acl", POLICIES),
        ("GET", "/devstoreaccount1/", "restype=service&comp=properties", ""),
    ];
    let scheme = match number / requests.len() % 5 {
        0 => Scheme::Full,
        1 => Scheme::Lite,
        2 => Scheme::TableSas,
        3 => Scheme::AccountSas,
        _ => Scheme::UserDelegation,
    };
    let is_sas = scheme.is_sas();
    // The signatures below permit only reads of entities.
    let kinds = if is_sas { 2 } else { requests.len() };
    let (method, path, query, body) = requests[number % kinds];
    let mut text = Text {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: [("x-ms-version", "2019-02-02"), ("x-ms-date", DATE), ("accept", ACCEPT)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
        body: body.to_owned(),
    };
    if !body.is_empty() {
        let kind = if body == BODY { "application/json" } else { "application/xml" };
        text.headers.push(("content-type".to_owned(), kind.to_owned()));
    }
    if is_sas {
        let separator = if text.query.is_empty() { "" } else { "&" };
        text.query = format!("{}{separator}{}", text.query, token(scheme));
        return (scheme, text);
    }
    let (_, [method, md5, kind], date, path, comp) = text.canonical();
    let comp = comp.map(|comp| format!("?comp={comp}")).unwrap_or_default();
    let resource = format!("/{ACCOUNT}{path}{comp}");
    let (name, to_sign) = match scheme {
        Scheme::Lite => ("SharedKeyLite", format!("{date}\n{resource}")),
        _ => ("SharedKey", format!("{method}\n{md5}\n{kind}\n{date}\n{resource}")),
    };
    let signature = signature(DEVELOPMENT_KEY, &to_sign);
    let authorization = format!("{name} {ACCOUNT}:{signature}");
    text.headers.push((header::AUTHORIZATION.as_str().to_owned(), authorization));
    (scheme, text)
}

/// Returns the base64 of an HMAC with a key in base64.
fn signature(key: &str, to_sign: &str) -> String {
    let key = STANDARD.decode(key).expect("the key");
    let mut hmac = Hmac::<Sha256>::new_from_slice(&key).expect("the key");
    hmac.update(to_sign.as_bytes());
    STANDARD.encode(hmac.finalize().into_bytes())
}

/// Requests a user delegation key, and signs with it.
fn delegated() -> String {
    const BODY: &str = "<KeyInfo><Start>2009-08-19T16:00:00Z</Start><Expiry>2009-08-20T16:00:00Z</Expiry></KeyInfo>";
    const FIELDS: [(&str, &str); 9] = [
        ("sv", "2025-07-05"),
        ("tn", "Blogs"),
        ("sp", "r"),
        ("se", "2009-08-19T18:00:00Z"),
        ("spk", "a"),
        ("epk", "y"),
        ("skt", "2009-08-19T16:00:00Z"),
        ("ske", "2009-08-20T16:00:00Z"),
        ("sks", "t"),
    ];
    let url = "http://127.0.0.1:10002/devstoreaccount1/?restype=service&comp=userdelegationkey";
    let mut request = HttpRequest::new(Method::POST, url.parse().expect("a URL"));
    let authorization = HeaderValue::from_static("Bearer the token of the test");
    request.headers.insert(header::AUTHORIZATION, authorization);
    request.headers.insert("x-ms-version", HeaderValue::from_static("2025-07-05"));
    request.body = Bytes::from_static(BODY.as_bytes());
    let reply = respond(&request);
    let text = String::from_utf8_lossy(&reply.body).into_owned();
    let part = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>")).expect("a part");
        rest.split_once('<').expect("its end").0.to_owned()
    };
    let (object, tenant, value) = (part("SignedOid"), part("SignedTid"), part("Value"));
    let to_sign = format!(
        "r\n\n2009-08-19T18:00:00Z\n/table/{ACCOUNT}/blogs\n{object}\n{tenant}\n2009-08-19T16:00:00Z\n\
         2009-08-20T16:00:00Z\nt\n2025-07-05\n\n\n\n\n2025-07-05\na\n\ny\n"
    );
    let encoded = |text: &str| text.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    let signature = encoded(&signature(&value, &to_sign));
    let fields = FIELDS.map(|(name, text)| format!("{name}={text}")).join("&");
    format!("{fields}&skv=2025-07-05&skoid={object}&sktid={tenant}&sig={signature}")
}

fn token(scheme: Scheme) -> String {
    if scheme == Scheme::UserDelegation {
        return delegated();
    }
    let key = SharedKey::development();
    let (start, end) =
        (Standing.now() - Duration::from_secs(60), Standing.now() + Duration::from_secs(3600));
    let token = match scheme {
        Scheme::TableSas => TableSas::new("Blogs")
            .permissions(TablePermissions::READ)
            .starts_at(start)
            .expires_at(end)
            .start_partition_key("a")
            .end_partition_key("y")
            .sign(&key),
        _ => AccountSas::new(AccountPermissions::READ, ResourceTypes::ENTITY)
            .starts_at(start)
            .expires_at(end)
            .sign(&key),
    };
    token.expect("a token").as_query().to_owned()
}

/// The response of a service with one entity.
fn respond(request: &HttpRequest) -> HttpResponse {
    thread_local! {
        // Reused while it is unchanged, since creating one takes longer than most requests.
        static SERVICE: RefCell<Option<MockTableService>> = const { RefCell::new(None) };
    }
    SERVICE.with_borrow_mut(|kept| {
        let service = kept.get_or_insert_with(|| {
            let builder = MockTableService::builder().clock(Arc::new(Standing));
            let service = builder.tokens(|token| token == "the token of the test").build();
            let table: TableClient<DynamicEntity> = service.client().table_named("Blogs");
            block_on(table.create()).expect("the table");
            block_on(table.insert(&DynamicEntity::new("p", "r"))).expect("the entity");
            service
        });
        let reply = service.respond(request);
        if request.method != Method::GET && reply.status.is_success() {
            *kept = None;
        }
        reply
    })
}
