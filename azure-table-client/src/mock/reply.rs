//! Responses in the service's form.

use std::time::SystemTime;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::failure::Failure;
use super::payload;
use super::request::{Preference, RawRequest};
use crate::edm::EdmDateTime;
use crate::transport::HttpResponse;
use crate::wire::{PayloadFormat, headers};

/// A response before its common headers are set.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    /// The response is in an OData format.
    pub(super) is_odata: bool,
    /// The failure in the body, for the record.
    pub(super) failure: Option<Failure>,
}

impl Reply {
    pub(super) fn new(status: StatusCode, body: Vec<u8>) -> Self {
        Self { status, headers: HeaderMap::new(), body, is_odata: true, failure: None }
    }

    pub(super) fn no_content() -> Self {
        let mut reply = Self::new(StatusCode::NO_CONTENT, Vec::new());
        reply.headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
        reply
    }

    /// A response without a body to an operation on the service or on policies.
    pub(super) fn of_service(status: StatusCode) -> Self {
        Self { status, is_odata: false, ..Self::no_content() }
    }

    /// A document that is XML in every version and format.
    pub(super) fn xml(body: Vec<u8>) -> Self {
        let mut reply = Self { is_odata: false, ..Self::new(StatusCode::OK, body) };
        reply.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/xml"));
        reply
    }

    pub(super) fn with_body(status: StatusCode, format: PayloadFormat, body: Vec<u8>) -> Self {
        let mut reply = Self::new(status, body);
        reply.headers.insert(header::CONTENT_TYPE, payload::media_type(format));
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
        reply.headers.insert(header::CONTENT_TYPE, media_type);
        reply.failure = Some(failure.clone());
        reply
    }

    /// Sets a header, except if the text is not a valid header value.
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

    /// Sets the URL of a created resource.
    pub(super) fn location(&mut self, address: &str, preference: Preference) {
        self.text_header(header::LOCATION, address);
        if preference == Preference::ReturnNoContent {
            self.text_header(header::HeaderName::from_static("dataserviceid"), address);
        }
    }

    /// The complete response, with the headers of every response.
    pub(super) fn finish(
        mut self,
        request: &RawRequest<'_>,
        request_id: &str,
        now: SystemTime,
    ) -> HttpResponse {
        let map = &mut self.headers;
        if self.is_odata {
            map.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            map.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        }
        // Earlier versions did not return the header.
        if let Some(version) = request.headers.get(&headers::X_MS_VERSION)
            && version.as_bytes() >= b"2009-09-19".as_slice()
        {
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

/// A random id for a request or a boundary.
pub(super) fn new_id() -> String {
    uuid::Builder::from_random_bytes(fastrand::u128(..).to_le_bytes()).into_uuid().to_string()
}
