//! From the tree to text.

use std::fmt;

use super::Filter;
use super::literal::Literal;

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compare { property, op, literal } => {
                write!(f, "{property} {} {}", op.as_str(), Literal(literal))
            }
            Self::IsTrue(property) => f.write_str(property),
            // A list in a list of the same kind keeps its parentheses, so that the tree stays.
            Self::And(all) => {
                joined(f, all, " and ", |inner| matches!(inner, Self::And(_) | Self::Or(_)))
            }
            Self::Or(any) => joined(f, any, " or ", |inner| matches!(inner, Self::Or(_))),
            Self::Not(inner) => write!(f, "not ({inner})"),
        }
    }
}

fn joined(
    f: &mut fmt::Formatter<'_>,
    filters: &[Filter],
    separator: &str,
    in_parentheses: impl Fn(&Filter) -> bool,
) -> fmt::Result {
    for (index, filter) in filters.iter().enumerate() {
        if index > 0 {
            f.write_str(separator)?;
        }
        if in_parentheses(filter) {
            write!(f, "({filter})")?;
        } else {
            write!(f, "{filter}")?;
        }
    }
    Ok(())
}
