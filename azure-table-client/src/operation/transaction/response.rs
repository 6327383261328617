//! The responses to entity group transactions, and to single operations in a batch.

use http::{HeaderName, StatusCode, header};

use super::super::batch::messages;
use super::super::committed::{Committed, OperationResult};
use super::super::server_wait::HEADERS_IN_MILLISECONDS;
use super::super::{Reply, Request};
use crate::ETag;
use crate::error::{Error, Outcome};
use crate::wire::headers;
use crate::wire::multipart::{Message, MultipartError};

/// Reads the response to a transaction.
pub(crate) fn committed(reply: Reply, request: &Request) -> Result<Committed, Error> {
    if reply.status != StatusCode::ACCEPTED {
        return Err(refused(reply, None, request));
    }
    let messages = match messages(&reply.headers, &reply.body) {
        Ok(messages) => messages,
        Err(error) => return Err(unreadable(&reply, request, error)),
    };
    let status = |message: &Message<'_>| message.status().ok().filter(StatusCode::is_success);
    if let [message] = &*messages
        && status(message).is_none()
    {
        let id = index_of_failure(message, request.writes.len());
        return Err(refused(inner(&reply, message, request)?, id, request));
    }
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
    Ok(Committed { operations, response: reply.info() })
}

/// Returns the index of the failed operation where the message of the failure does not name it: in a transaction of one
/// operation, or for a Content-ID of 0. Any other Content-ID may count from 0 or from 1, so it names no operation.
fn index_of_failure(message: &Message<'_>, operations: usize) -> Option<usize> {
    // The service does not report the index in a transaction of one operation.
    let is_first =
        operations == 1 || message.content_id().is_some_and(|id| id.parse() == Ok(0_usize));
    is_first.then_some(0)
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

/// Returns the error of a response that refuses a transaction; `id` is the index of its part in the batch.
fn refused(reply: Reply, id: Option<usize>, request: &Request) -> Error {
    let error = reply.into_error(request);
    // An index in the message takes precedence, if it is valid.
    let writes = &request.writes;
    let index = error.batch_index().filter(|index| *index < writes.len()).or(id);
    let failed = index.and_then(|index| writes.get(index));
    error.at_index(index).of_entity(failed.map(|write| write.key.clone()))
}

/// Returns the response to the only operation of a batch.
pub(crate) fn only(reply: Reply, request: &Request) -> Result<Reply, Error> {
    if reply.status != StatusCode::ACCEPTED {
        return Ok(reply);
    }
    match messages(&reply.headers, &reply.body).as_deref() {
        Ok([message]) => inner(&reply, message, request),
        Ok(_) => Err(unreadable(&reply, request, MultipartError::Truncated)),
        Err(error) => Err(unreadable(&reply, request, *error)),
    }
}

/// Returns a response in a batch as a response of its own.
fn inner(reply: &Reply, message: &Message<'_>, request: &Request) -> Result<Reply, Error> {
    let of = |error| unreadable(reply, request, error);
    let mut headers = message.headers().map_err(of)?;
    // Only the headers of the batch have the request id, the date and the wait.
    let waits = HEADERS_IN_MILLISECONDS.map(HeaderName::from_static);
    let shared = [&headers::X_MS_REQUEST_ID, &header::DATE, &header::RETRY_AFTER];
    for name in shared.into_iter().chain(&waits) {
        if let Some(value) = reply.headers.get(name)
            && !headers.contains_key(name)
        {
            headers.insert(name, value.clone());
        }
    }
    let (status, body) = (message.status().map_err(of)?, reply.body.slice_ref(message.body));
    Ok(Reply { status, headers, body, ..reply.clone() })
}

/// Returns the error of a batch that the service accepted, with a response that cannot be read.
fn unreadable(reply: &Reply, request: &Request, error: MultipartError) -> Error {
    let error = Error::damaged_reply("the response to the batch cannot be read").with_source(error);
    let error = reply.unusable(error, request);
    if request.is_write() { error.with_outcome(Outcome::Unknown) } else { error }
}
