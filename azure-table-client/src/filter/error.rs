//! What is wrong with a filter, and where.

use std::fmt;

/// Where a longer text is cut in an error.
const SHOWN_CHARS: usize = 60;

/// A text that is no filter, or a filter that would have no text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterError {
    kind: FilterErrorKind,
    position: usize,
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
    /// At this byte of a text that is parsed.
    pub(super) fn parsed(
        kind: FilterErrorKind,
        text: &str,
        byte: usize,
        expected: &'static str,
    ) -> Self {
        let (before, after) = text.split_at(byte);
        Self {
            kind,
            position: before.chars().count(),
            expected,
            found: after.chars().take(SHOWN_CHARS).collect(),
        }
    }

    /// In a filter that is made without a text.
    pub(super) fn made(kind: FilterErrorKind, found: String) -> Self {
        let expected = match kind {
            FilterErrorKind::NoLiteral => "a finite number",
            FilterErrorKind::NoValue => "a value that can be stored",
            _ => "the name of a property",
        };
        Self { kind, position: 0, expected, found }
    }

    /// What is wrong.
    pub fn kind(&self) -> FilterErrorKind {
        self.kind
    }

    /// Where in the text, in characters from 0.
    pub fn position(&self) -> usize {
        self.position
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
        if !matches!(
            self.kind,
            FilterErrorKind::NoLiteral | FilterErrorKind::PropertyName | FilterErrorKind::NoValue
        ) {
            write!(f, " at position {}", self.position)?;
        }
        match (self.kind, &*self.found) {
            (FilterErrorKind::NoValue, found) => write!(f, ": {found}"),
            (FilterErrorKind::PropertyName, name) => write!(f, ", found {name:?}"),
            (_, "") => f.write_str(", found the end"),
            (_, found) => write!(f, ", found {found}"),
        }
    }
}

impl std::error::Error for FilterError {}
