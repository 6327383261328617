//! Conditions on the entities of a type.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{BitAnd, BitOr, Not};

use super::{CompareOp, Filter, FilterError};
use crate::limits::PARTITION_KEY;

/// A condition on entities of type `E`, built from its columns. `&`, `|` and `!` combine conditions, and columns of
/// type `bool`.
///
/// A value that has no literal, such as NaN, and more than 100 levels of nesting are errors when the query is sent.
///
/// ```
/// # use azure_table_client::mock::MockTableService;
/// use azure_table_client::TableEntity;
/// use azure_table_client::filter::Condition;
///
/// #[derive(TableEntity)]
/// #[table(name = "Blogs")]
/// struct Blog {
///     #[table(partition_key)]
///     channel: String,
///     #[table(row_key)]
///     id: u32,
///     title: String,
///     rating: i32,
///     live: bool,
/// }
///
/// # let blogs = MockTableService::new().client().table::<Blog>();
/// // A search form: each field that is filled in adds a condition.
/// let (titles, min_rating) = (["Hello", "Welcome"], Some(3));
/// let columns = Blog::columns();
/// let search = blogs
///     .query()
///     .filter(|b| b.channel.eq("Channel9") & b.live)
///     .filter(|b| Condition::any(titles.map(|title| b.title.starts_with(title))))
///     .filter_opt(min_rating.map(|rating| columns.rating.ge(rating)));
/// # search.plan().unwrap();
/// ```
#[must_use = "a condition does nothing until it is given to a query"]
pub struct Condition<E> {
    filter: Result<Filter, FilterError>,
    /// The reason why the condition has no opposite: the filter does not find all rows that it should.
    negation_error: Option<FilterError>,
    entity: PhantomData<fn() -> E>,
}

impl<E> Condition<E> {
    pub(super) fn new(filter: Result<Filter, FilterError>) -> Self {
        // Only an operator can add a level, and it returns this value alone.
        let filter = match filter {
            Ok(too_deep @ Filter::TooDeep) => too_deep.check_depth(),
            filter => filter,
        };
        Self { filter, negation_error: None, entity: PhantomData }
    }

    /// Matches rows that meet all conditions. Without conditions, all rows match: the query scans the whole table
    /// unless another filter bounds the PartitionKey.
    pub fn all(conditions: impl IntoIterator<Item = impl IntoCondition<E>>) -> Self {
        let conditions = conditions.into_iter().map(IntoCondition::into_condition);
        conditions.reduce(BitAnd::bitand).unwrap_or_else(|| {
            // Every key is at least the empty key.
            Self::new(Filter::compare(PARTITION_KEY, CompareOp::Ge, ""))
        })
    }

    /// Matches rows that meet at least one condition. Without conditions, no row matches.
    pub fn any(conditions: impl IntoIterator<Item = impl IntoCondition<E>>) -> Self {
        let conditions = conditions.into_iter().map(IntoCondition::into_condition);
        conditions.reduce(BitOr::bitor).unwrap_or_else(|| {
            // No key is less than the empty key.
            Self::new(Filter::compare(PARTITION_KEY, CompareOp::Lt, ""))
        })
    }

    /// Makes `!` of this condition return this error.
    pub(super) fn refuse_negation(self, error: FilterError) -> Self {
        Self { negation_error: Some(error), ..self }
    }

    /// Returns the filter.
    ///
    /// # Errors
    /// A value has no literal in a filter.
    pub fn into_filter(self) -> Result<Filter, FilterError> {
        self.filter
    }

    fn join(self, other: Self, join: impl FnOnce(Filter, Filter) -> Filter) -> Self {
        let negation_error = self.negation_error.or(other.negation_error);
        let filter = self.filter.and_then(|filter| Ok(join(filter, other.filter?)));
        Self { negation_error, ..Self::new(filter) }
    }
}

impl<E> Clone for Condition<E> {
    fn clone(&self) -> Self {
        let negation_error = self.negation_error.clone();
        Self { negation_error, ..Self::new(self.filter.clone()) }
    }
}

impl<E> fmt::Debug for Condition<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Condition").field(&self.filter).finish()
    }
}

/// A [`Condition`], or a column of type `bool`, which must be true.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a condition on entities of type `{E}`",
    label = "not a condition",
    note = "join conditions with `&` and `|`, not with `&&` and `||`: `b.channel.eq(\"a\") & b.rating.ge(3)`",
    note = "compare a column by a method, not by an operator: `b.rating.eq(3)`, `b.rating.ge(3)`",
    note = "a column of type `bool` is a condition by itself; `Query::filter_opt` accepts an Option"
)]
pub trait IntoCondition<E> {
    /// Returns the condition.
    fn into_condition(self) -> Condition<E>;
}

#[diagnostic::do_not_recommend]
impl<E> IntoCondition<E> for Condition<E> {
    fn into_condition(self) -> Self {
        self
    }
}

impl<E, R: IntoCondition<E>> BitAnd<R> for Condition<E> {
    type Output = Self;

    /// Matches if both conditions match.
    fn bitand(self, other: R) -> Self {
        self.join(other.into_condition(), BitAnd::bitand)
    }
}

impl<E, R: IntoCondition<E>> BitOr<R> for Condition<E> {
    type Output = Self;

    /// Matches if at least one condition matches.
    fn bitor(self, other: R) -> Self {
        self.join(other.into_condition(), BitOr::bitor)
    }
}

impl<E> Not for Condition<E> {
    type Output = Self;

    /// Matches if the condition does not match.
    fn not(self) -> Self {
        Self::new(match self.negation_error {
            None => self.filter.map(Not::not),
            Some(reason) => self.filter.and(Err(reason)),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::super::{Column, FilterErrorKind};
    use super::*;

    #[test]
    fn a_deep_condition_is_an_error() {
        let test = || {
            let a = Column::<(), i32>::dynamic("A");
            let deep = (0..100_000).fold(a.eq(1), |deep, level| match level % 3 {
                0 => deep | a.eq(1),
                1 => deep & a.eq(1),
                _ => !deep,
            });
            let error = deep.clone().into_filter().unwrap_err();
            assert_eq!(error.kind(), FilterErrorKind::TooDeep);
            let any = Condition::any([deep, a.eq(1)]);
            assert_eq!(any.into_filter().unwrap_err(), error);
        };
        thread::Builder::new().stack_size(512 * 1024).spawn(test).unwrap().join().unwrap();
    }
}
