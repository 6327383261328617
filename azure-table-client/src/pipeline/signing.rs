//! The signing of requests: the credential of a client, which can be replaced while requests run, the credential and the
//! date of the attempts of one call, the difference between this machine's clock and the service's, and the request of an
//! attempt with its headers and its signature. A refused signature is replaced once for each cause.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, RwLock};
use std::time::{Duration, SystemTime};

use http::header::{self, InvalidHeaderValue};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};

use super::Pipeline;
#[cfg(feature = "entra")]
use super::attempts::Bearer;
use super::endpoint::Endpoint;
use crate::auth::{Credential, canonicalized_resource, string_to_sign, string_to_sign_lite};
use crate::error::{Error, ErrorCode};
use crate::lock::{read, write};
use crate::operation::{Answer, Location, Request};
use crate::transport::HttpRequest;
use crate::wire::{Document, PayloadFormat, Protocol, ServiceVersion, headers};

/// The credential that signs the next request. Each attempt keeps the credential that it started with.
#[derive(Debug)]
pub(crate) struct CurrentCredential {
    credential: RwLock<Arc<Credential>>,
    /// Whether all credentials so far were account keys, whose signatures expire soon.
    had_keys_only: AtomicBool,
    accepted: AcceptedCredentials,
    /// The endpoint, which determines the audience of tokens.
    base: Box<str>,
}

/// The kinds of credentials that all endpoints may receive: any kind over HTTPS, and over HTTP the kinds that
/// are allowed explicitly.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AcceptedCredentials {
    /// Signatures, by keys and shared ones.
    pub(crate) keys: bool,
    /// Tokens, which can be reused by anyone who reads them.
    pub(crate) tokens: bool,
    /// Signatures with a user delegation key, which Cosmos DB does not have.
    pub(crate) delegated: bool,
}

impl CurrentCredential {
    pub(crate) fn new(
        credential: Credential,
        base: &str,
        accepted: AcceptedCredentials,
    ) -> Result<Self, Error> {
        check_accepted(&credential, accepted)?;
        Ok(Self::unchecked(credential, base, accepted))
    }

    pub(crate) fn unchecked(
        credential: Credential,
        base: &str,
        accepted: AcceptedCredentials,
    ) -> Self {
        let had_keys_only = AtomicBool::new(credential.key().is_some());
        let credential = RwLock::new(Arc::new(credential.for_endpoint(base)));
        Self { credential, had_keys_only, accepted, base: base.into() }
    }

    pub(crate) fn get(&self) -> Arc<Credential> {
        Arc::clone(&read(&self.credential))
    }

    pub(crate) fn replace(&self, credential: Credential) -> Result<(), Error> {
        check_accepted(&credential, self.accepted)?;
        if credential.key().is_none() {
            self.had_keys_only.store(false, Ordering::Release);
        }
        let credential = credential.for_endpoint(&self.base);
        *write(&self.credential) = Arc::new(credential);
        Ok(())
    }

    /// Whether every request so far was signed with an account key.
    pub(crate) fn had_keys_only(&self) -> bool {
        self.had_keys_only.load(Ordering::Acquire)
    }

    /// Whether the credential was replaced after [`get`](Self::get) returned `taken`.
    pub(super) fn is_newer_than(&self, taken: &Arc<Credential>) -> bool {
        !Arc::ptr_eq(&self.get(), taken)
    }
}

fn check_accepted(credential: &Credential, accepted: AcceptedCredentials) -> Result<(), Error> {
    let is_accepted = if credential.is_token() { accepted.tokens } else { accepted.keys };
    if credential.is_secret() && !is_accepted {
        return Err(Error::configuration(
            "the endpoint is plain HTTP, where the credential could be read in transit; use \
             https://, or allow_http(true) if plain HTTP is intended",
        ));
    }
    if credential.is_delegated() && !accepted.delegated {
        return Err(Error::configuration(
            "Cosmos DB refuses shared access signatures that are signed with a user delegation key",
        ));
    }
    Ok(())
}

/// The signing of the attempts of one call.
pub(super) struct Signing {
    /// The credential that signed the last attempt.
    pub(super) credential: Arc<Credential>,
    /// The date of the last attempt.
    dated: SystemTime,
    /// Whether an attempt was dated by the service's clock.
    has_new_date: bool,
    /// Whether an attempt was signed again because the credential had been replaced.
    has_new_signature: bool,
    #[cfg(feature = "entra")]
    pub(super) bearer: Bearer,
}

impl Signing {
    pub(super) fn new(pipeline: &Pipeline) -> Self {
        Self {
            credential: pipeline.credential.get(),
            dated: SystemTime::UNIX_EPOCH,
            has_new_date: false,
            has_new_signature: false,
            #[cfg(feature = "entra")]
            bearer: Bearer::default(),
        }
    }

    /// Returns the date of the next attempt.
    pub(super) fn date(&mut self, pipeline: &Pipeline) -> SystemTime {
        self.dated = pipeline.now();
        self.dated
    }

    /// Returns whether to sign the request again after this refusal.
    pub(super) fn is_renewed(&mut self, pipeline: &Pipeline, answer: &Answer) -> bool {
        match answer.status {
            StatusCode::FORBIDDEN if answer.code() == Some(ErrorCode::AuthenticationFailed) => {
                if !self.has_new_date && self.is_misdated(pipeline, answer) {
                    self.has_new_date = true;
                    return true;
                }
                self.is_replaced(pipeline)
            }
            // Cosmos DB refuses a credential with this status.
            StatusCode::UNAUTHORIZED => self.is_replaced(pipeline),
            _ => false,
        }
    }

    /// Whether the service refuses the date of a signature, since this machine's clock is off.
    fn is_misdated(&self, pipeline: &Pipeline, answer: &Answer) -> bool {
        self.credential.key().is_some()
            && pipeline.skew.learn(&answer.headers, self.dated, pipeline.clock.now())
    }

    /// Whether the credential was replaced during this call, for the first time.
    fn is_replaced(&mut self, pipeline: &Pipeline) -> bool {
        let is_replaced =
            !self.has_new_signature && pipeline.credential.is_newer_than(&self.credential);
        self.has_new_signature |= is_replaced;
        is_replaced
    }
}

/// The service accepts a date that is up to 15 min off. A smaller difference than this one is not the reason
/// for a refusal.
const NOTICED: Duration = Duration::from_secs(5 * 60);

/// The seconds to add to this machine's time.
#[derive(Debug, Default)]
pub(super) struct Skew(AtomicI64);

impl Skew {
    pub(super) fn of(&self, now: SystemTime) -> SystemTime {
        let seconds = self.0.load(Ordering::Relaxed);
        let skew = Duration::from_secs(seconds.unsigned_abs());
        let moved = if seconds < 0 { now.checked_sub(skew) } else { now.checked_add(skew) };
        moved.unwrap_or(now)
    }

    /// Learns from the date of a response to a request with the date `dated`; this machine's clock shows `now`.
    /// Returns whether the date was too far off.
    pub(super) fn learn(&self, headers: &HeaderMap, dated: SystemTime, now: SystemTime) -> bool {
        let date = headers.get(header::DATE).and_then(|date| date.to_str().ok());
        let Some(date) = date.and_then(|date| httpdate::parse_http_date(date).ok()) else {
            return false;
        };
        let off = |time: SystemTime| match date.duration_since(time) {
            Ok(behind) => (behind, 1),
            Err(error) => (error.duration(), -1),
        };
        // A concurrent call may have stored the skew already; this request had a wrong date all the same.
        if off(dated).0 < NOTICED {
            return false;
        }
        let (skew, sign) = off(now);
        let seconds = i64::try_from(skew.as_secs()).unwrap_or(i64::MAX);
        self.0.store(sign * seconds, Ordering::Relaxed);
        true
    }
}

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

#[cfg(test)]
mod tests;
