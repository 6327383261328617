//! Attempts: dating, signing, sending, and judging the response.

mod attempts;
mod endpoint;
mod retry;
mod retrying;
mod signing;
mod trace;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::HeaderMap;
use tokio::sync::Semaphore;

use crate::clock::SharedClock;
use crate::error::Error;
use crate::operation::{Location, Proof, Reply, Request, transaction, unsupported};
use crate::telemetry::Observer;
use crate::transport::Transport;
use crate::wire::{PayloadFormat, Protocol};

use attempts::Attempts;
pub(crate) use endpoint::Endpoint;
pub(crate) use retry::is_transient;
pub use retry::{FailedAttempt, RetryPolicy};
pub use retrying::LocationMode;
pub(crate) use retrying::{Budget, DEFAULT_TOKENS};
use signing::Skew;
pub(crate) use signing::{AcceptedCredentials, CurrentCredential};
pub(crate) use trace::{CallTrace, Expects, error_type};

/// The transport, the credential and the limits that all requests of a client share.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) endpoint: Endpoint,
    /// The endpoint of the secondary, if reads use it.
    pub(crate) secondary: Option<Endpoint>,
    pub(crate) locations: LocationMode,
    pub(crate) credential: CurrentCredential,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) clock: SharedClock,
    skew: Skew,
    pub(crate) retry: RetryPolicy,
    pub(crate) budget: Budget,
    /// A permit for each request in flight; `None` is unlimited.
    pub(crate) permits: Option<Semaphore>,
    pub(crate) try_timeout: Duration,
    pub(crate) deadline: Duration,
    /// The version and the format of requests, and of responses unless a call specifies another; see
    /// [`set_protocol`](Self::set_protocol).
    pub(crate) protocol: Protocol,
    /// The headers that all requests have.
    headers: HeaderMap,
    /// The observers of attempts and calls.
    pub(crate) observers: Vec<Arc<dyn Observer>>,
}

/// The settings of one call.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallOptions {
    pub(crate) client_request_id: Option<String>,
    pub(crate) retry: Option<RetryPolicy>,
    pub(crate) deadline: Option<Duration>,
    /// The deadline of the composite call that this call is a part of, for its error.
    pub(crate) whole_deadline: Option<Duration>,
    /// The format of the response.
    pub(crate) format: Option<PayloadFormat>,
    /// The accepted proof of the outcomes of writes, in place of the client's.
    pub(crate) proof: Option<Proof>,
    /// Whether reads must not use the secondary, which may lag behind.
    pub(crate) primary_only: bool,
}

/// The service ends a query after 30 s; the rest is for the network.
const DEFAULT_TRY_TIMEOUT: Duration = Duration::from_secs(60);
const DEFAULT_DEADLINE: Duration = Duration::from_secs(5 * 60);
/// Characters of a client request id that the service logs.
const MAX_CLIENT_REQUEST_ID: usize = 1024;

impl Pipeline {
    /// A pipeline with the default settings.
    pub(crate) fn new(
        endpoint: Endpoint,
        credential: CurrentCredential,
        transport: Arc<dyn Transport>,
        clock: SharedClock,
    ) -> Self {
        Self {
            endpoint,
            secondary: None,
            locations: LocationMode::default(),
            credential,
            transport,
            clock,
            skew: Skew::default(),
            retry: RetryPolicy::default(),
            budget: Budget::new(Some(DEFAULT_TOKENS)),
            permits: None,
            try_timeout: DEFAULT_TRY_TIMEOUT,
            deadline: DEFAULT_DEADLINE,
            protocol: Protocol::default(),
            headers: signing::shared_headers(Protocol::default()),
            observers: Vec::new(),
        }
    }

    /// Sends `request`, and retries where the policy allows it. Returns the last response regardless of its
    /// status, or an error without one. `trace` belongs to the whole call.
    pub(crate) async fn send(
        &self,
        request: &Request,
        options: &CallOptions,
        trace: &CallTrace<'_>,
    ) -> Result<Reply, Error> {
        self.read(request, options, trace, Ok).await
    }

    /// Sends `request` like [`send`](Self::send), and reads the response with `read`. If `request` is a read, a
    /// response whose body is damaged counts as a failed attempt.
    pub(crate) async fn read<T>(
        &self,
        request: &Request,
        options: &CallOptions,
        trace: &CallTrace<'_>,
        read: impl Fn(Reply) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let named = |error| request.named(error);
        let (client_request_id, batch) = self.id_and_batch(request, options).map_err(named)?;
        let sent = batch.as_deref().unwrap_or(request);
        let attempts = Attempts::new(self, sent, options, client_request_id, trace);
        let mut attempts = attempts.map_err(named)?;
        // The compiler repeats this loop, and nothing else, for each type of result.
        loop {
            let error = match attempts.next().await.and_then(&read) {
                Ok(value) => {
                    attempts.end();
                    return Ok(value);
                }
                Err(error) => error,
            };
            if !attempts.repeats(&error).await {
                return Err(named(error));
            }
        }
    }

    /// Returns the id of a call, and its request in a batch of its own if its keys are too long for a URL.
    fn id_and_batch(
        &self,
        request: &Request,
        options: &CallOptions,
    ) -> Result<(String, Option<Box<Request>>), Error> {
        let client_request_id = match &options.client_request_id {
            Some(id) => {
                check_client_request_id(id)?;
                id.clone()
            }
            None => self.clock.random_id()?.to_string(),
        };
        if !request.is_too_long() {
            return Ok((client_request_id, None));
        }
        // Bodies are in the client's own format.
        let protocol = if request.is_write() { self.protocol } else { self.protocol(options)? };
        let base = self.endpoint.base();
        let batch = transaction::in_batch(request, protocol, base, &self.clock)?;
        Ok((client_request_id, Some(Box::new(batch))))
    }

    /// Sets the version and the format of requests.
    pub(crate) fn set_protocol(&mut self, protocol: Protocol) {
        self.protocol = protocol;
        self.headers = signing::shared_headers(protocol);
    }

    /// Returns the version of the service, and the format of the response to a call.
    pub(crate) fn protocol(&self, options: &CallOptions) -> Result<Protocol, Error> {
        self.protocol.with(options.format).map_err(unsupported)
    }

    /// Returns the endpoint of a location.
    fn endpoint_at(&self, location: Location) -> &Endpoint {
        match (location, &self.secondary) {
            (Location::Secondary, Some(secondary)) => secondary,
            _ => &self.endpoint,
        }
    }

    /// Returns the current time of the service's clock, as far as it is known.
    pub(crate) fn now(&self) -> SystemTime {
        self.skew.of(self.clock.now())
    }
}

fn check_client_request_id(id: &str) -> Result<(), Error> {
    if id.len() <= MAX_CLIENT_REQUEST_ID && id.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Ok(());
    }
    Err(Error::invalid_input(format!(
        "a client request id has at most {MAX_CLIENT_REQUEST_ID} visible ASCII characters"
    )))
}
