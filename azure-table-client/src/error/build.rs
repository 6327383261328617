//! Creation of errors, and the context that the layers add to them.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use azure_table_protocol::auth::{CredentialError, SasError};
use azure_table_protocol::clock::RandomSourceError;
use azure_table_protocol::filter::FilterError;
use azure_table_protocol::transport::{TransportError, TransportErrorKind};
use http::StatusCode;

use super::text::{self, MESSAGE_CHARS, Rounded};
use super::{Error, ErrorCode, ErrorFields, ErrorKind, MatchingState, OpenWrite, Outcome};
use crate::edm::DateTimeError;
use crate::entity::{DecodeError, EncodeError, EntityJsonError, EntityKey, KeyError};
use crate::limits::LimitError;
use crate::wire::Operation;
use crate::wire::escape::escaped;
use crate::wire::service_error::ErrorBody;

impl Error {
    fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(ErrorFields {
            kind,
            message: message.into(),
            outcome: Outcome::NotApplied,
            matching_state: None,
            operation: None,
            status: None,
            code: None,
            request_id: None,
            client_request_id: None,
            batch_index: None,
            entity_key: None,
            attempts: 0,
            rounds: 0,
            retry_after: None,
            deadline: None,
            is_damaged: false,
            open: None,
            hint: None,
            source: None,
        }))
    }

    pub(crate) fn configuration(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Configuration, message)
    }

    #[cfg(feature = "entra")]
    pub(crate) fn credential(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Credential, message)
    }

    pub(crate) fn invalid_input(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::InvalidInput, message)
    }

    pub(crate) fn not_single(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::NotSingle, message)
    }

    pub(crate) fn timeout(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Timeout, message)
    }

    /// A call reached its deadline; `message` states what it waited for, unless that is a response.
    pub(crate) fn deadline(deadline: Duration, message: &'static str) -> Self {
        let mut error = Self::timeout(message);
        error.0.deadline = Some(deadline);
        error
    }

    /// A query reached its total deadline between two of its pages.
    pub(crate) fn total_deadline(deadline: Duration) -> Self {
        Self::timeout(format!(
            "total deadline of {} reached between two requests",
            Rounded(deadline)
        ))
    }

    pub(crate) fn too_many_rows(most: u64) -> Self {
        Self::new(
            ErrorKind::TooManyRows,
            format!(
                "the result has more rows than its limit ({most}): narrow the filter, return fewer by `take`, or raise \
                 `max_rows`"
            ),
        )
    }

    pub(crate) fn too_many_rows_to_fence(most: u64) -> Self {
        Self::new(
            ErrorKind::TooManyRows,
            format!(
                "a transaction changes or fences at most {most} rows, and more were found: narrow the filter, or call \
                 `allow_write_skew`"
            ),
        )
    }

    pub(crate) fn unexpected_reply(message: impl Into<Cow<'static, str>>) -> Self {
        let message = match message.into() {
            // The message may quote a header of any server.
            Cow::Owned(message) => Cow::Owned(text::bounded(&message, MESSAGE_CHARS).into_owned()),
            message @ Cow::Borrowed(_) => message,
        };
        Self::new(ErrorKind::UnexpectedReply, message)
    }

    /// The body of a response is cut, is not in the format that its head announces, or has the rows of another request.
    pub(crate) fn damaged_reply(message: impl Into<Cow<'static, str>>) -> Self {
        let mut error = Self::unexpected_reply(message);
        error.0.is_damaged = true;
        error
    }

    pub(crate) fn service(body: ErrorBody) -> Self {
        // The message is the first line; request id and time follow.
        let message = body.message.lines().next().unwrap_or_default();
        let (batch_index, message) = split_index(message);
        let mut error = Self::new(
            ErrorKind::Service,
            escaped(text::bounded(message, MESSAGE_CHARS).into_owned()),
        );
        error.0.batch_index = batch_index;
        error.0.code = Some(ErrorCode::from(body.code));
        error
    }

    pub(crate) fn with_outcome(mut self, outcome: Outcome) -> Self {
        self.0.outcome = outcome;
        self
    }

    /// Sets the open attempts of a write, whose outcome is then unknown.
    pub(crate) fn with_open_write(mut self, open: Option<OpenWrite>) -> Self {
        self.0.open = open;
        self
    }

    pub(crate) fn with_matching_state(mut self, state: Option<MatchingState>) -> Self {
        self.0.matching_state = state;
        self
    }

    /// Names the operation, the table and the entity, unless the error names them already. The key is made for errors
    /// alone.
    pub(crate) fn about(
        mut self,
        operation: Operation,
        resource: &str,
        key: impl FnOnce() -> Option<EntityKey>,
    ) -> Self {
        self.0.operation.get_or_insert_with(|| (operation, resource.to_owned()));
        self.with_entity_key(key)
    }

    pub(crate) fn with_reply(mut self, status: StatusCode, request_id: Option<&str>) -> Self {
        self.0.status = Some(status);
        self.0.request_id = request_id.map(str::to_owned);
        self
    }

    /// Sets the index of the operation that failed a transaction.
    pub(crate) fn at_index(mut self, index: Option<usize>) -> Self {
        self.0.batch_index = index;
        self
    }

    /// Sets the entity that the error is about.
    pub(crate) fn of_entity(mut self, key: Option<EntityKey>) -> Self {
        self.0.entity_key = key;
        self
    }

    /// Names the entity, unless the error names one already.
    pub(crate) fn with_entity_key(mut self, key: impl FnOnce() -> Option<EntityKey>) -> Self {
        if self.0.entity_key.is_none() {
            self.0.entity_key = key();
        }
        self
    }

    pub(crate) fn with_retry_after(mut self, wait: Option<Duration>) -> Self {
        self.0.retry_after = wait;
        self
    }

    pub(crate) fn with_attempts(mut self, attempts: u32, client_request_id: &str) -> Self {
        self.0.attempts = attempts;
        self.0.client_request_id = Some(client_request_id.to_owned());
        self
    }

    pub(crate) fn with_rounds(mut self, rounds: u32) -> Self {
        self.0.rounds = rounds;
        self
    }

    pub(crate) fn with_hint(mut self, hint: Option<String>) -> Self {
        self.0.hint = hint.map(String::into_boxed_str);
        self
    }

    pub(crate) fn with_source(
        mut self,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        self.0.source = Some(Arc::new(source));
        self
    }
}

/// `"3:The specified…"` is about the operation at index 3.
fn split_index(message: &str) -> (Option<usize>, &str) {
    match message.split_once(':') {
        Some((index, rest)) if !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit()) => {
            (index.parse().ok(), rest)
        }
        _ => (None, message),
    }
}

macro_rules! invalid_input {
    ($($source:ty),*) => {$(
        impl From<$source> for Error {
            fn from(source: $source) -> Self {
                Self::invalid_input(source.to_string()).with_source(source)
            }
        }
    )*};
}

invalid_input!(LimitError, EncodeError, KeyError, FilterError, DateTimeError, SasError);

impl From<RandomSourceError> for Error {
    fn from(source: RandomSourceError) -> Self {
        Self::configuration(source.to_string()).with_source(source)
    }
}

impl From<EntityJsonError> for Error {
    fn from(source: EntityJsonError) -> Self {
        match source.into_decode_error() {
            Ok(source) => source.into(),
            Err(source) => Self::invalid_input(source.to_string()).with_source(source),
        }
    }
}

impl From<CredentialError> for Error {
    fn from(source: CredentialError) -> Self {
        Self::configuration(source.to_string())
    }
}

impl From<DecodeError> for Error {
    fn from(source: DecodeError) -> Self {
        let key = source.key().cloned();
        Self::new(ErrorKind::Decode, source.to_string()).with_source(source).with_entity_key(|| key)
    }
}

impl From<TransportError> for Error {
    fn from(source: TransportError) -> Self {
        let (kind, outcome) = match source.kind() {
            TransportErrorKind::Connect => (ErrorKind::Connect, Outcome::NotApplied),
            TransportErrorKind::Invalid => (ErrorKind::InvalidInput, Outcome::NotApplied),
            TransportErrorKind::Interrupted => (ErrorKind::Interrupted, Outcome::Unknown),
            // TooLarge, Foreign, and kinds of later versions: the request may have been received.
            _ => (ErrorKind::UnexpectedReply, Outcome::Unknown),
        };
        Self::new(kind, source.to_string()).with_outcome(outcome).with_source(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_errors_are_taken_apart() {
        let message = "3:The update condition specified in the request was not satisfied.\nRequestId:x\nTime:y";
        let error = Error::service(ErrorBody {
            code: "UpdateConditionNotSatisfied".into(),
            message: message.into(),
        })
        .with_reply(StatusCode::PRECONDITION_FAILED, Some("abc"))
        .about(Operation::Merge, "Blogs", || None);
        assert!(error.is_precondition_failed());
        assert_eq!(error.batch_index(), Some(3));
        assert_eq!(error.code(), Some(&ErrorCode::UpdateConditionNotSatisfied));
        assert_eq!(
            error.to_string(),
            "Merge on Blogs: The update condition specified in the request was not satisfied. \
             (412 UpdateConditionNotSatisfied, operation 3 of the batch, request id abc)"
        );
    }

    #[test]
    fn an_index_is_not_guessed() {
        assert_eq!(split_index("no index"), (None, "no index"));
        assert_eq!(split_index("Time: 12"), (None, "Time: 12"));
        assert_eq!(split_index("12:x"), (Some(12), "x"));
        assert_eq!(split_index("99999999999999999999999:x").0, None);
    }
}
