//! Columns of an entity.

#![expect(clippy::needless_pass_by_value, reason = "a condition is written with values")]

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::BitAnd;

use super::condition::Condition;
use super::forms::{self, Forms};
use super::projection::{Projection, Selection};
use super::stored::{AsIs, Literal, OrderedCodec};
use super::{CompareOp, Filter, FilterError, FilterErrorKind};
use crate::edm::{EdmType, FromEdm, TextEdm};
use crate::entity::{Accept, Reading};
use crate::entity::{DecodeError, DynamicEntity, Field, Row, after_prefix};
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
    /// The other types that the field reads.
    accept: Accept,
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

/// Returns the name of a property, and its aliases. The function has no type parameters, so that it is compiled once.
fn names(prefix: &str, field: &Field) -> (Cow<'static, str>, Vec<String>) {
    let name = match prefix {
        "" => Cow::Borrowed(field.name),
        _ => Cow::Owned(format!("{prefix}{}", field.name)),
    };
    (name, field.aliases.iter().map(|alias| format!("{prefix}{alias}")).collect())
}

/// Returns the function that reads an element of a series.
pub(super) fn element<T: FromEdm>(accept: Accept) -> ReadColumn<Option<T>> {
    fn read<T: FromEdm>(
        row: &mut Row<'_>,
        column: usize,
        accept: Accept,
    ) -> Result<Option<T>, DecodeError> {
        if !row.has(column) {
            return Ok(None);
        }
        row.read(column, Reading { accept, ..Reading::default() }, |value| Ok(Some(value)), || None)
    }
    match accept {
        Accept::Exact => |row, column| row.optional(column),
        Accept::Widened => |row, column| read(row, column, Accept::Widened),
        Accept::Lenient => |row, column| read(row, column, Accept::Lenient),
    }
}

/// A column holds no value of these types, so it is `Send` and `Sync` for all of them.
type Of<E, T, C> = fn() -> (E, T, C);

impl<E, T, C, F> Clone for Column<E, T, C, F> {
    fn clone(&self) -> Self {
        let (name, aliases) = (self.name.clone(), self.aliases.clone());
        Self { name, aliases, fault: self.fault.clone(), of: PhantomData, ..*self }
    }
}

impl<E, T, C, F> fmt::Debug for Column<E, T, C, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Column").field(&self.name).finish()
    }
}

impl<E, T: FromEdm> Column<E, T> {
    /// Creates a column whose name is known only at run time. Values are escaped like in other columns.
    ///
    /// In a projection, a missing property is an error unless `T` is an Option. Filters compare values of the type of
    /// `T` only.
    pub fn dynamic(name: impl Into<String>) -> Self {
        Self::with(Cow::Owned(name.into()), property)
    }
}

impl<E, T, C, F> Column<E, T, C, F> {
    pub(super) fn of_field(prefix: &str, field: &'static Field, read: ReadColumn<F>) -> Self {
        let (name, aliases) = names(prefix, field);
        let (accept, is_timestamp, fault) = (field.reading.accept, false, None);
        Self { name, aliases, is_timestamp, accept, fault, read, of: PhantomData }
    }

    #[doc(hidden)]
    pub fn discriminator(name: &'static str, read: ReadColumn<F>) -> Self {
        Self::with(Cow::Borrowed(name), read)
    }

    #[doc(hidden)]
    pub fn timestamp(read: ReadColumn<F>) -> Self {
        Self { is_timestamp: true, ..Self::with(TIMESTAMP.into(), read) }
    }

    fn with(name: Cow<'static, str>, read: ReadColumn<F>) -> Self {
        let (aliases, accept) = (Vec::new(), Accept::Exact);
        let (is_timestamp, fault, of) = (false, None, PhantomData);
        Self { name, aliases, is_timestamp, accept, fault, read, of }
    }

    /// Returns the column of an element of a series; `fault` if the series has no such element.
    pub(super) fn of_series(
        name: String,
        accept: Accept,
        read: ReadColumn<F>,
        fault: Option<LimitError>,
    ) -> Self {
        Self { accept, fault, ..Self::with(name.into(), read) }
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
        let no_value = |reason| FilterError::without_text(FilterErrorKind::NoValue, reason);
        let literal = match value.literal() {
            Ok(Some(literal)) => literal,
            Ok(None) => return Condition::new(Err(no_value("nothing".to_owned()))),
            Err(error) => return Condition::new(Err(no_value(error.to_string()))),
        };
        let forms = Forms { value: literal, aliases: value.aliases(), accept: self.accept };
        let ty = forms.value.edm_type();
        let condition = self.under_each_name(ty, |name| forms.compare(name, op));
        if ty == EdmType::DateTime && self.accept == Accept::Lenient {
            let name = self.name.to_string();
            let reason = FilterError::without_text(FilterErrorKind::ManyForms, name);
            return condition.refuse_negation(reason);
        }
        condition
    }

    /// Matches rows that meet a condition on the property, which is stored as a `ty`. Like the field, the condition
    /// holds for an alias only if the row lacks the names before it.
    ///
    /// A filter cannot state that a row has a property of any type: it takes one of another type for missing. It does the
    /// same for NaN and -Infinity, which no literal compares with. `docs/derive.md` states this for users.
    fn under_each_name(
        &self,
        ty: EdmType,
        condition: impl Fn(&str) -> Result<Filter, FilterError>,
    ) -> Condition<E> {
        let any = || {
            let mut any = condition(&self.name)?;
            let mut earlier = &*self.name;
            let mut lacks = Vec::new();
            for alias in &self.aliases {
                lacks.push(!forms::has_value(earlier, ty, self.accept)?);
                any = any | lacks.iter().cloned().fold(condition(alias)?, BitAnd::bitand);
                earlier = alias;
            }
            Ok(any)
        };
        self.condition(any())
    }

    /// Matches rows whose property has this value, in each form that the field reads, with three exceptions:
    ///
    /// - A time in a column with `accept = "lenient"`. Of the texts, the filter finds those that `azure_data_tables` 0.21
    ///   wrote for times in UTC: `2024-05-01T12:00:00Z` with no fraction or 3, 6 or 9 digits, as chrono writes it, and
    ///   `2024-05-01 12:00:00.0 +00:00:00` with the shortest fraction, as `time` writes it. It does not find other texts,
    ///   such as those with another offset. A text with 8 or 9 digits of fraction is compared without its offset.
    /// - A codec, such as `as_string` or `with`. The filter finds the value that `encode` returns.
    /// - NaN, which has no literal. The condition is an error when the query is sent.
    pub fn eq(&self, value: impl Literal<T, C>) -> Condition<E> {
        self.compare(CompareOp::Eq, &value)
    }

    /// Matches rows whose property has another value, in a form that the field reads. Rows without the property do not
    /// match. With a codec, the filter compares with the value that `encode` returns, as in [`eq`](Self::eq).
    ///
    /// A time in a column with `accept = "lenient"` is an error of the kind [`ManyForms`](FilterErrorKind::ManyForms): equal
    /// times have many texts, of which a filter finds some. The same applies to `!` with a condition on such a time.
    pub fn ne(&self, value: impl Literal<T, C>) -> Condition<E> {
        self.compare(CompareOp::Ne, &value)
    }

    /// Matches rows whose property has one of these values. An empty list matches no row.
    pub fn is_in<L: Literal<T, C>>(&self, values: impl IntoIterator<Item = L>) -> Condition<E> {
        Condition::any(values.into_iter().map(|value| self.eq(value)))
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
    /// Matches rows whose property is true. The column is the same condition by itself: `b.live & b.rating.ge(3)`.
    pub fn is_true(&self) -> Condition<E> {
        self.under_each_name(EdmType::Boolean, |name| Filter::is_true(name))
    }
}

impl<E, T, F> Column<E, T, AsIs, F> {
    /// Matches rows whose property starts with this text. The service has no such function, so the filter is a
    /// range.
    pub fn starts_with(&self, prefix: &str) -> Condition<E>
    where
        T: TextEdm,
    {
        let upper = after_prefix(prefix, |_| false);
        self.under_each_name(EdmType::String, |name| {
            let from = Filter::compare(name, CompareOp::Ge, prefix)?;
            Ok(match &upper {
                Some(upper) => from & Filter::compare(name, CompareOp::Lt, &**upper)?,
                None => from,
            })
        })
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
