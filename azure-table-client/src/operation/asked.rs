//! The rows that a read asks for.
//!
//! A proxy or a cache can respond with the rows of another request, and a server may not echo the id of the request, which
//! would reveal it. So each row of each response is compared with the request here; a row that does not answer it makes
//! the response unusable, like a response that is lost.

use std::sync::Arc;

use crate::entity::{EntityKey, Row, RowConsumer};
use crate::filter::{KeyOrder, QueryFilter};
use crate::wire::ReadError;

/// The rows that a request asks for.
#[derive(Debug, Clone, Default)]
pub(crate) enum Asked {
    /// Something else than rows.
    #[default]
    Nothing,
    /// The rows of a table.
    All,
    /// The row with this key.
    Row(EntityKey),
    /// The rows that match a filter. Only its conditions on keys are compared.
    Matching(Arc<QueryFilter>, KeyOrder),
}

/// Why a response does not answer its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mismatch {
    /// It has a row that the request does not ask for.
    OtherRow,
    /// It has something else than rows.
    NoRow,
}

impl Asked {
    /// Compares a row with the request. A key that the projection leaves out is not compared.
    fn compare(&self, row: &Row<'_>) -> Result<(), Mismatch> {
        let [partition_key, row_key] = row.known_keys();
        let is_asked = match self {
            Self::Nothing => return Ok(()),
            _ if partition_key.is_none() && row_key.is_none() && !row.form.selected => {
                return Err(Mismatch::NoRow);
            }
            Self::All => true,
            Self::Row(key) => {
                partition_key.is_none_or(|text| text == key.partition_key)
                    && row_key.is_none_or(|text| text == key.row_key)
            }
            Self::Matching(filter, order) => {
                !filter.tree().excludes(partition_key, row_key, *order)
            }
        };
        if is_asked { Ok(()) } else { Err(Mismatch::OtherRow) }
    }

    /// Passes the rows that `read` reads to `consume`, up to the first one that does not answer the request.
    pub(super) fn read(
        &self,
        consume: &mut RowConsumer<'_>,
        read: impl FnOnce(&mut RowConsumer<'_>) -> Result<(), ReadError>,
    ) -> Result<Result<(), ReadError>, Mismatch> {
        let mut mismatch = None;
        let read = read(&mut |row| match self.compare(row) {
            Ok(()) => consume(row),
            Err(found) => {
                mismatch = Some(found);
                // Any error ends the reading.
                Err(row.missing("RowKey"))
            }
        });
        mismatch.map_or(Ok(read), Err)
    }
}
