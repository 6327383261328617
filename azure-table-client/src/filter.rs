//! OData filters: the text, its tree, and literals.
//!
//! The client checks what users write before it is sent, and the mock evaluates it; both with this
//! one parser.
//!
//! Source: [Querying tables and entities][querying].
//!
//! [querying]: https://learn.microsoft.com/rest/api/storageservices/querying-tables-and-entities

mod lexer;
mod literal;
mod parse;

use crate::edm::EdmValue;

pub use parse::{FilterError, FilterErrorKind};

/// A condition on an entity. `Display` gives the OData text, which parses to the same filter.
///
/// ```
/// use azure_table_client::filter::Filter;
///
/// let filter = Filter::parse("(Rating ge 3)  and not Text eq 'it''s'")?;
/// assert_eq!(filter.to_string(), "Rating ge 3 and not (Text eq 'it''s')");
/// assert_eq!(Filter::parse("Rating => 3").unwrap_err().position(), 7);
/// # Ok::<(), azure_table_client::filter::FilterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Filter {
    /// A property compared with a literal.
    Compare {
        /// The property.
        property: String,
        /// How it is compared.
        op: CompareOp,
        /// With what; never NaN or an infinity, which have no literal.
        literal: EdmValue,
    },
    /// A Boolean property that must be true.
    IsTrue(String),
    /// Both hold.
    And(Box<Filter>, Box<Filter>),
    /// At least one holds.
    Or(Box<Filter>, Box<Filter>),
    /// The other does not hold.
    Not(Box<Filter>),
}

/// The six comparisons that the service has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of OData")]
pub enum CompareOp {
    Eq,
    Ne,
    Gt,
    Ge,
    Lt,
    Le,
}

impl CompareOp {
    /// The operator as OData spells it.
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
        Some(match word {
            "eq" => Self::Eq,
            "ne" => Self::Ne,
            "gt" => Self::Gt,
            "ge" => Self::Ge,
            "lt" => Self::Lt,
            "le" => Self::Le,
            _ => return None,
        })
    }

    /// The operator that holds with both sides exchanged.
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
