//! Sending a write, and settling whether it was applied: the rows of a write without a confirmation are read back, and it is
//! judged by what they hold.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use http::{HeaderValue, StatusCode, header};
use tracing::debug;

use super::evidence::{Evidence, Found, SentWrite, Verdict, judge, judge_without_id};
use super::{not_applied, unknown};
use crate::ETag;
use crate::client_core::ClientCore;
use crate::edm::EdmDateTime;
use crate::entity::{EntityKey, Lenient, ReadRow, Readable};
use crate::error::{Error, ErrorCode, OpenWrite, Outcome};
use crate::filter::{Filter, QueryFilter};
use crate::operation::cursor::PageCursor;
use crate::operation::query::{self, QuerySpec, RowReads};
use crate::operation::{Committed, Proof, Reply, Request, Wrote, found, table, transaction};
use crate::pipeline::{CallOptions, CallTrace, RetryPolicy, error_type, is_transient};
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
    let settled = if last.is_done_by_state(request) {
        Some((judge_without_id(true, proof), vec![None]))
    } else {
        read(core, request, options, &last).await
    };
    match settled {
        Some((Verdict::Applied(confirmation), etags)) => {
            let request_id = last.error.request_id().filter(|_| last.has_response);
            Ok(found(request, etags, confirmation, request_id))
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
    let Judged { verdict, rows, .. } = open(core, write, may_be_down, options).await.ok()?;
    let etag = |write: &Wrote| rows.get(&write.key).map(|row| row.etag.clone());
    Some((verdict, request.writes.iter().map(etag).collect()))
}

/// Reads whether the table of a write exists; `None` if it cannot be read, or the write concerns something else.
async fn read_table(
    core: &ClientCore,
    request: &Request,
    may_be_down: bool,
    options: &CallOptions,
) -> Option<Verdict> {
    let exists_then = table::is_left_by(request.operation)?;
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
                let error = if earlier.is_some() { unknown(error) } else { error };
                let open = OpenWrite::join(earlier, error.open_write());
                return Err(Self::new(error, false, open, None, None));
            }
        };
        reply.open = OpenWrite::join(earlier, reply.open);
        let (open, date) = (reply.open, reply.headers.get(header::DATE).cloned());
        let first_sent = reply.first_sent;
        let results = match request.operation {
            Operation::Transaction => transaction::committed(reply, request),
            _ => reply.committed(request),
        };
        results.map_err(|error| Self::new(error, true, open, first_sent, date))
    }

    fn new(
        error: Error,
        has_response: bool,
        open: Option<OpenWrite>,
        first_sent: Option<Instant>,
        date: Option<HeaderValue>,
    ) -> Self {
        let is_fenced = has_response && error.is_precondition_failed();
        let is_open = error.outcome() == Outcome::Unknown;
        // A success that cannot be read leaves no attempt open. A row that is older than the write proves nothing then, too.
        let open = open.unwrap_or(OpenWrite { first_sent, ..OpenWrite::default() });
        let open = is_open.then_some(OpenWrite { is_fenced, ..open });
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

    /// Whether an attempt may have been applied.
    pub(crate) fn is_doubtful(&self, request: &Request) -> bool {
        self.open.is_some() || self.is_in_doubt(request)
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
        code.is_some_and(|code| match request.operation {
            Operation::CreateTable => table::already_exists(code),
            Operation::DeleteTable => table::not_found(code),
            Operation::Delete => code.is_missing_entity(),
            _ => false,
        })
    }

    /// Returns a time shortly before the write was first sent at `start`, by the clock of the service in its response.
    pub(crate) fn since(&self, core: &ClientCore, start: Option<Instant>) -> Option<EdmDateTime> {
        let date = httpdate::parse_http_date(self.date.as_ref()?.to_str().ok()?).ok()?;
        shortly_before(core, start?, date)
    }
}

/// Returns a time shortly before `start` by the service's clock, which shows `date` now. The clocks of the service's
/// machines differ a little.
fn shortly_before(core: &ClientCore, start: Instant, date: SystemTime) -> Option<EdmDateTime> {
    const DIFFERENCE: Duration = Duration::from_secs(5);
    let then = date.checked_sub(core.clock.since(start))?.checked_sub(DIFFERENCE)?;
    EdmDateTime::from_system_time(then).ok()
}

/// The time in which the service accepts an attempt that was signed with a key, with a margin: its date may be 15
/// minutes old, and was at most 15 minutes ahead of the service's clock; the service then works on it for at
/// most 30 seconds.
const SIGNED_LIFETIME: Duration = Duration::from_secs(2 * 15 * 60 + 30 + 60);

/// A request that was sent and was not confirmed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Doubtful<'r> {
    pub(crate) request: &'r Request,
    /// Its open attempts. One without any counts as applied if its write id is found: a proxy may have delivered it
    /// twice.
    pub(crate) open: Option<OpenWrite>,
    /// A time, by the service's clock, before the first attempt.
    pub(crate) since: Option<EdmDateTime>,
}

/// The verdict about a request, and the rows that the primary holds now.
pub(crate) struct Judged {
    pub(crate) verdict: Verdict,
    /// Whether the service would have refused each open attempt before the rows were read.
    pub(crate) is_expired: bool,
    pub(crate) rows: HashMap<EntityKey, Found>,
}

/// Whether the service would refuse an attempt that was sent at `sent` and arrived only now.
fn is_expired(core: &ClientCore, sent: Instant) -> bool {
    // A shared access signature or a token may be valid for longer than that.
    core.credential.had_keys_only() && core.clock.since(sent) > SIGNED_LIFETIME
}

/// Returns the proof that the program accepts: the setting of the call, or of the client.
pub(crate) fn accepted(core: &ClientCore, options: &CallOptions) -> Proof {
    options.proof.unwrap_or(core.settings.proof)
}

/// Reads the rows of a request, and judges whether it was applied. If the service `may_be_down`, the read is not
/// retried. If only responses count, no row is read, and the verdict is unknown.
///
/// # Errors
/// The rows cannot be read.
pub(crate) async fn open(
    core: &ClientCore,
    write: Doubtful<'_>,
    may_be_down: bool,
    options: &CallOptions,
) -> Result<Judged, Error> {
    let Doubtful { request, open, .. } = write;
    // An attempt that expires while the rows are read may be applied after its row was read.
    let last_sent = open.and_then(|open| open.last_sent);
    let is_expired = last_sent.is_some_and(|at| is_expired(core, at));
    let proof = accepted(core, options);
    if proof == Proof::Response {
        let verdict = Verdict::Unknown { matching_state: None };
        return Ok(Judged { verdict, is_expired, rows: HashMap::new() });
    }
    let mut keys: Vec<_> = request.writes.iter().map(|write| &write.key).collect();
    keys.sort_unstable_by(|a, b| a.row_key.cmp(&b.row_key));
    let options = reading(options, may_be_down);
    let (rows, date) =
        read_rows(core, &request.resource, &keys, &options).await.inspect_err(|error| {
            let (code, request_id) = (error_type(error), error.request_id());
            debug!(code, request_id, "cannot read back whether a write was applied");
        })?;
    // No response to the write shows the service's clock if all were lost, but the one to the read does.
    let first_sent = open.and_then(|open| open.first_sent);
    let since = write.since.or_else(|| shortly_before(core, first_sent?, date?));
    Ok(judged(core, Doubtful { since, ..write }, proof, is_expired, rows))
}

/// Judges a request by its rows.
pub(crate) fn judged(
    core: &ClientCore,
    write: Doubtful<'_>,
    proof: Proof,
    is_expired: bool,
    rows: HashMap<EntityKey, Found>,
) -> Judged {
    let Doubtful { request, open, since } = write;
    let mut verdict = Verdict::Unknown { matching_state: None };
    if let Some(writes) = SentWrite::all_of(request, core.protocol.format()) {
        let (write_id, rows) = (core.settings.write_id.as_deref(), &rows);
        let evidence = Evidence { writes: &writes, rows, write_id, since, open, is_expired };
        verdict = judge(evidence, proof);
        debug!(?verdict, "read back whether a write was applied");
    }
    Judged { verdict, is_expired, rows }
}

/// Returns the options of a read at the primary after a write with these options. If the service `may_be_down`, the read is
/// not retried.
fn reading(options: &CallOptions, may_be_down: bool) -> CallOptions {
    let retry = if may_be_down { Some(RetryPolicy::none()) } else { options.retry.clone() };
    // The secondary may lag behind.
    CallOptions { primary_only: true, client_request_id: None, retry, ..options.clone() }
}

/// Returns the rows of one partition with these keys that the primary holds now. The deadline covers all requests.
pub(crate) async fn read_back(
    core: &ClientCore,
    table: &str,
    keys: &[&EntityKey],
    options: &CallOptions,
) -> Result<HashMap<EntityKey, Found>, Error> {
    Ok(read_rows(core, table, keys, options).await?.0)
}

/// Does the same, and returns the service's clock in the last response, if it has one.
async fn read_rows(
    core: &ClientCore,
    table: &str,
    keys: &[&EntityKey],
    options: &CallOptions,
) -> Result<(HashMap<EntityKey, Found>, Option<SystemTime>), Error> {
    // Without types, values cannot be compared.
    let format = Some(core.protocol(options)?.typed().format());
    let options = CallOptions { format, ..reading(options, false) };
    let trace = core.trace(Operation::Query, table);
    let trace = trace.expecting((keys.len() == 1).then_some(ErrorCode::is_missing_entity));
    let work = pin!(async {
        let (mut all, mut date) = (HashMap::with_capacity(keys.len()), None);
        let mut keys = keys;
        while !keys.is_empty() {
            let chunk;
            (chunk, keys) = keys.split_at(fitting(core, keys));
            date = read_chunk(core, table, chunk, &options, &trace, &mut all).await?;
        }
        Ok((all, date))
    });
    let left = options.deadline.unwrap_or(core.deadline);
    let late = || Error::timeout("no time is left to read back whether changes were applied");
    core.clock.timeout(left, pin!(trace.run(work))).await.ok_or_else(late)?
}

/// Returns the number of keys that one query can list.
fn fitting(core: &ClientCore, keys: &[&EntityKey]) -> usize {
    let fits = |count: usize| {
        filter(&keys[..count]).is_none_or(|filter| {
            core.allows_comparisons(&filter) && query::fits_in_url(&filter.to_string())
        })
    };
    let mut count = keys.len();
    while count > 1 && !fits(count) {
        count = count.div_ceil(2);
    }
    count
}

fn filter(keys: &[&EntityKey]) -> Option<Filter> {
    let rows = keys.iter().map(|key| key.row_key.as_str());
    Filter::rows(&keys.first()?.partition_key, rows)
}

async fn read_chunk(
    core: &ClientCore,
    table: &str,
    keys: &[&EntityKey],
    options: &CallOptions,
    trace: &CallTrace<'_>,
    found: &mut HashMap<EntityKey, Found>,
) -> Result<Option<SystemTime>, Error> {
    let protocol = core.protocol(options)?;
    let Some(filter) = filter(keys).map(QueryFilter::from).map(Arc::new) else { return Ok(None) };
    let point = match keys {
        [key] if query::is_read_by_path(key, filter.text()) => Some(*key),
        _ => None,
    };
    let spec = QuerySpec { filter: Some(&filter), select: &[] };
    let reader: Arc<dyn ReadRow<Readable>> = Arc::new(Lenient);
    let rows = RowReads { reader: &reader, has_keys: false };
    let mut cursor = PageCursor::start();
    loop {
        let mut request = match point {
            Some(key) => query::point(protocol, table, key, &[])?,
            None => query::query(protocol, table, spec, None, cursor.token())?,
        };
        request.needs_types = true;
        let read = |reply| match point {
            Some(_) => query::point_rows(reply, &request, &rows),
            None => query::rows(reply, &request, &rows, &cursor, protocol.dialect()),
        };
        let mut page = core.read(&request, options, trace, read).await?;
        trace.page(page.values.len());
        let mut entities = Vec::<Readable>::new();
        page.values.move_to(&mut entities, usize::MAX);
        for Readable { entity, .. } in entities {
            let etag = entity.etag().cloned();
            let etag = etag.ok_or_else(|| Error::unexpected_reply("a row has no ETag"))?;
            let timestamp = entity.timestamp();
            let (key, properties) = entity.into_parts();
            let properties = properties.into_iter().collect();
            found.insert(key, Found { etag, timestamp, properties });
        }
        cursor.advance(page.next);
        if cursor.is_over() {
            return Ok(page.date);
        }
    }
}
