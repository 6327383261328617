//! Reading the rows of one entity kind.

use std::marker::PhantomData;

use super::HasKind;
use crate::entity::TableEntity;
use crate::entity::{Columns, DecodeError, ReadRow, Row};

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
