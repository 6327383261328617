//! `$batch`: an entity group transaction, or the query of one entity.
//!
//! Source: [Performing entity group transactions][batch]. Recordings show the indexes in error messages
//! and the headers of the parts.
//!
//! [batch]: https://learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions

use http::{HeaderName, StatusCode, header};

use super::cosmos::{BatchRefusal, BatchStep};
use super::entities::{self, put_headers_of_write, reply_to_write, staged};
use super::exchange::Exchange;
use super::query::Scan;
use super::refusal;
use crate::authorize::Grant;
use crate::core::{Core, NotApplied};
use crate::dialect::ServiceDialect;
use crate::failure::Failure;
use crate::reply::{Protection, ResponseDraft};
use crate::request::{BatchPart, ParsedRequest, Preference, Resource};
use crate::row::StoredKey;
use crate::step::Work;
use crate::store::{AppliedWrite, StagedWrite};
use crate::wire::Operation;
use crate::wire::headers::DATA_SERVICE_VERSION;
use crate::wire::json_read::PropertyReader;
use crate::wire::multipart::{MessageWriter, Writer, media_type};

/// The typical length of the response to one operation.
const RESPONSE_BYTES: usize = 640;

static CONTENT_ID: HeaderName = HeaderName::from_static("content-id");

/// The failure of a changeset, and the operation that caused it.
#[derive(Debug)]
struct BatchFailure {
    index: usize,
    failure: Failure,
}

/// Responds to a batch. A batch that can be read is accepted even if its operations fail.
pub(super) async fn respond(
    core: &Core,
    request: &ParsedRequest<'_>,
    grant: &Grant,
    request_id: &str,
    scan: &mut Option<Scan>,
) -> Result<ResponseDraft, Failure> {
    let parts = request.batch()?;
    let mut failed = None;
    let mut refuse = |writer: &mut Writer<'_>, operation, failure: &BatchFailure| {
        refuse(writer, core, operation, failure, request_id);
        failed.get_or_insert_with(|| failure.failure.clone());
    };
    let boundary = format!("batchresponse_{}", core.clock.new_id());
    let mut body = Vec::with_capacity(RESPONSE_BYTES * request.operation_count());
    let mut batch = Writer::new(&mut body, &boundary);
    match parts {
        [] => return Err(Failure::invalid_input()),
        [BatchPart::Single(query)] => match get(core, query, grant, scan) {
            Ok(reply) => write_part(&mut batch, query, 1, &reply),
            Err(failure) => refuse(&mut batch, Some(query), &BatchFailure::of_batch(0, failure)),
        },
        [BatchPart::Changeset(first), others @ ..]
            if others.iter().all(|part| matches!(part, BatchPart::Changeset(_))) =>
        {
            let boundary = format!("changesetresponse_{}", core.clock.new_id());
            let mut changeset = batch.parts(&boundary);
            match apply(core, first, grant, &mut changeset).await {
                Ok(Ok(())) => {}
                Ok(Err(failure)) => refuse(&mut changeset, first.get(failure.index), &failure),
                Err(failure) => return Err(failure),
            }
            changeset.close();
            // The service applies the first changeset and refuses the others.
            for part in others {
                let boundary = format!("changesetresponse_{}", core.clock.new_id());
                let mut changeset = batch.parts(&boundary);
                let failure = BatchFailure::of_batch(0, Failure::invalid_input());
                refuse(&mut changeset, part.operations().first(), &failure);
                changeset.close();
            }
        }
        // A query must be the only part: the operation after the first part is the invalid one.
        [first, ..] => {
            let index = first.operations().len();
            let failure = BatchFailure::of_batch(index, Failure::invalid_input());
            let operation = request.batch_operations().nth(index);
            let operation = operation.or_else(|| request.batch_operations().last());
            refuse(&mut batch, operation, &failure);
        }
    }
    batch.close();
    let mut reply = ResponseDraft::new(StatusCode::ACCEPTED, body);
    reply.text_header(header::CONTENT_TYPE, media_type(&boundary));
    reply.failure = failed;
    Ok(reply)
}

fn get(
    core: &Core,
    request: &ParsedRequest<'_>,
    grant: &Grant,
    scan: &mut Option<Scan>,
) -> Result<ResponseDraft, Failure> {
    match (entity_resource(request)?, request.verb()?) {
        (Resource::Entity(path), "GET") => {
            grant.allows(Operation::Get, Some(&path.table))?;
            let mut reply = entities::get(core, &Exchange::new(core, request, grant)?, path, scan)?;
            request.dialect.finish_reply(request, &mut reply, &core.clock);
            Ok(reply)
        }
        _ => Err(Failure::invalid_input()),
    }
}

/// Applies all changes in one step, or none, and writes their responses. An `Err` refuses the whole batch.
async fn apply(
    core: &Core,
    operations: &[ParsedRequest<'_>],
    grant: &Grant,
    writer: &mut Writer<'_>,
) -> Result<Result<(), BatchFailure>, Failure> {
    match try_apply(core, operations, grant, writer).await {
        Ok(()) => Ok(Ok(())),
        Err((index, BatchRefusal::Operation(failure))) => Ok(Err(BatchFailure { index, failure })),
        Err((_, BatchRefusal::Batch(failure))) => Err(failure),
    }
}

/// Applies all changes in one step, or none, and writes their responses. An `Err` has the index of the operation that
/// caused it.
async fn try_apply(
    core: &Core,
    operations: &[ParsedRequest<'_>],
    grant: &Grant,
    writer: &mut Writer<'_>,
) -> Result<(), (usize, BatchRefusal)> {
    let (dialect, count) = (core.rules.dialect, operations.len());
    let refuse =
        |step, index, failure| (index, dialect.refuse_changeset(step, failure, index, count));
    if count > dialect.max_changes() {
        let last = dialect.max_changes() - 1;
        return Err(refuse(BatchStep::Group, last, Failure::too_many_changes()));
    }
    let mut work = Work::default();
    let mut group = EntityGroup::default();
    let mut exchanges = Vec::with_capacity(count);
    let mut writes: Vec<StagedWrite<'_>> = Vec::with_capacity(count);
    let mut reader = PropertyReader::default();
    for (index, request) in operations.iter().enumerate() {
        let (exchange, table, write) = stage(core, request, grant, &mut reader)
            .map_err(|failure| refuse(BatchStep::Check, index, failure))?;
        let is_new = group
            .add(dialect, table, &write.key, &writes)
            .map_err(|failure| refuse(BatchStep::Group, index, failure))?;
        exchanges.push(exchange);
        writes.push(if is_new { write } else { write.after_same_row(dialect) });
        work.add(Work::of_bytes(4 * request.raw.body.len()));
        work.step().await;
    }
    let Some((table, _)) = group.table_and_partition else {
        return Ok(());
    };

    let inserts: Vec<_> = writes.iter().map(StagedWrite::inserts).collect();
    let (table, written) = core.apply(&table, writes).await.map_err(|reason| match reason {
        NotApplied::Table(failure) => refuse(BatchStep::Table, 0, failure),
        NotApplied::Write(index, failure) => refuse(BatchStep::Write, index, failure),
    })?;
    let applied = exchanges.iter().zip(inserts.into_iter().zip(&written));
    for (number, (exchange, (inserts, written))) in (1..).zip(applied) {
        write_applied(writer, exchange, number, table.name(), inserts, written);
    }
    Ok(())
}

/// Writes the response to an operation that was applied.
fn write_applied(
    writer: &mut Writer<'_>,
    exchange: &Exchange<'_>,
    number: usize,
    table: &str,
    inserts: bool,
    written: &AppliedWrite,
) {
    let operation = exchange.request;
    let has_body = inserts && exchange.preference != Preference::ReturnNoContent;
    if has_body || operation.dialect.is_cosmos() {
        let mut reply = reply_to_write(exchange, table, inserts, written);
        operation.dialect.finish_reply(operation, &mut reply, exchange.clock);
        return write_part(writer, operation, number, &reply);
    }
    // The same text without a list of headers: a batch has a hundred of them.
    let mut part = begin_part(writer, StatusCode::NO_CONTENT);
    put_headers_of_write(exchange, table, inserts, written, |name, value| {
        part.header(name.as_str(), value.as_bytes());
    });
    end_part(part, operation, Protection::Full, !inserts, b"");
}

/// Checks one operation of a changeset. Nothing is applied yet.
fn stage<'a>(
    core: &'a Core,
    request: &'a ParsedRequest<'a>,
    grant: &'a Grant,
    reader: &mut PropertyReader<'a>,
) -> Result<(Exchange<'a>, &'a str, StagedWrite<'a>), Failure> {
    let exchange = Exchange::new(core, request, grant)?;
    let resource = entity_resource(request)?;
    let operation = request.operation()?;
    if !operation.is_write() {
        return Err(Failure::invalid_input());
    }
    grant.allows(operation, resource.table())?;
    let (table, write) = staged(core, &exchange, reader)?;
    Ok((exchange, table, write))
}

/// The resource of an operation, which must be an entity or the entities of a table.
fn entity_resource<'r>(request: &'r ParsedRequest<'_>) -> Result<&'r Resource, Failure> {
    request.verb()?;
    match request.resource()? {
        resource @ (Resource::Entities(_) | Resource::Entity(_))
            if request.raw.comp().is_none() =>
        {
            Ok(resource)
        }
        Resource::BelowTable(path) => {
            request.dialect.check_table_name_in_url(&path.table)?;
            Err(Failure::invalid_input())
        }
        _ => Err(Failure::invalid_input()),
    }
}

/// Writes the response to an operation, with the headers of every part.
fn write_part(
    writer: &mut Writer<'_>,
    operation: &ParsedRequest<'_>,
    number: usize,
    reply: &ResponseDraft,
) {
    let mut part = begin_part(writer, reply.status);
    if operation.dialect.is_cosmos() {
        for (name, value) in ServiceDialect::part_headers(reply, number) {
            part.header(name, &value);
        }
        return part.body(&reply.body);
    }
    for (name, value) in reply.headers().filter(|(name, _)| **name != header::CONTENT_LENGTH) {
        part.header(name.as_str(), value.as_bytes());
    }
    let is_bare = reply.body.is_empty() && !reply.has_header(&header::LOCATION);
    end_part(part, operation, reply.protection, is_bare, &reply.body);
}

fn begin_part<'w>(writer: &'w mut Writer<'_>, status: StatusCode) -> MessageWriter<'w> {
    let reason = status.canonical_reason().unwrap_or_default();
    writer.begin_message(&["HTTP/1.1 ", status.as_str(), " ", reason])
}

/// Writes the headers of every part and the body. A response that is bare, without entity data, has the first OData version.
fn end_part(
    mut part: MessageWriter<'_>,
    operation: &ParsedRequest<'_>,
    protection: Protection,
    is_bare: bool,
    body: &[u8],
) {
    let version = match operation.protocol() {
        _ if is_bare => "1.0;",
        Ok(protocol) if protocol.odata() == 1 => "1.0;",
        Ok(protocol) if protocol.odata() == 2 => "2.0;",
        _ => "3.0;",
    };
    if let Some(id) = operation.raw.headers.get(&CONTENT_ID) {
        part.header(CONTENT_ID.as_str(), id);
    }
    for (name, value) in protection.headers() {
        part.header(name.as_str(), value.as_bytes());
    }
    part.header(DATA_SERVICE_VERSION.as_str(), version.as_bytes());
    part.body(body);
}

/// Writes the response of a failure. An empty changeset has no operation, and therefore no response.
fn refuse(
    writer: &mut Writer<'_>,
    core: &Core,
    operation: Option<&ParsedRequest<'_>>,
    failure: &BatchFailure,
    request_id: &str,
) {
    let Some(operation) = operation else {
        return;
    };
    let now = core.clock.edm_now();
    let reply = refusal(operation, &failure.failure, request_id, now);
    write_part(writer, operation, 0, &reply);
}

/// The table and partition that the changes of a transaction share, and their rows, which must differ.
#[derive(Default)]
struct EntityGroup {
    table_and_partition: Option<(String, Box<str>)>,
    /// The indexes of the writes in the order of their RowKeys.
    by_row_key: Vec<usize>,
}

impl EntityGroup {
    /// Adds the write after these. Returns `false` if one of them concerns the same row.
    fn add(
        &mut self,
        dialect: ServiceDialect,
        name: &str,
        key: &StoredKey,
        writes: &[StagedWrite<'_>],
    ) -> Result<bool, Failure> {
        let (table, partition) = self
            .table_and_partition
            .get_or_insert_with(|| (name.to_owned(), key.partition.clone()));
        if dialect.table_identity(name) != dialect.table_identity(table)
            || *partition != key.partition
        {
            return Err(Failure::different_partitions());
        }
        let found = self.by_row_key.binary_search_by(|&at| writes[at].key.row.cmp(&key.row));
        match found {
            Ok(_) if dialect.repeats_rows() => Ok(false),
            Ok(_) => Err(Failure::duplicate_row()),
            Err(place) => {
                self.by_row_key.insert(place, writes.len());
                Ok(true)
            }
        }
    }
}

impl BatchFailure {
    /// A failure of the batch itself. Its message always has the index.
    fn of_batch(index: usize, failure: Failure) -> Self {
        Self { index, failure: failure.at(index) }
    }
}

#[cfg(test)]
mod tests;
