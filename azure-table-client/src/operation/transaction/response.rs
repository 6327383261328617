//! The responses to entity group transactions, and to single operations in a batch.

use http::{HeaderName, StatusCode};

use super::super::answer::{messages, names_row};
use super::super::{Committed, Effect, OperationResult, Reply, Request};
use crate::ETag;
use crate::error::{Error, Outcome};
use crate::wire::multipart::{Message, MultipartError};

static CONTENT_ID: HeaderName = HeaderName::from_static("content-id");

/// Reads the response to a transaction.
pub(crate) fn committed(reply: Reply, request: &Request) -> Result<Committed, Error> {
    if reply.status != StatusCode::ACCEPTED {
        return Err(refused(reply, request));
    }
    let messages = match messages(&reply.headers, &reply.body, request.writes.len()) {
        Ok(messages) => messages,
        Err(error) => return Err(unreadable(&reply, request, error)),
    };
    let status = |message: &Message<'_>| message.status().ok().filter(StatusCode::is_success);
    let mut operations = Vec::with_capacity(messages.len());
    for message in &messages {
        let Some(status) = status(message) else {
            // Either all operations are applied, or the failure is the only result.
            let error = reply.unexpected("the batch has a failure among other results", request);
            return Err(error.with_outcome(Outcome::Unknown));
        };
        let etag = message.etag().filter(|tag| !tag.is_empty()).map(ETag::from);
        operations.push(OperationResult { etag, status: status.as_u16() });
    }
    if messages.len() != request.writes.len() {
        let (results, operations) = (messages.len(), request.writes.len());
        let message = format!("the response has {results} results for {operations} operations");
        return Err(reply.unexpected(message, request).with_outcome(Outcome::Unknown));
    }
    if !are_in_order(&messages) {
        let error =
            reply.unexpected("the results of the batch have contradictory Content-IDs", request);
        return Err(error.with_outcome(Outcome::Unknown));
    }
    if !reply.echoes(&reply.client_request_id) && !are_of(request, &messages, &operations) {
        let message = "the results of the batch belong to another transaction; a proxy or a cache may have sent them";
        return Err(reply.unexpected(message, request).with_outcome(Outcome::Unknown));
    }
    Ok(Committed { operations, response: reply.info() })
}

/// Whether the service can have sent these results for the request: a row that is left has an ETag, and a result that
/// names a row names the one that was written.
fn are_of(request: &Request, messages: &[Message<'_>], results: &[OperationResult]) -> bool {
    let mut results = request.writes.iter().zip(results);
    // All results are of one transaction, so that the name in the first one is enough.
    let first = request.writes.first().zip(messages.first());
    let named = first.and_then(|(write, message)| {
        names_row(&message.headers().ok()?, &request.resource, &write.key)
    });
    named != Some(false)
        && results.all(|(write, result)| result.etag.is_some() == (write.effect != Effect::Gone))
}

/// Whether the results have the order of the operations. Some services leave out the Content-IDs of the request, or
/// count from 1.
fn are_in_order(messages: &[Message<'_>]) -> bool {
    let is_from = |first: usize| {
        let mut ids = messages.iter().enumerate().map(|(at, message)| (at, message.content_id()));
        ids.all(|(at, id)| id.is_none_or(|id| id.parse() == Ok(at + first)))
    };
    is_from(0) || is_from(1)
}

/// Returns the error of a response that refuses a transaction.
fn refused(reply: Reply, request: &Request) -> Error {
    let writes = &request.writes;
    // The service does not report the index in a transaction of one operation. A Content-ID above 0 may count from 0 or
    // from 1, so it names no operation.
    let is_first = reply.header(&CONTENT_ID).is_some_and(|id| id.parse() == Ok(0_usize));
    let first = (reply.is_inside_batch() && (writes.len() == 1 || is_first)).then_some(0);
    let error = reply.into_error(request);
    // An index in the message takes precedence, if it is valid.
    let index = error.batch_index().filter(|index| *index < writes.len()).or(first);
    let failed = index.and_then(|index| writes.get(index));
    error.at_index(index).of_entity(failed.map(|write| write.key.clone()))
}

/// Returns the error of a batch that the service accepted, with a response that cannot be read.
fn unreadable(reply: &Reply, request: &Request, error: MultipartError) -> Error {
    let error = Error::damaged_reply("the response to the batch cannot be read").with_source(error);
    let error = reply.unusable(error, request);
    if request.is_write() { error.with_outcome(Outcome::Unknown) } else { error }
}
