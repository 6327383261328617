//! The error of an invalid filter.

use std::fmt;
use std::ops::Range;

use super::LEVELS;

/// The number of characters of a text that an error shows.
const SHOWN_CHARS: usize = 60;

/// A text that is not a filter, or a value that has no text in a filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterError {
    kind: FilterErrorKind,
    /// `None` for a filter that was built without a text.
    position: Option<usize>,
    /// The bytes of the text from the error to the end of the last token that was read.
    bytes: Range<usize>,
    expected: Expected,
    found: String,
    /// The literal of a bare date or GUID in the text.
    literal: Option<BareLiteral>,
}

/// The part of a filter that would be valid at the position of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub enum Expected {
    /// A comparison operator after an operand.
    Operator,
    /// An operator, or the end of the filter.
    End,
    /// An operator, or the end of the parentheses.
    Close,
    /// The expression or the value that this describes.
    Expression(&'static str),
}

impl Expected {
    fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "eq, ne, gt, ge, lt or le",
            Self::End => "and, or or the end",
            Self::Close => "and, or or )",
            Self::Expression(text) => text,
        }
    }
}

/// The kind of a [`FilterError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterErrorKind {
    /// A token that is not allowed at this position.
    Unexpected,
    /// The text ended before the filter did.
    UnexpectedEnd,
    /// A quote that is not closed.
    UnclosedQuote,
    /// A function; the Table service does not support functions.
    Function,
    /// A literal that is not valid for its type.
    BadLiteral,
    /// Parentheses and `not` that are nested too deeply.
    TooDeep,
    /// NaN or an infinite number, which have no literal.
    NoLiteral,
    /// A name that is not valid for a property in a filter.
    PropertyName,
    /// A value that the property or the key cannot have.
    NoValue,
    /// A comparison by order with a column that also reads texts, which have another order.
    NoOrder,
    /// `ne`, or `!` with an `eq`, on a column that also reads texts, of which more are equal than a filter finds.
    ManyForms,
    /// An index beyond the end of a series.
    OutOfBounds,
}

impl FilterError {
    /// An error at the first of these bytes of a text. The last token that was read ends with them.
    pub(super) fn in_text(
        kind: FilterErrorKind,
        text: &str,
        bytes: Range<usize>,
        expected: Expected,
    ) -> Self {
        let (before, after) = text.split_at(bytes.start);
        Self {
            kind,
            position: Some(before.chars().count()),
            bytes,
            expected,
            found: after.chars().take(SHOWN_CHARS).collect(),
            literal: bare_literal(before, after),
        }
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> FilterErrorKind {
        self.kind
    }

    /// Returns the position in the text, in characters from 0; 0 for a filter that was built without a text.
    pub fn position(&self) -> usize {
        self.position.unwrap_or_default()
    }

    /// Returns a description of the valid tokens or values.
    pub fn expected(&self) -> &'static str {
        self.expected.as_str()
    }
}

#[doc(hidden)]
impl FilterError {
    /// An error of a filter that is built without a text.
    pub fn without_text(kind: FilterErrorKind, found: String) -> Self {
        let expected = match kind {
            FilterErrorKind::NoLiteral => "a finite number",
            FilterErrorKind::NoValue => "a value that can be stored",
            FilterErrorKind::TooDeep => LEVELS,
            FilterErrorKind::NoOrder => "eq or is_in",
            FilterErrorKind::ManyForms => "eq or is_in without !",
            FilterErrorKind::OutOfBounds => "an index within the series",
            _ => "the name of a property",
        };
        Self {
            kind,
            position: None,
            bytes: 0..0,
            expected: Expected::Expression(expected),
            found,
            literal: None,
        }
    }

    /// Returns the bytes of the text from the error to the end of the last token that was read.
    pub fn bytes(&self) -> Range<usize> {
        self.bytes.clone()
    }

    /// Returns what would be valid.
    pub fn expectation(&self) -> Expected {
        self.expected
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            FilterErrorKind::UnclosedQuote => "a quote is not closed: ",
            FilterErrorKind::Function => "the Table service has no functions: ",
            FilterErrorKind::TooDeep => "nested too deeply: ",
            FilterErrorKind::NoOrder => {
                "a lenient column reads texts, which have no order of time (Column::dynamic compares values of the type DateTime only): "
            }
            FilterErrorKind::ManyForms => {
                "equal times have many texts, of which a lenient column reads all and a filter finds some (Column::dynamic compares values of the type DateTime only): "
            }
            _ => "",
        })?;
        write!(f, "expected {}", self.expected())?;
        if let Some(position) = self.position {
            write!(f, " at position {position}")?;
        }
        match (self.kind, &*self.found) {
            (FilterErrorKind::NoValue | FilterErrorKind::OutOfBounds, found) => {
                write!(f, ": {found}")
            }
            (FilterErrorKind::NoOrder | FilterErrorKind::ManyForms, name) => {
                write!(f, " on {name}")
            }
            (FilterErrorKind::PropertyName, name) => write!(f, ", found {name:?}"),
            (_, "") if self.position.is_none() => Ok(()),
            (_, "") => f.write_str(", found the end"),
            (_, found) => write!(f, ", found {found}"),
        }?;
        self.literal.map_or(Ok(()), |literal| write!(f, "; write {}", literal.form()))
    }
}

/// A value without the prefix and the quotes of its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BareLiteral {
    DateTime,
    Guid,
}

impl BareLiteral {
    const fn form(self) -> &'static str {
        match self {
            Self::DateTime => "datetime'…'",
            Self::Guid => "guid'…'",
        }
    }
}

/// Returns the literal of the bare date or GUID around an error: the parser reads its first digits as a number.
fn bare_literal(before: &str, after: &str) -> Option<BareLiteral> {
    let is_end = |c: char| c.is_whitespace() || "'()".contains(c);
    let start = before.rsplit(is_end).next().unwrap_or_default();
    let end = after.split(is_end).next().unwrap_or_default();
    let word = format!("{start}{end}");
    let groups: Vec<_> = word.trim_matches(['{', '}']).split('-').collect();
    let has_lengths =
        |lengths: &[usize]| groups.iter().map(|group| group.len()).eq(lengths.iter().copied());
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_hex = |text: &&str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match groups[..] {
        [year, month, day, ..]
            if year.len() == 4
                && month.len() == 2
                && is_number(year)
                && is_number(month)
                && day.get(..2).is_some_and(is_number) =>
        {
            Some(BareLiteral::DateTime)
        }
        _ if has_lengths(&[8, 4, 4, 4, 12]) && groups.iter().all(is_hex) => Some(BareLiteral::Guid),
        _ => None,
    }
}

impl std::error::Error for FilterError {}
