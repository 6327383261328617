//! The results of the writes of one request.

use std::ops::Deref;

use http::StatusCode;

use super::{Confirmation, Effect, Reply, Request, ResponseInfo, Written};
use crate::ETag;
use crate::error::{Error, ErrorCode, Outcome};
use crate::wire::Operation;

/// The result of one operation of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OperationResult {
    /// The entity's new version; `None` for a delete, and if the response lacks it. If the transaction's confirmation
    /// is not [`Response`](crate::Confirmation::Response), this is the version that was read back, which may be of a
    /// later write, as for [`Written::etag`](crate::Written::etag). The write id in one row proves the whole transaction, so
    /// the other rows may have any later version.
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

/// Reads the response to a single write.
pub(crate) fn single(reply: Reply, request: &Request) -> Result<Committed, Error> {
    let reply = reply.write_done(request)?;
    let leaves_row = request.writes.iter().any(|write| write.effect != Effect::Gone);
    let etag = if leaves_row { Some(reply.etag(request)?) } else { None };
    let response = reply.info();
    let operations = vec![OperationResult { etag, status: response.status }];
    Ok(Committed { operations, response })
}

/// Returns the results of writes that were found to be applied, with the current ETags of their rows. `request_id` is
/// the service's id of the last attempt, which it refused.
pub(crate) fn found(
    request: &Request,
    etags: Vec<Option<ETag>>,
    confirmation: Confirmation,
    request_id: Option<&str>,
) -> Committed {
    let done = StatusCode::NO_CONTENT.as_u16();
    let is_transaction = request.operation == Operation::Transaction;
    let status = if is_transaction { StatusCode::ACCEPTED.as_u16() } else { done };
    let request_id = request_id.map(str::to_owned);
    let operations = etags.into_iter().map(|etag| OperationResult { etag, status: done });
    Committed {
        operations: operations.collect(),
        response: ResponseInfo { status, request_id, confirmation },
    }
}

/// Returns the result of a write that leaves one row.
pub(crate) fn written(result: Result<Committed, Error>) -> Result<Written, Error> {
    let Committed { operations, response } = result?;
    let etag = operations.into_iter().find_map(|operation| operation.etag);
    let etag = etag.ok_or_else(|| {
        Error::unexpected_reply("the row that was read back has no ETag")
            .with_outcome(Outcome::Applied)
    })?;
    Ok(Written { etag, response })
}

/// Returns the result of a write that leaves no row.
pub(crate) fn done(result: Result<Committed, Error>) -> Result<ResponseInfo, Error> {
    Ok(result?.response)
}

/// Returns `false` if the write failed with one of these error codes, and no earlier attempt of it can be the cause.
pub(crate) fn done_unless(
    result: Result<Committed, Error>,
    code: fn(&ErrorCode) -> bool,
) -> Result<bool, Error> {
    match result {
        Ok(_) => Ok(true),
        Err(error) if error.outcome() != Outcome::Unknown && error.code().is_some_and(code) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}
