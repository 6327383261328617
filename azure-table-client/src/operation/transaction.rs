//! Entity group transactions.
//!
//! Source: [Performing entity group transactions][batch].
//!
//! [batch]: https://learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions

mod response;

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use http::{HeaderValue, Method, header};
use uuid::Uuid;

use super::entity::{self, Write};
use super::{Header, Request, Success, Target, Wrote};
use crate::IfMatch;
use crate::clock::SharedClock;
use crate::entity::{EntityKey, TableEntity};
use crate::error::Error;
use crate::limits::TRANSACTION_OPERATIONS;
use crate::wire::multipart::{Writer, header_lines, media_type};
use crate::wire::{Operation, Protocol, headers};

pub(crate) use response::committed;

pub(super) const PATH: &str = "/$batch";

/// The number of operations for which the second operation of a transaction reserves memory. The operation after them
/// reserves it for all that a transaction can have.
const FIRST_OPERATIONS: usize = 16;

/// The operations of a transaction, as they will be sent.
#[derive(Debug)]
pub(crate) struct Batch {
    target: Target,
    /// The id of the writes that have no id of their own; drawn with the first of them.
    write_id: Option<Uuid>,
    /// The boundaries of the body, and of the changeset that is in it; drawn with the first operation.
    outer: String,
    inner: String,
    /// The body without its closing boundaries.
    body: Vec<u8>,
    /// The lines of the headers of all operations, and of those with a body.
    headers: String,
    content_type: String,
    writes: Vec<Wrote>,
    /// How each RowKey compares with the next one; `Equal` if they are in no order. Programs mostly add rows in the order
    /// of their keys, or in the reverse one.
    order: Option<Ordering>,
}

/// The beginning of an operation.
#[derive(Clone, Copy)]
struct OperationHead<'o> {
    method: &'o Method,
    header: Option<&'o Header>,
    has_body: bool,
}

/// The error of an operation that was not added to a transaction.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The transaction is full; the next one may hold the operation.
    Full(Error),
    /// The operation is invalid, or cannot be in this transaction.
    Invalid(Error),
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Full(error) | Refused::Invalid(error) => error,
        }
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Invalid(error)
    }
}

impl Batch {
    pub(crate) fn new(target: Target) -> Self {
        // The response contains no property, so that the level of JSON does not matter.
        let protocol = target.protocol.typed();
        let headers = header_lines([
            (&header::ACCEPT, &protocol.format().accept()),
            (&headers::DATA_SERVICE_VERSION, protocol.odata_headers()[0]),
        ]);
        let content_type = [(&header::CONTENT_TYPE, protocol.format().content_type())];
        Self {
            target,
            write_id: None,
            outer: String::new(),
            inner: String::new(),
            body: Vec::with_capacity(1024),
            headers,
            content_type: header_lines(content_type),
            writes: Vec::new(),
            order: None,
        }
    }

    /// Begins the body, unless an earlier operation began it.
    fn begin(&mut self) -> Result<(), Error> {
        if self.outer.is_empty() {
            let id = self.target.clock.random_id()?;
            (self.outer, self.inner) = (format!("batch_{id}"), format!("changeset_{id}"));
            Writer::new(&mut self.body, &self.outer).parts(&self.inner);
        }
        Ok(())
    }

    pub(crate) fn table(&self) -> &str {
        &self.target.table
    }

    pub(crate) fn len(&self) -> usize {
        self.writes.len()
    }

    /// The bytes of the body with its closing boundaries.
    pub(crate) fn bytes(&self) -> usize {
        // `--`, the boundary, `--` and the end of the line, twice.
        self.body.len() + self.outer.len() + self.inner.len() + 12
    }

    /// The limit on [`bytes`](Self::bytes).
    pub(crate) fn max_bytes(&self) -> usize {
        self.protocol().dialect().transaction_bytes()
    }

    /// Adds a write with the id `id`, or with the id of the batch.
    pub(crate) fn write<T: TableEntity>(
        &mut self,
        id: Option<Uuid>,
        entity: &T,
        write: Write<'_>,
    ) -> Result<(), Refused> {
        let written = self.encode(id, entity, write);
        written.map_err(|refused| {
            self.refusal(refused, write.operation(), || entity.entity_key().ok())
        })
    }

    fn encode<T: TableEntity>(
        &mut self,
        id: Option<Uuid>,
        entity: &T,
        write: Write<'_>,
    ) -> Result<(), Refused> {
        self.check_table()?;
        let (partition_key, row_key) = entity::valid_keys(self.protocol(), entity)?;
        let keys = (&*partition_key, &*row_key);
        let header = write.header(self.protocol())?;
        let head =
            OperationHead { method: &write.method(), header: header.as_ref(), has_body: true };
        if self.write_id.is_none() && id.is_none() && self.target.write_id.is_some() {
            self.write_id = Some(self.target.clock.random_id().map_err(Error::from)?);
        }
        let id = id.or(self.write_id);
        let mut offset = None;
        let body = self.add(
            head,
            keys,
            |out, target| write.path(out, &target.table, keys.0, keys.1),
            |out, Target { protocol, write_id, .. }| {
                let write_id = write_id.as_deref().zip(id);
                let (format, dialect) = (protocol.format(), protocol.dialect());
                offset = format
                    .write_entity(out, entity, keys, write_id, dialect)
                    .map_err(Error::from)?;
                Ok(())
            },
        )?;
        self.record(write.wrote(EntityKey::new(keys.0, keys.1)).at(body, offset));
        Ok(())
    }

    fn protocol(&self) -> Protocol {
        self.target.protocol
    }

    /// Checks the name of the table before the first operation.
    fn check_table(&self) -> Result<(), Error> {
        if self.len() > 0 {
            return Ok(());
        }
        Ok(self.protocol().dialect().check_table_name(&self.target.table)?)
    }

    pub(crate) fn delete(&mut self, key: &EntityKey, condition: &IfMatch) -> Result<(), Refused> {
        let request = entity::delete(self.target.protocol, &self.target.table, key, condition);
        let of = |error: Error| self.refusal(error.into(), Operation::Delete, || Some(key.clone()));
        self.push(&request.map_err(of)?)
    }

    /// Adds the operation of a request that writes one entity.
    pub(crate) fn push(&mut self, request: &Request) -> Result<(), Refused> {
        for write in &request.writes {
            let body = self.push_body(request, &write.key);
            let of = |refused| self.refusal(refused, request.operation, || Some(write.key.clone()));
            let body = body.map_err(of)?;
            self.record(Wrote { body, ..write.clone() });
        }
        Ok(())
    }

    fn push_body(&mut self, request: &Request, key: &EntityKey) -> Result<Range<usize>, Refused> {
        let head = OperationHead {
            method: &request.method,
            header: request.header.as_ref(),
            has_body: !request.body.is_empty(),
        };
        self.add(
            head,
            (&key.partition_key, &key.row_key),
            |out, _| out.extend_from_slice(request.path.as_bytes()),
            |out, _| {
                out.extend_from_slice(&request.body);
                Ok(())
            },
        )
    }

    fn record(&mut self, wrote: Wrote) {
        if let Some(last) = self.writes.last() {
            let step = last.key.row_key.cmp(&wrote.key.row_key);
            let is_same = self.order.is_none_or(|order| order == step);
            self.order = Some(if is_same { step } else { Ordering::Equal });
        }
        self.writes.push(wrote);
    }

    /// Whether an operation has this RowKey already. A key that continues the order of the others is new.
    fn has(&self, row_key: &str) -> bool {
        let Some(last) = self.writes.last() else { return false };
        let step = (*last.key.row_key).cmp(row_key);
        let is_new = step.is_ne() && self.order.is_none_or(|order| order == step);
        !is_new && self.writes.iter().any(|write| write.key.row_key == row_key)
    }

    /// Adds an operation, whose path and body are appended to the buffer, and returns the position of the body. A
    /// refused operation changes nothing.
    fn add(
        &mut self,
        head: OperationHead<'_>,
        (partition_key, row_key): (&str, &str),
        path: impl FnOnce(&mut Vec<u8>, &Target),
        body: impl FnOnce(&mut Vec<u8>, &Target) -> Result<(), Refused>,
    ) -> Result<Range<usize>, Refused> {
        self.check(partition_key, row_key)?;
        self.begin()?;
        let index = self.len();
        let end = self.body.len();
        self.reserve_operations();
        let target = &self.target;
        let is_tunnelled = target.protocol.tunnels_in_batch(head.method);
        let tunnelled = if is_tunnelled { "X-HTTP-Method: MERGE\r\n" } else { "" };
        let method = if is_tunnelled { &Method::POST } else { head.method };
        let mut changeset = Writer::new(&mut self.body, &self.inner);
        let mut request = changeset.begin_request(method.as_str(), &target.base);
        path(request.path(), target);
        let content_type = if head.has_body { &*self.content_type } else { "" };
        let own = head.header.map(|(name, value)| (*name, value));
        request.headers(Some(index), &[&self.headers, tunnelled, content_type], own);
        let written = if head.has_body {
            request.body(|out| body(out, target))
        } else {
            request.without_body();
            Ok(0..0)
        };
        let position = match written {
            Ok(position) => position,
            Err(refused) => {
                self.body.truncate(end);
                return Err(refused);
            }
        };
        let (bytes, most) = (self.bytes(), self.max_bytes());
        if bytes > most {
            self.body.truncate(end);
            return Err(Refused::Full(Error::invalid_input(format!(
                "a transaction has at most {most} bytes, and with this operation it would have \
                 {bytes}"
            ))));
        }
        Ok(position)
    }

    /// Reserves memory for operations that are as long as those so far, which they often are.
    fn reserve_operations(&mut self) {
        let known = self.len();
        let further = match known {
            1 => FIRST_OPERATIONS,
            FIRST_OPERATIONS => TRANSACTION_OPERATIONS - FIRST_OPERATIONS,
            _ => return,
        };
        let room = self.max_bytes().saturating_sub(self.body.len());
        self.body.reserve(room.min(further * self.body.len() / known));
        self.writes.reserve(further);
    }

    /// Adds to the error of a refused operation what it says about the operation.
    fn refusal(
        &self,
        refused: Refused,
        operation: Operation,
        key: impl FnOnce() -> Option<EntityKey>,
    ) -> Refused {
        let of = |error: Error| {
            error.about(operation, &self.target.table, key).at_index(Some(self.len()))
        };
        match refused {
            Refused::Full(error) => Refused::Full(of(error)),
            Refused::Invalid(error) => Refused::Invalid(of(error)),
        }
    }

    fn check(&self, partition_key: &str, row_key: &str) -> Result<(), Refused> {
        if let Some(partition) = self.writes.first().map(|first| &first.key.partition_key)
            && partition != partition_key
        {
            return Err(Refused::Invalid(Error::invalid_input(format!(
                "a transaction is limited to one partition: this entity is in {partition_key:?}, and \
                 earlier ones are in {partition:?}"
            ))));
        }
        if self.has(row_key) {
            return Err(Refused::Invalid(Error::invalid_input(
                "entity appears twice in the transaction",
            )));
        }
        if self.len() == TRANSACTION_OPERATIONS {
            return Err(Refused::Full(Error::invalid_input(format!(
                "a transaction has at most {TRANSACTION_OPERATIONS} operations"
            ))));
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<Request, Error> {
        self.target.protocol.dialect().check_table_name(&self.target.table)?;
        if self.writes.is_empty() {
            return Err(Error::invalid_input("a transaction has at least one operation"));
        }
        Writer::new(&mut self.body, &self.inner).close();
        Writer::new(&mut self.body, &self.outer).close();
        let request =
            batch_request(Operation::Transaction, &self.target.table, &self.outer, self.body)?;
        Ok(Request { success: Success::Committed, writes: self.writes, ..request })
    }
}

fn batch_request(
    operation: Operation,
    table: &str,
    boundary: &str,
    body: Vec<u8>,
) -> Result<Request, Error> {
    let mut request = Request::new(operation, table, Method::POST, PATH.to_owned()).body(body);
    request.content_type = HeaderValue::from_str(&media_type(boundary)).map_err(|error| {
        Error::invalid_input("the boundary of a batch is not a valid header").with_source(error)
    })?;
    Ok(request)
}

/// Returns the request in a batch of its own.
pub(crate) fn in_batch(
    request: &Request,
    protocol: Protocol,
    base: &str,
    clock: &SharedClock,
) -> Result<Request, Error> {
    let whole = if request.is_write() { write_in_batch } else { read_in_batch };
    whole(request, protocol, base, clock)
}

fn write_in_batch(
    write: &Request,
    protocol: Protocol,
    base: &str,
    clock: &SharedClock,
) -> Result<Request, Error> {
    let (table, base, clock) = (Arc::from(&*write.resource), Arc::from(base), Arc::clone(clock));
    let mut batch = Batch::new(Target { table, base, protocol, write_id: None, clock });
    batch.push(write).map_err(|refused| Error::from(refused).at_index(None))?;
    let (operation, success) = (write.operation, write.success);
    Ok(Request { operation, success, ..batch.finish()? })
}

fn read_in_batch(
    read: &Request,
    protocol: Protocol,
    base: &str,
    clock: &SharedClock,
) -> Result<Request, Error> {
    let boundary = format!("batch_{}", clock.random_id()?);
    let mut target = read.path.clone();
    if !read.query.as_str().is_empty() {
        target.push('?');
        target.push_str(read.query.as_str());
    }
    let accept = protocol.format().accept();
    let headers =
        [(&header::ACCEPT, &accept), (&headers::DATA_SERVICE_VERSION, protocol.odata_headers()[0])];
    let mut body = Vec::with_capacity(512 + target.len());
    let mut batch = Writer::new(&mut body, &boundary);
    batch.request(&read.method, [base, &target], None, headers, &[]);
    batch.close();
    let request = batch_request(read.operation, &read.resource, &boundary, body)?;
    Ok(Request { selects: read.selects, needs_types: read.needs_types, ..request })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_key_is_found_among_those_before_it(
            keys in proptest::collection::vec("[ab]{0,3}|[0-9]{1,2}", 0..100),
            order in 0..3,
        ) {
            let mut keys = keys;
            match order {
                0 => {}
                1 => keys.sort(),
                _ => keys.sort_by(|a, b| b.cmp(a)),
            }
            let mut batch = Batch::new(Target::of_test(Protocol::default()));
            let mut known = HashSet::new();
            for key in &keys {
                prop_assert_eq!(batch.has(key), !known.insert(key));
                if known.len() > batch.writes.len() {
                    batch.record(Wrote::delete(EntityKey::new("p", &**key), &IfMatch::Any));
                }
            }
        }
    }
}
