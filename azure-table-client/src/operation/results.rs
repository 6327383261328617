//! The results of calls, with information about the response.

use std::ops::{Deref, DerefMut};

use http::StatusCode;

use super::{Location, Request};
use crate::ETag;
use crate::error::{Error, ErrorCode, Outcome};
use crate::wire::Operation;

/// The evidence of a success.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Confirmation {
    /// The service confirmed it.
    #[default]
    Response,
    /// The response was lost or was a conflict, and the row has the id of the write; see
    /// [`write_id_column`](crate::TableServiceClientBuilder::write_id_column). The row may have changed since: a client
    /// that merges without ids leaves the id in it.
    WriteId,
    /// The response was lost, and the rows are in the state that the write leaves. Another program that
    /// wrote the same values can be the cause; see [`Proof`](crate::Proof).
    Comparison,
}

/// The proof that a program accepts for the outcome of a write, from strict to lenient. A proof that is not accepted
/// leaves the outcome [unknown](crate::Outcome::Unknown). See the guide on [outcomes](crate::guide::outcomes#proof).
///
/// It is set for a [client](crate::TableServiceClientBuilder::proof), and for one [call](crate::client::Call::proof),
/// [transaction](crate::client::Transaction::proof), [save](crate::context::SaveOptions::proof) or
/// [bulk run](crate::bulk::Bulk::proof) in place of the client's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Proof {
    /// Only the service's response to the write. No row is read back.
    Response,
    /// Also a row that was read back: the [id](crate::TableServiceClientBuilder::write_id_column) of the write in it
    /// proves that the write was applied, and an unchanged ETag that it was not applied so far. A row in the state that
    /// the write leaves proves nothing, since another program may have written the same values. Use it where an insert,
    /// a delete or a table serves as a lock.
    WriteId,
    /// Also a row in the state that an insert, a delete or an unconditional write leaves.
    #[default]
    MatchingState,
    /// Also a row in the state that an update leaves which is conditional on an ETag. Use it for updates that may be
    /// repeated without harm: two programs may compute the same value, and a counter would lose an increment.
    MatchingUpdate,
}

/// Information about the response to a call. It is the whole result of a call that returns no data.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResponseInfo {
    /// The HTTP status.
    pub status: u16,
    /// The service's id of the request.
    pub request_id: Option<String>,
    /// The evidence of the success.
    pub confirmation: Confirmation,
}

/// The result of a write that leaves an entity behind. Derefs to the information about the response.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// The entity's new version. If the confirmation is not [`Response`](Confirmation::Response), this is the version
    /// that was read back, which may be of a later write by another program:
    ///
    /// - [`WriteId`](Confirmation::WriteId): a merge by a client without ids, also of the same properties.
    /// - [`Comparison`](Confirmation::Comparison): any write that left the values of this one, for example a merge of
    ///   other properties.
    ///
    /// Before a write that names this version as its condition and must not overwrite such a change, read the entity.
    pub etag: ETag,
    /// Information about the response; its status is 201 or 204.
    pub response: ResponseInfo,
}

impl Deref for Written {
    type Target = ResponseInfo;

    fn deref(&self) -> &ResponseInfo {
        &self.response
    }
}

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

/// An entity that is in the table, with its version. Derefs to the entity.
///
/// `etag` stays the version that was read or written when the entity is changed, so that a later write can name it as
/// its condition:
///
/// ```
/// # use azure_table_client::{DynamicEntity, mock::MockTableService};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), azure_table_client::Error> {
/// # let blogs = MockTableService::new().client().table_named::<DynamicEntity>("Blogs");
/// # blogs.create().await?;
/// # blogs.insert(&DynamicEntity::new("Channel9", "1").with("Rating", 1)).await?;
/// let mut blog = blogs.get(("Channel9", "1")).await?;
/// blog.set("Rating", 5);
/// blogs.merge(&blog, &blog.etag).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Stored<T> {
    /// The entity. After a write it has the new version if it has a field for that; a Timestamp is the one that was
    /// read, since the response to a write does not contain it.
    pub entity: T,
    /// Its version.
    pub etag: ETag,
    response: ResponseInfo,
    location: Location,
    rounds: u32,
}

// Methods do not hide fields of the entity.
impl<T> Stored<T> {
    pub(crate) fn read(entity: T, etag: ETag, response: ResponseInfo, location: Location) -> Self {
        Self { entity, etag, response, location, rounds: 1 }
    }

    pub(crate) fn written(entity: T, written: Written) -> Self {
        Self::read(entity, written.etag, written.response, Location::Primary)
    }

    pub(crate) fn with_rounds(self, rounds: u32) -> Self {
        Self { rounds, ..self }
    }

    /// Information about the last response.
    pub const fn response(&self) -> &ResponseInfo {
        &self.response
    }

    /// The location of the account that sent the last response.
    pub const fn location(&self) -> Location {
        self.location
    }

    /// The number of rounds of [`get_or_insert`](crate::TableClient::get_or_insert),
    /// [`update_with`](crate::TableClient::update_with) and
    /// [`update_rows_with`](crate::TableClient::update_rows_with): 1 if no concurrent write intervened.
    pub const fn rounds(&self) -> u32 {
        self.rounds
    }

    /// Returns the entity.
    #[doc(alias("into_entity"))]
    pub fn into_inner(self) -> T {
        self.entity
    }
}

impl<T> Deref for Stored<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.entity
    }
}

impl<T> DerefMut for Stored<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.entity
    }
}
