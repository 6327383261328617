//! The request of one attempt.

use std::time::{Duration, SystemTime};

use http::header::{self, InvalidHeaderValue};
use http::{HeaderMap, HeaderValue, Method, Uri};

use super::{Endpoint, Pipeline};
use crate::auth::{Credential, canonicalized_resource, string_to_sign, string_to_sign_lite};
use crate::error::Error;
use crate::operation::{Location, Request};
use crate::transport::HttpRequest;
use crate::wire::{Document, PayloadFormat, Protocol, ServiceVersion, headers};

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

/// Returns the headers that all requests of a client have, each with the value that most requests have. An attempt
/// replaces the values that differ.
pub(super) fn shared_headers(protocol: Protocol) -> HeaderMap {
    let [odata, max_odata] = protocol.odata_headers();
    let to_be_set = HeaderValue::from_static("");
    let pairs = [
        (&header::ACCEPT, protocol.format().accept()),
        (&header::USER_AGENT, USER_AGENT.clone()),
        (&headers::X_MS_VERSION, protocol.version_header()),
        (&headers::DATA_SERVICE_VERSION, odata.clone()),
        (&headers::MAX_DATA_SERVICE_VERSION, max_odata.clone()),
        (&headers::X_MS_CLIENT_REQUEST_ID, to_be_set.clone()),
        (&headers::X_MS_DATE, to_be_set),
    ];
    pairs.into_iter().map(|(name, value)| (name.clone(), value)).collect()
}

impl Pipeline {
    /// The request of one attempt.
    pub(super) fn prepare(
        &self,
        request: &Request,
        added: AttemptValues<'_>,
    ) -> Result<HttpRequest, Error> {
        let AttemptValues { credential, format, number, client_request_id, time, .. } = added;
        let endpoint = self.endpoint_at(added.location);
        let uri = uri(request, credential, endpoint, time)?;
        let is_tunnelled = self.protocol.tunnels(&request.method);
        let method = if is_tunnelled { &Method::POST } else { &request.method };
        let date = headers::http_date(added.date);
        let authorization = match added.token {
            Some(token) => Some(token),
            None => authorization(request, method, credential, uri.path(), &date)?,
        };

        // Observers cannot replace the headers of the client.
        let mut map = added.headers;
        if map.is_empty() {
            map = self.headers.clone();
        } else {
            map.extend(self.headers.clone());
        }
        map.insert(&headers::X_MS_CLIENT_REQUEST_ID, header_value(client_request_id)?);
        map.insert(&headers::X_MS_DATE, header_value(date)?);
        if request.operation.document() == Document::Xml {
            map.insert(header::ACCEPT, headers::XML.clone());
        } else if format != self.protocol.format() {
            map.insert(header::ACCEPT, format.accept());
        }
        // With a token the default is a later version.
        if credential.is_token()
            && self.headers[&headers::X_MS_VERSION] == ServiceVersion::default().header()
        {
            map.insert(&headers::X_MS_VERSION, headers::SERVICE_VERSION_OF_TOKENS.clone());
        }
        if let Some(version) = request.operation.own_version() {
            map.insert(&headers::X_MS_VERSION, version.header());
        }
        if let Some((name, value)) = &request.header {
            map.insert(*name, value.clone());
        }
        if is_tunnelled {
            map.insert(&headers::X_HTTP_METHOD, header_value(request.method.as_str())?);
        }
        if let Some(authorization) = authorization {
            map.insert(header::AUTHORIZATION, authorization);
        }
        if !request.body.is_empty() {
            map.insert(header::CONTENT_TYPE, request.content_type.clone());
        }
        Ok(HttpRequest {
            method: method.clone(),
            uri,
            headers: map,
            body: request.body.clone(),
            operation: request.operation,
            attempt: number,
            time_limit: time,
        })
    }
}

/// The `Authorization` header of a request that is signed with a key.
fn authorization(
    request: &Request,
    method: &Method,
    credential: &Credential,
    path: &str,
    date: &str,
) -> Result<Option<HeaderValue>, Error> {
    let Some(key) = credential.key() else { return Ok(None) };
    let resource = canonicalized_resource(key.account(), path, request.query.as_str());
    let (scheme, text) = if matches!(credential, Credential::SharedKeyLite(_)) {
        ("SharedKeyLite ", string_to_sign_lite(date, &resource))
    } else {
        let content_type = match &request.body {
            body if body.is_empty() => "",
            // The client's content types are ASCII.
            _ => request.content_type.to_str().unwrap_or_default(),
        };
        let text = string_to_sign(method.as_str(), "", content_type, date, &resource);
        ("SharedKey ", text)
    };
    let mut value = header_value([scheme, key.account(), ":", &key.sign(&text)].concat())?;
    value.set_sensitive(true);
    Ok(Some(value))
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

fn header_value<T>(text: T) -> Result<HeaderValue, Error>
where
    HeaderValue: TryFrom<T, Error = InvalidHeaderValue>,
{
    HeaderValue::try_from(text).map_err(|error| {
        Error::invalid_input("a header has a character that is not allowed").with_source(error)
    })
}
