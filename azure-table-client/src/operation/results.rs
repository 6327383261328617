//! The results of calls, with information about the response.

use std::ops::{Deref, DerefMut};

use super::Location;
use crate::ETag;

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
