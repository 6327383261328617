//! The request of one attempt.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderValue, Method, Uri, header};

use super::{Endpoint, Pipeline};
use crate::auth::{Credential, canonicalized_resource, string_to_sign, string_to_sign_lite};
use crate::error::Error;
use crate::operation::{Location, Request};
use crate::transport::HttpRequest;
use crate::wire::{Document, PayloadFormat, headers};

static USER_AGENT: HeaderValue =
    HeaderValue::from_static(concat!("azure-table-client/", env!("CARGO_PKG_VERSION")));

/// The time that the service allows a request by default.
const SERVICE_TIME: Duration = Duration::from_secs(30);

/// The values that an attempt adds to its request.
pub(super) struct AttemptValues<'a> {
    pub(super) credential: &'a Credential,
    pub(super) format: PayloadFormat,
    /// The number of the attempt, from 1.
    pub(super) number: u32,
    pub(super) client_request_id: &'a str,
    pub(super) date: SystemTime,
    /// The `Authorization`, where it is a token.
    pub(super) token: Option<HeaderValue>,
    pub(super) location: Location,
    /// The time limit for the response.
    pub(super) time: Duration,
    /// The headers of observers; the client's own headers replace them.
    pub(super) headers: HeaderMap,
}

impl Pipeline {
    /// The version that requests name: with a token a later one, unless one was chosen.
    fn version_for(&self, credential: &Credential) -> &HeaderValue {
        if credential.is_token() && self.version == headers::SERVICE_VERSION {
            &headers::SERVICE_VERSION_OF_TOKENS
        } else {
            &self.version
        }
    }

    /// The request of one attempt.
    pub(super) fn prepare(
        &self,
        request: &Request,
        added: AttemptValues<'_>,
    ) -> Result<HttpRequest, Error> {
        let AttemptValues {
            credential,
            format,
            number,
            client_request_id,
            date,
            token,
            location,
            time,
            ..
        } = added;
        let mut map = added.headers;
        let endpoint = self.endpoint_at(location);
        let date = headers::http_date(date);
        map.reserve(16);
        if let Some((name, value)) = &request.header {
            map.insert(*name, value.clone());
        }
        let accept = match request.operation.document() {
            Document::Xml => headers::XML.clone(),
            Document::Payload => format.accept(),
        };
        map.insert(header::ACCEPT, accept);
        map.insert(header::USER_AGENT, USER_AGENT.clone());
        map.insert(&headers::X_MS_VERSION, self.version_for(credential).clone());
        let [odata, max_odata] = self.protocol.odata_headers();
        map.insert(&headers::DATA_SERVICE_VERSION, odata.clone());
        map.insert(&headers::MAX_DATA_SERVICE_VERSION, max_odata.clone());
        map.insert(&headers::X_MS_CLIENT_REQUEST_ID, header_value(client_request_id)?);
        let is_tunnelled = self.protocol.tunnels(&request.method);
        let method = if is_tunnelled { &Method::POST } else { &request.method };
        if is_tunnelled {
            map.insert(&headers::X_HTTP_METHOD, header_value(request.method.as_str())?);
        }
        if let Some(value) = authorization(request, method, credential, endpoint.path(), &date) {
            let mut value = header_value(&value)?;
            value.set_sensitive(true);
            map.insert(header::AUTHORIZATION, value);
        }
        if let Some(token) = token {
            map.insert(header::AUTHORIZATION, token);
        }
        map.insert(&headers::X_MS_DATE, header_value(&date)?);
        if !request.body.is_empty() {
            map.insert(header::CONTENT_TYPE, request.content_type.clone());
        }
        Ok(HttpRequest {
            method: method.clone(),
            uri: uri(request, credential, endpoint, time)?,
            headers: map,
            body: request.body.clone(),
            operation: request.operation,
            attempt: number,
            time_limit: time,
        })
    }
}

/// The `Authorization` header of a request that is signed with a key, below an endpoint with this path.
fn authorization(
    request: &Request,
    method: &Method,
    credential: &Credential,
    path: &str,
    date: &str,
) -> Option<String> {
    let key = credential.key()?;
    let path = [path, &request.path].concat();
    let resource = canonicalized_resource(key.account(), &path, request.query.as_str());
    let (scheme, text) = if matches!(credential, Credential::SharedKeyLite(_)) {
        ("SharedKeyLite", string_to_sign_lite(date, &resource))
    } else {
        let content_type = match &request.body {
            body if body.is_empty() => "",
            // The client's content types are ASCII.
            _ => request.content_type.to_str().unwrap_or_default(),
        };
        let text = string_to_sign(method.as_str(), "", content_type, date, &resource);
        ("SharedKey", text)
    };
    Some(format!("{scheme} {}:{}", key.account(), key.sign(&text)))
}

fn uri(
    request: &Request,
    credential: &Credential,
    endpoint: &Endpoint,
    time: Duration,
) -> Result<Uri, Error> {
    let sas = match credential {
        Credential::Sas(token) => token.as_query(),
        _ => "",
    };
    // A shorter limit stops the service from working for a client that has given up.
    let timeout = (time < SERVICE_TIME).then(|| format!("timeout={}", time.as_secs().max(1)));
    let timeout = timeout.as_deref().unwrap_or_default();
    let query = request.query.as_str();
    let parts = [query, timeout, sas];
    let length = parts.iter().map(|part| part.len() + 1).sum::<usize>();
    let path = endpoint.path();
    let mut target = String::with_capacity(path.len() + request.path.len() + length);
    target.push_str(path);
    target.push_str(&request.path);
    let mut separator = '?';
    for part in parts {
        if !part.is_empty() {
            target.push(separator);
            target.push_str(part);
            separator = '&';
        }
    }
    endpoint.uri(target).map_err(|error| {
        Error::invalid_input("the URL of the request is not valid").with_source(error)
    })
}

fn header_value(text: &str) -> Result<HeaderValue, Error> {
    HeaderValue::from_str(text).map_err(|error| {
        Error::invalid_input("a header has a character that is not allowed").with_source(error)
    })
}
