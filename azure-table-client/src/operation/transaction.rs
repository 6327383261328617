//! Entity group transactions, and single operations in a batch.
//!
//! Source: [Performing entity group transactions][batch].
//!
//! [batch]: https://learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions

mod response;

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use http::{HeaderValue, Method, header};
use uuid::Uuid;

use super::entity::{self, Write};
use super::query::URL_BYTES;
use super::{Header, Request, ResponseInfo, Target};
use crate::entity::{EntityKey, TableEntity, new_write_id};
use crate::error::Error;
use crate::etag::{ETag, IfMatch};
use crate::limits::TRANSACTION_OPERATIONS;
use crate::wire::multipart::{Writer, media_type};
use crate::wire::{Operation, Protocol, headers};

pub(crate) use response::{found_committed, only, results};

pub(super) const PATH: &str = "/$batch";

/// The result of one operation of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OperationResult {
    /// The entity's new version; `None` for a delete, and if the response lacks it.
    pub etag: Option<ETag>,
    /// The HTTP status of the operation.
    pub status: u16,
}

/// The result of a transaction that was applied. Derefs to the information about the response.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Committed {
    /// The results of the operations, in their order.
    pub operations: Vec<OperationResult>,
    /// Information about the response; its status is 202.
    pub response: ResponseInfo,
}

impl Deref for Committed {
    type Target = ResponseInfo;

    fn deref(&self) -> &ResponseInfo {
        &self.response
    }
}

/// The operations of a transaction, as they will be sent.
#[derive(Debug)]
pub(crate) struct Batch {
    target: Target,
    /// The id of all writes that are encoded here.
    id: Uuid,
    /// The id of one of the writes.
    write_id: Option<Uuid>,
    /// The boundaries of the body, and of the changeset that is in it.
    outer: String,
    inner: String,
    /// The body without its closing boundaries.
    body: Vec<u8>,
    /// Buffers for the path and the body of one entity, whose length is written before it.
    written: (String, Vec<u8>),
    partition_key: Option<String>,
    /// The index of each RowKey.
    row_keys: HashMap<String, usize>,
}

/// One operation in the form of a request.
#[derive(Clone, Copy)]
struct Single<'o> {
    operation: Operation,
    method: &'o Method,
    path: &'o str,
    header: Option<&'o Header>,
    body: &'o [u8],
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

/// The keys of the operations in a request, by index.
#[derive(Debug)]
pub(crate) struct Sent {
    partition_key: String,
    row_keys: HashMap<String, usize>,
}

impl Batch {
    pub(crate) fn new(target: Target) -> Self {
        let id = |kind| format!("{kind}_{}", Uuid::from_u128(fastrand::u128(..)));
        let (outer, inner) = (id("batch"), id("changeset"));
        let mut body = Vec::with_capacity(1024);
        Writer::new(&mut body, &outer).parts(&inner);
        Self {
            target,
            id: new_write_id(),
            write_id: None,
            outer,
            inner,
            body,
            written: Default::default(),
            partition_key: None,
            row_keys: HashMap::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.row_keys.len()
    }

    /// The bytes of the body with its closing boundaries.
    pub(crate) fn bytes(&self) -> usize {
        // `--`, the boundary, `--` and the end of the line, twice.
        self.body.len() + self.outer.len() + self.inner.len() + 12
    }

    pub(crate) fn write<T: TableEntity>(
        &mut self,
        entity: &T,
        write: Write<'_>,
    ) -> Result<(), Refused> {
        let index = self.len();
        let at = |error: Error, key| Refused::Invalid(error.with_batch(Some(index), key));
        let (partition_key, row_key) =
            entity::checked_keys(self.target.protocol, &self.target.table, entity)
                .map_err(|error| at(error, entity.entity_key().ok()))?;
        let (mut path, mut body) = std::mem::take(&mut self.written);
        path.clear();
        body.clear();
        write.path(&mut path, &self.target.table, &partition_key, &row_key);
        let write_id = self.target.write_id.as_deref().map(|column| (column, self.id));
        self.write_id = self.write_id.or(write_id.map(|(_, id)| id));
        let format = self.target.protocol.format();
        let header = format
            .write_entity(
                &mut body,
                entity,
                (&partition_key, &row_key),
                write_id,
                self.target.protocol.dialect(),
            )
            .map_err(Error::from)
            .and_then(|()| write.header(self.target.protocol))
            .map_err(|error| at(error, Some(EntityKey::new(&*partition_key, &*row_key))))?;
        let operation = Single {
            operation: write.operation(),
            method: &write.method(),
            path: &path,
            header: header.as_ref(),
            body: &body,
        };
        let added = self.add(operation, &partition_key, &row_key);
        self.written = (path, body);
        added
    }

    pub(crate) fn delete(&mut self, key: &EntityKey, condition: &IfMatch) -> Result<(), Refused> {
        let request = entity::delete(self.target.protocol, &self.target.table, key, condition)
            .map_err(|error| {
                Refused::Invalid(error.with_batch(Some(self.len()), Some(key.clone())))
            })?;
        self.push(&request, &key.partition_key, &key.row_key)
    }

    /// Adds the operation of a request.
    pub(crate) fn push(
        &mut self,
        request: &Request,
        partition_key: &str,
        row_key: &str,
    ) -> Result<(), Refused> {
        let operation = Single {
            operation: request.operation,
            method: &request.method,
            path: &request.path,
            header: request.header.as_ref(),
            body: &request.body,
        };
        self.write_id = self.write_id.or(request.write_id);
        self.add(operation, partition_key, row_key)
    }

    /// Adds an operation. A refused operation changes nothing.
    fn add(
        &mut self,
        operation: Single<'_>,
        partition_key: &str,
        row_key: &str,
    ) -> Result<(), Refused> {
        let index = self.len();
        let end = self.body.len();
        self.check(partition_key, row_key)
            .and_then(|()| {
                self.write_part(operation, index);
                let (bytes, most) =
                    (self.bytes(), self.target.protocol.dialect().transaction_bytes());
                if bytes <= most {
                    return Ok(());
                }
                self.body.truncate(end);
                Err(Refused::Full(Error::invalid_input(format!(
                    "a transaction has at most {most} bytes, and with this operation it would have \
                     {bytes}"
                ))))
            })
            .map_err(|refused| {
                let key = EntityKey::new(partition_key, row_key);
                let of = |error: Error| {
                    let error = error.with_operation(operation.operation, &self.target.table);
                    error.with_batch(Some(index), Some(key))
                };
                match refused {
                    Refused::Full(error) => Refused::Full(of(error)),
                    Refused::Invalid(error) => Refused::Invalid(of(error)),
                }
            })?;
        if self.partition_key.is_none() {
            self.partition_key = Some(partition_key.to_owned());
        }
        self.row_keys.insert(row_key.to_owned(), index);
        Ok(())
    }

    fn check(&self, partition_key: &str, row_key: &str) -> Result<(), Refused> {
        if let Some(partition) = &self.partition_key
            && partition != partition_key
        {
            return Err(Refused::Invalid(Error::invalid_input(format!(
                "a transaction is limited to one partition: this entity is in {partition_key:?}, and \
                 earlier ones are in {partition:?}"
            ))));
        }
        if self.row_keys.contains_key(row_key) {
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

    fn write_part(&mut self, operation: Single<'_>, index: usize) {
        let Single { method, path, header, body, .. } = operation;
        // The response contains no property, so that the level of JSON does not matter.
        let protocol = self.target.protocol.typed();
        let accept = protocol.format().accept();
        let content_type = protocol.format().content_type();
        let kind = (!body.is_empty()).then_some((&header::CONTENT_TYPE, content_type));
        let is_tunnelled = protocol.tunnels_in_batch(method);
        let tunnelled = is_tunnelled.then_some((&headers::X_HTTP_METHOD, &headers::MERGE));
        let method = if is_tunnelled { &Method::POST } else { method };
        let fixed = [
            (&header::ACCEPT, &accept),
            (&headers::DATA_SERVICE_VERSION, protocol.odata_headers()[0]),
        ];
        let own = header.map(|(name, value)| (*name, value));
        let headers = fixed.into_iter().chain(tunnelled).chain(kind).chain(own);
        let mut changeset = Writer::new(&mut self.body, &self.inner);
        changeset.request(method, [&self.target.base, path], Some(index), headers, body);
    }

    /// Returns the request, and the keys in it.
    pub(crate) fn finish(mut self) -> Result<(Request, Sent), Error> {
        self.target.protocol.dialect().check_table_name(&self.target.table)?;
        let Some(partition_key) = self.partition_key else {
            return Err(Error::invalid_input("a transaction has at least one operation"));
        };
        Writer::new(&mut self.body, &self.inner).close();
        Writer::new(&mut self.body, &self.outer).close();
        let request =
            batch_request(Operation::Transaction, &self.target.table, &self.outer, self.body)?;
        let request = Request { write_id: self.write_id, ..request };
        Ok((request, Sent { partition_key, row_keys: self.row_keys }))
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

/// Returns the request in a batch of its own, if the keys of its row are too long for a URL.
pub(crate) fn in_batch(
    request: &Request,
    protocol: Protocol,
    base: &str,
) -> Result<Option<Request>, Error> {
    let is_of_row = request.operation == Operation::Get || request.operation.is_entity_write();
    if !is_of_row || request.path.len() + 1 + request.query.as_str().len() <= URL_BYTES {
        return Ok(None);
    }
    let whole = if request.is_write() { write_in_batch } else { read_in_batch };
    whole(request, protocol, base).map(Some)
}

fn write_in_batch(write: &Request, protocol: Protocol, base: &str) -> Result<Request, Error> {
    let (table, base) = (Arc::from(&*write.resource), Arc::from(base));
    let mut batch = Batch::new(Target { table, base, protocol, write_id: None });
    batch.push(write, "", "").map_err(|refused| Error::from(refused).with_batch(None, None))?;
    let (request, _) = batch.finish()?;
    Ok(Request { operation: write.operation, ..request })
}

fn read_in_batch(read: &Request, protocol: Protocol, base: &str) -> Result<Request, Error> {
    let boundary = format!("batch_{}", Uuid::from_u128(fastrand::u128(..)));
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

impl Sent {
    fn key(&self, index: usize) -> Option<EntityKey> {
        let (row_key, _) = self.row_keys.iter().find(|(_, at)| **at == index)?;
        Some(EntityKey::new(&*self.partition_key, &**row_key))
    }

    fn len(&self) -> usize {
        self.row_keys.len()
    }
}
