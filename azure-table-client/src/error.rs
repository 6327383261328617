//! The error of every call.

mod build;
mod display;
mod text;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::StatusCode;

pub(crate) use azure_table_protocol::ErrorCode;
pub(crate) use text::Rounded;

use crate::entity::EntityKey;
use crate::wire::Operation;

/// The error of a call. One pointer wide.
///
/// The text describes the failure at this level; [`source`](std::error::Error::source) returns the cause.
/// Neither shows a key, a signature or a token. See the [guide](crate::guide::errors).
#[doc(alias("RequestFailedException", "StorageException", "DataServiceRequestException"))]
#[derive(Clone)]
pub struct Error(Box<ErrorFields>);

#[derive(Clone)]
struct ErrorFields {
    kind: ErrorKind,
    message: Cow<'static, str>,
    outcome: Outcome,
    matching_state: Option<MatchingState>,
    /// For example `Insert` on `Blogs`.
    operation: Option<(Operation, String)>,
    status: Option<StatusCode>,
    code: Option<ErrorCode>,
    request_id: Option<String>,
    client_request_id: Option<String>,
    batch_index: Option<usize>,
    entity_key: Option<EntityKey>,
    attempts: u32,
    rounds: u32,
    retry_after: Option<Duration>,
    /// The configured deadline, if the call reached it.
    deadline: Option<Duration>,
    /// See [`Error::is_damaged`].
    is_damaged: bool,
    open: Option<OpenWrite>,
    /// One sentence of advice.
    hint: Option<Box<str>>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// The kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A connection string, endpoint, key or setting is wrong. Nothing was sent.
    Configuration,
    /// The service would refuse the input. Nothing was sent.
    InvalidInput,
    /// The credential returned no token (feature `entra`). No authenticated request was sent.
    Credential,
    /// No connection could be made. Nothing was sent.
    Connect,
    /// The connection broke after the request was sent.
    Interrupted,
    /// The time limit of one attempt, or of the whole call, was reached.
    Timeout,
    /// The service responded with an error; see [`Error::code`] and [`Error::status`].
    Service,
    /// The response is not the response of the Table service to this request: a proxy's page, cut JSON, a missing header,
    /// the id or the row of another request.
    ///
    /// A 2xx without a mark of the service, such as an `x-ms-*` header ([`Dialect`](crate::Dialect) lists those of
    /// Cosmos DB), comes from a proxy or a captive portal; the outcome of a write is then unknown.
    ///
    /// A cycle of continuation tokens is of this kind too: a token that repeats an earlier one, and, on Azure Storage, a
    /// token whose keys do not come after those of the last token. A cycle across separately resumed pages (web paging)
    /// is found only if a page returns its own token.
    UnexpectedReply,
    /// An entity of the response does not match the struct; the source is a
    /// [`DecodeError`](crate::entity::DecodeError).
    Decode,
    /// A query that must have exactly one result has no result, or several.
    NotSingle,
    /// A query has more rows than its limit; see [`max_rows`](crate::client::Query::max_rows).
    TooManyRows,
}

/// The effect of a failed call, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The call had no effect: nothing was sent, or the service refused it.
    NotApplied,
    /// The write was applied; only its response could not be used.
    Applied,
    /// The write may have been applied, or may be applied later: a request was sent and its response never came. Read
    /// the row back to find out.
    Unknown,
}

/// A write that may have been applied, or may be applied later: no response closes one of its attempts. The attempts make
/// it, a response or an error carries it, and [`outcome`](crate::outcome) settles it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OpenWrite {
    /// The time of the first attempt, if it is known.
    pub(crate) first_sent: Option<Instant>,
    /// The time of the last open attempt, if it is known.
    pub(crate) last_sent: Option<Instant>,
    /// Whether the service refused a later attempt because an ETag was gone.
    pub(crate) is_fenced: bool,
}

impl OpenWrite {
    /// Joins the open attempts of an earlier request for the same rows and of a later one.
    pub(crate) fn join(earlier: Option<Self>, later: Option<Self>) -> Option<Self> {
        match (earlier, later) {
            (Some(Self { first_sent, .. }), Some(later)) => Some(Self { first_sent, ..later }),
            (earlier, later) => later.or(earlier),
        }
    }
}

const WRITE_ID_HINT: &str = "An attempt whose response was lost may have been applied. Set \
    TableServiceClientBuilder::write_id_column, so that the row shows whether it was";

/// The rows are in the state that a write of unknown outcome leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MatchingState {
    /// A write id would have resolved the outcome, and the client writes none.
    pub(crate) lacks_write_id: bool,
}

impl Error {
    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the effect of the call, as far as it is known.
    pub fn outcome(&self) -> Outcome {
        self.0.outcome
    }

    /// Whether the outcome is unknown and the rows are in the state that the write leaves. Another program
    /// that wrote the same values can be the cause. A program whose updates may be repeated without harm
    /// can let this count as success: [`Proof::MatchingUpdate`](crate::Proof::MatchingUpdate).
    pub fn state_matches(&self) -> bool {
        self.0.matching_state.is_some()
    }

    /// Returns the service's error code, if the response has one.
    pub fn code(&self) -> Option<&ErrorCode> {
        self.0.code.as_ref()
    }

    /// Returns the probable cause and one sentence of advice, where the client knows more than the service or
    /// the system reports: why a credential was refused, why a connection could not be made, or which setting
    /// resolves an unknown outcome. The text of the error contains it.
    pub fn hint(&self) -> Option<&str> {
        let lacks_write_id = self.0.matching_state.is_some_and(|state| state.lacks_write_id);
        self.0.hint.as_deref().or(lacks_write_id.then_some(WRITE_ID_HINT))
    }

    /// Returns the HTTP status of the last response, if one came.
    pub fn status(&self) -> Option<u16> {
        self.0.status.map(|status| status.as_u16())
    }

    /// Returns the service's id of the last request with a response (`x-ms-request-id`), for support requests.
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// The id that the client sent with each attempt (`x-ms-client-request-id`).
    pub fn client_request_id(&self) -> Option<&str> {
        self.0.client_request_id.as_deref()
    }

    /// Returns the index of the operation that failed a batch, from 0; `None` if the service did not report it.
    pub fn batch_index(&self) -> Option<usize> {
        self.0.batch_index
    }

    /// Returns the entity that the error is about: for a call about one entity always, for a
    /// transaction the entity of the operation that failed it, if known.
    pub fn entity_key(&self) -> Option<&EntityKey> {
        self.0.entity_key.as_ref()
    }

    /// Returns the wait that the service requested in its last response (`Retry-After` or
    /// `x-ms-retry-after-ms`, also of an operation in a batch); `None` if it requested no wait, or if the last
    /// attempt had no response.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// How many requests were sent; 0 if none was.
    pub fn attempts(&self) -> u32 {
        self.0.attempts
    }

    /// How many rounds there were of a call that consists of several, such as
    /// [`update_with`](crate::TableClient::update_with); 0 of other calls. The attempts are those of the
    /// last request.
    pub fn rounds(&self) -> u32 {
        self.0.rounds
    }

    /// Returns whether the service reports that the table or the entity does not exist (404). A 404 from a
    /// proxy or another server does not count.
    ///
    /// The status is that of the last attempt. If the response to an earlier attempt of a write was lost, that attempt
    /// may have been applied: check for [`Outcome::Unknown`] first.
    #[doc(alias("404", "ResourceNotFound"))]
    pub fn is_not_found(&self) -> bool {
        self.has_status(StatusCode::NOT_FOUND)
    }

    /// Returns whether the service reports that the table or the entity exists already, or that the table is
    /// being deleted (409). Check for [`Outcome::Unknown`] first, as for [`is_not_found`](Self::is_not_found).
    #[doc(alias("409", "EntityAlreadyExists"))]
    pub fn is_conflict(&self) -> bool {
        self.has_status(StatusCode::CONFLICT)
    }

    /// Returns whether the service reports that the entity has another version than the condition names (412),
    /// because of another write. Check for [`Outcome::Unknown`] first: the other write may be an earlier attempt of
    /// this one, whose response was lost. A [write id](crate::TableServiceClientBuilder::write_id_column) reveals that.
    #[doc(alias("412", "UpdateConditionNotSatisfied"))]
    pub fn is_precondition_failed(&self) -> bool {
        self.has_status(StatusCode::PRECONDITION_FAILED)
    }

    /// Whether the body of the response is cut, is not in the format that its head announces, or has the rows of another
    /// request. A read is then repeated.
    pub(crate) fn is_damaged(&self) -> bool {
        self.0.is_damaged
    }

    /// The open attempts of a write without a response.
    pub(crate) fn open_write(&self) -> Option<OpenWrite> {
        self.0.open
    }

    /// Returns whether the service itself responded with this status.
    fn has_status(&self, status: StatusCode) -> bool {
        self.0.kind == ErrorKind::Service && self.0.status == Some(status)
    }

    /// The service is busy or throttles (429, 503), or a proxy in front of it.
    #[doc(alias("503", "throttling", "throttle", "ServerBusy", "429"))]
    pub fn is_throttled(&self) -> bool {
        matches!(
            self.0.status,
            Some(StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE)
        )
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pointer_wide_and_sendable() {
        fn assert<T: Send + Sync + 'static>() {}
        assert::<Error>();
        assert_eq!(size_of::<Error>(), size_of::<usize>());
    }
}
