//! The order of rows, which the service does not change.

use super::Query;
use crate::filter::HasColumns;

#[doc(hidden)]
impl<E, T> Query<E, T> {
    /// Does not compile: the service returns rows in key order.
    pub fn order_by<K>(self, _: impl FnOnce(E::Columns<E>) -> K) -> Self
    where
        E: HasColumns + SortedByTheService,
    {
        self
    }
}

/// Rows that the service sorts by a property. No type implements it.
#[diagnostic::on_unimplemented(
    message = "the Table service cannot sort the rows of `{Self}` by a column",
    label = "no order except that of the keys",
    note = "rows are returned in the order of PartitionKey and RowKey: put what you sort by first into the row key, with `Descending` for newest first",
    note = "or sort the results in the program: `let mut rows = query.await?.into_vec(); rows.sort_by_key(|row| row.rating);`"
)]
#[doc(hidden)]
pub trait SortedByTheService {}
