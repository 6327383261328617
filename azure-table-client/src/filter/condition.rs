//! Conditions on the entities of a type.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{BitAnd, BitOr, Not};

use super::{CompareOp, Filter, FilterError};
use crate::limits::PARTITION_KEY;

/// A condition on entities of type `E`, built from its columns. `&`, `|` and `!` combine conditions.
///
/// A value that has no literal, such as NaN, is an error when the query is sent.
#[must_use = "a condition does nothing until it is given to a query"]
pub struct Condition<E> {
    filter: Result<Filter, FilterError>,
    entity: PhantomData<fn() -> E>,
}

impl<E> Condition<E> {
    pub(super) fn new(filter: Result<Filter, FilterError>) -> Self {
        Self { filter, entity: PhantomData }
    }

    /// Returns the filter.
    ///
    /// # Errors
    /// A value has no literal in a filter.
    pub fn into_filter(self) -> Result<Filter, FilterError> {
        self.filter
    }

    fn join(self, other: Self, join: impl FnOnce(Filter, Filter) -> Filter) -> Self {
        Self::new(self.filter.and_then(|filter| Ok(join(filter, other.filter?))))
    }
}

impl<E> Clone for Condition<E> {
    fn clone(&self) -> Self {
        Self::new(self.filter.clone())
    }
}

impl<E> fmt::Debug for Condition<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Condition").field(&self.filter).finish()
    }
}

impl<E> BitAnd for Condition<E> {
    type Output = Self;

    /// Matches if both conditions match.
    fn bitand(self, other: Self) -> Self {
        self.join(other, BitAnd::bitand)
    }
}

impl<E> BitOr for Condition<E> {
    type Output = Self;

    /// Matches if at least one condition matches.
    fn bitor(self, other: Self) -> Self {
        self.join(other, BitOr::bitor)
    }
}

impl<E> Not for Condition<E> {
    type Output = Self;

    /// Matches if the condition does not match.
    fn not(self) -> Self {
        Self::new(self.filter.map(Not::not))
    }
}

/// Combines conditions with `|`. Without conditions, no row matches.
pub(super) fn any<E>(conditions: impl Iterator<Item = Condition<E>>) -> Condition<E> {
    conditions.reduce(BitOr::bitor).unwrap_or_else(|| {
        // No key is less than the empty key.
        Condition::new(Filter::compare(PARTITION_KEY, CompareOp::Lt, ""))
    })
}
