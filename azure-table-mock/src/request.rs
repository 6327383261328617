//! A request: its raw parts, and everything that decides what it requests, each parsed once.

mod batch;
mod body;
mod headers;
mod operation;
mod protocol;
mod resource;

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::num::{IntErrorKind, ParseIntError};

use http::uri::Authority;
use http::{HeaderName, Method, header};
use url::form_urlencoded;

pub(super) use self::batch::BatchPart;
pub(super) use self::body::{EntityBody, RequestBody, read_value};
pub(super) use self::headers::{Headers, text};
pub(super) use self::protocol::{RequestProtocol, is_in_version};
pub(super) use self::resource::{BelowTable, EntityPath, Resource};
use crate::core::Rules;
use crate::dialect::ServiceDialect;
use crate::failure::Failure;
use crate::room::Room;
use crate::store::Precondition;
use crate::transport::HttpRequest;
use crate::wire::Location;
use crate::wire::headers::{PREFER, X_HTTP_METHOD, X_MS_VERSION};
use crate::wire::{Document, Metadata, Operation, ServiceVersion};

/// The largest body that the service accepts.
pub(super) const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// A request as it arrived.
#[derive(Debug)]
pub(super) struct RawRequest<'a> {
    pub(super) method: Method,
    pub(super) origin: Origin<'a>,
    /// Percent-encoded, as sent.
    pub(super) path: &'a str,
    pub(super) query: &'a str,
    pub(super) headers: Headers<'a>,
    pub(super) body: &'a [u8],
    /// The sender's address.
    pub(super) sender: IpAddr,
    /// The memory for the response.
    pub(super) room: Room<'a>,
}

/// The scheme and the authority of a URL, as the client names them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin<'a> {
    pub(super) scheme: &'a str,
    pub(super) authority: &'a str,
}

impl Origin<'_> {
    /// The location in a host like that of the service: `account.host` or `account-secondary.host`. `None`
    /// if the host does not name the account.
    fn location(&self, account: &str) -> Option<Location> {
        let (first, rest) = self.authority.split_once('.')?;
        if first.len() < account.len() || !first.is_char_boundary(account.len()) {
            return None;
        }
        let (name, suffix) = first.split_at(account.len());
        let locations = [Location::Primary, Location::Secondary];
        let location = locations.into_iter().find(|location| location.suffix() == suffix)?;
        // The account 127 is not in 127.0.0.1.
        let host = self.authority.rsplit_once(':').map_or(self.authority, |(host, _)| host);
        let names_it = name.eq_ignore_ascii_case(account)
            && !rest.is_empty()
            && host.parse::<Ipv4Addr>().is_err();
        names_it.then_some(location)
    }
}

impl fmt::Display for Origin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.authority)
    }
}

/// A parsed request. Each part has its own result, since the service checks the signature first and then
/// reports the failures in a fixed order.
#[derive(Debug)]
pub(super) struct ParsedRequest<'a> {
    pub(super) raw: RawRequest<'a>,
    pub(super) dialect: ServiceDialect,
    /// `None` if the path names another account.
    pub(super) location: Option<Location>,
    /// The host names the account, so the path does not.
    pub(super) account_in_host: bool,
    verb: Result<Method, Failure>,
    resource: Result<Resource, Failure>,
    operation: Result<Operation, Failure>,
    protocol: Result<RequestProtocol, Failure>,
    /// The parts of a batch. The list is empty for other requests.
    batch: Result<Vec<BatchPart<'a>>, Failure>,
}

/// The body that the client prefers in the response to a POST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Preference {
    None,
    ReturnContent,
    ReturnNoContent,
}

impl Preference {
    /// Its name in headers.
    pub(super) const fn name(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::ReturnContent => Some("return-content"),
            Self::ReturnNoContent => Some("return-no-content"),
        }
    }
}

impl<'a> ParsedRequest<'a> {
    pub(super) fn read(raw: RawRequest<'a>, rules: &Rules) -> Self {
        let mut request = Self::read_one(raw, None, rules);
        // A larger body is refused for its size.
        if request.operation == Ok(Operation::Transaction)
            && request.raw.body.len() <= MAX_BODY_BYTES
        {
            request.batch = batch::read(&request.raw, request.location, rules);
        }
        request
    }

    /// Reads everything except for the parts of a batch. An operation in a batch may omit the account: it is then in the
    /// location of its batch.
    fn read_one(raw: RawRequest<'a>, of_batch: Option<Location>, rules: &Rules) -> Self {
        let split = raw.location(rules);
        let account_in_host = split.is_some_and(|(_, below)| below.len() == raw.path.len());
        let split = split.or_else(|| Some((of_batch?, raw.path_without_account()?)));
        let (location, resource) = match split {
            Some((location, below)) => (Some(location), Resource::parse(below)),
            None => (None, Err(Failure::resource_not_found())),
        };
        let verb = raw.verb();
        let operation = match (&verb, &resource) {
            (Err(failure), _) | (_, Err(failure)) => Err(failure.clone()),
            (Ok(verb), Ok(resource)) => operation::of(&raw, verb.as_str(), resource),
        };
        let protocol = RequestProtocol::of(&raw, rules.loose);
        let batch = Ok(Vec::new());
        let dialect = rules.dialect;
        Self { raw, dialect, location, account_in_host, verb, resource, operation, protocol, batch }
    }

    pub(super) fn verb(&self) -> Result<&str, Failure> {
        self.verb.as_ref().map(Method::as_str).map_err(Clone::clone)
    }

    pub(super) fn resource(&self) -> Result<&Resource, Failure> {
        self.resource.as_ref().map_err(Clone::clone)
    }

    pub(super) fn operation(&self) -> Result<Operation, Failure> {
        self.operation.clone()
    }

    /// The operation for the record and the fault plan.
    pub(super) fn operation_or_other(&self) -> Operation {
        *self.operation.as_ref().unwrap_or(&Operation::Other)
    }

    pub(super) fn protocol(&self) -> Result<&RequestProtocol, Failure> {
        self.protocol.as_ref().map_err(Clone::clone)
    }

    /// The body in its format, if the version of the request supports the format.
    pub(super) fn body(&self) -> Result<RequestBody<'a>, Failure> {
        self.protocol()?.body(&self.raw)
    }

    pub(super) fn batch(&self) -> Result<&[BatchPart<'a>], Failure> {
        self.batch.as_deref().map_err(Clone::clone)
    }

    /// The operations of a batch, or none if it cannot be read.
    pub(super) fn batch_operations(&self) -> impl Iterator<Item = &Self> {
        self.batch.as_deref().unwrap_or_default().iter().flat_map(BatchPart::operations)
    }

    /// The number of operations in a batch that can be read, otherwise 1.
    pub(super) fn operation_count(&self) -> usize {
        match (&self.operation, &self.batch) {
            (Ok(Operation::Transaction), Ok(_)) => self.batch_operations().count(),
            _ => 1,
        }
    }

    /// The table in the path. For a batch it is the table of its first operation.
    pub(super) fn table(&self) -> Option<&str> {
        match &self.resource {
            Ok(Resource::Batch) => self.batch_operations().next()?.resource.as_ref().ok()?.table(),
            resource => resource.as_ref().ok()?.table(),
        }
    }

    /// Returns `true` if request and response are XML in every version and format. A request without a valid operation is
    /// refused in XML if it names a component.
    pub(super) fn is_xml(&self) -> bool {
        match &self.operation {
            Ok(operation) => operation.document() == Document::Xml,
            Err(_) => operation::names_component(&self.raw, self.resource.as_ref().ok()),
        }
    }
}

impl<'a> RawRequest<'a> {
    /// The number of bytes of its path and query.
    pub(super) const fn url_bytes(&self) -> usize {
        self.path.len() + self.query.len()
    }

    /// The location, and the path below the account. `None` if the path names another account.
    pub(super) fn location(&self, rules: &Rules) -> Option<(Location, &'a str)> {
        let account = rules.account();
        match rules.account_in_host.then(|| self.origin.location(account)).flatten() {
            Some(location) => Some((location, self.path)),
            None => Location::split(self.path, account),
        }
    }

    /// The path of entities without the account, `/Blogs(…)`, which `azure-cosmosdb-table` writes in batches. `None` for
    /// other paths, whose first segment is another account.
    fn path_without_account(&self) -> Option<&'a str> {
        let resource = Resource::parse(self.path);
        matches!(resource, Ok(Resource::Entities(_) | Resource::Entity(_))).then_some(self.path)
    }

    /// A request that a host in this process received from this address.
    pub(super) fn in_process(request: &'a HttpRequest, sender: IpAddr) -> Self {
        let HttpRequest { uri, .. } = request;
        let origin = Origin {
            scheme: uri.scheme_str().unwrap_or("http"),
            authority: uri.authority().map_or("", Authority::as_str),
        };
        let (path, query) = (uri.path(), uri.query().unwrap_or_default());
        Self {
            method: request.method.clone(),
            origin,
            path,
            query,
            headers: Headers::Request(&request.headers),
            body: &request.body,
            sender,
            room: Room::UNLIMITED,
        }
    }

    pub(super) fn header(&self, name: &HeaderName) -> Option<&'a str> {
        self.headers.text(name)
    }

    /// The media type of the body, without its parameters. It is empty if the header is missing.
    pub(super) fn content_type(&self) -> Result<&str, Failure> {
        let Some(value) = self.headers.get(&header::CONTENT_TYPE) else {
            return Ok("");
        };
        let text = text(value).ok_or_else(Failure::media_type_not_supported)?;
        Ok(text.split(';').next().unwrap_or_default().trim())
    }

    /// Checks that the body is XML. Some clients declare an empty body as JSON.
    pub(super) fn check_xml(&self) -> Result<(), Failure> {
        let kind = if self.body.is_empty() { "" } else { self.content_type()? };
        if kind.is_empty() || kind.eq_ignore_ascii_case("application/xml") {
            return Ok(());
        }
        Err(Failure::media_type_not_supported())
    }

    /// Returns `true` if the request accepts JSON by its name, not only by a range such as `*/*`.
    pub(super) fn accepts_json(&self) -> bool {
        let kinds = self.header(&header::ACCEPT).unwrap_or_default();
        kinds.split(',').any(|kind| Metadata::of_media_type(kind.trim()).is_some())
    }

    /// An option of the query, decoded. Names are case-insensitive.
    pub(super) fn option(&self, name: &str) -> Option<Cow<'a, str>> {
        if self.query.is_empty() {
            return None;
        }
        // Handlers look up several options, and filters are long: decode only possible matches.
        let is_candidate = |pair: &&str| {
            let key = pair.split('=').next().unwrap_or_default();
            key.len() == name.len() || key.contains('%')
        };
        self.query.split('&').filter(is_candidate).find_map(|pair| {
            let (key, value) = form_urlencoded::parse(pair.as_bytes()).next()?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    /// The component of a resource that is requested, for example its `acl` or its `properties`.
    pub(super) fn comp(&self) -> Option<Cow<'a, str>> {
        self.option("comp")
    }

    /// The verb. `X-HTTP-Method` replaces the verb of a POST.
    fn verb(&self) -> Result<Method, Failure> {
        match self.headers.single(&X_HTTP_METHOD) {
            Ok(None) => Ok(self.method.clone()),
            Err(_) => Err(Failure::x_method_count()),
            Ok(Some(_)) if self.method != Method::POST => Err(Failure::x_method_not_post()),
            Ok(Some(verb)) => match (verb, Method::from_bytes(verb)) {
                (b"PUT" | b"MERGE" | b"PATCH" | b"DELETE", Ok(verb)) => Ok(verb),
                _ => Err(Failure::x_method_value()),
            },
        }
    }

    /// The service version, which is a date. Without the header it is the version of the shared access
    /// signature.
    pub(super) fn version(&self) -> Result<Option<ServiceVersion>, Failure> {
        if let Some(version) = self.headers.inherited_version() {
            return Ok(Some(version));
        }
        let Some(value) = self.headers.get(&X_MS_VERSION) else {
            return Ok(self.option("sv").and_then(|date| ServiceVersion::of_date(&date)));
        };
        let version = text(value).and_then(ServiceVersion::of_date);
        version.map(Some).ok_or_else(Failure::invalid_version)
    }

    /// Checks `timeout`, in seconds. Versions before 2016-05-31 ignore it. The value has no effect, since
    /// no operation takes that long.
    pub(super) fn check_timeout(&self) -> Result<(), Failure> {
        let Some(text) = self.option("timeout").filter(|text| !text.is_empty()) else {
            return Ok(());
        };
        if self.version()?.is_some_and(|version| version.as_str() < "2016-05-31") {
            return Ok(());
        }
        match text.trim().parse::<i32>().as_ref().map_err(ParseIntError::kind) {
            Ok(1..) => Ok(()),
            Err(IntErrorKind::PosOverflow | IntErrorKind::NegOverflow) => {
                Err(Failure::out_of_range_query_value())
            }
            _ => Err(Failure::invalid_query_value()),
        }
    }

    /// The condition in `If-Match`, which is one ETag or `*`.
    pub(super) fn condition(&self) -> Result<Precondition<'_>, Failure> {
        self.check_if_none_match()?;
        let (value, is_single) = match self.headers.single(&header::IF_MATCH) {
            Ok(None) => return Ok(Precondition::None),
            Ok(Some(value)) => (value, true),
            Err(first) => (first, false),
        };
        let text = text(value).unwrap_or_default().trim();
        let tag = text.strip_prefix("W/").unwrap_or(text).as_bytes();
        match (text, tag) {
            ("*", _) if is_single => Ok(Precondition::Exists),
            (_, [b'"', tag @ .., b'"']) if is_single && !tag.contains(&b'"') => {
                Ok(Precondition::ETag(text))
            }
            _ => Err(Failure::invalid_etag(text)),
        }
    }

    /// Checks `If-None-Match`, which PUT and DELETE cannot have, and no request next to `If-Match` ([Table Storage error
    /// codes][codes]).
    ///
    /// [codes]: https://learn.microsoft.com/rest/api/storageservices/table-service-error-codes
    fn check_if_none_match(&self) -> Result<(), Failure> {
        if !self.headers.contains(&header::IF_NONE_MATCH) {
            return Ok(());
        }
        if self.headers.contains(&header::IF_MATCH) {
            return Err(Failure::both_conditions());
        }
        match self.verb()?.as_str() {
            verb @ ("PUT" | "DELETE") => Err(Failure::if_none_match(verb)),
            _ => Ok(()),
        }
    }

    /// The preference in `Prefer`.
    pub(super) fn preference(&self) -> Preference {
        match self.header(&PREFER).map(str::trim) {
            Some("return-content") => Preference::ReturnContent,
            Some("return-no-content") => Preference::ReturnNoContent,
            _ => Preference::None,
        }
    }
}
