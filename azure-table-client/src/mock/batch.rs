//! `$batch`: an entity group transaction, or the query of one entity.
//!
//! Source: [Performing entity group transactions][batch]; indexes in messages and headers of parts
//! are those of recordings.
//!
//! [batch]: https://learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions

use std::collections::HashSet;
use std::net::IpAddr;

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};

use super::MockTableService;
use super::authorize::Grant;
use super::entities::changed;
use super::failure::Failure;
use super::reply::Reply;
use super::request::{Incoming, Resource, split_origin};
use super::respond::{Note, new_id, operation};
use super::store::{StoredKey, Write};
use crate::wire;
use crate::wire::headers::{DATA_SERVICE_VERSION, MAX_DATA_SERVICE_VERSION, X_MS_VERSION};
use crate::wire::multipart::{Message, MultipartError, Part, Parts, Writer, media_type};

/// About as long as the answer to one operation.
const ANSWER_BYTES: usize = 640;
/// The most changes of a transaction.
const MAX_CHANGES: usize = 100;

static CONTENT_ID: HeaderName = HeaderName::from_static("content-id");

/// What stands in a batch.
#[derive(Debug)]
pub(super) enum Content<'a> {
    Changeset(Vec<Operation<'a>>),
    /// An operation by itself, which can only be a query.
    Single(Operation<'a>),
}

/// A request in a batch.
#[derive(Debug)]
pub(super) struct Operation<'a> {
    method: Method,
    /// That of the batch: what the operation's own address says of the host is not looked at.
    origin: &'a str,
    path: &'a str,
    query: &'a str,
    headers: HeaderMap,
    body: &'a [u8],
    from: IpAddr,
}

/// Why a changeset was refused, and for which of its operations.
#[derive(Debug)]
struct Refusal {
    index: usize,
    failure: Failure,
    /// Whether it broke a rule of batches; else the operation would have failed by itself as well.
    of_batch: bool,
}

impl MockTableService {
    /// Answers a batch. Whatever happens to its operations, a batch that can be read is accepted.
    pub(super) fn batch(
        &self,
        request: &Incoming<'_>,
        grant: &Grant,
        request_id: &str,
        note: &mut Note,
    ) -> Result<Reply, Failure> {
        let contents = Content::read_all(request).map_err(|_| Failure::invalid_input())?;
        let operations = || contents.iter().flat_map(Content::operations);
        note.operations = operations().count();
        note.table = operations().next().and_then(|operation| {
            self.resource(&operation.incoming()).ok()?.table().map(str::to_owned)
        });

        let boundary = format!("batchresponse_{}", new_id());
        let kind = media_type(&boundary);
        let mut body = Vec::with_capacity(ANSWER_BYTES * note.operations);
        let mut batch = Writer::new(&mut body, &boundary);
        match &contents[..] {
            [] => return Err(Failure::invalid_input()),
            [Content::Single(query)] => match self.query_one(query, grant, note) {
                Ok(reply) => self.answer_in(&mut batch, query, reply),
                Err(failure) => {
                    let refusal = Refusal::of_batch(0, failure);
                    self.refuse(Some(query), &refusal, request_id, &mut batch);
                }
            },
            [Content::Changeset(first), more @ ..] if more.iter().all(Content::is_changeset) => {
                // The first one is processed and the others are rejected.
                let boundary = format!("changesetresponse_{}", new_id());
                let mut changeset = batch.parts(&boundary);
                match self.transact(first, grant) {
                    Ok(replies) => {
                        for (operation, reply) in first.iter().zip(replies) {
                            self.answer_in(&mut changeset, operation, reply);
                        }
                    }
                    Err(refusal) => {
                        let operation = first.get(refusal.index);
                        self.refuse(operation, &refusal, request_id, &mut changeset);
                    }
                }
                changeset.close();
                for content in more {
                    let boundary = format!("changesetresponse_{}", new_id());
                    let mut changeset = batch.parts(&boundary);
                    let refusal = Refusal::of_batch(0, Failure::invalid_input());
                    let operation = content.operations().first();
                    self.refuse(operation, &refusal, request_id, &mut changeset);
                    changeset.close();
                }
            }
            // A query and something beside it: what follows the first does not belong there.
            [first, ..] => {
                let index = first.operations().len();
                let refusal = Refusal::of_batch(index, Failure::invalid_input());
                let operation = operations().nth(index).or_else(|| operations().last());
                self.refuse(operation, &refusal, request_id, &mut batch);
            }
        }
        batch.close();
        let mut reply = Reply::new(StatusCode::ACCEPTED, body);
        reply.text_header(header::CONTENT_TYPE, &kind);
        Ok(reply)
    }

    fn query_one(
        &self,
        operation: &Operation<'_>,
        grant: &Grant,
        note: &mut Note,
    ) -> Result<Reply, Failure> {
        let request = operation.incoming();
        match self.entities_of(&request)? {
            (Resource::Entity(target), "GET") => {
                grant.allows(wire::Operation::Get, Some(&target.table))?;
                self.get(&self.asked(&request, grant)?, &target, note)
            }
            _ => Err(Failure::invalid_input()),
        }
    }

    /// Makes all changes in one step, or none.
    fn transact(&self, operations: &[Operation<'_>], grant: &Grant) -> Result<Vec<Reply>, Refusal> {
        let count = operations.len();
        if count > MAX_CHANGES {
            return Err(Refusal::of_batch(MAX_CHANGES - 1, Failure::too_many_changes()));
        }
        let of_operation = |(index, failure): (usize, Failure)| {
            // A changeset of one operation is answered as the operation itself.
            let failure = if count > 1 { failure.at(index) } else { failure };
            Refusal { index, failure, of_batch: false }
        };
        let requests: Vec<_> = operations.iter().map(Operation::incoming).collect();
        let mut group = Group::default();
        let mut asked = Vec::with_capacity(count);
        let mut writes: Vec<Write<'_>> = Vec::with_capacity(count);
        for (index, request) in requests.iter().enumerate() {
            let staged = self.asked(request, grant).and_then(|one| {
                let (resource, verb) = self.entities_of(request)?;
                if verb == "GET" {
                    return Err(Failure::invalid_input());
                }
                grant.allows(operation(request, verb, &resource), resource.table())?;
                let (table, write) = self.change(&one, verb, resource)?;
                grant.covers((&write.key.partition, &write.key.row))?;
                Ok((one, table, write))
            });
            let (one, name, write) = staged.map_err(|failure| of_operation((index, failure)))?;
            group.add(&name, &write.key).map_err(|failure| Refusal::of_batch(index, failure))?;
            asked.push(one);
            writes.push(write);
        }
        let Some((table, _)) = group.of else {
            return Ok(Vec::new());
        };

        let store = self.store();
        let table = store
            .entities_of(&table, self.now())
            .map_err(|failure| Refusal::of_batch(0, failure))?;
        let inserts: Vec<_> = writes.iter().map(Write::inserts).collect();
        let written = self.apply(table, writes).map_err(of_operation)?;
        Ok(asked
            .iter()
            .zip(inserts.into_iter().zip(&written))
            .map(|(asked, (inserts, written))| changed(asked, table.name(), inserts, written))
            .collect())
    }

    /// The entity or the table of entities that an operation is about, and its verb.
    fn entities_of<'a>(&self, request: &Incoming<'a>) -> Result<(Resource, &'a str), Failure> {
        let verb = request.verb()?;
        match self.resource(request)? {
            resource @ (Resource::Entities(_) | Resource::Entity(_))
                if request.comp().is_none() =>
            {
                Ok((resource, verb))
            }
            _ => Err(Failure::invalid_input()),
        }
    }

    /// Writes the answer to an operation, with what every part has.
    fn answer_in(&self, parts: &mut Writer<'_>, operation: &Operation<'_>, reply: Reply) {
        // What tells nothing of an entity is of the first version.
        let is_bare = reply.body.is_empty() && !reply.headers.contains_key(header::LOCATION);
        let odata = || self.protocol(&operation.incoming()).map(|protocol| protocol.odata());
        let version = match is_bare.then_some(1).map_or_else(odata, Ok) {
            Ok(1) => "1.0;",
            Ok(2) => "2.0;",
            _ => "3.0;",
        };
        let Reply { status, mut headers, body, .. } = reply;
        headers.remove(header::CONTENT_LENGTH);
        if let Some(id) = operation.headers.get(&CONTENT_ID) {
            headers.insert(&CONTENT_ID, id.clone());
        }
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(&DATA_SERVICE_VERSION, HeaderValue::from_static(version));
        parts.response(status, &headers, &body);
    }

    /// Answers with a refusal. Where there is no operation to name, as in an empty changeset, there
    /// is nothing to answer.
    fn refuse(
        &self,
        operation: Option<&Operation<'_>>,
        refusal: &Refusal,
        request_id: &str,
        parts: &mut Writer<'_>,
    ) {
        let Some(operation) = operation else {
            return;
        };
        let mut reply = self.refusal(&operation.incoming(), &refusal.failure, request_id);
        if refusal.of_batch {
            reply.headers.remove("preference-applied");
        }
        self.answer_in(parts, operation, reply);
    }
}

/// What the changes of a transaction have in common: they are in one table and partition, and each
/// has a row of its own.
#[derive(Default)]
struct Group {
    /// The table and the PartitionKey.
    of: Option<(String, Box<str>)>,
    row_keys: HashSet<Box<str>>,
}

impl Group {
    fn add(&mut self, name: &str, key: &StoredKey) -> Result<(), Failure> {
        let (table, partition) =
            self.of.get_or_insert_with(|| (name.to_owned(), key.partition.clone()));
        if !name.eq_ignore_ascii_case(table) || *partition != key.partition {
            return Err(Failure::different_partitions());
        }
        let is_new = self.row_keys.insert(key.row.clone());
        is_new.then_some(()).ok_or_else(Failure::duplicate_row)
    }
}

impl Refusal {
    /// Such a refusal always says its index.
    fn of_batch(index: usize, failure: Failure) -> Self {
        Self { index, failure: failure.at(index), of_batch: true }
    }
}

impl<'a> Content<'a> {
    /// All that is in a batch, so that one that cannot be read to its end changes nothing.
    pub(super) fn read_all(request: &Incoming<'a>) -> Result<Vec<Self>, MultipartError> {
        let inherited = Inherited::of(request);
        let kind = request.header(&header::CONTENT_TYPE).unwrap_or_default();
        let mut contents = Vec::new();
        for part in Parts::read(kind, request.body)? {
            contents.push(match part {
                Ok(Part::Message(message)) => Self::Single(Operation::read(&message, &inherited)?),
                Ok(Part::Parts(parts)) => {
                    let operations = parts.map(|part| match part? {
                        Part::Message(message) => Operation::read(&message, &inherited),
                        Part::Parts(_) => Err(MultipartError::Depth),
                    });
                    Self::Changeset(operations.collect::<Result<_, _>>()?)
                }
                // Some clients do not close a batch; the service takes it.
                Err(MultipartError::NotClosed) => break,
                Err(error) => return Err(error),
            });
        }
        Ok(contents)
    }

    pub(super) fn operations(&self) -> &[Operation<'a>] {
        match self {
            Self::Changeset(operations) => operations,
            Self::Single(operation) => std::slice::from_ref(operation),
        }
    }

    fn is_changeset(&self) -> bool {
        matches!(self, Self::Changeset(_))
    }
}

/// What the operations of a batch have from it.
struct Inherited<'b, 'a> {
    batch: &'b Incoming<'a>,
    version: Option<HeaderValue>,
    /// For operations that name none themselves.
    odata: Vec<(&'static HeaderName, HeaderValue)>,
}

impl<'b, 'a> Inherited<'b, 'a> {
    fn of(batch: &'b Incoming<'a>) -> Self {
        let version = batch.version().ok().flatten();
        let named = |name| Some((name, batch.headers.get(name)?.clone()));
        Self {
            batch,
            version: version.and_then(|version| HeaderValue::from_str(version.as_str()).ok()),
            odata: ODATA_VERSIONS.into_iter().filter_map(named).collect(),
        }
    }
}

static ODATA_VERSIONS: [&HeaderName; 2] = [&DATA_SERVICE_VERSION, &MAX_DATA_SERVICE_VERSION];

impl<'a> Operation<'a> {
    fn read(message: &Message<'a>, inherited: &Inherited<'_, 'a>) -> Result<Self, MultipartError> {
        let (method, target) = message.request()?;
        let mut headers = message.headers()?;
        let names_odata = ODATA_VERSIONS.iter().any(|name| headers.contains_key(*name));
        let odata = inherited.odata.iter().filter(|_| !names_odata).cloned();
        let version = inherited.version.clone().map(|version| (&X_MS_VERSION, version));
        for (name, value) in odata.chain(version) {
            headers.try_insert(name, value).map_err(|_| MultipartError::Head)?;
        }
        let rest = if target.starts_with('/') { target } else { split_origin(target).1 };
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let Incoming { origin, from, .. } = *inherited.batch;
        Ok(Self { method, origin, path, query, headers, body: message.body, from })
    }

    pub(super) fn incoming(&self) -> Incoming<'_> {
        Incoming {
            method: &self.method,
            origin: self.origin,
            path: self.path,
            query: self.query,
            headers: &self.headers,
            body: self.body,
            from: self.from,
        }
    }
}

#[cfg(test)]
mod tests;
