//! Sending a write, and settling whether it was applied.

use std::pin::pin;
use std::time::{Duration, Instant};

use http::{HeaderValue, StatusCode, header};

use super::evidence::{Verdict, judge_without_id};
use super::open::{Doubtful, Judged, accepted, open, reading};
use super::{not_applied, unknown};
use crate::ETag;
use crate::client_core::ClientCore;
use crate::edm::EdmDateTime;
use crate::error::{Error, ErrorCode, OpenWrite, Outcome};
use crate::operation::committed::{self, Committed};
use crate::operation::{Proof, Reply, Request, Wrote, own, table, transaction};
use crate::pipeline::{CallOptions, CallTrace, is_transient};
use crate::wire::Operation;

/// The shortest time for a read.
const SHORTEST_READ: Duration = Duration::from_millis(1);

/// The last response to a write, which does not confirm it, or the failure to get one.
pub(crate) struct Unconfirmed {
    error: Error,
    /// Whether it is a response of the service, and not the failure to get one.
    has_response: bool,
    /// The attempts that may have been applied, or may be applied later.
    open: Option<OpenWrite>,
    /// The service's clock in the response.
    date: Option<HeaderValue>,
}

/// Sends a write. If an attempt stays open, settles within the same deadline whether it was applied.
pub(crate) async fn write(
    core: &ClientCore,
    request: &Request,
    options: &CallOptions,
    trace: &CallTrace<'_>,
) -> Result<Committed, Error> {
    let start = core.clock.instant();
    let reply = core.send(request, options, trace).await;
    let last = match Unconfirmed::of(reply, request, None) {
        Ok(committed) => return Ok(committed),
        Err(last) => last,
    };
    let left = options.deadline.unwrap_or(core.deadline).saturating_sub(core.clock.since(start));
    let options = CallOptions { deadline: Some(left), ..options.clone() };
    // Boxed, so that the futures of plain calls do not reserve space for it.
    let committed = Box::pin(settle(core, request, &options, last)).await?;
    trace.resolved();
    Ok(committed)
}

/// Settles from the last response and from the rows whether a write was applied. The outcome may stay unknown.
pub(crate) async fn settle(
    core: &ClientCore,
    request: &Request,
    options: &CallOptions,
    last: Unconfirmed,
) -> Result<Committed, Error> {
    let proof = accepted(core, options);
    if proof == Proof::Response || !last.is_in_doubt(request) {
        return Err(last.into_error());
    }
    let found = if last.is_done_by_state(request) {
        Some((judge_without_id(true, proof), vec![None]))
    } else {
        read(core, request, options, &last).await
    };
    match found {
        Some((Verdict::Applied(confirmation), etags)) => {
            let request_id = last.error.request_id().filter(|_| last.has_response);
            Ok(committed::found(request, etags, confirmation, request_id))
        }
        Some((Verdict::NotApplied, _)) => Err(not_applied(last.into_error())),
        Some((Verdict::Unknown { matching_state }, _)) => {
            Err(unknown(last.into_error()).with_matching_state(matching_state))
        }
        None => Err(unknown(last.into_error())),
    }
}

/// Reads back the rows of a write; `None` if they cannot be read.
async fn read(
    core: &ClientCore,
    request: &Request,
    options: &CallOptions,
    last: &Unconfirmed,
) -> Option<(Verdict, Vec<Option<ETag>>)> {
    if options.deadline.unwrap_or(core.deadline) < SHORTEST_READ {
        return None;
    }
    let may_be_down = last.may_be_down(request);
    if request.writes.is_empty() {
        return Some((read_table(core, request, may_be_down, options).await?, vec![None]));
    }
    let since = last.since(core, last.open.and_then(|open| open.first_sent));
    let write = Doubtful { request, open: last.open, since };
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
    let exists_then = own::leaves_table(request.operation)?;
    let options = reading(options, may_be_down);
    let get = table::get(core.protocol, &request.resource).ok()?;
    let trace = core.trace(get.operation, &get.resource).expecting(Some(table::not_found));
    let read = core.read(&get, &options, &trace, |reply| table::exists(reply, &get));
    let exists = trace.run(pin!(read)).await.ok()?;
    Some(judge_without_id(exists == exists_then, accepted(core, &options)))
}

impl Unconfirmed {
    /// Reads the results of a write from its response. `earlier` are the open attempts of earlier requests for the same
    /// rows.
    pub(crate) fn of(
        reply: Result<Reply, Error>,
        request: &Request,
        earlier: Option<OpenWrite>,
    ) -> Result<Committed, Self> {
        let mut reply = match reply {
            Ok(reply) => reply,
            Err(error) => {
                let open = OpenWrite::join(earlier, error.open_write());
                return Err(Self::new(error, false, open, None));
            }
        };
        reply.open = OpenWrite::join(earlier, reply.open);
        let (open, date) = (reply.open, reply.headers.get(header::DATE).cloned());
        let results = match request.operation {
            Operation::Transaction => transaction::committed(reply, request),
            _ => committed::single(reply, request),
        };
        results.map_err(|error| Self::new(error, true, open, date))
    }

    fn new(
        error: Error,
        has_response: bool,
        open: Option<OpenWrite>,
        date: Option<HeaderValue>,
    ) -> Self {
        let is_fenced = has_response && error.is_precondition_failed();
        let is_open = error.outcome() == Outcome::Unknown;
        let open = is_open.then(|| OpenWrite { is_fenced, ..open.unwrap_or_default() });
        Self { error, has_response, open, date }
    }

    pub(crate) const fn error(&self) -> &Error {
        &self.error
    }

    pub(crate) fn into_error(self) -> Error {
        self.error.with_open_write(self.open)
    }

    /// The attempts that may have been applied, or may be applied later.
    pub(crate) const fn open(&self) -> Option<OpenWrite> {
        self.open
    }

    /// Whether an attempt may have been applied; `has_earlier` if there was another one, in an earlier request.
    pub(crate) fn is_doubtful(&self, request: &Request, has_earlier: bool) -> bool {
        let error = &self.error;
        let is_conflict =
            error.is_conflict() || error.is_precondition_failed() || error.is_not_found();
        self.open.is_some() || self.is_in_doubt(request) || (has_earlier && is_conflict)
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

    /// Whether an attempt is open, and no response shows that the service works.
    pub(crate) fn may_be_down(&self, request: &Request) -> bool {
        self.open.is_some()
            && match self.status() {
                None => true,
                // The service accepted the batch, and its response cannot be read.
                Some(StatusCode::ACCEPTED) => request.operation == Operation::Transaction,
                Some(status) => is_transient(status),
            }
    }

    /// Whether the rows may show that the write was applied.
    fn is_in_doubt(&self, request: &Request) -> bool {
        if self.may_be_down(request) {
            return true;
        }
        let Some(status) = self.status().filter(|status| !status.is_success()) else {
            return false;
        };
        let is_conflict = matches!(
            status,
            StatusCode::NOT_FOUND | StatusCode::CONFLICT | StatusCode::PRECONDITION_FAILED
        );
        let is_of_table = matches!(
            self.error.code(),
            Some(ErrorCode::TableBeingDeleted | ErrorCode::TableNotFound)
        );
        // An attempt was refused, perhaps because an earlier one was applied. Or the only attempt was refused with a
        // conflict, and a proxy may have delivered it twice.
        self.open.is_some() || (is_conflict && !is_of_table && request.has_write_id())
    }

    /// Whether the response reports that the table or the row is in the state that the write leaves, so that no read
    /// is required.
    fn is_done_by_state(&self, request: &Request) -> bool {
        let code = self.error.code().filter(|_| self.has_response && self.open.is_some());
        code.is_some_and(|code| own::is_done(request.operation, code))
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
