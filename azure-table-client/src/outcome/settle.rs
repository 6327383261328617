//! Sending a write, and settling whether it was applied.

use std::pin::pin;
use std::time::{Duration, Instant, SystemTime};

use http::StatusCode;

use super::claims::{not_applied, unknown};
use super::open::{Judged, OpenWrite, open, policy};
use super::rules::{Verdict, judge_without_id};
use crate::ETag;
use crate::client_core::ClientCore;
use crate::edm::EdmDateTime;
use crate::error::{Error, ErrorCode, Outcome};
use crate::operation::committed::{self, Committed};
use crate::operation::{Reply, Request, Wrote, table, transaction};
use crate::pipeline::{CallOptions, CallTrace, RetryPolicy, is_transient};
use crate::wire::Operation;

/// The shortest time for a read.
const SHORTEST_READ: Duration = Duration::from_millis(1);

/// Sends a write. If an attempt stays open, settles within the same deadline whether it was applied.
pub(crate) async fn write(
    core: &ClientCore,
    request: &Request,
    options: &CallOptions,
    trace: &CallTrace<'_>,
) -> Result<Committed, Error> {
    let start = core.clock.instant();
    let reply = core.send(request, options, trace).await;
    let unconfirmed = match Unconfirmed::of(reply, request) {
        Ok(committed) => return Ok(committed),
        Err(unconfirmed) => unconfirmed,
    };
    let left = options.deadline.unwrap_or(core.deadline).saturating_sub(core.clock.since(start));
    let options = CallOptions { deadline: Some(left), ..options.clone() };
    // Boxed, so that the futures of plain calls do not reserve space for it.
    let settled = Box::pin(settle(core, request, &options, Some(start), unconfirmed));
    let committed = settled.await?;
    trace.resolved();
    Ok(committed)
}

/// The last response to a write, which does not confirm it.
pub(crate) struct Unconfirmed {
    error: Error,
    /// Whether it is a response of the service, and not the failure to get one.
    has_response: bool,
    /// The time of the last open attempt, if it is known.
    open: Option<Instant>,
    /// The service's clock in the response.
    date: Option<SystemTime>,
}

/// The reason why the outcome of a write is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doubt {
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
        let (open, date) = (reply.open, reply.date());
        let results = transaction::results(reply, request);
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

    /// The status of the response.
    fn status(&self) -> Option<StatusCode> {
        let status = self.error.status().filter(|_| self.has_response)?;
        StatusCode::from_u16(status).ok()
    }

    /// Whether the service may respond otherwise to the same request.
    pub(crate) fn is_transient(&self) -> bool {
        self.status().is_some_and(is_transient)
    }

    fn doubt(&self, request: &Request) -> Option<Doubt> {
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
    fn is_done_by_state(&self, request: &Request) -> bool {
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
    fn since(&self, core: &ClientCore, start: Option<Instant>) -> Option<EdmDateTime> {
        const DIFFERENCE: Duration = Duration::from_secs(5);
        let then = self.date?.checked_sub(core.clock.since(start?))?.checked_sub(DIFFERENCE)?;
        EdmDateTime::from_system_time(then).ok()
    }
}

/// A write without a response.
impl From<Error> for Unconfirmed {
    fn from(error: Error) -> Self {
        Self { error, has_response: false, open: None, date: None }
    }
}

/// Settles from the last response and from the rows whether a write was applied. `start` is the time at which it was
/// first sent, if known. The outcome may stay unknown.
pub(crate) async fn settle(
    core: &ClientCore,
    request: &Request,
    options: &CallOptions,
    start: Option<Instant>,
    last: Unconfirmed,
) -> Result<Committed, Error> {
    let Some(doubt) = last.doubt(request).filter(|_| core.settings.resolves) else {
        return Err(last.error);
    };
    let found = if last.is_done_by_state(request) {
        Some((judge_without_id(true, policy(core, options)), vec![None]))
    } else {
        read(core, request, options, start, doubt, &last).await
    };
    match found {
        Some((Verdict::Applied(confirmation), etags)) => {
            let request_id = last.error.request_id().filter(|_| last.has_response);
            Ok(committed::found(request, etags, confirmation, request_id))
        }
        Some((Verdict::NotApplied, _)) => Err(not_applied(last.error)),
        Some((Verdict::Unknown { matching_state }, _)) => {
            Err(unknown(last.error).with_matching_state(matching_state))
        }
        None => Err(unknown(last.error)),
    }
}

/// Reads back the rows of a write; `None` if they cannot be read.
async fn read(
    core: &ClientCore,
    request: &Request,
    options: &CallOptions,
    start: Option<Instant>,
    doubt: Doubt,
    last: &Unconfirmed,
) -> Option<(Verdict, Vec<Option<ETag>>)> {
    if options.deadline.unwrap_or(core.deadline) < SHORTEST_READ {
        return None;
    }
    let may_be_down = doubt == Doubt::NoResponse;
    if request.writes.is_empty() {
        return Some((read_table(core, request, may_be_down, options).await?, vec![None]));
    }
    let write = OpenWrite {
        request,
        is_open: last.is_open(),
        is_fenced: last.is_fenced(),
        sent: last.open,
        since: last.since(core, start),
    };
    let Judged { mut judgments, rows } = open(core, &[write], may_be_down, options).await.ok()?;
    let etag = |write: &Wrote| rows.get(&write.key).map(|row| row.etag.clone());
    Some((judgments.pop()?.verdict, request.writes.iter().map(etag).collect()))
}

/// Reads whether the table of a write exists; `None` if it cannot be read, or the write concerns something else.
async fn read_table(
    core: &ClientCore,
    request: &Request,
    may_be_down: bool,
    options: &CallOptions,
) -> Option<Verdict> {
    let is_created = match request.operation {
        Operation::CreateTable => true,
        Operation::DeleteTable => false,
        _ => return None,
    };
    let retry = if may_be_down { Some(RetryPolicy::none()) } else { options.retry.clone() };
    let options =
        CallOptions { primary_only: true, client_request_id: None, retry, ..options.clone() };
    let get = table::get(core.protocol, &request.resource).ok()?;
    let trace = core.trace(get.operation, &get.resource).expecting(Some(table::not_found));
    let read = core.read(&get, &options, &trace, |reply| table::exists(reply, &get));
    let exists = trace.run(pin!(read)).await.ok()?;
    Some(judge_without_id(exists == is_created, policy(core, &options)))
}
