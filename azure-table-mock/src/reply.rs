//! Responses in the service's form.
//!
//! Recordings show the headers of refused requests; `tests/recorded.rs` names them:
//!
//! | refused | headers |
//! |---|---|
//! | a part of a batch | `Cache-Control` and `Preference-Applied`, except for a missing table |
//! | a request for access policies or settings | neither `Cache-Control` nor `X-Content-Type-Options`, but `x-ms-error-code` |
//! | a request with an invalid signature or version (by the front end) | neither `Cache-Control`, `X-Content-Type-Options` nor `x-ms-version`. The media type has no level of JSON. Only a refusal for the signature has `x-ms-error-code`. |
//! | any other request | no `x-ms-error-code` |

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use crate::edm::EdmDateTime;
use crate::failure::{Failure, Stage};
use crate::payload;
use crate::request::{ParsedRequest, Preference, RawRequest};
use crate::transport::HttpResponse;
use crate::wire::{PayloadFormat, headers};

static PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");
static DATA_SERVICE_ID: HeaderName = HeaderName::from_static("dataserviceid");
static RETURN_CLIENT_REQUEST_ID: HeaderName =
    HeaderName::from_static("x-ms-return-client-request-id");

/// A longer id of a client is not repeated.
const MAX_CLIENT_REQUEST_ID: usize = 1024;

/// The largest number of headers of most responses, with those that hosts add.
const USUAL_HEADERS: usize = 14;

/// A response before its common headers are set.
pub(super) struct ResponseDraft {
    pub(super) status: StatusCode,
    /// The headers, each at most once. A list is cheaper than a map, since a batch has a hundred replies.
    headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) body: Vec<u8>,
    pub(super) protection: Protection,
    /// Whether the version of the request is repeated.
    repeats_version: bool,
    /// The failure in the body, for the record.
    pub(super) failure: Option<Failure>,
}

/// Passes the headers of the response to an operation that created a resource to `put`, in their order.
pub(super) fn headers_of_creation(
    address: &str,
    preference: Preference,
    mut put: impl FnMut(&HeaderName, &str),
) {
    if let Some(name) = preference.name() {
        put(&PREFERENCE_APPLIED, name);
    }
    if preference == Preference::ReturnNoContent {
        put(&DATA_SERVICE_ID, address);
    }
    put(&header::LOCATION, address);
}

/// The headers against caches and against guesses of the media type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protection {
    /// `Cache-Control: no-cache` and `X-Content-Type-Options: nosniff`, like most responses in an OData format.
    Full,
    /// `X-Content-Type-Options: nosniff`.
    NoSniff,
    /// None, like the responses that are XML in every format.
    None,
}

impl ResponseDraft {
    pub(super) fn new(status: StatusCode, body: Vec<u8>) -> Self {
        Self {
            status,
            headers: Vec::with_capacity(8),
            body,
            protection: Protection::Full,
            repeats_version: true,
            failure: None,
        }
    }

    pub(super) fn no_content() -> Self {
        let mut reply = Self::new(StatusCode::NO_CONTENT, Vec::new());
        reply.set(header::CONTENT_LENGTH, const { HeaderValue::from_static("0") });
        reply
    }

    /// A response without a body to an operation on the service or on policies.
    pub(super) fn of_service(status: StatusCode) -> Self {
        Self { status, protection: Protection::None, ..Self::no_content() }
    }

    /// A document that is XML in every version and format.
    pub(super) fn xml(body: Vec<u8>) -> Self {
        let mut reply = Self { protection: Protection::None, ..Self::new(StatusCode::OK, body) };
        reply.set(header::CONTENT_TYPE, headers::XML.clone());
        reply
    }

    pub(super) fn with_body(status: StatusCode, format: PayloadFormat, body: Vec<u8>) -> Self {
        let mut reply = Self::new(status, body);
        reply.set(header::CONTENT_TYPE, payload::media_type(format));
        reply
    }

    /// The response for a failure, in the format that the request accepts, if that is known.
    pub(super) fn failure(
        failure: &Failure,
        format: Option<PayloadFormat>,
        request_id: &str,
        now: EdmDateTime,
    ) -> Self {
        let message = format!("{}\nRequestId:{request_id}\nTime:{now}", failure.message);
        let (media_type, body) = payload::failure_body(format, failure, &message);
        let mut reply = Self::new(failure.status, body);
        reply.set(header::CONTENT_TYPE, media_type);
        reply.failure = Some(failure.clone());
        reply.repeats_version = !failure.stage.is_before_tables();
        reply.protection = match failure.stage {
            Stage::Version | Stage::FrontEnd => Protection::None,
            Stage::Preparation => Protection::NoSniff,
            Stage::Operation => Protection::Full,
        };
        reply
    }

    /// The names and values of the headers.
    pub(super) fn headers(&self) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
        self.headers.iter().map(|(name, value)| (name, value))
    }

    pub(super) fn has_header(&self, name: &HeaderName) -> bool {
        self.headers.iter().any(|(known, _)| known == name)
    }

    pub(super) fn header(&self, name: &HeaderName) -> Option<&HeaderValue> {
        self.headers().find_map(|(known, value)| (known == name).then_some(value))
    }

    pub(super) fn remove(&mut self, name: &HeaderName) {
        self.headers.retain(|(known, _)| known != name);
    }

    /// Sets a header.
    pub(super) fn set(&mut self, name: HeaderName, value: HeaderValue) {
        match self.headers.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.headers.push((name, value)),
        }
    }

    /// Sets a header, except if the text is not a valid header value.
    pub(super) fn text_header(&mut self, name: HeaderName, text: impl Into<String>) {
        if let Ok(value) = HeaderValue::try_from(text.into()) {
            self.set(name, value);
        }
    }

    pub(super) fn preference_applied(&mut self, preference: Preference) {
        if let Some(name) = preference.name() {
            self.set(PREFERENCE_APPLIED.clone(), HeaderValue::from_static(name));
        }
    }

    /// The complete response, with the headers of every response.
    pub(super) fn finish(
        mut self,
        request: &ParsedRequest<'_>,
        request_id: String,
        date: HeaderValue,
    ) -> HttpResponse {
        for (name, value) in self.protection.headers() {
            self.set(name.clone(), value.clone());
        }
        if request.dialect.repeats_headers() {
            self.set_headers_of_request(&request.raw);
        }
        self.text_header(headers::X_MS_REQUEST_ID.clone(), request_id);
        self.set(header::DATE, date);
        let mut map = HeaderMap::with_capacity(USUAL_HEADERS);
        for (name, value) in self.headers {
            map.append(name, value);
        }
        HttpResponse { status: self.status, headers: map, body: Bytes::from(self.body) }
    }

    /// Sets the headers that repeat those of the request.
    fn set_headers_of_request(&mut self, request: &RawRequest<'_>) {
        let version = request.headers.get(&headers::X_MS_VERSION);
        // Earlier versions did not return the header.
        if self.repeats_version
            && let Some(version) = version
            && version >= b"2009-09-19".as_slice()
            && let Ok(version) = HeaderValue::from_bytes(version)
        {
            self.set(headers::X_MS_VERSION.clone(), version);
        }
        if returns_id(request, version)
            && let Some(id) = request.headers.get(&headers::X_MS_CLIENT_REQUEST_ID)
            && id.len() <= MAX_CLIENT_REQUEST_ID
            && let Ok(id) = HeaderValue::from_bytes(id)
        {
            self.set(headers::X_MS_CLIENT_REQUEST_ID.clone(), id);
        }
    }
}

/// Returns whether the response repeats the id that the client gave to the request: from version 2019-02-02 on in
/// recordings, while those of 2017-04-17 lack it, and in each version where the request asks for it.
fn returns_id(request: &RawRequest<'_>, version: Option<&[u8]>) -> bool {
    let asked = || request.headers.get(&RETURN_CLIENT_REQUEST_ID);
    version.is_some_and(|version| version >= b"2019-02-02".as_slice())
        || asked().is_some_and(|value| value.eq_ignore_ascii_case(b"true"))
}

impl Protection {
    /// The names and values of the headers.
    pub(super) fn headers(self) -> &'static [(HeaderName, HeaderValue)] {
        static HEADERS: [(HeaderName, HeaderValue); 2] = [
            (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        ];
        match self {
            Self::Full => &HEADERS,
            Self::NoSniff => &HEADERS[..1],
            Self::None => &[],
        }
    }
}
