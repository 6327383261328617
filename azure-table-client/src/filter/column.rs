//! Columns of an entity.

#![expect(clippy::needless_pass_by_value, reason = "a condition is written with values")]

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use super::condition::{Condition, any};
use super::projection::{Projection, Selection};
use super::stored::{AsIs, Literal, OrderedCodec, TextEdm};
use super::{CompareOp, Filter, FilterError, FilterErrorKind};
use crate::edm::FromEdm;
use crate::entity::{DecodeError, DynamicEntity, Row, after_prefix};
use crate::limits::{LimitError, TIMESTAMP};
use crate::serde::Serde;

/// A property of `E`. It is compared with values of type `T`, which the codec `C` stores, and read
/// as an `F`, the type of the field.
///
/// The derive generates a column for each field; [`Column::dynamic`] creates one at run time.
pub struct Column<E, T, C = AsIs, F = T> {
    name: Cow<'static, str>,
    /// Earlier names of the property.
    aliases: Vec<String>,
    /// Whether the column is the Timestamp, which has its own slot in a row.
    is_timestamp: bool,
    /// The reason why no row can have this column.
    fault: Option<LimitError>,
    read: ReadColumn<F>,
    of: PhantomData<Of<E, T, C>>,
}

/// Reads the column with this number from a row.
pub type ReadColumn<F> = fn(&mut Row<'_>, usize) -> Result<F, DecodeError>;

fn property<T: FromEdm>(row: &mut Row<'_>, column: usize) -> Result<T, DecodeError> {
    row.property(column)
}

pub(super) fn optional<T: FromEdm>(
    row: &mut Row<'_>,
    column: usize,
) -> Result<Option<T>, DecodeError> {
    row.optional(column)
}

/// A column holds no value of these types, so it is `Send` and `Sync` for all of them.
type Of<E, T, C> = fn() -> (E, T, C);

impl<E, T, C, F> fmt::Debug for Column<E, T, C, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Column").field(&self.name).finish()
    }
}

impl<E, T: FromEdm> Column<E, T> {
    /// Creates a column whose name is known only at run time. Values are escaped like in other columns.
    ///
    /// In a projection, a missing property is an error unless `T` is an Option.
    pub fn dynamic(name: impl Into<String>) -> Self {
        Self::with(Cow::Owned(name.into()), property)
    }
}

impl<E, T, C, F> Column<E, T, C, F> {
    #[doc(hidden)]
    pub fn new(prefix: &str, name: &'static str, read: ReadColumn<F>) -> Self {
        let name = if prefix.is_empty() { name.into() } else { format!("{prefix}{name}").into() };
        Self::with(name, read)
    }

    #[doc(hidden)]
    pub fn timestamp(read: ReadColumn<F>) -> Self {
        Self { is_timestamp: true, ..Self::with(TIMESTAMP.into(), read) }
    }

    fn with(name: Cow<'static, str>, read: ReadColumn<F>) -> Self {
        Self { name, aliases: Vec::new(), is_timestamp: false, fault: None, read, of: PhantomData }
    }

    /// Returns the column of an element of a series; `fault` if the series has no such element.
    pub(super) fn of_series(name: String, read: ReadColumn<F>, fault: Option<LimitError>) -> Self {
        Self { fault, ..Self::with(name.into(), read) }
    }

    #[doc(hidden)]
    #[must_use]
    pub fn or(mut self, prefix: &str, alias: &str) -> Self {
        self.aliases.push(format!("{prefix}{alias}"));
        self
    }

    /// Returns the name of the property.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the condition of a filter on this column.
    fn condition(&self, filter: Result<Filter, FilterError>) -> Condition<E> {
        Condition::new(match &self.fault {
            None => filter,
            Some(fault) => {
                Err(FilterError::without_text(FilterErrorKind::OutOfBounds, fault.to_string()))
            }
        })
    }

    fn compare(&self, op: CompareOp, value: &impl Literal<T, C>) -> Condition<E> {
        self.condition(match value.literal() {
            Ok(Some(literal)) => Filter::compare(&*self.name, op, literal),
            Ok(None) => {
                Err(FilterError::without_text(FilterErrorKind::NoValue, "nothing".to_owned()))
            }
            Err(error) => {
                Err(FilterError::without_text(FilterErrorKind::NoValue, error.to_string()))
            }
        })
    }

    /// Matches rows whose property has this value.
    pub fn eq(&self, value: impl Literal<T, C>) -> Condition<E> {
        self.compare(CompareOp::Eq, &value)
    }

    /// Matches rows whose property has another value of the same type. Rows without the property do not match.
    pub fn ne(&self, value: impl Literal<T, C>) -> Condition<E> {
        self.compare(CompareOp::Ne, &value)
    }

    /// Matches rows whose property has one of these values. An empty list matches no row.
    pub fn is_in<L: Literal<T, C>>(&self, values: impl IntoIterator<Item = L>) -> Condition<E> {
        any(values.into_iter().map(|value| self.eq(value)))
    }
}

impl<E, T, C, F> Column<E, T, C, F> {
    /// Matches rows whose property is less than this value.
    pub fn lt(&self, value: impl Literal<T, C>) -> Condition<E>
    where
        C: OrderedCodec<T>,
    {
        self.compare(CompareOp::Lt, &value)
    }

    /// Matches rows whose property is at most this value.
    pub fn le(&self, value: impl Literal<T, C>) -> Condition<E>
    where
        C: OrderedCodec<T>,
    {
        self.compare(CompareOp::Le, &value)
    }

    /// Matches rows whose property is greater than this value.
    pub fn gt(&self, value: impl Literal<T, C>) -> Condition<E>
    where
        C: OrderedCodec<T>,
    {
        self.compare(CompareOp::Gt, &value)
    }

    /// Matches rows whose property is at least this value.
    pub fn ge(&self, value: impl Literal<T, C>) -> Condition<E>
    where
        C: OrderedCodec<T>,
    {
        self.compare(CompareOp::Ge, &value)
    }

    /// Matches rows whose property is between these values, inclusive.
    pub fn between(&self, low: impl Literal<T, C>, high: impl Literal<T, C>) -> Condition<E>
    where
        C: OrderedCodec<T>,
    {
        self.ge(low) & self.le(high)
    }
}

impl<E, F> Column<E, bool, AsIs, F> {
    /// Matches rows whose property is true.
    pub fn is_true(&self) -> Condition<E> {
        self.condition(Filter::is_true(&*self.name))
    }
}

impl<E, T, F> Column<E, T, AsIs, F> {
    /// Matches rows whose property starts with this text. The service has no such function, so the filter is a
    /// range.
    pub fn starts_with(&self, prefix: &str) -> Condition<E>
    where
        T: TextEdm,
    {
        let bound = |op, text: &str| self.condition(Filter::compare(&*self.name, op, text));
        let from = bound(CompareOp::Ge, prefix);
        match after_prefix(prefix, |_| false) {
            Some(upper) => from & bound(CompareOp::Lt, &upper),
            None => from,
        }
    }
}

impl<E, T, C, F> Projection<E> for Column<E, T, C, F>
where
    Self: 'static,
{
    type Output = F;

    fn select(&self, selection: &mut Selection) {
        if let Some(fault) = &self.fault {
            selection.refuse(fault.clone());
        }
        if self.is_timestamp {
            selection.system(TIMESTAMP);
        } else {
            selection.property(&self.name, &self.aliases);
        }
    }

    fn read(&self, row: &mut Row<'_>, next: &mut usize) -> Result<F, DecodeError> {
        let column = *next;
        *next += usize::from(!self.is_timestamp);
        (self.read)(row, column)
    }
}

/// A type with columns: an entity, or an enum of entities. The derive implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no columns",
    label = "no columns",
    note = "write #[derive(TableEntity)]; a hand-written entity has Column::dynamic and Query::matching"
)]
pub trait HasColumns {
    /// The struct of the columns, which build conditions on entities of type `E`.
    type Columns<E>;

    /// Returns the columns, with `prefix` before each name.
    fn typed_columns<E>(prefix: &str) -> Self::Columns<E>;
}

/// An entity without a struct has no columns; [`Column::dynamic`] creates them.
impl HasColumns for DynamicEntity {
    type Columns<E> = ();

    fn typed_columns<E>(_: &str) -> Self::Columns<E> {}
}

/// An entity of the serde bridge has no columns; [`Column::dynamic`] creates them.
impl<T> HasColumns for Serde<T> {
    type Columns<E> = ();

    fn typed_columns<E>(_: &str) -> Self::Columns<E> {}
}
