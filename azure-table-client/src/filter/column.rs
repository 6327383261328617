//! Columns of an entity.

#![expect(clippy::needless_pass_by_value, reason = "a condition is written with values")]

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use super::condition::{Condition, any};
use super::stored::{AsIs, Literal, OrderedCodec, TextEdm};
use super::{CompareOp, Filter, FilterError, FilterErrorKind};
use crate::entity::serde::Serde;
use crate::entity::{DynamicEntity, SeriesName, after_prefix};

/// A property of `E` whose field is a `T`, stored by the codec `C`.
///
/// The derive makes one for each field; [`Column::dynamic`] makes one at run time.
pub struct Column<E, T, C = AsIs> {
    name: Cow<'static, str>,
    of: PhantomData<Of<E, T, C>>,
}

/// Neither is in a column: it can be sent and shared whatever they are.
type Of<E, T, C> = fn() -> (E, T, C);

impl<E, T, C> fmt::Debug for Column<E, T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Column").field(&self.name).finish()
    }
}

impl<E, T, C> Column<E, T, C> {
    #[doc(hidden)]
    pub fn new(prefix: &str, name: &'static str) -> Self {
        let name = if prefix.is_empty() { name.into() } else { format!("{prefix}{name}").into() };
        Self { name, of: PhantomData }
    }

    /// A column whose name is known at run time only. Its literals are as safe as others.
    pub fn dynamic(name: impl Into<String>) -> Self {
        Self { name: Cow::Owned(name.into()), of: PhantomData }
    }

    /// The property's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn compare(&self, op: CompareOp, value: &impl Literal<T, C>) -> Condition<E> {
        Condition::new(match value.literal() {
            Ok(Some(literal)) => Filter::compare(&*self.name, op, literal),
            Ok(None) => Err(FilterError::made(FilterErrorKind::NoValue, "nothing".to_owned())),
            Err(error) => Err(FilterError::made(FilterErrorKind::NoValue, error.to_string())),
        })
    }

    /// The property has this value.
    pub fn eq(&self, value: impl Literal<T, C>) -> Condition<E> {
        self.compare(CompareOp::Eq, &value)
    }

    /// The property has another value of its type; a row without the property is not among them.
    pub fn ne(&self, value: impl Literal<T, C>) -> Condition<E> {
        self.compare(CompareOp::Ne, &value)
    }

    /// The property has one of these values; none is one of no values.
    pub fn is_in<L: Literal<T, C>>(&self, values: impl IntoIterator<Item = L>) -> Condition<E> {
        any(values.into_iter().map(|value| self.eq(value)))
    }
}

impl<E, T, C: OrderedCodec<T>> Column<E, T, C> {
    /// The property is below this value.
    pub fn lt(&self, value: impl Literal<T, C>) -> Condition<E> {
        self.compare(CompareOp::Lt, &value)
    }

    /// The property is this value or below it.
    pub fn le(&self, value: impl Literal<T, C>) -> Condition<E> {
        self.compare(CompareOp::Le, &value)
    }

    /// The property is above this value.
    pub fn gt(&self, value: impl Literal<T, C>) -> Condition<E> {
        self.compare(CompareOp::Gt, &value)
    }

    /// The property is this value or above it.
    pub fn ge(&self, value: impl Literal<T, C>) -> Condition<E> {
        self.compare(CompareOp::Ge, &value)
    }

    /// The property is between these values, both included.
    pub fn between(&self, low: impl Literal<T, C>, high: impl Literal<T, C>) -> Condition<E> {
        self.ge(low) & self.le(high)
    }
}

impl<E> Column<E, bool> {
    /// The property is true.
    pub fn is_true(&self) -> Condition<E> {
        Condition::new(Filter::is_true(&*self.name))
    }
}

impl<E, T: TextEdm> Column<E, T> {
    /// The property begins with this text. The service has no such function: it is a range.
    pub fn starts_with(&self, prefix: &str) -> Condition<E> {
        let bound = |op, text: &str| Condition::new(Filter::compare(&*self.name, op, text));
        let from = bound(CompareOp::Ge, prefix);
        match after_prefix(prefix, |_| false) {
            Some(upper) => from & bound(CompareOp::Lt, &upper),
            None => from,
        }
    }
}

/// What has columns: an entity, or an enum of entities. The derive implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no columns",
    label = "no columns",
    note = "write #[derive(TableEntity)]; a hand-written entity has Column::dynamic and Query::matching"
)]
pub trait HasColumns {
    /// A struct of the columns, which make conditions on entities of type `E`.
    type Columns<E>;

    /// The columns, `prefix` before the name of each.
    fn typed_columns<E>(prefix: &str) -> Self::Columns<E>;
}

/// An entity without a struct has no columns; [`Column::dynamic`] makes them.
impl HasColumns for DynamicEntity {
    type Columns<E> = ();

    fn typed_columns<E>(_: &str) -> Self::Columns<E> {}
}

/// As an entity without a struct.
impl<T> HasColumns for Serde<T> {
    type Columns<E> = ();

    fn typed_columns<E>(_: &str) -> Self::Columns<E> {}
}

/// The columns of a numbered series.
pub struct SeriesColumns<E, T> {
    prefix: String,
    digits: usize,
    of: PhantomData<fn() -> (E, T)>,
}

impl<E, T> fmt::Debug for SeriesColumns<E, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SeriesColumns").field(&self.prefix).finish()
    }
}

impl<E, T> SeriesColumns<E, T> {
    #[doc(hidden)]
    pub fn new(prefix: &str, name: SeriesName) -> Self {
        let SeriesName { prefix: own, digits } = name;
        Self { prefix: format!("{prefix}{own}"), digits, of: PhantomData }
    }

    /// The element at this place, from 0.
    pub fn at(&self, index: usize) -> Column<E, T> {
        Column::dynamic(format!("{}{index:0digits$}", self.prefix, digits = self.digits))
    }
}
