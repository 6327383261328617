//! The error of every call.

mod code;
mod text;

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;

pub use code::{ErrorCode, OtherCode};
pub(crate) use text::Rounded;
use text::{Escaping, MESSAGE_CHARS};

use crate::edm::DateTimeError;
use crate::entity::{DecodeError, EncodeError, EntityKey, KeyError};
use crate::filter::FilterError;
use crate::limits::LimitError;
use crate::transport::{TransportError, TransportErrorKind};
use crate::wire::service_error::ErrorBody;
use crate::wire::{NoServiceVersion, Operation};

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
    fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            outcome: Outcome::NotApplied,
            state_matches: false,
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

    pub(crate) fn unexpected_reply(message: impl Into<Cow<'static, str>>) -> Self {
        let message = match message.into() {
            // It may quote a header of any server.
            Cow::Owned(message) => Cow::Owned(text::bounded(&message, MESSAGE_CHARS).into_owned()),
            message @ Cow::Borrowed(_) => message,
        };
        Self::new(ErrorKind::UnexpectedReply, message)
    }

    pub(crate) fn service(body: ErrorBody) -> Self {
        // The first line says it; request id and time follow and stand in fields of their own.
        let message = body.message.lines().next().unwrap_or_default();
        let (batch_index, message) = split_index(message);
        let mut error =
            Self::new(ErrorKind::Service, text::bounded(message, MESSAGE_CHARS).into_owned());
        error.0.batch_index = batch_index;
        error.0.code = Some(ErrorCode::from(body.code));
        error
    }

    pub(crate) fn with_outcome(mut self, outcome: Outcome) -> Self {
        self.0.outcome = outcome;
        self
    }

    pub(crate) fn with_state_matches(mut self, matches: bool) -> Self {
        self.0.state_matches = matches;
        self
    }

    pub(crate) fn with_operation(mut self, operation: Operation, resource: &str) -> Self {
        self.0.operation = Some((operation, resource.to_owned()));
        self
    }

    pub(crate) fn with_reply(mut self, status: StatusCode, request_id: Option<&str>) -> Self {
        self.0.status = Some(status);
        self.0.request_id = request_id.map(str::to_owned);
        self
    }

    /// Which operation of a transaction it is about, and on which entity.
    pub(crate) fn with_batch(mut self, index: Option<usize>, key: Option<EntityKey>) -> Self {
        self.0.batch_index = index;
        self.0.entity_key = key;
        self
    }

    /// Names the entity, unless the error names one already. The key is made for errors alone.
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

/// `"3:The specified…"` is about the operation at index 3.
fn split_index(message: &str) -> (Option<usize>, &str) {
    match message.split_once(':') {
        Some((index, rest)) if !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit()) => {
            (index.parse().ok(), rest)
        }
        _ => (None, message),
    }
}

impl Inner {
    fn write_message(&self, out: &mut impl fmt::Write) -> fmt::Result {
        let Some(deadline) = self.deadline else { return out.write_str(&self.message) };
        write!(out, "deadline of {} reached", Rounded(deadline))?;
        match self.attempts {
            // Earlier rounds sent some.
            0 if self.rounds > 1 => {}
            0 => out.write_str(" before the first attempt")?,
            1 => out.write_str(" after 1 attempt")?,
            attempts => write!(out, " after {attempts} attempts")?,
        }
        if self.message.is_empty() { Ok(()) } else { write!(out, ": {}", self.message) }
    }

    /// Returns the key as the text shows it, unless the message shows it already.
    fn shown_key(&self) -> Option<String> {
        let key = text::key(self.entity_key.as_ref()?);
        (!self.message.contains(&key)).then_some(key)
    }

    fn details(&self) -> Vec<String> {
        let mut details = Vec::new();
        if let Some(status) = self.status {
            details.push(match &self.code {
                Some(code) => format!("{} {}", status.as_u16(), text::name(code.as_str())),
                None => status.as_u16().to_string(),
            });
        }
        match (self.batch_index, self.shown_key()) {
            (Some(index), Some(key)) => {
                details.push(format!("operation {index} of the batch, on {key}"));
            }
            (Some(index), None) => details.push(format!("operation {index} of the batch")),
            (None, Some(key)) => details.push(format!("entity {key}")),
            (None, None) => {}
        }
        if self.attempts > 1 && self.deadline.is_none() {
            details.push(format!("{} attempts", self.attempts));
        }
        if self.rounds > 1 {
            details.push(format!("{} rounds", self.rounds));
        }
        if self.outcome == Outcome::Unknown {
            details.push("outcome unknown".to_owned());
            if self.state_matches {
                details.push("the state matches what was written".to_owned());
            }
        }
        if let Some(id) = &self.request_id {
            details.push(format!("request id {}", text::name(id)));
        }
        details
    }

    /// Returns the texts of the causes, without those that the message repeats.
    fn causes(&self) -> Vec<String> {
        let mut causes = Vec::new();
        let mut next = self.source.as_deref().map(|source| source as &dyn std::error::Error);
        while let Some(cause) = next {
            let text = cause.to_string();
            if text != self.message {
                causes.push(text::bounded(&text, MESSAGE_CHARS).into_owned());
            }
            next = cause.source();
        }
        causes
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        let mut out = Escaping(f);
        if let Some((operation, resource)) = &inner.operation {
            write!(out, "{operation} on {resource}: ")?;
        }
        inner.write_message(&mut out)?;
        if let Some(hint) = &inner.hint {
            let end = if inner.message.ends_with('.') { "" } else { "." };
            write!(out, "{end} {hint}")?;
        }
        let details = inner.details();
        if details.is_empty() { Ok(()) } else { write!(out, " ({})", details.join(", ")) }
    }
}

/// Starts with the text of the error, as a `main` that fails prints this.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        write!(f, "{self}")?;
        let mut fields = f.debug_struct("");
        fields.field("kind", &inner.kind).field("outcome", &inner.outcome);
        if let Some(status) = inner.status {
            fields.field("status", &status.as_u16());
        }
        if let Some(code) = &inner.code {
            fields.field("code", &text::name(code.as_str()));
        }
        if let Some(id) = &inner.request_id {
            fields.field("request_id", &text::name(id));
        }
        if let Some(id) = &inner.client_request_id {
            fields.field("client_request_id", &text::name(id));
        }
        if let Some(index) = inner.batch_index {
            fields.field("batch_index", &index);
        }
        if let Some(key) = &inner.entity_key {
            fields.field("entity_key", &format_args!("{}", text::key(key)));
        }
        if inner.attempts > 0 {
            fields.field("attempts", &inner.attempts);
        }
        if inner.rounds > 0 {
            fields.field("rounds", &inner.rounds);
        }
        if let Some(wait) = inner.retry_after {
            fields.field("retry_after", &wait);
        }
        let causes = inner.causes();
        if !causes.is_empty() {
            fields.field("causes", &causes);
        }
        fields.finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
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

invalid_input!(LimitError, EncodeError, KeyError, FilterError, DateTimeError, NoServiceVersion);

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
            TransportErrorKind::TooLarge => (ErrorKind::UnexpectedReply, Outcome::Unknown),
        };
        Self::new(kind, source.to_string()).with_outcome(outcome).with_source(source)
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

    #[test]
    fn service_errors_are_taken_apart() {
        let message = "3:The update condition specified in the request was not satisfied.\nRequestId:x\nTime:y";
        let error = Error::service(ErrorBody {
            code: "UpdateConditionNotSatisfied".into(),
            message: message.into(),
        })
        .with_reply(StatusCode::PRECONDITION_FAILED, Some("abc"))
        .with_operation(Operation::Merge, "Blogs");
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
