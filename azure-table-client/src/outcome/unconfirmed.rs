//! The last response to a write that does not confirm it, or the failure to get one.

use std::time::{Duration, Instant};

use http::{HeaderValue, StatusCode, header};

use crate::client_core::ClientCore;
use crate::edm::EdmDateTime;
use crate::error::{Error, ErrorCode, Outcome};
use crate::operation::committed::{self, Committed};
use crate::operation::{Reply, Request, table, transaction};
use crate::pipeline::is_transient;
use crate::wire::Operation;

/// The last response to a write, which does not confirm it.
pub(crate) struct Unconfirmed {
    error: Error,
    /// Whether it is a response of the service, and not the failure to get one.
    has_response: bool,
    /// The time of the last open attempt, if it is known.
    open: Option<Instant>,
    /// The service's clock in the response.
    date: Option<HeaderValue>,
}

/// The reason why the outcome of a write is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doubt {
    /// An attempt was refused, perhaps because an earlier one was applied.
    Refused,
    /// No response closes the last attempt. The service may be down.
    NoResponse,
    /// The only attempt was refused with a conflict. A proxy may have delivered it twice.
    Conflict,
}

impl Unconfirmed {
    /// Reads the results of a write from its response.
    pub(crate) fn of(reply: Result<Reply, Error>, request: &Request) -> Result<Committed, Self> {
        let reply = reply.map_err(Self::from)?;
        let (open, date) = (reply.open, reply.headers.get(header::DATE).cloned());
        let results = match request.operation {
            Operation::Transaction => transaction::committed(reply, request),
            _ => committed::single(reply, request),
        };
        results.map_err(|error| Self { error, has_response: true, open, date })
    }

    pub(crate) const fn error(&self) -> &Error {
        &self.error
    }

    pub(crate) fn into_error(self) -> Error {
        self.error
    }

    /// Whether an attempt is open.
    pub(crate) fn is_open(&self) -> bool {
        self.error.outcome() == Outcome::Unknown
    }

    /// The time of the last open attempt, if it is known.
    pub(super) const fn open_since(&self) -> Option<Instant> {
        self.open
    }

    /// The service's id of the response.
    pub(super) fn request_id(&self) -> Option<&str> {
        self.error.request_id().filter(|_| self.has_response)
    }

    /// Whether the service refused the write because an ETag was gone.
    pub(crate) fn is_fenced(&self) -> bool {
        self.has_response && self.error.is_precondition_failed()
    }

    /// Whether an attempt may have been applied; `has_earlier` if there was another one, in an earlier request.
    pub(crate) fn is_doubtful(&self, request: &Request, has_earlier: bool) -> bool {
        let error = &self.error;
        let is_conflict =
            error.is_conflict() || error.is_precondition_failed() || error.is_not_found();
        self.is_open() || self.doubt(request).is_some() || (has_earlier && is_conflict)
    }

    /// Whether no response shows that the service works.
    pub(crate) fn may_be_down(&self, request: &Request) -> bool {
        self.doubt(request) == Some(Doubt::NoResponse)
    }

    /// The status of the response.
    fn status(&self) -> Option<StatusCode> {
        let status = self.error.status().filter(|_| self.has_response)?;
        StatusCode::from_u16(status).ok()
    }

    /// Whether the service may respond otherwise to the same request.
    pub(crate) fn is_transient(&self) -> bool {
        self.status().is_some_and(is_transient)
    }

    pub(super) fn doubt(&self, request: &Request) -> Option<Doubt> {
        let Some(status) = self.status() else {
            return self.is_open().then_some(Doubt::NoResponse);
        };
        if status.is_success() {
            // The service accepted the batch, and its response cannot be read.
            let is_accepted = request.operation == Operation::Transaction
                && status == StatusCode::ACCEPTED
                && self.is_open();
            return is_accepted.then_some(Doubt::NoResponse);
        }
        match status {
            _ if self.is_open() && is_transient(status) => Some(Doubt::NoResponse),
            _ if self.is_open() => Some(Doubt::Refused),
            StatusCode::NOT_FOUND | StatusCode::CONFLICT | StatusCode::PRECONDITION_FAILED => {
                let code = self.error.code();
                let is_of_table =
                    matches!(code, Some(ErrorCode::TableBeingDeleted | ErrorCode::TableNotFound));
                (request.has_write_id() && !is_of_table).then_some(Doubt::Conflict)
            }
            _ => None,
        }
    }

    /// Whether the response reports that the table or the row is in the state that the write leaves, so that no read
    /// is required.
    pub(super) fn is_done_by_state(&self, request: &Request) -> bool {
        let code = self.error.code().filter(|_| self.has_response && self.is_open());
        code.is_some_and(|code| match request.operation {
            Operation::CreateTable => table::already_exists(code),
            Operation::DeleteTable => table::not_found(code),
            Operation::Delete => code.is_missing_entity(),
            _ => false,
        })
    }

    /// Returns a time shortly before the write was first sent at `start`, by the clock of the service in its response.
    /// The clocks of the service's machines differ a little.
    pub(crate) fn since(&self, core: &ClientCore, start: Option<Instant>) -> Option<EdmDateTime> {
        const DIFFERENCE: Duration = Duration::from_secs(5);
        let date = httpdate::parse_http_date(self.date.as_ref()?.to_str().ok()?).ok()?;
        let then = date.checked_sub(core.clock.since(start?))?.checked_sub(DIFFERENCE)?;
        EdmDateTime::from_system_time(then).ok()
    }
}

/// A write without a response.
impl From<Error> for Unconfirmed {
    fn from(error: Error) -> Self {
        Self { error, has_response: false, open: None, date: None }
    }
}
