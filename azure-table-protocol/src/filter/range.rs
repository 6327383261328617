//! Ranges of keys.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::{CompareOp, Filter};
use crate::key::ordinal;

/// A range of keys; `None` stands for a missing bound.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Range<'f> {
    pub(super) low: Option<Cow<'f, str>>,
    high: Option<Upper<'f>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Upper<'f> {
    key: &'f str,
    inclusive: bool,
}

/// Returns the comparison for a lower bound. A bound that ends with NUL, which no key can contain, excludes the key
/// before the NUL.
#[doc(hidden)]
pub fn lower_bound(low: &str) -> (CompareOp, &str) {
    match low.strip_suffix('\0') {
        Some(key) => (CompareOp::Gt, key),
        None => (CompareOp::Ge, low),
    }
}

impl<'f> Range<'f> {
    pub(super) fn of(op: CompareOp, key: &'f str) -> Self {
        let upper = |inclusive| Some(Upper { key, inclusive });
        match op {
            CompareOp::Eq => Self { low: Some(key.into()), high: upper(true) },
            CompareOp::Ge => Self { low: Some(key.into()), high: None },
            // No key is between a key and the same key followed by NUL.
            CompareOp::Gt => Self { low: Some(format!("{key}\0").into()), high: None },
            CompareOp::Le => Self { low: None, high: upper(true) },
            CompareOp::Lt => Self { low: None, high: upper(false) },
            CompareOp::Ne => Self::default(),
        }
    }

    pub(super) fn bounds(&self, property: &str) -> impl Iterator<Item = Filter> {
        let low = self.low.as_deref().map(lower_bound);
        let high = self
            .high
            .as_ref()
            .map(|high| (if high.inclusive { CompareOp::Le } else { CompareOp::Lt }, high.key));
        low.into_iter().chain(high).map(|(op, key)| Filter::on_key(property, op, key.to_owned()))
    }

    /// Whether no key is in the range. No key is before the empty one.
    pub(super) fn is_empty(&self) -> bool {
        self.is_past(self.low.as_deref().unwrap_or_default())
    }

    pub(super) fn is_exact(&self) -> bool {
        match (&self.low, &self.high) {
            (Some(low), Some(high)) => high.inclusive && *low == high.key,
            _ => false,
        }
    }

    /// Whether `key` is the only one in the range. No key is before the empty one.
    pub(super) fn has_only(&self, key: &str) -> bool {
        self.low.as_deref().unwrap_or_default() == key
            && self.high.as_ref().is_some_and(|high| high.inclusive && high.key == key)
    }

    /// Whether the range has no upper bound, and excludes at most the empty key.
    pub(super) fn is_unbounded(&self) -> bool {
        self.high.is_none() && self.low.as_deref().is_none_or(|low| matches!(low, "" | "\0"))
    }

    pub(super) fn is_past(&self, key: &str) -> bool {
        self.high.as_ref().is_some_and(|high| high.excludes(key))
    }

    pub(super) fn is_before(&self, other: &Self) -> bool {
        other.low.as_ref().is_some_and(|low| self.is_past(low))
    }

    pub(super) fn intersect(self, other: Self) -> Self {
        let low = match (self.low, other.low) {
            (Some(a), Some(b)) => Some(if ordinal(&a, &b).is_ge() { a } else { b }),
            (a, b) => a.or(b),
        };
        let high = match (self.high, other.high) {
            (Some(a), Some(b)) => Some(if a.excludes(b.key) { a } else { b }),
            (a, b) => a.or(b),
        };
        Self { low, high }
    }

    /// Returns the smallest range that contains both.
    pub(super) fn hull(self, other: Self) -> Self {
        let low = self.low.zip(other.low).map(|(a, b)| if ordinal(&a, &b).is_le() { a } else { b });
        let high = self.high.zip(other.high).map(|(a, b)| if a.excludes(b.key) { b } else { a });
        Self { low, high }
    }
}

impl Upper<'_> {
    /// Whether `key` is above this bound.
    fn excludes(&self, key: &str) -> bool {
        match ordinal(self.key, key) {
            Ordering::Less => true,
            Ordering::Equal => !self.inclusive,
            Ordering::Greater => false,
        }
    }
}
