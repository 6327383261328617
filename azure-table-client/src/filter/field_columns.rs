//! The columns of the fields that the derive describes.

use super::column::{Column, ReadColumn};
use super::multi_column::{MultiColumn, SeriesColumns};
use crate::entity::Field;

/// The fields of an entity or a group, for generated code.
#[derive(Debug)]
pub struct FieldColumns<'p> {
    /// Put before the name of each property.
    prefix: &'p str,
    fields: &'static [Field],
}

impl<'p> FieldColumns<'p> {
    /// Returns these fields.
    pub const fn new(prefix: &'p str, fields: &'static [Field]) -> Self {
        Self { prefix, fields }
    }

    /// Returns the column of the property at `index`.
    pub fn property<E, T, C, F>(&self, index: usize, read: ReadColumn<F>) -> Column<E, T, C, F> {
        Column::of_field(self.prefix, &self.fields[index], read)
    }

    /// Returns the columns of the series at `index`.
    pub fn series<E, F>(&self, index: usize, read: ReadColumn<F>) -> SeriesColumns<E, F> {
        SeriesColumns::new(&self.fields[index], self.split(index, read))
    }

    /// Returns the column of the split value at `index`.
    pub fn split<E, F>(&self, index: usize, read: ReadColumn<F>) -> MultiColumn<E, F> {
        MultiColumn::new(self.prefix, &self.fields[index..=index], read)
    }

    /// Returns the text before the names of the group at `index`.
    pub fn prefix(&self, index: usize) -> String {
        [self.prefix, self.fields[index].name].concat()
    }

    /// Returns the column of all fields.
    pub fn whole<E, F>(&self, read: ReadColumn<F>) -> MultiColumn<E, F> {
        MultiColumn::new(self.prefix, self.fields, read)
    }
}
