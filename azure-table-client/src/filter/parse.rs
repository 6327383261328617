//! From tokens to the tree.

use std::fmt;

use super::lexer::{Lexer, Token};
use super::literal::{self, Literal};
use super::{CompareOp, Filter};
use crate::edm::EdmValue;

/// Deeper nesting is refused, so that no text can exhaust the stack.
const MAX_DEPTH: usize = 100;
/// Where a longer text is cut in an error.
const SHOWN_CHARS: usize = 60;

impl Filter {
    /// Reads OData filter text.
    ///
    /// # Errors
    /// The text is no filter, or uses what the table service does not have; the error shows where.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let mut parser = Parser::new(text)?;
        let filter = parser.or(0)?;
        match parser.token {
            Token::End => Ok(filter),
            _ => Err(parser.error(FilterErrorKind::Unexpected)),
        }
    }
}

/// A text that is no filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterError {
    kind: FilterErrorKind,
    position: usize,
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
}

impl FilterError {
    pub(super) fn new(text: &str, byte: usize, kind: FilterErrorKind) -> Self {
        let (before, after) = text.split_at(byte);
        Self {
            kind,
            position: before.chars().count(),
            found: after.chars().take(SHOWN_CHARS).collect(),
        }
    }

    /// What is wrong.
    pub fn kind(&self) -> FilterErrorKind {
        self.kind
    }

    /// Where, in characters from 0.
    pub fn position(&self) -> usize {
        self.position
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            FilterErrorKind::Unexpected => "this cannot stand here",
            FilterErrorKind::UnexpectedEnd => "something is missing",
            FilterErrorKind::UnclosedQuote => "a quote is not closed",
            FilterErrorKind::Function => "the table service has no functions",
            FilterErrorKind::BadLiteral => "the literal is not of its type",
            FilterErrorKind::TooDeep => "nested too deeply",
        };
        write!(f, "{what} at position {}", self.position)?;
        if self.found.is_empty() {
            f.write_str(" (the end)")
        } else {
            write!(f, ": {}", self.found)
        }
    }
}

impl std::error::Error for FilterError {}

/// One side of a comparison.
enum Operand {
    Property(String),
    Literal(EdmValue),
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    at: usize,
    token: Token<'a>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Self, FilterError> {
        let mut lexer = Lexer::new(text);
        let (at, token) = lexer.next()?;
        Ok(Self { lexer, at, token })
    }

    fn advance(&mut self) -> Result<(), FilterError> {
        (self.at, self.token) = self.lexer.next()?;
        Ok(())
    }

    fn error(&self, kind: FilterErrorKind) -> FilterError {
        let kind = match (kind, self.token) {
            (FilterErrorKind::Unexpected, Token::End) => FilterErrorKind::UnexpectedEnd,
            (kind, _) => kind,
        };
        FilterError::new(self.lexer.text(), self.at, kind)
    }

    fn or(&mut self, depth: usize) -> Result<Filter, FilterError> {
        let mut filter = self.and(depth)?;
        while self.token == Token::Word("or") {
            self.advance()?;
            filter = Filter::Or(Box::new(filter), Box::new(self.and(depth)?));
        }
        Ok(filter)
    }

    fn and(&mut self, depth: usize) -> Result<Filter, FilterError> {
        let mut filter = self.term(depth)?;
        while self.token == Token::Word("and") {
            self.advance()?;
            filter = Filter::And(Box::new(filter), Box::new(self.term(depth)?));
        }
        Ok(filter)
    }

    fn term(&mut self, depth: usize) -> Result<Filter, FilterError> {
        if depth > MAX_DEPTH {
            return Err(self.error(FilterErrorKind::TooDeep));
        }
        match self.token {
            Token::Word("not") => {
                self.advance()?;
                Ok(Filter::Not(Box::new(self.term(depth + 1)?)))
            }
            Token::Open => {
                self.advance()?;
                let filter = self.or(depth + 1)?;
                if self.token != Token::Close {
                    return Err(self.error(FilterErrorKind::Unexpected));
                }
                self.advance()?;
                Ok(filter)
            }
            _ => self.comparison(),
        }
    }

    fn comparison(&mut self) -> Result<Filter, FilterError> {
        let start = self.at;
        let left = self.operand()?;
        let op = match self.token {
            Token::Word(word) => CompareOp::from_word(word),
            _ => None,
        };
        let Some(op) = op else {
            return match (left, self.token) {
                // A Boolean property may stand for itself.
                (
                    Operand::Property(name),
                    Token::End | Token::Close | Token::Word("and" | "or"),
                ) => Ok(Filter::IsTrue(name)),
                _ => Err(self.error(FilterErrorKind::Unexpected)),
            };
        };
        self.advance()?;
        match (left, self.operand()?) {
            (Operand::Property(property), Operand::Literal(literal)) => {
                Ok(Filter::Compare { property, op, literal })
            }
            (Operand::Literal(literal), Operand::Property(property)) => {
                Ok(Filter::Compare { property, op: op.mirrored(), literal })
            }
            // Two properties or two literals: the service compares neither.
            _ => Err(FilterError::new(self.lexer.text(), start, FilterErrorKind::Unexpected)),
        }
    }

    fn operand(&mut self) -> Result<Operand, FilterError> {
        let bad_literal = |parser: &Self| parser.error(FilterErrorKind::BadLiteral);
        let operand = match self.token {
            Token::Quoted(text) => Operand::Literal(EdmValue::String(text.replace("''", "'"))),
            Token::Number(text) => {
                Operand::Literal(literal::number(text).ok_or_else(|| bad_literal(self))?)
            }
            Token::Word("true") => Operand::Literal(EdmValue::Boolean(true)),
            Token::Word("false") => Operand::Literal(EdmValue::Boolean(false)),
            Token::Word("and" | "or" | "not") => {
                return Err(self.error(FilterErrorKind::Unexpected));
            }
            Token::Word(prefix) if self.lexer.quote_follows() => {
                let start = self.at;
                let bad = FilterError::new(self.lexer.text(), start, FilterErrorKind::BadLiteral);
                self.advance()?;
                let Token::Quoted(text) = self.token else {
                    return Err(bad);
                };
                Operand::Literal(literal::prefixed(prefix, text).ok_or(bad)?)
            }
            Token::Word(name) => {
                let start = self.at;
                self.advance()?;
                if self.token == Token::Open {
                    let text = self.lexer.text();
                    return Err(FilterError::new(text, start, FilterErrorKind::Function));
                }
                return Ok(Operand::Property(name.to_owned()));
            }
            _ => return Err(self.error(FilterErrorKind::Unexpected)),
        };
        self.advance()?;
        Ok(operand)
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compare { property, op, literal } => {
                write!(f, "{property} {} {}", op.as_str(), Literal(literal))
            }
            Self::IsTrue(property) => f.write_str(property),
            // Both bind to the left; a right side of the same kind needs its parentheses to stay.
            Self::And(left, right) => {
                grouped(f, left, matches!(**left, Self::Or(..)))?;
                f.write_str(" and ")?;
                grouped(f, right, matches!(**right, Self::Or(..) | Self::And(..)))
            }
            Self::Or(left, right) => {
                write!(f, "{left} or ")?;
                grouped(f, right, matches!(**right, Self::Or(..)))
            }
            Self::Not(inner) => {
                f.write_str("not ")?;
                grouped(f, inner, true)
            }
        }
    }
}

fn grouped(f: &mut fmt::Formatter<'_>, filter: &Filter, parentheses: bool) -> fmt::Result {
    if parentheses { write!(f, "({filter})") } else { write!(f, "{filter}") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::edm::EdmDateTime;

    #[test]
    fn literals_of_every_type() {
        for (text, expected) in [
            ("A eq 'it''s'", EdmValue::String("it's".into())),
            ("A eq ''", EdmValue::String(String::new())),
            ("A eq true", EdmValue::Boolean(true)),
            ("A eq -5", EdmValue::Int32(-5)),
            ("A eq 5L", EdmValue::Int64(5)),
            ("A eq 3000000000", EdmValue::Int64(3_000_000_000)),
            ("A eq 5.0", EdmValue::Double(5.0)),
            ("A eq 1e300", EdmValue::Double(1e300)),
            ("A eq -1.5E-7", EdmValue::Double(-1.5e-7)),
            (
                "A eq datetime'2009-04-14T00:00:00Z'",
                EdmValue::DateTime("2009-04-14T00:00:00Z".parse().unwrap()),
            ),
            (
                "A eq guid'c9da6455-213d-42c9-9a79-3e9149a57833'",
                EdmValue::Guid("c9da6455-213d-42c9-9a79-3e9149a57833".parse().unwrap()),
            ),
            ("A eq X'0aFF'", EdmValue::Binary(vec![10, 255].into())),
            ("A eq binary'0aff'", EdmValue::Binary(vec![10, 255].into())),
        ] {
            let Filter::Compare { literal, .. } = Filter::parse(text).unwrap() else {
                panic!("{text}")
            };
            assert_eq!(literal, expected, "{text}");
        }
    }

    #[test]
    fn precedence_and_normal_form() {
        for (text, expected) in [
            ("A eq 1 or B eq 2 and C eq 3", "A eq 1 or B eq 2 and C eq 3"),
            ("(A eq 1 or B eq 2) and C eq 3", "(A eq 1 or B eq 2) and C eq 3"),
            ("not A eq 1 and B eq 2", "not (A eq 1) and B eq 2"),
            ("not (A eq 1 and B eq 2)", "not (A eq 1 and B eq 2)"),
            ("3 le Rating", "Rating ge 3"),
            ("((  Open ))", "Open"),
            ("(A eq 1)and(B eq 2)", "A eq 1 and B eq 2"),
            ("A eq 1 and (B eq 2 and C eq 3)", "A eq 1 and (B eq 2 and C eq 3)"),
        ] {
            assert_eq!(Filter::parse(text).unwrap().to_string(), expected);
        }
    }

    #[test]
    fn errors_say_where() {
        use FilterErrorKind::{
            BadLiteral, Function, TooDeep, UnclosedQuote, Unexpected, UnexpectedEnd,
        };
        for (text, kind, position) in [
            ("", UnexpectedEnd, 0),
            ("A eq", UnexpectedEnd, 4),
            ("é = 1", Unexpected, 2),
            ("A eq 'x", UnclosedQuote, 5),
            ("(A eq 1", UnexpectedEnd, 7),
            ("A eq 1)", Unexpected, 6),
            ("A eq 1 B eq 2", Unexpected, 7),
            ("startswith(A, 'b')", Function, 0),
            ("A eq 1 and", UnexpectedEnd, 10),
            ("A eq B", Unexpected, 0),
            ("1 eq 1", Unexpected, 0),
            ("A eq 12x", BadLiteral, 5),
            ("A eq 1e999", BadLiteral, 5),
            ("A eq datetime'x'", BadLiteral, 5),
            ("A eq X'abc'", BadLiteral, 5),
            ("A eq float'1'", BadLiteral, 5),
            ("and", Unexpected, 0),
            ("A eq 1 and or B eq 2", Unexpected, 11),
        ] {
            let error = Filter::parse(text).unwrap_err();
            assert_eq!((error.kind(), error.position()), (kind, position), "{text}: {error}");
        }
        for deep in ["(".repeat(100_000), "not ".repeat(100_000)] {
            assert_eq!(Filter::parse(&deep).unwrap_err().kind(), TooDeep);
        }
    }

    fn value() -> impl Strategy<Value = EdmValue> {
        prop_oneof![
            ".*".prop_map(EdmValue::String),
            any::<bool>().prop_map(EdmValue::Boolean),
            any::<i32>().prop_map(EdmValue::Int32),
            any::<i64>().prop_map(EdmValue::Int64),
            any::<f64>().prop_filter("has a literal", |v| v.is_finite()).prop_map(EdmValue::Double),
            any::<u128>().prop_map(|v| EdmValue::Guid(uuid::Uuid::from_u128(v))),
            any::<Vec<u8>>().prop_map(|v| EdmValue::Binary(v.into())),
            (EdmDateTime::MIN.ticks()..=EdmDateTime::MAX.ticks())
                .prop_map(|t| EdmValue::DateTime(EdmDateTime::from_ticks(t).unwrap())),
        ]
    }

    fn filter() -> impl Strategy<Value = Filter> {
        let ops = [
            CompareOp::Eq,
            CompareOp::Ne,
            CompareOp::Gt,
            CompareOp::Ge,
            CompareOp::Lt,
            CompareOp::Le,
        ];
        let name = "[A-Z][a-z0-9_]{0,8}";
        let leaf = prop_oneof![
            (name, proptest::sample::select(ops.to_vec()), value())
                .prop_map(|(property, op, literal)| Filter::Compare { property, op, literal }),
            name.prop_map(Filter::IsTrue),
        ];
        leaf.prop_recursive(6, 40, 2, |inner| {
            let boxed = inner.prop_map(Box::new);
            prop_oneof![
                (boxed.clone(), boxed.clone()).prop_map(|(a, b)| Filter::And(a, b)),
                (boxed.clone(), boxed.clone()).prop_map(|(a, b)| Filter::Or(a, b)),
                boxed.prop_map(Filter::Not),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_displayed_parses_to_the_same(filter in filter()) {
            prop_assert_eq!(Filter::parse(&filter.to_string()), Ok(filter));
        }

        #[test]
        fn no_text_panics(text in "[ ()'a-zA-Z0-9.,+\\-Lexé]{0,60}") {
            let _ = Filter::parse(&text);
        }
    }
}
