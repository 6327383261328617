//! The events of observers.

use std::fmt;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::error::Error;
use crate::operation::Location;
use crate::transport::TransportErrorKind;
use crate::wire::Operation;

/// Receives every attempt and every call of a client; see
/// [`observer`](crate::TableServiceClientBuilder::observer).
///
/// The methods run where the call runs: they should only count, and must not block. Their arguments contain no
/// key values, filters, entities or secrets, except for the error of a failed call, whose text may name the
/// entity.
///
/// ```
/// use azure_table_client::telemetry::{Observer, Sending};
/// use http::{HeaderName, HeaderValue};
///
/// /// Sends the id of the trace along.
/// #[derive(Debug)]
/// struct Propagation;
///
/// impl Observer for Propagation {
///     fn before_send(&self, sending: &mut Sending<'_>) {
///         let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
///         let name = HeaderName::from_static("traceparent");
///         sending.insert_header(name, HeaderValue::from_static(parent));
///     }
/// }
/// ```
pub trait Observer: fmt::Debug + Send + Sync {
    /// An attempt is about to be signed and sent.
    fn before_send(&self, sending: &mut Sending<'_>) {
        let _ = sending;
    }

    /// An attempt has ended: it has a response, it failed, or its call was dropped.
    fn after_receive(&self, received: &Received<'_>) {
        let _ = received;
    }

    /// A call has ended, with all its attempts and waits.
    fn call_finished(&self, finished: &Finished<'_>) {
        let _ = finished;
    }
}

/// An attempt before it is signed and sent.
#[non_exhaustive]
pub struct Sending<'a> {
    /// The operation.
    pub operation: Operation,
    /// The table; empty where the request is about none.
    pub table: &'a str,
    /// The location of the service.
    pub location: Location,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The wait before it; zero before the first one.
    pub waited: Duration,
    /// The id that the service logs.
    pub client_request_id: &'a str,
    /// The bytes of the body.
    pub body_bytes: usize,
    pub(crate) headers: HeaderMap,
}

impl Sending<'_> {
    /// Adds a header, or replaces one that an observer added. The client's own headers stay; `Authorization`,
    /// `Host` and the headers that describe the body are ignored.
    pub fn insert_header(&mut self, name: HeaderName, value: HeaderValue) {
        let is_own = [
            header::AUTHORIZATION,
            header::HOST,
            header::CONTENT_TYPE,
            header::CONTENT_LENGTH,
            header::TRANSFER_ENCODING,
        ];
        if !is_own.contains(&name) {
            self.headers.insert(name, value);
        }
    }
}

opaque_debug!(Sending<'_>, |it| operation: it.operation, table: it.table, attempt: it.attempt);

/// An attempt that has ended.
#[derive(Clone)]
#[non_exhaustive]
pub struct Received<'a> {
    /// The operation.
    pub operation: Operation,
    /// The table; empty where the request is about none.
    pub table: &'a str,
    /// The location of the service.
    pub location: Location,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The wait before it; zero before the first one.
    pub waited: Duration,
    /// The id that the service logs.
    pub client_request_id: &'a str,
    /// From its sending to the last byte of the reply.
    pub duration: Duration,
    /// The bytes of the body that was sent.
    pub sent_bytes: usize,
    /// The bytes of the reply's body.
    pub received_bytes: usize,
    /// The outcome of the attempt.
    pub outcome: AttemptOutcome,
    pub(crate) headers: Option<&'a HeaderMap>,
}

impl<'a> Received<'a> {
    /// A header of the reply, such as `x-ms-request-id`. Those that name entities or continuations are
    /// withheld.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        let name = HeaderName::try_from(name).ok()?;
        let is_withheld = name == header::LOCATION
            || name == header::CONTENT_LOCATION
            || name == "dataserviceid"
            || name.as_str().starts_with("x-ms-continuation-");
        if is_withheld { None } else { self.headers?.get(name)?.to_str().ok() }
    }
}

opaque_debug!(Received<'_>, |it|
    operation: it.operation,
    table: it.table,
    attempt: it.attempt,
    client_request_id: it.client_request_id,
    outcome: it.outcome,
);

/// The outcome of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttemptOutcome {
    /// The HTTP status of the response; for a batch, the status of the operation inside.
    Responded(u16),
    /// No response came within the time limit.
    TimedOut,
    /// The transport failed before the response was complete.
    Failed(TransportErrorKind),
    /// The future of the call was dropped during the attempt.
    Dropped,
}

impl AttemptOutcome {
    /// Returns whether the service requests less load (429 or 503).
    pub const fn is_throttled(self) -> bool {
        matches!(self, Self::Responded(429 | 503))
    }
}

/// A finished call: one awaited method of the client, or one page of a query that is read page by page.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Finished<'a> {
    /// The operation.
    pub operation: Operation,
    /// The table; empty where the call is about none.
    pub table: &'a str,
    /// From the beginning to the end.
    pub duration: Duration,
    /// The requests that were sent.
    pub attempts: u32,
    /// The requests that repeated an earlier one.
    pub retries: u32,
    /// The total of the waits between attempts.
    pub waited: Duration,
    /// The pages that were read.
    pub pages: u64,
    /// The rows that were read.
    pub rows: u64,
    /// The operations of a transaction; 1 for all other calls.
    pub operations: usize,
    /// The service's id of the last request.
    pub request_id: Option<&'a str>,
    /// The response to an attempt was lost, and the attempt was found to be applied.
    pub by_earlier_attempt: bool,
    /// The outcome of the call.
    pub outcome: CallOutcome<'a>,
}

/// The outcome of a call.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum CallOutcome<'a> {
    /// The call succeeded. A missing row of `get_if_exists` and an existing table of `create_if_not_exists`
    /// count as success.
    Succeeded,
    /// The call failed with an expected error: a round of `update_with` or `update_rows_with` lost a race, and another may follow.
    /// An error of [unknown](crate::Outcome::Unknown) outcome is never expected.
    Expected(&'a Error),
    /// The call failed with another error.
    Failed(&'a Error),
    /// The future of the call was dropped before its end.
    Dropped,
}
