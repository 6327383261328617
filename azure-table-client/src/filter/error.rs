//! What is wrong with a filter, and where.

use std::fmt;

use super::parse::LEVELS;

/// Where a longer text is cut in an error.
const SHOWN_CHARS: usize = 60;

/// A text that is no filter, or a filter that would have no text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterError {
    kind: FilterErrorKind,
    /// `None` for a filter that was built without a text.
    position: Option<usize>,
    expected: &'static str,
    found: String,
}

/// What is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterErrorKind {
    /// Something that cannot stand there.
    Unexpected,
    /// The text ended before the filter did.
    UnexpectedEnd,
    /// A quote without its partner.
    UnclosedQuote,
    /// A function; the table service has none.
    Function,
    /// A literal that is not of its type.
    BadLiteral,
    /// Parentheses and `not` nested too deeply.
    TooDeep,
    /// NaN or an infinity, which have no literal.
    NoLiteral,
    /// A name that no property can have in a filter.
    PropertyName,
    /// A value that the property or the key cannot have.
    NoValue,
}

impl FilterError {
    /// An error at this byte of a text.
    pub(super) fn in_text(
        kind: FilterErrorKind,
        text: &str,
        byte: usize,
        expected: &'static str,
    ) -> Self {
        let (before, after) = text.split_at(byte);
        Self {
            kind,
            position: Some(before.chars().count()),
            expected,
            found: after.chars().take(SHOWN_CHARS).collect(),
        }
    }

    /// An error of a filter that is built without a text.
    pub(super) fn without_text(kind: FilterErrorKind, found: String) -> Self {
        let expected = match kind {
            FilterErrorKind::NoLiteral => "a finite number",
            FilterErrorKind::NoValue => "a value that can be stored",
            FilterErrorKind::TooDeep => LEVELS,
            _ => "the name of a property",
        };
        Self { kind, position: None, expected, found }
    }

    /// What is wrong.
    pub fn kind(&self) -> FilterErrorKind {
        self.kind
    }

    /// The position in the text, in characters from 0; 0 for a filter that was built without a text.
    pub fn position(&self) -> usize {
        self.position.unwrap_or_default()
    }

    /// What should stand there.
    pub fn expected(&self) -> &'static str {
        self.expected
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            FilterErrorKind::UnclosedQuote => "a quote is not closed: ",
            FilterErrorKind::Function => "the table service has no functions: ",
            FilterErrorKind::TooDeep => "nested too deeply: ",
            _ => "",
        })?;
        write!(f, "expected {}", self.expected)?;
        if let Some(position) = self.position {
            write!(f, " at position {position}")?;
        }
        match (self.kind, &*self.found) {
            (FilterErrorKind::NoValue, found) => write!(f, ": {found}"),
            (FilterErrorKind::PropertyName, name) => write!(f, ", found {name:?}"),
            (_, "") if self.position.is_none() => Ok(()),
            (_, "") => f.write_str(", found the end"),
            (_, found) => write!(f, ", found {found}"),
        }
    }
}

impl std::error::Error for FilterError {}
