//! The error of every call.

mod build;
mod code;
mod display;
mod text;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;

pub use code::{ErrorCode, OtherCode};
pub(crate) use text::Rounded;

use crate::entity::EntityKey;
use crate::wire::Operation;

type Source = Arc<dyn std::error::Error + Send + Sync>;

/// Why a call failed. One pointer wide.
///
/// The text says what went wrong at this level; [`source`](std::error::Error::source) leads to
/// the cause. Neither shows a key, a signature or a token. See the [guide](crate::guide::errors).
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: Cow<'static, str>,
    outcome: Outcome,
    state_matches: bool,
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
    /// What to do about it, in one sentence.
    hint: Option<Box<str>>,
    source: Option<Source>,
}

/// What sort of error it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A connection string, endpoint, key or setting is wrong. Nothing was sent.
    Configuration,
    /// The service would refuse the input. Nothing was sent.
    InvalidInput,
    /// The credential gave no token (feature `entra`). Nothing was sent with one.
    Credential,
    /// No connection could be made. Nothing was sent.
    Connect,
    /// The connection broke after the request was sent.
    Interrupted,
    /// The time for one attempt, or for the whole call, was up.
    Timeout,
    /// The service answered with an error; [`Error::code`] and [`Error::status`] say which.
    Service,
    /// The answer is none of the table service: a proxy's page, cut JSON, a missing header.
    UnexpectedReply,
    /// An entity of the answer does not fit the struct; the source is a
    /// [`DecodeError`](crate::entity::DecodeError).
    Decode,
    /// A query that was to have one result has none, or several.
    NotSingle,
}

/// What is known about the effect of a failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The call had no effect: nothing was sent, or the service refused it.
    NotApplied,
    /// The call was done; only its answer could not be used.
    Applied,
    /// The call may or may not have been done, or may still be: a request was sent whose answer
    /// never came. Read back to find out.
    Unknown,
}

impl Error {
    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What is known about the effect of the call.
    pub fn outcome(&self) -> Outcome {
        self.0.outcome
    }

    /// Whether the outcome is unknown and the rows are in the state that the write leaves. Another program
    /// that wrote the same values can be the cause. A program whose updates may be repeated without harm
    /// can let this count as success:
    /// [`accept_matching_state`](crate::client::Call::accept_matching_state).
    pub fn state_matches(&self) -> bool {
        self.0.state_matches
    }

    /// The service's error code, if it answered with one.
    pub fn code(&self) -> Option<&ErrorCode> {
        self.0.code.as_ref()
    }

    /// What is probably the matter and what to do about it, in one sentence, where the service
    /// or the system say less than the client knows: why a credential was refused, or a connection could
    /// not be made. The text of the error has it too.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The HTTP status of the last answer, if there was one.
    pub fn status(&self) -> Option<u16> {
        self.0.status.map(|status| status.as_u16())
    }

    /// The service's id of the last answered request (`x-ms-request-id`), for support requests.
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// The id that the client sent with each attempt (`x-ms-client-request-id`).
    pub fn client_request_id(&self) -> Option<&str> {
        self.0.client_request_id.as_deref()
    }

    /// The index of the operation that failed a batch, from 0; `None` if the service did not say.
    pub fn batch_index(&self) -> Option<usize> {
        self.0.batch_index
    }

    /// Returns the entity that the error is about: of a call about one entity always, of a
    /// transaction that of the operation that failed it, where it is known.
    pub fn entity_key(&self) -> Option<&EntityKey> {
        self.0.entity_key.as_ref()
    }

    /// Returns the wait that the service asked for in its last response (`Retry-After` or
    /// `x-ms-retry-after-ms`, also of an operation in a batch); `None` if it asked for none, or if
    /// the last attempt had no response.
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

    /// The service says that the table or the entity is not there (404). The 404 of a proxy or of
    /// another server says nothing about it.
    pub fn is_not_found(&self) -> bool {
        self.is_answer(StatusCode::NOT_FOUND)
    }

    /// The service says that the table or the entity is there already, or that the table is being
    /// deleted (409).
    pub fn is_conflict(&self) -> bool {
        self.is_answer(StatusCode::CONFLICT)
    }

    /// The service says that the entity has another version than the condition names (412):
    /// somebody else wrote it.
    pub fn is_precondition_failed(&self) -> bool {
        self.is_answer(StatusCode::PRECONDITION_FAILED)
    }

    /// The service itself answered with this status.
    fn is_answer(&self, status: StatusCode) -> bool {
        self.0.kind == ErrorKind::Service && self.0.status == Some(status)
    }

    /// The service is busy or throttles (429, 503), or a proxy in front of it.
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
