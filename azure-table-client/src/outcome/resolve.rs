//! Sending a write, and resolving whether it was applied.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderValue, StatusCode, header};
use tracing::debug;

use super::claims::not_applied;
use super::evidence::SentWrite;
use super::read_back::read_back;
use super::rules::{Evidence, Policy, Verdict, judge, judge_without_id};
use crate::ETag;
use crate::client_core::ClientCore;
use crate::edm::EdmDateTime;
use crate::error::{Error, ErrorCode, Outcome};
use crate::operation::transaction::{self, Committed};
use crate::operation::{Confirmation, Location, Reply, Request, table};
use crate::pipeline::{CallOptions, CallTrace, RetryPolicy, error_type, is_transient};
use crate::wire::headers::X_MS_REQUEST_ID;
use crate::wire::{Operation, PayloadFormat};

/// A write that was found to be applied without a response that confirms it. Only this module creates it.
pub(crate) struct Applied {
    /// The current ETag of each row that was written, where it is known.
    etags: Vec<Option<ETag>>,
    confirmation: Confirmation,
    /// The response that refused a later attempt.
    refusal: Option<Reply>,
}

/// A request with its response, or with the proof that it was applied.
pub(crate) enum Resolved {
    Reply(Reply),
    Applied(Applied),
}

/// The shortest time for a read.
const SHORTEST_READ: Duration = Duration::from_millis(1);

/// The time in which the service accepts an attempt that was signed with a key, with a margin: its date may be 15
/// minutes old, and was at most 15 minutes ahead of the service's clock; the service then works on it for at
/// most 30 seconds.
const SIGNED_LIFETIME: Duration = Duration::from_secs(2 * 15 * 60 + 30 + 60);

/// Whether the service would refuse an attempt that was sent at `sent` and arrived only now.
pub(crate) fn is_expired(core: &ClientCore, sent: Instant) -> bool {
    // A shared access signature or a token may be valid for longer than that.
    core.credential.had_keys_only() && core.clock.since(sent) > SIGNED_LIFETIME
}

/// Sends a write. If an attempt stays open, resolves within the same deadline whether it was applied.
pub(crate) async fn send(
    core: &Arc<ClientCore>,
    request: &Request,
    options: &CallOptions,
    trace: &CallTrace<'_>,
) -> Result<Resolved, Error> {
    let start = core.clock.instant();
    let result = core.send(request, options, trace).await;
    if matches!(&result, Ok(reply) if is_plain(request, reply)) {
        return result.map(Resolved::Reply);
    }
    let options = left(core, options, start);
    // Boxed, so that the futures of plain calls do not reserve space for it.
    let resolved = Box::pin(resolve(core, request, &options, Some(start), result)).await?;
    if matches!(resolved, Resolved::Applied(_)) {
        trace.resolved();
    }
    Ok(resolved)
}

/// Whether the response leaves no doubt, like nearly all responses.
fn is_plain(request: &Request, reply: &Reply) -> bool {
    reply.open.is_none() && reply.status.is_success() && !request.is_batch()
}

fn left(core: &ClientCore, options: &CallOptions, start: Instant) -> CallOptions {
    let left = options.deadline.unwrap_or(core.deadline).saturating_sub(core.clock.since(start));
    CallOptions { deadline: Some(left), ..options.clone() }
}

/// Sends the writes of one request, and returns their results.
pub(crate) async fn write(
    core: &Arc<ClientCore>,
    request: &Request,
    options: &CallOptions,
    trace: &CallTrace<'_>,
) -> Result<Committed, Error> {
    let start = core.clock.instant();
    let result = core.send(request, options, trace).await;
    let options = left(core, options, start);
    let committed = Box::pin(settle(core, request, &options, Some(start), result)).await?;
    if committed.confirmation != Confirmation::Response {
        trace.resolved();
    }
    Ok(committed)
}

/// Returns the results of the writes of one request, which was first sent at `start` if that is known.
pub(crate) async fn settle(
    core: &Arc<ClientCore>,
    request: &Request,
    options: &CallOptions,
    start: Option<Instant>,
    result: Result<Reply, Error>,
) -> Result<Committed, Error> {
    let error = match resolve(core, request, options, start, result).await? {
        Resolved::Applied(applied) => return Ok(applied.into_committed()),
        Resolved::Reply(reply) => match transaction::results(reply, request) {
            // The service accepted the batch, and its response cannot be read.
            Err(error) if error.status() == Some(202) => error,
            results => return results,
        },
    };
    match resolve(core, request, options, start, Err(error)).await? {
        Resolved::Applied(applied) => Ok(applied.into_committed()),
        Resolved::Reply(reply) => transaction::results(reply, request),
    }
}

/// Resolves from the last response and from the rows whether a request was applied. `start` is the time at which it
/// was first sent, if known. The outcome may stay unknown.
pub(crate) async fn resolve(
    core: &Arc<ClientCore>,
    request: &Request,
    options: &CallOptions,
    start: Option<Instant>,
    result: Result<Reply, Error>,
) -> Result<Resolved, Error> {
    let Some(doubt) = Doubt::of(core, request, &result) else {
        return result.map(Resolved::Reply);
    };
    let policy = policy(core, options);
    let verdict = match done_by_state(request, &result) {
        Some(()) => Some((judge_without_id(true, policy), vec![None])),
        None => read(core, request, options, start, &doubt, policy, &result).await,
    };
    match verdict {
        Some((Verdict::Applied(confirmation), etags)) => {
            Ok(Resolved::Applied(Applied { etags, confirmation, refusal: result.ok() }))
        }
        Some((Verdict::NotApplied, _)) => match result {
            Ok(reply) => Ok(Resolved::Reply(Reply { open: None, ..reply })),
            Err(error) => Err(not_applied(error)),
        },
        Some((Verdict::Unknown { matching_state }, _)) => match result {
            Ok(reply) => Ok(Resolved::Reply(Reply { matching_state, ..open(core, reply, start) })),
            Err(error) => Err(error.with_matching_state(matching_state)),
        },
        None => result.map(|reply| Resolved::Reply(open(core, reply, start))),
    }
}

/// Returns the response of a write whose outcome stays unknown.
fn open(core: &ClientCore, reply: Reply, start: Option<Instant>) -> Reply {
    Reply { open: reply.open.or(start).or_else(|| Some(core.clock.instant())), ..reply }
}

/// Returns the evidence that the program accepts as proof: the setting of the call or of the client.
pub(crate) fn policy(core: &ClientCore, options: &CallOptions) -> Policy {
    Policy {
        exact: options.exact.unwrap_or(core.settings.exact),
        accept_matching_state: options
            .accept_matching_state
            .unwrap_or(core.settings.accept_matching_state),
    }
}

/// The reason why the outcome of a write is unknown.
enum Doubt {
    /// An attempt was refused, perhaps because an earlier one was applied.
    Refused { open: Instant },
    /// No response closes the last attempt. The service may be down.
    NoResponse { open: Instant },
    /// The only attempt was refused with a conflict. A proxy may have delivered it twice.
    Conflict,
}

impl Doubt {
    fn of(core: &ClientCore, request: &Request, result: &Result<Reply, Error>) -> Option<Self> {
        if !core.settings.resolves || !request.is_write() {
            return None;
        }
        let reply = match result {
            Ok(reply) => reply,
            Err(error) => {
                let is_open = error.outcome() == Outcome::Unknown;
                return is_open.then(|| Self::NoResponse { open: core.clock.instant() });
            }
        };
        let status = request.status_of(reply.status, &reply.headers, &reply.body);
        match (status, reply.open) {
            (status, _) if status.is_success() => None,
            (status, Some(open)) if is_transient(status) => Some(Self::NoResponse { open }),
            (_, Some(open)) => Some(Self::Refused { open }),
            (
                StatusCode::NOT_FOUND | StatusCode::CONFLICT | StatusCode::PRECONDITION_FAILED,
                None,
            ) => {
                let is_conflict = request.has_write_id()
                    && reply.error_code().is_none_or(|code| {
                        code != ErrorCode::TableBeingDeleted && code != ErrorCode::TableNotFound
                    });
                is_conflict.then_some(Self::Conflict)
            }
            (_, None) => None,
        }
    }

    const fn open(&self) -> Option<Instant> {
        match self {
            Self::Refused { open } | Self::NoResponse { open } => Some(*open),
            Self::Conflict => None,
        }
    }
}

/// Whether the response to a write with an open attempt reports that the table or the row is in the state that the
/// write leaves, so that no read is required.
fn done_by_state(request: &Request, result: &Result<Reply, Error>) -> Option<()> {
    let reply = result.as_ref().ok().filter(|reply| reply.open.is_some())?;
    let code = reply.error_code()?;
    let is_done = match request.operation {
        Operation::CreateTable => table::already_exists(&code),
        Operation::DeleteTable => table::not_found(&code),
        Operation::Delete => code.is_missing_entity(),
        _ => false,
    };
    is_done.then_some(())
}

/// Reads back the rows of a write; `None` if they cannot be read.
async fn read(
    core: &Arc<ClientCore>,
    request: &Request,
    options: &CallOptions,
    start: Option<Instant>,
    doubt: &Doubt,
    policy: Policy,
    result: &Result<Reply, Error>,
) -> Option<(Verdict, Vec<Option<ETag>>)> {
    if options.deadline.unwrap_or(core.deadline) < SHORTEST_READ {
        return None;
    }
    let retry = match doubt {
        Doubt::NoResponse { .. } => Some(RetryPolicy::none()),
        Doubt::Refused { .. } | Doubt::Conflict => options.retry.clone(),
    };
    let options = CallOptions { retry, ..options.clone() };
    if request.writes.is_empty() {
        return Some((read_table(core, request, &options, policy).await?, vec![None]));
    }
    let writes = SentWrite::all_of(request, core.protocol.format())?;
    let keys: Vec<_> = writes.iter().map(SentWrite::key).collect();
    let is_expired = doubt.open().is_some_and(|open| is_expired(core, open));
    let mut rows = match read_back(core, &request.resource, &keys, &options).await {
        Ok(rows) => rows,
        Err(error) => {
            let (code, request_id) = (error_type(&error), error.request_id());
            debug!(code, request_id, "cannot read back whether a write was applied");
            return None;
        }
    };
    let verdict = judge(
        Evidence {
            writes: &writes,
            rows: &rows,
            write_id: core.settings.write_id.as_deref(),
            since: result
                .as_ref()
                .ok()
                .zip(start)
                .and_then(|(reply, start)| started(reply, core.clock.since(start))),
            is_open: doubt.open().is_some(),
            is_fenced: result.as_ref().is_ok_and(|reply| {
                request.status_of(reply.status, &reply.headers, &reply.body)
                    == StatusCode::PRECONDITION_FAILED
            }),
            is_expired,
        },
        policy,
    );
    debug!(?verdict, "read back whether a write was applied");
    let etags = writes.iter().map(|write| rows.remove(write.key()).map(|row| row.etag)).collect();
    Some((verdict, etags))
}

/// Reads whether the table of a write exists; `None` if it cannot be read, or the write concerns something else.
async fn read_table(
    core: &Arc<ClientCore>,
    request: &Request,
    options: &CallOptions,
    policy: Policy,
) -> Option<Verdict> {
    let is_created = match request.operation {
        Operation::CreateTable => true,
        Operation::DeleteTable => false,
        _ => return None,
    };
    let options = CallOptions { primary_only: true, client_request_id: None, ..options.clone() };
    let get = table::get(core.protocol, &request.resource).ok()?;
    let trace = core.trace(get.operation, &get.resource).expecting(Some(table::not_found));
    let read = core.read(&get, &options, &trace, |reply| table::exists(reply, &get));
    let exists = trace.run(pin!(read)).await.ok()?;
    Some(judge_without_id(exists == is_created, policy))
}

/// Returns a time shortly before a request was first sent, by the clock of the service in its response. The clocks
/// of the service's machines differ a little.
fn started(reply: &Reply, elapsed: Duration) -> Option<EdmDateTime> {
    const DIFFERENCE: Duration = Duration::from_secs(5);
    let then = reply.date()?.checked_sub(elapsed)?.checked_sub(DIFFERENCE)?;
    EdmDateTime::from_system_time(then).ok()
}

impl Applied {
    fn into_committed(self) -> Committed {
        transaction::found_committed(self.etags, self.confirmation)
    }
}

impl Resolved {
    /// Returns the response, or the response that a write which was found to be applied would have got.
    pub(crate) fn into_reply(self) -> Reply {
        let Applied { etags, confirmation, refusal } = match self {
            Self::Reply(reply) => return reply,
            Self::Applied(applied) => applied,
        };
        let mut headers = HeaderMap::new();
        let etag = etags.into_iter().flatten().next();
        if let Some(Ok(value)) = etag.map(|etag| HeaderValue::from_str(etag.as_str())) {
            headers.insert(header::ETAG, value);
        }
        let (mut attempts, mut client_request_id) = (0, String::new());
        if let Some(refusal) = refusal {
            if let Some(id) = refusal.headers.get(&X_MS_REQUEST_ID) {
                headers.insert(&X_MS_REQUEST_ID, id.clone());
            }
            (attempts, client_request_id) = (refusal.attempts, refusal.client_request_id);
        }
        Reply {
            status: StatusCode::NO_CONTENT,
            headers,
            body: bytes::Bytes::new(),
            requested: PayloadFormat::default(),
            attempts,
            client_request_id,
            open: None,
            matching_state: None,
            confirmation,
            location: Location::Primary,
            signed: None,
        }
    }
}
