//! What became of a write whose answer was lost.
//!
//! A write that is sent again after its answer was lost meets itself: an insert finds its own row, an
//! update another version, a delete nothing. Such a refusal says nothing, so the rows are read and
//! compared with what was sent.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, StatusCode, header};
use tokio::time::{Instant, timeout};
use tracing::debug;

use super::Query;
use crate::edm::EdmDateTime;
use crate::entity::{DynamicEntity, EntityKey};
use crate::error::{Error, ErrorCode, Outcome};
use crate::etag::ETag;
use crate::filter::{CompareOp, Filter};
use crate::operation::evidence::{Evidence, Found, Known, Wrote, properties};
use crate::operation::{Location, Reply, Request};
use crate::pipeline::{CallOptions, CallTrace, Pipeline, RetryPolicy, is_transient};
use crate::wire::headers::X_MS_REQUEST_ID;
use crate::wire::{Operation, PayloadFormat};

/// The answer to a request, or what takes its place.
pub(crate) enum Settled {
    Reply(Reply),
    /// An earlier attempt was made: the new versions of what it wrote, where they are known. The
    /// refusal that a later attempt met is in it.
    Made(Vec<Option<ETag>>, Option<Reply>),
}

/// Sends a request and, where an attempt whose answer was lost leaves it open, finds out what became of
/// it within the same time.
pub(crate) async fn send(
    pipeline: &Arc<Pipeline>,
    request: &Request,
    options: &CallOptions,
    trace: &CallTrace<'_>,
) -> Result<Settled, Error> {
    let start = Instant::now();
    let result = pipeline.send(request, options, trace).await;
    let left = options.deadline.unwrap_or(pipeline.deadline).saturating_sub(start.elapsed());
    let options = CallOptions { deadline: Some(left), ..options.clone() };
    resolve(pipeline, request, &options, start, result).await
}

/// What became of a request that was first sent at `start`, of which this is the last answer.
pub(crate) async fn resolve(
    pipeline: &Arc<Pipeline>,
    request: &Request,
    options: &CallOptions,
    start: Instant,
    result: Result<Reply, Error>,
) -> Result<Settled, Error> {
    let doubt = if pipeline.resolves { Doubt::of(request, &result) } else { None };
    // A version that is gone never comes back; what is there or not may change before an attempt that is
    // still on its way.
    let is_final = result.as_ref().is_ok_and(|reply| {
        let status = request.status_of(reply.status, &reply.headers, &reply.body);
        status == StatusCode::PRECONDITION_FAILED
    });
    let retry = match doubt {
        Some(Doubt::Echo) => options.retry.clone(),
        // The service may be down: it is asked once.
        Some(Doubt::Silence) => Some(RetryPolicy::none()),
        None => return result.map(Settled::Reply),
    };
    if is_done_by_itself(request, &result) {
        return Ok(Settled::Made(vec![None], result.ok()));
    }
    let can_be_told = !options.only_exact || pipeline.write_id.is_some();
    let evidence = match Wrote::all_of(request).filter(|_| can_be_told) {
        Some(wrote) => {
            let options = CallOptions { retry, client_request_id: None, ..options.clone() };
            let since = result.as_ref().ok().and_then(|reply| started(reply, start));
            // A query has its time for each page.
            let left = options.deadline.unwrap_or(pipeline.deadline);
            let look = look(pipeline, request, &wrote, since, &options);
            timeout(left, look).await.ok().flatten()
        }
        None => None,
    };
    match evidence {
        Some((Evidence::Made | Evidence::Alike, etags)) => Ok(Settled::Made(etags, result.ok())),
        // What refused this attempt refuses one that is still on its way.
        Some((Evidence::NotMade, _)) if is_final => {
            result.map(|reply| Settled::Reply(Reply { outcome_open: false, ..reply }))
        }
        // Without a refusal, such an attempt may find the version that it names, and yet be made.
        Some((Evidence::NotMade | Evidence::None, _)) | None => result.map(Settled::Reply),
    }
}

/// Why it is not known what became of a write.
enum Doubt {
    /// It was refused, perhaps on account of what it did itself.
    Echo,
    /// There is no answer.
    Silence,
}

impl Doubt {
    fn of(request: &Request, result: &Result<Reply, Error>) -> Option<Self> {
        match result {
            _ if !request.is_write() => None,
            Ok(reply) if !reply.outcome_open => None,
            Ok(reply) => match request.status_of(reply.status, &reply.headers, &reply.body) {
                StatusCode::NOT_FOUND | StatusCode::CONFLICT | StatusCode::PRECONDITION_FAILED => {
                    Some(Self::Echo)
                }
                status if is_transient(status) => Some(Self::Silence),
                _ => None,
            },
            Err(error) => (error.outcome() == Outcome::Unknown).then_some(Self::Silence),
        }
    }
}

/// Whether the refusal says that a table is there, or that something is gone, as it was to be.
fn is_done_by_itself(request: &Request, result: &Result<Reply, Error>) -> bool {
    let code = result.as_ref().ok().and_then(Reply::error_code);
    code.is_some_and(|code| match request.operation {
        Operation::CreateTable => code == ErrorCode::TableAlreadyExists,
        Operation::DeleteTable => code == ErrorCode::ResourceNotFound,
        Operation::Delete => code.is_missing_entity(),
        _ => false,
    })
}

/// Reads what was written; `None` if it cannot be read.
async fn look(
    pipeline: &Arc<Pipeline>,
    request: &Request,
    wrote: &[Wrote],
    since: Option<EdmDateTime>,
    options: &CallOptions,
) -> Option<(Evidence, Vec<Option<ETag>>)> {
    if options.deadline.is_some_and(|left| left < SHORTEST) {
        return None;
    }
    let keys: Vec<_> = wrote.iter().map(|wrote| &wrote.key).collect();
    let mut rows = match read_back(pipeline, &request.resource, &keys, options).await {
        Ok(rows) => rows,
        Err(error) => {
            debug!(%error, "what became of a write cannot be read");
            return None;
        }
    };
    let known = Known { write_id: pipeline.write_id.as_deref(), since };
    let mut etags = Vec::with_capacity(wrote.len());
    let evidence = Evidence::of_all(wrote.iter().map(|wrote| {
        let row = rows.remove(&wrote.key);
        let evidence = wrote.evidence(known, row.as_ref());
        etags.push(row.filter(|_| evidence.is_made()).map(|row| row.etag));
        evidence
    }));
    debug!(?evidence, "read back what became of a write");
    Some((evidence, etags))
}

/// When a request was first sent, by the clock of the service that answered it now. A little earlier, as
/// the clocks of its machines differ.
fn started(reply: &Reply, start: Instant) -> Option<EdmDateTime> {
    const DIFFERENCE: Duration = Duration::from_secs(5);
    let now = httpdate::parse_http_date(reply.header(&header::DATE)?).ok()?;
    let then = now.checked_sub(start.elapsed())?.checked_sub(DIFFERENCE)?;
    EdmDateTime::from_system_time(then).ok()
}

/// Less time than that is none.
const SHORTEST: Duration = Duration::from_millis(1);

/// The rows of one partition that the service holds now of those with these keys.
pub(crate) async fn read_back(
    pipeline: &Arc<Pipeline>,
    table: &str,
    keys: &[&EntityKey],
    options: &CallOptions,
) -> Result<HashMap<EntityKey, Found>, Error> {
    let Some(first) = keys.first() else { return Ok(HashMap::new()) };
    let row = |key: &&EntityKey| Filter::on_key("RowKey", CompareOp::Eq, key.row_key.clone());
    let Some(rows) = keys.iter().map(row).reduce(|a, b| a | b) else { return Ok(HashMap::new()) };
    let filter = Filter::partition(&*first.partition_key) & rows;
    // The secondary may not have it yet.
    // Without types nothing could be compared.
    let format = Some(pipeline.protocol(options)?.typed().format());
    let options = CallOptions { primary_only: true, format, ..options.clone() };
    let query = Query::<DynamicEntity>::new(Arc::clone(pipeline), table.into(), None);
    let found = query.matching(&filter).with_options(options).into_dynamic().await?;
    let mut all = HashMap::with_capacity(found.len());
    for read in found {
        let entity = read.entity;
        let etag = entity.etag().ok_or_else(|| Error::unexpected_reply("a row has no ETag"))?;
        let (etag, timestamp) = (etag.clone(), entity.timestamp());
        let found = Found { etag, timestamp, properties: properties(&entity) };
        all.insert(entity.key().clone(), found);
    }
    Ok(all)
}

impl Settled {
    /// The answer, as if that to the earlier attempt had come.
    pub(super) fn into_reply(self) -> Reply {
        let (etags, reply) = match self {
            Self::Reply(reply) => return reply,
            Self::Made(etags, reply) => (etags, reply),
        };
        let mut headers = HeaderMap::new();
        let etag = etags.into_iter().flatten().next();
        if let Some(Ok(value)) = etag.map(|etag| HeaderValue::from_str(etag.as_str())) {
            headers.insert(header::ETAG, value);
        }
        let (mut attempts, mut client_request_id) = (0, String::new());
        if let Some(refused) = reply {
            if let Some(id) = refused.headers.get(&X_MS_REQUEST_ID) {
                headers.insert(&X_MS_REQUEST_ID, id.clone());
            }
            (attempts, client_request_id) = (refused.attempts, refused.client_request_id);
        }
        Reply {
            status: StatusCode::NO_CONTENT,
            headers,
            body: bytes::Bytes::new(),
            asked: PayloadFormat::default(),
            attempts,
            client_request_id,
            outcome_open: false,
            by_earlier_attempt: true,
            location: Location::Primary,
            signed: None,
        }
    }
}
