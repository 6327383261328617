//! Reading rows as entities.

use super::TableEntity;
use super::decode::{Columns, DecodeError, Form, ReadRow, Row};

/// Whole entities.
#[doc(hidden)]
#[derive(Debug)]
pub struct Entities;

impl<T: TableEntity> ReadRow<T> for Entities {
    fn columns(&self) -> Columns {
        Columns::of::<T>()
    }

    fn keeps_others(&self) -> bool {
        T::KEEPS_OTHERS
    }

    fn read_row(&self, row: &mut Row<'_>) -> Result<T, DecodeError> {
        T::from_row(row)
    }
}

impl Columns {
    /// The columns of an entity.
    #[doc(hidden)]
    pub fn of<T: TableEntity>() -> Self {
        let mut columns = Self::new(T::COLUMNS);
        // An implementation by hand has columns, and no fields.
        columns.fields_after(T::COLUMNS.len(), "", T::FIELDS);
        T::columns(&mut columns);
        columns
    }
}

#[doc(hidden)]
impl Row<'_> {
    /// Creates a row from which entities of type `T` are built.
    pub fn of<T: TableEntity>(form: Form) -> Self {
        Self::with(Columns::of::<T>(), T::KEEPS_OTHERS, form)
    }

    /// Builds an entity of another type from the properties of this row except `without`. This row
    /// must have been read without columns, so that it keeps every property.
    pub fn read_as<V: TableEntity>(&mut self, without: Option<&str>) -> Result<V, DecodeError> {
        let mut row = Row::of::<V>(self.form);
        self.move_to(&mut row, without);
        V::from_row(&mut row)
    }
}
