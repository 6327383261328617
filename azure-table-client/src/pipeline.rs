//! Attempts: each is dated and signed anew, sent, and judged.

mod endpoint;
mod retry;

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{HeaderMap, HeaderValue, StatusCode, header};
use tokio::time::{Instant, sleep, timeout};
use tracing::{Instrument as _, debug, debug_span, field};

use crate::auth::{Credential, canonicalized_resource, string_to_sign};
use crate::clock::SharedClock;
use crate::error::{Error, Outcome};
use crate::limits::COMPARISONS;
use crate::operation::query::ScanPolicy;
use crate::operation::{Reply, Request};
use crate::transport::{HttpRequest, HttpResponse, Transport, TransportError, TransportErrorKind};
use crate::wire::{Metadata, headers};

pub(crate) use endpoint::Endpoint;
pub use retry::RetryPolicy;
pub(crate) use retry::server_wait;

static USER_AGENT: HeaderValue =
    HeaderValue::from_static(concat!("azure-table-client/", env!("CARGO_PKG_VERSION")));

/// What one client sends through; shared by everything made of it.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) endpoint: Endpoint,
    pub(crate) credential: Credential,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) clock: SharedClock,
    pub(crate) retry: RetryPolicy,
    pub(crate) try_timeout: Duration,
    pub(crate) deadline: Duration,
    pub(crate) metadata: Metadata,
    pub(crate) scans: ScanPolicy,
    pub(crate) max_comparisons: usize,
    /// Whether it is read back what became of writes whose answers were lost.
    pub(crate) resolves: bool,
    /// The column that tells one write from another.
    pub(crate) write_id: Option<Arc<str>>,
}

/// What one call may set for itself.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallOptions {
    pub(crate) client_request_id: Option<String>,
    pub(crate) retry: Option<RetryPolicy>,
    pub(crate) deadline: Option<Duration>,
    /// A row of the very same values is no proof that it was written by this call.
    pub(crate) only_exact: bool,
}

/// Why an attempt is not the last word.
enum Failure {
    /// An answer, and its status or that of what is in it.
    Answer(StatusCode, HttpResponse),
    Transport(TransportError),
    TimedOut(Duration),
}

/// The service gives a query 30 s and answers within that; the rest is the network's.
const DEFAULT_TRY_TIMEOUT: Duration = Duration::from_mins(1);
const DEFAULT_DEADLINE: Duration = Duration::from_mins(5);
/// Characters of a client request id that the service logs.
const MAX_CLIENT_REQUEST_ID: usize = 1024;
/// 9999-12-31T23:59:59Z in seconds since 1970: the last one that fits the date header.
const LAST_HTTP_SECOND: u64 = 253_402_300_799;

impl Pipeline {
    /// A pipeline with the default settings.
    pub(crate) fn new(
        endpoint: Endpoint,
        credential: Credential,
        transport: Arc<dyn Transport>,
        clock: SharedClock,
    ) -> Self {
        Self {
            endpoint,
            credential,
            transport,
            clock,
            retry: RetryPolicy::default(),
            try_timeout: DEFAULT_TRY_TIMEOUT,
            deadline: DEFAULT_DEADLINE,
            metadata: Metadata::default(),
            scans: ScanPolicy::default(),
            max_comparisons: COMPARISONS,
            resolves: true,
            write_id: None,
        }
    }

    /// Sends `request`, again where the policy says so, and returns the last answer whatever its
    /// status; an error if there was none.
    pub(crate) async fn send(
        &self,
        request: &Request,
        options: &CallOptions,
    ) -> Result<Reply, Error> {
        let client_request_id =
            options.client_request_id.clone().unwrap_or_else(new_client_request_id);
        check_client_request_id(&client_request_id)?;
        let span = debug_span!(
            "azure_table",
            operation = request.operation.as_str(),
            table = request.resource,
            client_request_id,
            attempts = field::Empty,
            status = field::Empty,
        );
        let attempts = self.attempts(request, options, client_request_id);
        let result = attempts.instrument(span.clone()).await;
        match &result {
            Ok(reply) => {
                span.record("attempts", reply.attempts);
                span.record("status", reply.status.as_u16());
            }
            Err(error) => {
                span.record("attempts", error.attempts());
            }
        }
        result
    }

    async fn attempts(
        &self,
        request: &Request,
        options: &CallOptions,
        client_request_id: String,
    ) -> Result<Reply, Error> {
        let retry = options.retry.as_ref().unwrap_or(&self.retry);
        // `None` is later than any clock can show.
        let deadline = Instant::now().checked_add(options.deadline.unwrap_or(self.deadline));
        let mut attempt = 0;
        let mut outcome_open = false;
        loop {
            attempt += 1;
            let outgoing = self.prepare(request, &client_request_id)?;
            let now = Instant::now();
            let left = deadline.map_or(Duration::MAX, |at| at.saturating_duration_since(now));
            let limit = self.try_timeout.min(left);
            let failure = match timeout(limit, self.transport.send(outgoing)).await {
                Ok(Ok(response)) => {
                    let HttpResponse { status, headers, body } = &response;
                    let status = request.status_of(*status, headers, body);
                    if !retry::is_transient(status) {
                        return Ok(reply(response, attempt, client_request_id, outcome_open));
                    }
                    Failure::Answer(status, response)
                }
                Ok(Err(error)) => Failure::Transport(error),
                Err(_) => Failure::TimedOut(limit),
            };
            outcome_open |= request.is_write() && failure.leaves_outcome_open();
            let wait = retry.wait(attempt, failure.server_wait(&self.clock));
            let in_time = deadline
                .is_none_or(|at| Instant::now().checked_add(wait).is_some_and(|then| then < at));
            if attempt > retry.max_retries() || !failure.is_transient() || !in_time {
                return failure.into_last(request, attempt, client_request_id, outcome_open);
            }
            debug!(
                attempt,
                wait_ms = wait.as_millis(),
                cause = failure.describe(),
                "will try again"
            );
            sleep(wait).await;
        }
    }

    /// The request of one attempt: dated and authorized now.
    fn prepare(&self, request: &Request, client_request_id: &str) -> Result<HttpRequest, Error> {
        let date = http_date(self.clock.now());
        let mut map = HeaderMap::with_capacity(16);
        if let Some((name, value)) = &request.header {
            map.insert(*name, value.clone());
        }
        map.insert(header::ACCEPT, HeaderValue::from_static(self.metadata.media_type()));
        map.insert(header::USER_AGENT, USER_AGENT.clone());
        map.insert(&headers::X_MS_VERSION, headers::SERVICE_VERSION.clone());
        map.insert(&headers::DATA_SERVICE_VERSION, headers::DATA_SERVICE_VERSION_3.clone());
        map.insert(&headers::MAX_DATA_SERVICE_VERSION, headers::MAX_DATA_SERVICE_VERSION_3.clone());
        map.insert(&headers::X_MS_CLIENT_REQUEST_ID, header_value(client_request_id)?);
        if let Credential::SharedKey(key) = &self.credential {
            let content_type = match &request.body {
                body if body.is_empty() => "",
                // Of our own making, and so text.
                _ => request.content_type.to_str().unwrap_or_default(),
            };
            let mut path = String::with_capacity(self.endpoint.path().len() + request.path.len());
            path.push_str(self.endpoint.path());
            path.push_str(&request.path);
            let resource = canonicalized_resource(key.account(), &path, request.query.as_str());
            let text = string_to_sign(request.method.as_str(), "", content_type, &date, &resource);
            let mut value =
                header_value(&format!("SharedKey {}:{}", key.account(), key.sign(&text)))?;
            value.set_sensitive(true);
            map.insert(header::AUTHORIZATION, value);
        }
        map.insert(&headers::X_MS_DATE, header_value(&date)?);
        if !request.body.is_empty() {
            map.insert(header::CONTENT_TYPE, request.content_type.clone());
        }
        Ok(HttpRequest {
            method: request.method.clone(),
            url: self.url(request),
            headers: map,
            body: request.body.clone(),
        })
    }

    fn url(&self, request: &Request) -> String {
        let sas = match &self.credential {
            Credential::Sas(token) => token.as_query(),
            _ => "",
        };
        let query = request.query.as_str();
        let base = self.endpoint.base();
        let mut url =
            String::with_capacity(base.len() + request.path.len() + query.len() + sas.len() + 2);
        url.push_str(base);
        url.push_str(&request.path);
        let mut separator = '?';
        for part in [query, sas] {
            if !part.is_empty() {
                url.push(separator);
                url.push_str(part);
                separator = '&';
            }
        }
        url
    }
}

impl Failure {
    fn is_transient(&self) -> bool {
        match self {
            Self::Answer(..) | Self::TimedOut(_) => true,
            Self::Transport(error) => retry::is_transient_error(error.kind()),
        }
    }

    fn leaves_outcome_open(&self) -> bool {
        match self {
            Self::Answer(status, _) => retry::leaves_outcome_open(*status),
            Self::TimedOut(_) => true,
            Self::Transport(error) => {
                !matches!(error.kind(), TransportErrorKind::Connect | TransportErrorKind::Invalid)
            }
        }
    }

    fn server_wait(&self, clock: &SharedClock) -> Option<Duration> {
        match self {
            Self::Answer(_, response) => server_wait(&response.headers, clock.now()),
            _ => None,
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Answer(status, _) => status.to_string(),
            Self::Transport(error) => error.to_string(),
            Self::TimedOut(limit) => format!("no reply within {limit:?}"),
        }
    }

    /// The end of the call: the answer, or the error that stands for none.
    fn into_last(
        self,
        request: &Request,
        attempts: u32,
        client_request_id: String,
        outcome_open: bool,
    ) -> Result<Reply, Error> {
        let error = match self {
            Self::Answer(_, response) => {
                return Ok(reply(response, attempts, client_request_id, outcome_open));
            }
            Self::Transport(error) => Error::from(error),
            Self::TimedOut(limit) => Error::timeout(format!("no reply within {limit:?}")),
        };
        let outcome = if outcome_open { Outcome::Unknown } else { Outcome::NotApplied };
        Err(error
            .with_operation(request.operation, &request.resource)
            .with_attempts(attempts, &client_request_id)
            .with_outcome(outcome))
    }
}

fn reply(
    response: HttpResponse,
    attempts: u32,
    client_request_id: String,
    outcome_open: bool,
) -> Reply {
    let HttpResponse { status, headers, body } = response;
    Reply {
        status,
        headers,
        body,
        attempts,
        client_request_id,
        outcome_open,
        by_earlier_attempt: false,
    }
}

/// The date as a header; the nearest one that has such a form, whatever the clock shows.
fn http_date(time: SystemTime) -> String {
    let last = UNIX_EPOCH + Duration::from_secs(LAST_HTTP_SECOND);
    httpdate::fmt_http_date(time.clamp(UNIX_EPOCH, last))
}

fn header_value(text: &str) -> Result<HeaderValue, Error> {
    HeaderValue::from_str(text).map_err(|error| {
        Error::invalid_input("a header has a character that is not allowed").with_source(error)
    })
}

fn check_client_request_id(id: &str) -> Result<(), Error> {
    if id.len() <= MAX_CLIENT_REQUEST_ID && id.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Ok(());
    }
    Err(Error::invalid_input(format!(
        "a client request id has at most {MAX_CLIENT_REQUEST_ID} visible ASCII characters"
    )))
}

/// A random UUID. It tells requests apart in logs and guards nothing, so no system call is made.
fn new_client_request_id() -> String {
    uuid::Builder::from_random_bytes(fastrand::u128(..).to_le_bytes()).into_uuid().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_clock_is_too_early_or_too_late_for_a_date() {
        assert_eq!(http_date(UNIX_EPOCH), "Thu, 01 Jan 1970 00:00:00 GMT");
        let year = Duration::from_hours(24 * 365);
        assert_eq!(http_date(UNIX_EPOCH - year), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(http_date(UNIX_EPOCH + year * 9000), "Fri, 31 Dec 9999 23:59:59 GMT");
    }
}
