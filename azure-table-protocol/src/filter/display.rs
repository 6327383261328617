//! Writes a filter as text.

use std::fmt;

use super::Filter;
use super::LEVELS;
use super::literal::LiteralText;

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compare { property, op, literal } => {
                write!(f, "{property} {} {}", op.as_str(), LiteralText(literal))
            }
            Self::IsTrue(property) => f.write_str(property),
            Self::Constant(value) => write!(f, "{value}"),
            Self::And(filters) => self.join(f, filters, " and "),
            Self::Or(filters) => self.join(f, filters, " or "),
            Self::Not(inner) => write!(f, "not ({inner})"),
            Self::TooDeep => write!(f, "(nested too deeply: {LEVELS})"),
        }
    }
}

impl Filter {
    /// Returns whether `inner` is displayed in parentheses as an element of this filter.
    ///
    /// A list in a list of the same kind keeps its parentheses, so that parsing returns the same tree.
    pub(super) const fn encloses(&self, inner: &Self) -> bool {
        match inner {
            Self::Or(_) => true,
            Self::And(_) => matches!(self, Self::And(_)),
            _ => false,
        }
    }

    fn join(&self, f: &mut fmt::Formatter<'_>, filters: &[Self], separator: &str) -> fmt::Result {
        for (index, filter) in filters.iter().enumerate() {
            if index > 0 {
                f.write_str(separator)?;
            }
            if self.encloses(filter) {
                write!(f, "({filter})")?;
            } else {
                write!(f, "{filter}")?;
            }
        }
        Ok(())
    }
}
