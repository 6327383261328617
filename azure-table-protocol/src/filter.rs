//! OData filters: text, tree, and literals.
//!
//! The client checks filters with this parser before it sends them, and the mock evaluates them with the same parser.
//!
//! Source: [Querying tables and entities][querying].
//!
//! [querying]: https://learn.microsoft.com/rest/api/storageservices/querying-tables-and-entities

mod branches;
mod can_match;
mod depth;
mod display;
mod error;
mod excludes;
mod key_order;
mod keys;
mod lexer;
mod literal;
mod parse;
mod plan;
mod range;
mod split;

use std::cmp::Ordering;
use std::ops::{BitAnd, BitOr, Not};

use crate::edm::EdmValue;

#[doc(hidden)]
pub use branches::ListedPartition;
#[doc(hidden)]
pub use error::Expected;
pub use error::{FilterError, FilterErrorKind};
#[doc(hidden)]
pub use key_order::KeyOrder;
#[doc(hidden)]
pub use plan::Plan;
pub use plan::PlanKind;
#[doc(hidden)]
pub use range::lower_bound;
#[doc(hidden)]
pub use split::{MAX_QUERIES, Split};

/// The limit on nesting, which keeps a text from exhausting the stack.
const MAX_DEPTH: usize = 100;
/// States [`MAX_DEPTH`].
const LEVELS: &str = "at most 100 levels of parentheses and not";

/// A condition on an entity. `Display` gives the OData text, which parses to the same filter.
///
/// A filter is parsed, or built from comparisons with `&`, `|` and `!`. Its text has at most 100 levels of
/// parentheses and `not`: with more, operators return [`Filter::TooDeep`], which a query refuses.
///
/// ```
/// use azure_table_client::filter::{CompareOp, Filter};
///
/// let filter = Filter::parse("(Rating ge 3)  and not Text eq 'it''s'")?;
/// assert_eq!(filter.to_string(), "Rating ge 3 and not (Text eq 'it''s')");
///
/// let same = Filter::compare("Rating", CompareOp::Ge, 3)?
///     & !Filter::compare("Text", CompareOp::Eq, "it's")?;
/// assert_eq!(same, filter);
///
/// let error = Filter::parse("Rating => 3").unwrap_err();
/// assert_eq!((error.position(), error.expected()), (7, "eq, ne, gt, ge, lt or le"));
/// # Ok::<(), azure_table_client::filter::FilterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Filter {
    /// A property compared with a literal; see [`Filter::compare`].
    #[non_exhaustive]
    Compare {
        /// The property.
        property: String,
        /// The comparison.
        op: CompareOp,
        /// The value to compare with; never NaN or infinite, because these have no literal.
        literal: EdmValue,
    },
    /// A Boolean property that must be true; see [`Filter::is_true`].
    #[non_exhaustive]
    IsTrue(String),
    /// `true` or `false`, which matches every entity or none. A query for `false` alone is sent: health checks use it.
    #[non_exhaustive]
    Constant(bool),
    /// Two or more filters. All must match. A list keeps the tree of a long chain flat.
    #[non_exhaustive]
    And(Vec<Filter>),
    /// Two or more filters. At least one must match.
    #[non_exhaustive]
    Or(Vec<Filter>),
    /// A filter that must not match.
    #[non_exhaustive]
    Not(Box<Filter>),
    /// More than 100 levels of parentheses and `not`. A query refuses it, and its text is not a filter.
    TooDeep,
}

impl Filter {
    /// Compares a property with a value.
    ///
    /// # Errors
    /// `literal` is NaN or infinite, which OData has no literal for, or `property` is not a valid
    /// name in a filter.
    pub fn compare(
        property: impl Into<String>,
        op: CompareOp,
        literal: impl Into<EdmValue>,
    ) -> Result<Self, FilterError> {
        let (property, literal) = (checked(property.into())?, literal.into());
        match literal {
            EdmValue::Double(value) if !value.is_finite() => {
                Err(FilterError::without_text(FilterErrorKind::NoLiteral, value.to_string()))
            }
            literal => Ok(Self::Compare { property, op, literal }),
        }
    }

    /// Requires a Boolean property to be true.
    ///
    /// # Errors
    /// `property` is not a valid name in a filter.
    pub fn is_true(property: impl Into<String>) -> Result<Self, FilterError> {
        checked(property.into()).map(Self::IsTrue)
    }

    /// Replaces each comparison by comparisons with these literals, of which one must hold. A comparison without any stays.
    #[doc(hidden)]
    #[must_use]
    pub fn with_literals(self, literals: &dyn Fn(&EdmValue) -> Vec<EdmValue>) -> Self {
        let all = |filters: Vec<Self>| {
            filters.into_iter().map(|one| one.with_literals(literals)).collect()
        };
        match self {
            Self::Compare { property, op, literal } => {
                let of = |literal| Self::Compare { property: property.clone(), op, literal };
                let others = literals(&literal);
                if others.is_empty() {
                    of(literal)
                } else {
                    Self::Or(others.into_iter().map(of).collect())
                }
            }
            Self::And(filters) => Self::And(all(filters)),
            Self::Or(filters) => Self::Or(all(filters)),
            Self::Not(inner) => Self::Not(Box::new(inner.with_literals(literals))),
            other => other,
        }
    }

    /// Returns the number of comparisons. The documented limit of the service is 15.
    pub fn comparisons(&self) -> usize {
        match self {
            Self::Compare { .. } | Self::IsTrue(_) => 1,
            Self::And(filters) | Self::Or(filters) => filters.iter().map(Self::comparisons).sum(),
            Self::Not(inner) => inner.comparisons(),
            Self::Constant(_) | Self::TooDeep => 0,
        }
    }
}

fn checked(property: String) -> Result<String, FilterError> {
    if lexer::is_name(&property) {
        Ok(property)
    } else {
        Err(FilterError::without_text(FilterErrorKind::PropertyName, property))
    }
}

impl BitAnd for Filter {
    type Output = Self;

    /// Matches if both filters match.
    fn bitand(self, other: Self) -> Self {
        let operand = |filter| match filter {
            Self::And(all) => Operand::List(all),
            one => Operand::One(one),
        };
        join(operand(self), operand(other), Self::And)
    }
}

impl BitOr for Filter {
    type Output = Self;

    /// Matches if at least one filter matches.
    fn bitor(self, other: Self) -> Self {
        let operand = |filter| match filter {
            Self::Or(any) => Operand::List(any),
            one => Operand::One(one),
        };
        join(operand(self), operand(other), Self::Or)
    }
}

impl Not for Filter {
    type Output = Self;

    /// Matches if the filter does not match. Negating a negation removes it, which keeps the tree flat.
    fn not(self) -> Self {
        match self {
            Self::Not(inner) => *inner,
            other => Self::Not(Box::new(other)).or_too_deep(),
        }
    }
}

/// An operand of a list.
enum Operand {
    /// A list of the same kind. Its filters become part of the new list at the same depth.
    List(Vec<Filter>),
    One(Filter),
}

/// Joins two operands. Only an operand that is not a list adds a level, so that only its depth is checked.
fn join(left: Operand, right: Operand, list: fn(Vec<Filter>) -> Filter) -> Filter {
    let mut all = Vec::new();
    for operand in [left, right] {
        match operand {
            Operand::List(filters) if all.is_empty() => all = filters,
            Operand::List(filters) => all.extend(filters),
            Operand::One(one) => match list(vec![one]).or_too_deep() {
                Filter::And(one) | Filter::Or(one) => all.extend(one),
                too_deep => return too_deep,
            },
        }
    }
    list(all)
}

/// A comparison. The service supports these six.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// Equal (`eq`).
    Eq,
    /// Not equal, and of the same type (`ne`).
    Ne,
    /// Greater (`gt`).
    Gt,
    /// Greater or equal (`ge`).
    Ge,
    /// Less (`lt`).
    Lt,
    /// Less or equal (`le`).
    Le,
}

impl CompareOp {
    /// Returns the operator in OData's spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Eq => "eq",
            Self::Ne => "ne",
            Self::Gt => "gt",
            Self::Ge => "ge",
            Self::Lt => "lt",
            Self::Le => "le",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|op| op.as_str() == word)
    }

    /// Returns the operator that holds where this one does not.
    const fn negated(self) -> Self {
        match self {
            Self::Eq => Self::Ne,
            Self::Ne => Self::Eq,
            Self::Gt => Self::Le,
            Self::Ge => Self::Lt,
            Self::Lt => Self::Ge,
            Self::Le => Self::Gt,
        }
    }

    /// Returns the operator for exchanged operands.
    const fn mirrored(self) -> Self {
        match self {
            Self::Eq => Self::Eq,
            Self::Ne => Self::Ne,
            Self::Gt => Self::Lt,
            Self::Ge => Self::Le,
            Self::Lt => Self::Gt,
            Self::Le => Self::Ge,
        }
    }
}

#[doc(hidden)]
impl CompareOp {
    pub const ALL: [Self; 6] = [Self::Eq, Self::Ne, Self::Gt, Self::Ge, Self::Lt, Self::Le];

    /// Returns whether values in this order match.
    pub const fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Eq => order.is_eq(),
            Self::Ne => order.is_ne(),
            Self::Gt => order.is_gt(),
            Self::Ge => order.is_ge(),
            Self::Lt => order.is_lt(),
            Self::Le => order.is_le(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a(op: CompareOp, literal: impl Into<EdmValue>) -> Filter {
        Filter::compare("A", op, literal).unwrap()
    }

    #[test]
    fn combined_filters_stay_flat() {
        let all = (a(CompareOp::Gt, 1) & a(CompareOp::Lt, 5)) & a(CompareOp::Ne, 3);
        assert_eq!(all.to_string(), "A gt 1 and A lt 5 and A ne 3");
        let any = (a(CompareOp::Eq, 1) | all) | !Filter::is_true("B").unwrap();
        assert_eq!(any.to_string(), "A eq 1 or A gt 1 and A lt 5 and A ne 3 or not (B)");
        assert_eq!(Filter::parse(&any.to_string()), Ok(any));
        // Dropping, displaying and parsing do not recurse along the chain.
        let many = (0..100_000).map(|n| a(CompareOp::Eq, n)).reduce(|f, g| f | g).unwrap();
        assert_eq!(Filter::parse(&many.to_string()), Ok(many));
    }

    #[test]
    fn a_double_negation_is_removed() {
        let once = !a(CompareOp::Eq, 1);
        assert_eq!(!!once.clone(), once);
        let many = (0..100_001).fold(a(CompareOp::Eq, 1), |filter, _| !filter);
        assert_eq!(Filter::parse(&many.to_string()), Ok(many));
    }

    #[test]
    fn a_filter_without_a_text_cannot_be_built() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let error = Filter::compare("A", CompareOp::Eq, value).unwrap_err();
            assert_eq!(error.kind(), FilterErrorKind::NoLiteral);
        }
        for name in
            ["", "a b", "1a", "a-b", "not", "and", "or", "true", "false", "a'", "datetime'x'"]
        {
            assert_eq!(
                Filter::compare(name, CompareOp::Eq, 1).unwrap_err().kind(),
                FilterErrorKind::PropertyName,
                "{name}"
            );
            assert!(Filter::is_true(name).is_err(), "{name}");
        }
        for name in ["PartitionKey", "_x", "Größe", "eq", "datetime", "x", "null"] {
            let filter = Filter::compare(name, CompareOp::Eq, 1).unwrap();
            assert_eq!(Filter::parse(&filter.to_string()), Ok(filter));
        }
    }
}
