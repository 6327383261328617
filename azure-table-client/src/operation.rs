//! The operations of the REST interface: building requests and reading responses. No I/O.

pub(crate) mod access_policies;
mod answer;
pub(crate) mod cursor;
pub(crate) mod entity;
pub(crate) mod key;
pub(crate) mod query;
mod reply;
mod results;
pub(crate) mod service_properties;
pub(crate) mod stats;
pub(crate) mod table;
pub(crate) mod transaction;
#[cfg(feature = "entra")]
pub(crate) mod user_delegation_key;
mod write_result;

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, header};
use uuid::Uuid;
use uuid::fmt::Hyphenated;

pub use crate::wire::Location;
pub(crate) use answer::{Answer, Success, TableNames, is_of_another_request};
pub(crate) use reply::{Asked, Reply, Signed, is_missing};
pub use results::{Committed, Confirmation, OperationResult, Proof, ResponseInfo, Stored, Written};
pub(crate) use results::{done, done_unless, found, written};
pub use write_result::{WriteOutcome, WriteResult};

use crate::clock::SharedClock;
use crate::entity::EntityKey;
use crate::error::{Error, Outcome};
use crate::wire::encoding::QueryString;
use crate::wire::{Operation, Protocol, Unsupported, headers};
use crate::{ETag, IfMatch};

/// A header that only some requests have: a condition or a preference.
pub(crate) type Header = (&'static HeaderName, HeaderValue);

/// A request without the parts that each attempt adds: dates, signatures and the like.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) operation: Operation,
    /// The name of the resource in errors and logs: the table's name.
    pub(crate) resource: String,
    pub(crate) method: Method,
    /// Percent-encoded, below the endpoint.
    pub(crate) path: String,
    pub(crate) query: QueryString,
    pub(crate) header: Option<Header>,
    /// Whether the request selects properties.
    pub(crate) selects: bool,
    /// Whether the response can only be read with the types of its properties.
    pub(crate) needs_types: bool,
    /// The media type of the body, if there is one.
    pub(crate) content_type: HeaderValue,
    pub(crate) body: Bytes,
    /// The successes that the service sends for it.
    pub(crate) success: Success,
    /// The rows that the request reads.
    pub(crate) asked: Asked,
    /// The row at which a page continues: none of its rows comes before it.
    pub(crate) starts_at: Option<EntityKey>,
    /// The rows that the request writes, in the order of its operations.
    pub(crate) writes: Vec<Wrote>,
}

/// A write of one row in a request.
#[derive(Debug, Clone)]
pub(crate) struct Wrote {
    pub(crate) key: EntityKey,
    /// The ETag of its condition.
    pub(crate) fence: Option<ETag>,
    pub(crate) effect: Effect,
    /// The position of the entity in the body of the request; empty for a delete.
    pub(crate) body: Range<usize>,
    /// The offset of the write id in the entity.
    pub(crate) write_id: Option<usize>,
}

/// The row that a write leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// No row.
    Gone,
    /// Exactly the properties of the write.
    Whole,
    /// The properties of the write, and possibly others.
    Merged,
}

impl Wrote {
    /// A write without an entity.
    fn new(key: EntityKey, condition: Option<&IfMatch>, effect: Effect) -> Self {
        let fence = match condition {
            Some(IfMatch::Tag(etag)) => Some(etag.clone()),
            Some(IfMatch::Any) | None => None,
        };
        Self { key, fence, effect, body: 0..0, write_id: None }
    }

    /// The write of the entity at this position.
    fn at(self, body: Range<usize>, write_id: Option<usize>) -> Self {
        Self { body, write_id, ..self }
    }

    fn delete(key: EntityKey, condition: &IfMatch) -> Self {
        Self::new(key, Some(condition), Effect::Gone)
    }

    /// Replaces the id of the write in the body of the request.
    fn set_write_id(&self, body: &mut [u8], id: Uuid) {
        if let Some(offset) = self.write_id {
            let start = self.body.start + offset;
            id.as_hyphenated().encode_lower(&mut body[start..start + Hyphenated::LENGTH]);
        }
    }
}

/// The table that entities are written to, and the form of the requests.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) table: Arc<str>,
    /// The address of the service, without a trailing slash.
    pub(crate) base: Arc<str>,
    pub(crate) protocol: Protocol,
    /// The column with the ids of writes.
    pub(crate) write_id: Option<Arc<str>>,
    /// The source of ids.
    pub(crate) clock: SharedClock,
}

#[cfg(test)]
impl Target {
    /// A table of the emulator.
    pub(crate) fn of_test(protocol: Protocol) -> Self {
        let base = "http://127.0.0.1:10002/devstoreaccount1".into();
        let clock = Arc::new(crate::clock::SystemClock);
        Self { table: "Blogs".into(), base, protocol, write_id: None, clock }
    }
}

impl Request {
    fn new(operation: Operation, resource: &str, method: Method, path: String) -> Self {
        Self {
            operation,
            resource: resource.to_owned(),
            method,
            path,
            query: QueryString::default(),
            header: None,
            selects: false,
            needs_types: false,
            content_type: headers::JSON.clone(),
            body: Bytes::new(),
            success: Success::Rows,
            asked: Asked::Nothing,
            starts_at: None,
            writes: Vec::new(),
        }
    }

    fn body(mut self, body: Vec<u8>) -> Self {
        self.body = body.into();
        self
    }

    /// A request about the service itself.
    fn of_service(operation: Operation, method: Method, comp: &str) -> Self {
        let mut request = Self::new(operation, "the service", method, "/".to_owned());
        request.query.push("restype", "service");
        request.query.push("comp", comp);
        request
    }

    /// Sets a body that is XML in every format.
    fn xml(self, body: Vec<u8>) -> Self {
        Self { content_type: headers::XML.clone(), ..self.body(body) }
    }

    fn payload(self, protocol: Protocol, body: Vec<u8>) -> Self {
        let content_type = protocol.format().content_type().clone();
        Self { content_type, ..self.body(body) }
    }

    /// Checks that the version and the format support the request.
    pub(crate) fn check(&self, protocol: Protocol) -> Result<(), Error> {
        if self.needs_types {
            check_readable(protocol)?;
        }
        protocol.check(self.operation).map_err(unsupported)
    }

    fn header(mut self, name: &'static HeaderName, value: HeaderValue) -> Self {
        self.header = Some((name, value));
        self
    }

    fn if_match(self, condition: &IfMatch) -> Result<Self, Error> {
        Ok(Self { header: Some(if_match(condition)?), ..self })
    }

    /// Whether the keys of its row are too long for a URL, so that it is sent in a batch.
    pub(crate) fn is_too_long(&self) -> bool {
        let is_of_row = self.operation == Operation::Get || self.operation.is_entity_write();
        is_of_row && self.path.len() + 1 + self.query.as_str().len() > query::URL_BYTES
    }

    /// Whether the request is a batch, whose response has a status besides those of its operations.
    pub(crate) fn is_batch(&self) -> bool {
        self.path == transaction::PATH
    }

    /// Replaces the id of the write.
    ///
    /// # Errors
    /// The request has none: the client has no `write_id_column`, or the request deletes.
    pub(crate) fn set_write_id(&mut self, id: Uuid) -> Result<(), Error> {
        if !self.has_write_id() {
            return Err(Error::invalid_input(
                "the request has no write id: set `write_id_column` on the client; deletes have none",
            ));
        }
        let mut body = self.body.to_vec();
        self.writes.iter().for_each(|write| write.set_write_id(&mut body, id));
        self.body = body.into();
        Ok(())
    }

    /// Whether a row that the request wrote has the id of the write.
    pub(crate) fn has_write_id(&self) -> bool {
        self.writes.iter().any(|write| write.write_id.is_some())
    }

    /// The key of the only entity that the request is about; `None` for a transaction.
    pub(crate) fn entity_key(&self) -> Option<&EntityKey> {
        match &*self.writes {
            [only] if self.operation != Operation::Transaction => Some(&only.key),
            _ => match &self.asked {
                Asked::Row(key) => Some(key),
                Asked::Nothing | Asked::All | Asked::Matching(..) => None,
            },
        }
    }

    /// Adds to an error of this request what it says about the call.
    pub(crate) fn failed(
        &self,
        error: Error,
        outcome: Outcome,
        attempts: u32,
        client_request_id: &str,
    ) -> Error {
        self.named(error).with_outcome(outcome).with_attempts(attempts, client_request_id)
    }

    /// Adds the operation, the table and the entity to an error of this request.
    pub(crate) fn named(&self, error: Error) -> Error {
        error.about(self.operation, &self.resource, || self.entity_key().cloned())
    }

    /// Whether the request changes anything. Its method does not show this: a batch with a read is posted too.
    pub(crate) fn is_write(&self) -> bool {
        self.operation.is_write()
    }
}

fn if_match(condition: &IfMatch) -> Result<Header, Error> {
    if let IfMatch::Tag(tag) = condition
        && matches!(tag.as_str().trim(), "" | "*")
    {
        // To a server, an empty value may mean no condition, and `*` means any version.
        return Err(Error::invalid_input(
            "the ETag is empty or *; for any version use IfMatch::Any",
        ));
    }
    let value = HeaderValue::from_str(condition.as_str()).map_err(|error| {
        Error::invalid_input("the ETag has a character that is not allowed in a header")
            .with_source(error)
    })?;
    Ok((&header::IF_MATCH, value))
}

/// Checks that entities that need the types of their properties are read in a format that has them.
pub(crate) fn check_readable(protocol: Protocol) -> Result<(), Error> {
    if protocol.format().is_typed() {
        return Ok(());
    }
    Err(Error::invalid_input(
        "these entities need the types of their properties, which Metadata::None leaves out; \
         use Metadata::Minimal",
    ))
}

/// The error of a call that requires a feature that its version does not have.
pub(crate) fn unsupported(reason: Unsupported) -> Error {
    Error::invalid_input(reason.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::DynamicEntity;
    use crate::operation::entity::{self, Update, Write};
    use crate::operation::transaction::Batch;
    use crate::wire::{Protocol, ServiceVersion};

    fn text(request: &Request) -> String {
        String::from_utf8(request.body.to_vec()).unwrap()
    }

    #[test]
    fn only_the_write_ids_are_replaced() {
        let atom = Protocol::new(ServiceVersion::V2012_02_12, None).unwrap();
        for protocol in [Protocol::default(), atom] {
            let target = Target { write_id: Some(Arc::from("Id")), ..Target::of_test(protocol) };
            let (old, new) = (Uuid::from_u128(1), Uuid::from_u128(2));
            let row = |key: &str, bytes| {
                let text = format!("{old}{}", "é".repeat(bytes));
                DynamicEntity::new("p", key).with("Text", text)
            };
            let single = |entity: &DynamicEntity| {
                entity::checked_write(&target, Some(old), entity, Write::Insert).unwrap()
            };
            let mut request = single(&row("1", 0));
            let expected = text(&request);
            request.set_write_id(new).unwrap();
            let (before, after) = expected.rsplit_once(&old.to_string()).unwrap();
            assert_eq!(text(&request), format!("{before}{new}{after}"));
            // Bodies of two, three and four digits of length.
            let mut batch = Batch::new(target.clone());
            for (at, bytes) in [0, 100, 2000].into_iter().enumerate() {
                batch.push(&single(&row(&at.to_string(), bytes))).unwrap();
                let other = row(&format!("x{at}"), bytes);
                batch.write(Some(old), &other, Write::Upsert(Update::Merge)).unwrap();
            }
            let mut request = batch.finish().unwrap();
            request.set_write_id(new).unwrap();
            assert_eq!(text(&request).matches(&new.to_string()).count(), 6);
            assert_eq!(text(&request).matches(&old.to_string()).count(), 6);
        }
    }
}
