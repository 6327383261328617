//! Attempts: each is dated and signed anew, sent, and judged.

mod attempts;
#[cfg(feature = "entra")]
mod bearer;
mod budget;
mod credential;
mod endpoint;
mod failure;
mod location;
mod prepare;
mod retry;
mod skew;
mod trace;
mod unreachable;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::HeaderValue;
use tokio::sync::Semaphore;

use crate::clock::SharedClock;
use crate::error::Error;
use crate::limits::COMPARISONS;
use crate::operation::query::ScanPolicy;
use crate::operation::{Location, Reply, Request, Target, transaction, unsupported};
use crate::telemetry::Observer;
use crate::transport::Transport;
use crate::wire::{PayloadFormat, Protocol};

use attempts::Attempts;
pub(crate) use budget::{Budget, TOKENS};
pub(crate) use credential::{CurrentCredential, Takes};
pub(crate) use endpoint::Endpoint;
pub use location::LocationMode;
pub use retry::{FailedAttempt, RetryPolicy};
pub(crate) use retry::{is_transient, server_wait};
use skew::Skew;
pub(crate) use trace::{CallTrace, Expects};

/// What one client sends through; shared by everything made of it.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) endpoint: Endpoint,
    /// Where the copy of the data is, if it is asked.
    pub(crate) secondary: Option<Endpoint>,
    pub(crate) locations: LocationMode,
    pub(crate) credential: CurrentCredential,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) clock: SharedClock,
    skew: Skew,
    pub(crate) retry: RetryPolicy,
    pub(crate) budget: Budget,
    /// A place for each request that may be on its way; `None` is no bound.
    pub(crate) places: Option<Semaphore>,
    pub(crate) try_timeout: Duration,
    pub(crate) deadline: Duration,
    /// The version and the format of what is sent, and of answers unless a call says otherwise.
    pub(crate) protocol: Protocol,
    /// The version as each request names it.
    pub(crate) version: HeaderValue,
    pub(crate) scans: ScanPolicy,
    pub(crate) max_comparisons: usize,
    /// Whether the rows are read back when it is not known whether a write was applied.
    pub(crate) resolves: bool,
    /// Whether a matching state proves nothing.
    pub(crate) exact: bool,
    /// Whether a matching state proves a conditional update.
    pub(crate) accept_matching_state: bool,
    /// The column that tells one write from another.
    pub(crate) write_id: Option<Arc<str>>,
    /// Who is told of attempts and calls.
    pub(crate) observers: Vec<Arc<dyn Observer>>,
}

/// What one call may set for itself.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallOptions {
    pub(crate) client_request_id: Option<String>,
    pub(crate) retry: Option<RetryPolicy>,
    pub(crate) deadline: Option<Duration>,
    /// The deadline of the composite call that this call is a part of, for its error.
    pub(crate) whole_deadline: Option<Duration>,
    /// The format of the answer.
    pub(crate) format: Option<PayloadFormat>,
    /// Whether a matching state proves nothing.
    pub(crate) exact: Option<bool>,
    /// Whether a matching state proves a conditional update.
    pub(crate) accept_matching_state: Option<bool>,
    /// What is read must not lag behind.
    pub(crate) primary_only: bool,
}

/// The service gives a query 30 s and answers within that; the rest is the network's.
const DEFAULT_TRY_TIMEOUT: Duration = Duration::from_mins(1);
const DEFAULT_DEADLINE: Duration = Duration::from_mins(5);
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
            budget: Budget::new(Some(TOKENS)),
            places: None,
            try_timeout: DEFAULT_TRY_TIMEOUT,
            deadline: DEFAULT_DEADLINE,
            protocol: Protocol::default(),
            version: Protocol::default().version_header(),
            scans: ScanPolicy::default(),
            max_comparisons: COMPARISONS,
            resolves: true,
            exact: false,
            accept_matching_state: false,
            write_id: None,
            observers: Vec::new(),
        }
    }

    /// Sends `request`, again where the policy says so, and returns the last answer whatever its
    /// status; an error if there was none. It is a part of the call that `trace` is of.
    pub(crate) async fn send(
        &self,
        request: &Request,
        options: &CallOptions,
        trace: &CallTrace<'_>,
    ) -> Result<Reply, Error> {
        let result = self.send_or_batch(request, options, trace).await;
        result.map_err(|error| error.with_entity_key(|| request.entity_key()))
    }

    /// Sends `request`, in a batch of its own if no URL can hold its keys.
    async fn send_or_batch(
        &self,
        request: &Request,
        options: &CallOptions,
        trace: &CallTrace<'_>,
    ) -> Result<Reply, Error> {
        let client_request_id =
            options.client_request_id.clone().unwrap_or_else(new_client_request_id);
        check_client_request_id(&client_request_id)?;
        // What is written is in the client's own format.
        let protocol = if request.is_write() { self.protocol } else { self.protocol(options)? };
        let Some(batch) = transaction::in_batch(request, protocol, self.endpoint.base())? else {
            return Attempts::new(self, request, options, client_request_id, trace)?.run().await;
        };
        // Boxed, so that the futures of all other calls have no room for the batch.
        let batch = Box::new(batch);
        let attempts = Attempts::new(self, &batch, options, client_request_id, trace)?;
        let reply = Box::pin(attempts.run()).await?;
        transaction::only(reply, request)
    }

    /// A table of the service, as a target of writes.
    pub(crate) fn target(&self, table: &Arc<str>) -> Target {
        Target {
            table: Arc::clone(table),
            base: self.endpoint.shared_base(),
            protocol: self.protocol,
            write_id: self.write_id.clone(),
        }
    }

    /// The version that is spoken, and the format of the answer to a call.
    pub(crate) fn protocol(&self, options: &CallOptions) -> Result<Protocol, Error> {
        self.protocol.with(options.format).map_err(unsupported)
    }

    /// Where the service is.
    fn endpoint_at(&self, location: Location) -> &Endpoint {
        match (location, &self.secondary) {
            (Location::Secondary, Some(secondary)) => secondary,
            _ => &self.endpoint,
        }
    }

    /// The present, as far as the service has told it.
    fn now(&self) -> SystemTime {
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

/// A random UUID. It tells requests apart in logs and guards nothing, so no system call is made.
fn new_client_request_id() -> String {
    uuid::Builder::from_random_bytes(fastrand::u128(..).to_le_bytes()).into_uuid().to_string()
}
