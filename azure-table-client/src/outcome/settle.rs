//! Sending a write, and settling whether it was applied.

use std::pin::pin;
use std::time::{Duration, Instant};

use super::claims::{not_applied, unknown};
use super::open::{Judged, OpenWrite, accepted, open};
use super::read_back::reading;
use super::rules::{Verdict, judge_without_id};
use super::unconfirmed::Unconfirmed;
use crate::ETag;
use crate::client_core::ClientCore;
use crate::error::Error;
use crate::operation::committed::{self, Committed};
use crate::operation::{Proof, Request, Wrote, table};
use crate::pipeline::{CallOptions, CallTrace};
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

/// Settles from the last response and from the rows whether a write was applied. `start` is the time at which it was
/// first sent, if known. The outcome may stay unknown.
pub(crate) async fn settle(
    core: &ClientCore,
    request: &Request,
    options: &CallOptions,
    start: Option<Instant>,
    last: Unconfirmed,
) -> Result<Committed, Error> {
    let proof = accepted(core, options);
    if proof == Proof::Response || last.doubt(request).is_none() {
        return Err(last.into_error());
    }
    let found = if last.is_done_by_state(request) {
        Some((judge_without_id(true, proof), vec![None]))
    } else {
        read(core, request, options, start, &last).await
    };
    match found {
        Some((Verdict::Applied(confirmation), etags)) => {
            Ok(committed::found(request, etags, confirmation, last.request_id()))
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
    start: Option<Instant>,
    last: &Unconfirmed,
) -> Option<(Verdict, Vec<Option<ETag>>)> {
    if options.deadline.unwrap_or(core.deadline) < SHORTEST_READ {
        return None;
    }
    let may_be_down = last.may_be_down(request);
    if request.writes.is_empty() {
        return Some((read_table(core, request, may_be_down, options).await?, vec![None]));
    }
    let write = OpenWrite {
        request,
        is_open: last.is_open(),
        is_fenced: last.is_fenced(),
        sent: last.open_since(),
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
    let options = reading(options, may_be_down);
    let get = table::get(core.protocol, &request.resource).ok()?;
    let trace = core.trace(get.operation, &get.resource).expecting(Some(table::not_found));
    let read = core.read(&get, &options, &trace, |reply| table::exists(reply, &get));
    let exists = trace.run(pin!(read)).await.ok()?;
    Some(judge_without_id(exists == is_created, accepted(core, &options)))
}
