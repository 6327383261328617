//! How an answer is read, whatever the operation.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, StatusCode, header};

use super::{Confirmation, Done, Location, Request, Written, server_wait};
use crate::auth::{self, Credential, Refused};
use crate::entity::Form;
use crate::error::{Error, ErrorCode, Outcome};
use crate::etag::ETag;
use crate::wire::{Operation, PayloadFormat, ReadError, headers, service_error};

/// The service's answer to a call, with how it was reached.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// What was asked for.
    pub(crate) asked: PayloadFormat,
    pub(crate) attempts: u32,
    pub(crate) client_request_id: String,
    /// When the last open attempt of this write was sent: one that may have been applied, or may still
    /// be.
    pub(crate) open: Option<Instant>,
    /// The outcome is unknown, and the rows are in the state that the write leaves.
    pub(crate) state_matches: bool,
    /// How the success is known.
    pub(crate) confirmation: Confirmation,
    /// Where it came from.
    pub(crate) location: Location,
    /// How its request was signed; `None` if it is made up.
    pub(crate) signed: Option<Signed>,
}

/// How a request was signed, for what can be said of a refusal.
#[derive(Debug, Clone)]
pub(crate) struct Signed {
    pub(crate) credential: Arc<Credential>,
    pub(crate) is_https: bool,
    /// When the answer came, by this machine's clock.
    pub(crate) answered: SystemTime,
}

impl Reply {
    pub(crate) fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn request_id(&self) -> Option<&str> {
        self.header(&headers::X_MS_REQUEST_ID)
    }

    /// The code of the service's error, if it is one.
    pub(crate) fn error_code(&self) -> Option<ErrorCode> {
        service_error::parse(&self.body).map(|body| ErrorCode::from(body.code))
    }

    /// The error of an answer that is not the one hoped for.
    pub(crate) fn into_error(self, request: &Request) -> Error {
        let status = self.status;
        let error = if status.is_success() {
            Error::unexpected_reply(format!("the service answered with status {status}"))
        } else if let Some(body) = service_error::parse(&self.body) {
            let error = Error::service(body);
            // Some servers number the only operation as well.
            let is_numbered = request.operation == Operation::Transaction;
            if is_numbered { error } else { error.with_batch(None, None) }
        } else {
            let kind = self.header(&header::CONTENT_TYPE).unwrap_or("no content type");
            Error::unexpected_reply(format!(
                "the answer is no error of the table service ({kind}); \
                 a proxy or another server may have sent it"
            ))
        };
        let is_unknown = self.open.is_some() || (request.is_write() && status.is_success());
        let outcome = if is_unknown { Outcome::Unknown } else { Outcome::NotApplied };
        let hint = error.code().and_then(|code| self.hint(code, request));
        let error = error.with_outcome(outcome).with_hint(hint).with_retry_after(self.wait());
        self.describe(error.with_state_matches(self.state_matches), request)
    }

    /// Returns the wait that the service asks for. A date counts from the date of the response.
    fn wait(&self) -> Option<Duration> {
        let date = self.header(&header::DATE).and_then(|date| httpdate::parse_http_date(date).ok());
        let now = date.or_else(|| self.signed.as_ref().map(|signed| signed.answered));
        server_wait(&self.headers, &self.body, now.unwrap_or(SystemTime::UNIX_EPOCH))
    }

    /// What to do about a refusal of the credential, as far as can be told.
    fn hint(&self, code: &ErrorCode, request: &Request) -> Option<String> {
        if self.status != StatusCode::FORBIDDEN {
            return None;
        }
        let signed = self.signed.as_ref()?;
        let date = self.header(&header::DATE);
        auth::hint(
            &signed.credential,
            &Refused {
                code,
                operation: request.operation,
                resource: &request.resource,
                is_https: signed.is_https,
                service_time: date.and_then(|date| httpdate::parse_http_date(date).ok()),
                machine_time: signed.answered,
            },
        )
    }

    /// Adds to an error how the answer was reached.
    fn describe(&self, error: Error, request: &Request) -> Error {
        error
            .with_operation(request.operation, &request.resource)
            .with_entity_key(|| request.entity_key())
            .with_reply(self.status, self.request_id())
            .with_attempts(self.attempts, &self.client_request_id)
    }

    /// An error about an answer whose status says that the call was done.
    pub(super) fn unusable(&self, error: Error, request: &Request) -> Error {
        let outcome = if request.is_write() { Outcome::Applied } else { Outcome::NotApplied };
        self.describe(error.with_outcome(outcome), request)
    }

    pub(crate) fn done(self, request: &Request) -> Result<Done, Error> {
        self.done_by(&[StatusCode::CREATED, StatusCode::NO_CONTENT], request)
    }

    /// For what the service takes now and does soon.
    pub(crate) fn accepted(self, request: &Request) -> Result<Done, Error> {
        self.done_by(&[StatusCode::ACCEPTED], request)
    }

    fn done_by(self, statuses: &[StatusCode], request: &Request) -> Result<Done, Error> {
        if !statuses.contains(&self.status) {
            return Err(self.into_error(request));
        }
        Ok(Done {
            status: self.status.as_u16(),
            request_id: self.request_id().map(str::to_owned),
            confirmation: self.confirmation,
        })
    }

    /// `None` for the service's 404 that says that the entity or the table itself is missing. A missing
    /// table around a missing entity is an error, and so are the 404 of another server and one that an
    /// earlier attempt of the same delete may have caused.
    pub(crate) fn if_exists<T>(
        self,
        request: &Request,
        read: impl FnOnce(Self, &Request) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        match read(self, request) {
            Ok(value) => Ok(Some(value)),
            Err(error) if is_missing(&error) && error.outcome() != Outcome::Unknown => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn written(self, request: &Request) -> Result<Written, Error> {
        if !matches!(self.status, StatusCode::CREATED | StatusCode::NO_CONTENT) {
            return Err(self.into_error(request));
        }
        Ok(Written {
            etag: self.etag(request)?,
            status: self.status.as_u16(),
            request_id: self.request_id().map(str::to_owned),
            confirmation: self.confirmation,
        })
    }

    pub(super) fn etag(&self, request: &Request) -> Result<ETag, Error> {
        self.header(&header::ETAG).filter(|tag| !tag.trim().is_empty()).map(ETag::from).ok_or_else(
            || self.unusable(Error::unexpected_reply("the answer has no ETag header"), request),
        )
    }

    /// A continuation token, possibly empty. One that cannot be read is an error: taken for none, it
    /// would pass for the end.
    pub(super) fn token(
        &self,
        name: &HeaderName,
        request: &Request,
    ) -> Result<Option<&str>, Error> {
        let Some(value) = self.headers.get(name) else { return Ok(None) };
        value.to_str().map(Some).map_err(|_| self.bad_token(name, request))
    }

    /// More follows, but the token in this header does not say where.
    pub(super) fn bad_token(&self, name: &HeaderName, request: &Request) -> Error {
        let error =
            Error::unexpected_reply(format!("the continuation in {name} cannot be followed"));
        self.unusable(error, request)
    }

    /// The format of the body of a 200, which must be the one that was asked for, and the form of its
    /// rows.
    pub(super) fn format(&self, request: &Request) -> Result<(PayloadFormat, Form), Error> {
        let Some(kind) = self.header(&header::CONTENT_TYPE) else {
            return Ok((self.asked, Form { typed: true, selected: request.selects }));
        };
        let format = PayloadFormat::of_media_type(kind).filter(|it| it.is_like(self.asked));
        let format = format.ok_or_else(|| {
            let error = Error::unexpected_reply(format!(
                "the answer is {kind} instead of {}; a proxy or another server may have sent it",
                self.asked.name()
            ));
            self.unusable(error, request)
        })?;
        Ok((format, Form { typed: format.is_typed(), selected: request.selects }))
    }

    fn foreign(format: &str) -> Error {
        Error::unexpected_reply(format!(
            "the answer is not the {format} it should be; a proxy or another server may have sent it"
        ))
    }

    pub(super) fn read_error(&self, error: ReadError, request: &Request) -> Error {
        let error = match error {
            ReadError::Json(error) => Self::foreign("JSON").with_source(error),
            ReadError::Atom(error) => Self::foreign("Atom").with_source(error),
            ReadError::Decode(error) => Error::from(error),
        };
        self.unusable(error, request)
    }
}

/// Whether the service says that the entity or the table is not there. A 404 may say other things.
pub(crate) fn is_missing(error: &Error) -> bool {
    error.code().is_some_and(ErrorCode::is_missing_entity)
}
