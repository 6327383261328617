//! Single operations in a batch.

use std::sync::Arc;

use http::header;

use super::super::query::URL_BYTES;
use super::super::{Request, Target};
use super::{Batch, batch_request};
use crate::clock::SharedClock;
use crate::error::Error;
use crate::wire::multipart::Writer;
use crate::wire::{Operation, Protocol, headers};

/// Returns the request in a batch of its own, if the keys of its row are too long for a URL.
pub(crate) fn in_batch(
    request: &Request,
    protocol: Protocol,
    base: &str,
    clock: &SharedClock,
) -> Result<Option<Request>, Error> {
    let is_of_row = request.operation == Operation::Get || request.operation.is_entity_write();
    if !is_of_row || request.path.len() + 1 + request.query.as_str().len() <= URL_BYTES {
        return Ok(None);
    }
    let whole = if request.is_write() { write_in_batch } else { read_in_batch };
    whole(request, protocol, base, clock).map(Some)
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
    Ok(Request { operation: write.operation, ..batch.finish()? })
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
