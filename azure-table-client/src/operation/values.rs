//! The rows of a query without their type, which only the query knows. What stands between the reading of a response and the
//! return of its rows is compiled once instead of once for each type.

use std::any::Any;
use std::sync::Arc;
use std::vec;

use crate::entity::{Columns, ReadRow, RowConsumer};
use crate::error::Error;

/// Reads rows of one type.
pub(crate) trait ReadValues: Send + Sync {
    fn columns(&self) -> Columns;

    fn keeps_others(&self) -> bool;

    /// Returns the rows that `read` passes on.
    fn read(
        &self,
        read: &mut dyn FnMut(&mut RowConsumer<'_>) -> Result<(), Error>,
    ) -> Result<Box<dyn RowValues>, Error>;
}

/// Rows of one type.
pub(crate) trait RowValues: Send {
    fn len(&self) -> usize;

    fn drop_first(&mut self);

    /// Moves the first `count` rows to the end of `to`, a `Vec` of their type.
    fn move_to(&mut self, to: &mut AnyVec, count: usize);
}

/// A `Vec` of rows.
pub(crate) type AnyVec = dyn Any + Send;

impl<T: Send + 'static> ReadValues for Arc<dyn ReadRow<T>> {
    fn columns(&self) -> Columns {
        (**self).columns()
    }

    fn keeps_others(&self) -> bool {
        (**self).keeps_others()
    }

    fn read(
        &self,
        read: &mut dyn FnMut(&mut RowConsumer<'_>) -> Result<(), Error>,
    ) -> Result<Box<dyn RowValues>, Error> {
        let mut values = Vec::new();
        read(&mut |row| {
            values.push(self.read_row(row)?);
            Ok(())
        })?;
        Ok(Box::new(values.into_iter()))
    }
}

impl<T: Send + 'static> RowValues for vec::IntoIter<T> {
    fn len(&self) -> usize {
        ExactSizeIterator::len(self)
    }

    fn drop_first(&mut self) {
        self.next();
    }

    fn move_to(&mut self, to: &mut AnyVec, count: usize) {
        let to = to.downcast_mut::<Vec<T>>();
        debug_assert!(
            to.is_some(),
            "the program receives the rows in the type in which they were read"
        );
        match to {
            // The page itself becomes the list.
            Some(to) if to.is_empty() && count >= ExactSizeIterator::len(self) => {
                *to = std::mem::take(self).collect();
            }
            Some(to) => to.extend(self.take(count)),
            None => {}
        }
    }
}
