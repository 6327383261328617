//! Reading the rows of a write.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;

use super::evidence::Found;
use crate::client_core::ClientCore;
use crate::entity::{EntityKey, Lenient, Readable};
use crate::error::{Error, ErrorCode};
use crate::filter::{Filter, QueryFilter};
use crate::operation::cursor::Cursor;
use crate::operation::query::{self, QuerySpec, Rows};
use crate::pipeline::{CallOptions, CallTrace, RetryPolicy};
use crate::wire::Operation;

/// Returns the options of a read at the primary after a write with these options. If the service `may_be_down`, the read is
/// not retried.
pub(super) fn reading(options: &CallOptions, may_be_down: bool) -> CallOptions {
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
    // Without types, values cannot be compared.
    let format = Some(core.protocol(options)?.typed().format());
    let options = CallOptions { format, ..reading(options, false) };
    let trace = core.trace(Operation::Query, table);
    let trace = trace.expecting((keys.len() == 1).then_some(ErrorCode::is_missing_entity));
    let work = pin!(async {
        let mut all = HashMap::with_capacity(keys.len());
        let mut keys = keys;
        while !keys.is_empty() {
            let chunk;
            (chunk, keys) = keys.split_at(fitting(core, keys));
            read_chunk(core, table, chunk, &options, &trace, &mut all).await?;
        }
        Ok(all)
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
) -> Result<(), Error> {
    let protocol = core.protocol(options)?;
    let Some(filter) = filter(keys).map(QueryFilter::from).map(Arc::new) else { return Ok(()) };
    let point = match keys {
        [key] if query::is_read_by_path(key, filter.text()) => Some(*key),
        _ => None,
    };
    let spec = QuerySpec { filter: Some(&filter), select: &[] };
    let mut cursor = Cursor::start();
    loop {
        let mut request = match point {
            Some(key) => query::point(protocol, table, key, &[])?,
            None => query::query(protocol, table, spec, None, cursor.token())?,
        };
        request.needs_types = true;
        let read = |reply| match point {
            Some(_) => query::point_rows(reply, &request, &Lenient),
            None => query::rows(reply, &request, &Lenient, &cursor, protocol.dialect()),
        };
        let rows: Rows<Readable> = core.read(&request, options, trace, read).await?;
        trace.page(rows.values.len());
        for Readable { entity, .. } in rows.values {
            let etag = entity.etag().cloned();
            let etag = etag.ok_or_else(|| Error::unexpected_reply("a row has no ETag"))?;
            let timestamp = entity.timestamp();
            let (key, properties) = entity.into_parts();
            let properties = properties.into_iter().collect();
            found.insert(key, Found { etag, timestamp, properties });
        }
        cursor.advance(rows.next);
        if cursor.is_over() {
            return Ok(());
        }
    }
}
