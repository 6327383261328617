//! Reading rows as entities.

use std::marker::PhantomData;

use super::{HasKind, TableEntity};
use crate::decode::{Columns, DecodeError, Form, ReadRow, Row};

/// Whole entities.
pub(crate) struct Entities;

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

/// The entities of one kind of an enum of entities.
pub(crate) struct OfKind<E> {
    of: PhantomData<fn() -> E>,
}

impl<E> OfKind<E> {
    pub(crate) const fn new() -> Self {
        Self { of: PhantomData }
    }
}

impl<E: HasKind<K>, K: TableEntity> ReadRow<K> for OfKind<E> {
    fn columns(&self) -> Columns {
        Columns::of::<E>()
    }

    fn keeps_others(&self) -> bool {
        E::KEEPS_OTHERS
    }

    fn read_row(&self, row: &mut Row<'_>) -> Result<K, DecodeError> {
        row.read_as(E::DISCRIMINATOR)
    }
}

impl Columns {
    /// The columns of an entity.
    pub(crate) fn of<T: TableEntity>() -> Self {
        let mut columns = Self::new(T::COLUMNS);
        T::columns(&mut columns);
        columns
    }
}

impl Row<'_> {
    /// Creates a row from which entities of type `T` are built.
    pub(crate) fn of<T: TableEntity>(form: Form) -> Self {
        Self::with(Columns::of::<T>(), T::KEEPS_OTHERS, form)
    }

    /// Builds an entity of another type from the properties of this row except `without`. This row
    /// must have been read without columns, so that it keeps every property.
    pub(crate) fn read_as<V: TableEntity>(
        &mut self,
        without: Option<&str>,
    ) -> Result<V, DecodeError> {
        let mut row = Row::of::<V>(self.form);
        self.move_to(&mut row, without);
        V::from_row(&mut row)
    }
}
