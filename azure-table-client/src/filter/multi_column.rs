//! Columns of fields that are stored as several properties.

use std::fmt;
use std::marker::PhantomData;

use super::column::{Column, ReadColumn, element};
use super::projection::{Projection, Selection};
use super::stored::AsIs;
use crate::edm::FromEdm;
use crate::entity::{Columns, DecodeError, Field, Row, SeriesField};
use crate::limits::LimitError;

/// A field of `E` that is stored as several properties: a group, a series, or a split value. A projection reads it as
/// an `F`, the type of the field.
pub struct MultiColumn<E, F> {
    /// Put before the name of each property.
    prefix: String,
    /// The field, or the fields of the group.
    fields: &'static [Field],
    read: ReadColumn<F>,
    of: PhantomData<fn() -> E>,
}

impl<E, F> fmt::Debug for MultiColumn<E, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut columns = Columns::new(&[]);
        columns.fields(&self.prefix, self.fields);
        f.debug_tuple("MultiColumn").field(&columns.names().next().unwrap_or_default()).finish()
    }
}

impl<E, F> MultiColumn<E, F> {
    pub(super) fn new(prefix: &str, fields: &'static [Field], read: ReadColumn<F>) -> Self {
        Self { prefix: prefix.to_owned(), fields, read, of: PhantomData }
    }
}

impl<E, F> Projection<E> for MultiColumn<E, F>
where
    Self: 'static,
{
    type Output = F;

    fn select(&self, selection: &mut Selection) {
        selection.properties(&self.prefix, self.fields);
    }

    fn read(&self, row: &mut Row<'_>, next: &mut usize) -> Result<F, DecodeError> {
        let first = *next;
        *next += Field::count(self.fields);
        (self.read)(row, first)
    }
}

/// The columns of a numbered series of `E`. A projection reads the whole series as an `F`, the type of the field.
pub struct SeriesColumns<E, F> {
    field: &'static Field,
    whole: MultiColumn<E, F>,
}

impl<E, F> fmt::Debug for SeriesColumns<E, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SeriesColumns").field(&self.prefix()).finish()
    }
}

impl<E, F> SeriesColumns<E, F> {
    pub(super) const fn new(field: &'static Field, whole: MultiColumn<E, F>) -> Self {
        Self { field, whole }
    }

    fn prefix(&self) -> String {
        format!("{}{}", self.whole.prefix, self.field.name)
    }

    /// Returns the column of the element with this index. A projection reads `None` if the row does not have it.
    ///
    /// An index beyond the end of an array is an error when the query is sent, of kind
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput). A `Vec` has up to 252 elements.
    pub fn at(&self, index: usize) -> Column<E, F::Element, AsIs, Option<F::Element>>
    where
        F: SeriesField,
        F::Element: FromEdm,
    {
        let name = format!("{}{}", self.whole.prefix, self.field.element(index));
        let (size, accept) = (self.field.size(), self.field.reading.accept);
        let fault =
            (index >= size).then(|| LimitError::SeriesIndex { series: self.prefix(), index, size });
        Column::of_series(name, accept, element(accept), fault)
    }
}

impl<E, F> Projection<E> for SeriesColumns<E, F>
where
    Self: 'static,
{
    type Output = F;

    fn select(&self, selection: &mut Selection) {
        self.whole.select(selection);
    }

    fn read(&self, row: &mut Row<'_>, next: &mut usize) -> Result<F, DecodeError> {
        self.whole.read(row, next)
    }
}

/// The version of a row, for projections: the column `etag`, as in `select(|b| (b.text, b.etag))`.
///
/// The column has the name of the field with `#[table(etag)]`, or `etag` without one. For an entity whose property has
/// that name, and for rows without columns, write the type itself: `select(|b| (b.text, ETagColumn))`. A response
/// [without metadata](crate::Metadata) has no version, which is an error of the row.
#[derive(Debug, Clone, Copy)]
pub struct ETagColumn;

impl<E: 'static> Projection<E> for ETagColumn {
    type Output = crate::ETag;

    fn select(&self, _: &mut Selection) {}

    fn read(&self, row: &mut Row<'_>, _: &mut usize) -> Result<Self::Output, DecodeError> {
        row.etag().ok_or_else(|| row.missing("odata.etag"))
    }
}
