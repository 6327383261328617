//! The rows that a read asks for.
//!
//! A proxy or a cache can respond with the rows of another request, and a server may not echo the id of the request, which
//! would reveal it. So each row of each response is compared with the request here; a row that does not answer it makes
//! the response unusable, like a response that is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::entity::{Columns, DecodeError, EntityKey, ReadRow, Row};
use crate::error::Error;
use crate::filter::{KeyOrder, QueryFilter};
use crate::wire::ReadError;

/// The rows that a request asks for.
#[derive(Debug, Clone, Default)]
pub(crate) enum Asked {
    /// Any rows, or something else than rows.
    #[default]
    Any,
    /// The row with this key.
    Row(EntityKey),
    /// The rows that match a filter. Only its conditions on keys are compared.
    Matching(Arc<QueryFilter>, KeyOrder),
}

impl Asked {
    /// Whether the row answers the request. A key that the projection leaves out is not compared.
    fn admits(&self, row: &Row<'_>) -> bool {
        let [partition_key, row_key] = row.known_keys();
        match self {
            Self::Any => true,
            Self::Row(key) => {
                partition_key.is_none_or(|text| text == key.partition_key)
                    && row_key.is_none_or(|text| text == key.row_key)
            }
            Self::Matching(filter, order) => {
                !filter.tree().excludes(partition_key, row_key, *order)
            }
        }
    }

    /// Reads rows with `reader`. `None` if one of them does not answer the request.
    pub(super) fn read<T, U>(
        &self,
        reader: &dyn ReadRow<T>,
        read: impl FnOnce(&dyn ReadRow<T>) -> Result<U, ReadError>,
    ) -> Option<Result<U, ReadError>> {
        let answers = Answers { reader, asked: self, has_foreign: AtomicBool::new(false) };
        let rows = read(&answers);
        (!answers.has_foreign.into_inner()).then_some(rows)
    }
}

/// The error of a response with a row that does not answer the request.
pub(super) fn foreign_row() -> Error {
    Error::damaged_reply(
        "the response belongs to another request: it holds an entity with other keys; a proxy or a cache may have \
         sent it",
    )
}

/// Reads the rows that answer a request. The first other row ends the reading, before it is decoded.
struct Answers<'r, T> {
    reader: &'r dyn ReadRow<T>,
    asked: &'r Asked,
    has_foreign: AtomicBool,
}

impl<T> ReadRow<T> for Answers<'_, T> {
    fn columns(&self) -> Columns {
        self.reader.columns()
    }

    fn keeps_others(&self) -> bool {
        self.reader.keeps_others()
    }

    fn read_row(&self, row: &mut Row<'_>) -> Result<T, DecodeError> {
        if self.asked.admits(row) {
            return self.reader.read_row(row);
        }
        self.has_foreign.store(true, Ordering::Relaxed);
        Err(row.missing("RowKey"))
    }
}
