//! Readers of the rows of a response: whole entities, or the columns of a projection.

use std::sync::Arc;

use super::{Columns, DecodeError, DecodeReason, Row};
use crate::etag::ETag;
use crate::key::EntityKey;

/// Makes values of type `T` of the rows of a reply.
pub trait ReadRow<T>: Send + Sync {
    /// The columns that are read of each row.
    fn columns(&self) -> Columns;

    /// Whether properties without a column are kept in the row.
    fn keeps_others(&self) -> bool;

    /// The value of a row.
    fn read_row(&self, row: &mut Row<'_>) -> Result<T, DecodeError>;
}

/// The consumer of the rows of a response. A trait object, so that the readers of responses are compiled once instead of
/// once for each type of entity.
pub type RowConsumer<'c> = dyn FnMut(&mut Row<'_>) -> Result<(), DecodeError> + 'c;

/// The result of each row: an error about one row leaves the others readable.
pub struct EachResult<T>(pub Arc<dyn ReadRow<T>>);

impl<T> ReadRow<Result<T, DecodeError>> for EachResult<T> {
    fn columns(&self) -> Columns {
        self.0.columns()
    }

    fn keeps_others(&self) -> bool {
        self.0.keeps_others()
    }

    fn read_row(&self, row: &mut Row<'_>) -> Result<Result<T, DecodeError>, DecodeError> {
        Ok(self.0.read_row(row))
    }
}

/// Values with the versions of their rows.
pub struct WithETag<T>(pub Arc<dyn ReadRow<T>>);

impl<T> ReadRow<(T, ETag)> for WithETag<T> {
    fn columns(&self) -> Columns {
        self.0.columns()
    }

    fn keeps_others(&self) -> bool {
        self.0.keeps_others()
    }

    fn read_row(&self, row: &mut Row<'_>) -> Result<(T, ETag), DecodeError> {
        // Read first: an entity may take the content of the row.
        let etag = row.etag().ok_or_else(|| without_etag(row))?;
        Ok((self.0.read_row(row)?, etag))
    }
}

fn without_etag(row: &Row<'_>) -> DecodeError {
    let reason = "the response has no ETag, which Metadata::None leaves out; use Metadata::Minimal";
    DecodeError::new(row.entity_key(), "odata.etag", DecodeReason::Other(reason.to_owned()))
}

/// The keys alone.
pub struct KeysOnly;

impl ReadRow<EntityKey> for KeysOnly {
    fn columns(&self) -> Columns {
        Columns::new(&[])
    }

    fn keeps_others(&self) -> bool {
        false
    }

    fn read_row(&self, row: &mut Row<'_>) -> Result<EntityKey, DecodeError> {
        row.entity_key().ok_or_else(|| row.missing("RowKey"))
    }
}
