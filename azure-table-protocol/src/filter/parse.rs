//! Parses the text of a filter.

use super::error::Expected;
use super::lexer::{Lexer, Token};
use super::literal;
use super::{CompareOp, Filter, FilterError, FilterErrorKind};
use super::{LEVELS, MAX_DEPTH};
use crate::edm::EdmValue;

const TERM: Expected = Expected::Expression("a comparison, not or (");

impl Filter {
    /// Parses the text of an OData filter.
    ///
    /// # Errors
    /// The text is not a filter, or uses a feature that the Table service does not support. The error contains
    /// the position.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let mut lexer = Lexer::new(text);
        let (at, token) = lexer.next();
        let mut parser = Parser { lexer, at, token };
        let filter = parser.or(0)?;
        match parser.token {
            Token::End => Ok(filter),
            _ => Err(parser.unexpected(Expected::End)),
        }
    }
}

/// One side of a comparison.
enum ParsedOperand {
    Property(String),
    Literal(EdmValue),
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The first byte of the token.
    at: usize,
    token: Token<'a>,
}

impl Parser<'_> {
    fn advance(&mut self) {
        (self.at, self.token) = self.lexer.next();
    }

    /// The error for the current token.
    fn unexpected(&self, expected: Expected) -> FilterError {
        let kind = match self.token {
            Token::End => FilterErrorKind::UnexpectedEnd,
            Token::Unclosed => FilterErrorKind::UnclosedQuote,
            _ => FilterErrorKind::Unexpected,
        };
        self.error(kind, self.at, expected)
    }

    fn error(&self, kind: FilterErrorKind, at: usize, expected: Expected) -> FilterError {
        FilterError::in_text(kind, self.lexer.text(), at..self.lexer.at(), expected)
    }

    fn or(&mut self, depth: usize) -> Result<Filter, FilterError> {
        let first = self.and(depth)?;
        if self.token != Token::Word("or") {
            return Ok(first);
        }
        let mut any = vec![first];
        while self.token == Token::Word("or") {
            self.advance();
            any.push(self.and(depth)?);
        }
        Ok(Filter::Or(any))
    }

    fn and(&mut self, depth: usize) -> Result<Filter, FilterError> {
        let first = self.term(depth)?;
        if self.token != Token::Word("and") {
            return Ok(first);
        }
        let mut all = vec![first];
        while self.token == Token::Word("and") {
            self.advance();
            all.push(self.term(depth)?);
        }
        Ok(Filter::And(all))
    }

    fn term(&mut self, depth: usize) -> Result<Filter, FilterError> {
        if depth > MAX_DEPTH {
            return Err(self.error(
                FilterErrorKind::TooDeep,
                self.at,
                Expected::Expression(LEVELS),
            ));
        }
        match self.token {
            Token::Word("not") => {
                self.advance();
                // `not (` is one level, because every `not` is displayed with parentheses: a filter that
                // was parsed can be parsed again.
                let inner = match self.token {
                    Token::Open => self.group(depth + 1)?,
                    _ => self.term(depth + 1)?,
                };
                Ok(Filter::Not(Box::new(inner)))
            }
            Token::Open => self.group(depth + 1),
            _ => self.comparison(),
        }
    }

    /// Parses a filter in parentheses.
    fn group(&mut self, depth: usize) -> Result<Filter, FilterError> {
        self.advance();
        let filter = self.or(depth)?;
        if self.token != Token::Close {
            return Err(self.unexpected(Expected::Close));
        }
        self.advance();
        Ok(filter)
    }

    fn comparison(&mut self) -> Result<Filter, FilterError> {
        let left = self.operand(TERM)?;
        let op = match self.token {
            Token::Word(word) => CompareOp::from_word(word),
            _ => None,
        };
        let Some(op) = op else {
            return match (left, self.token) {
                // A Boolean property and a Boolean literal are conditions by themselves.
                (
                    ParsedOperand::Property(name),
                    Token::End | Token::Close | Token::Word("and" | "or"),
                ) => Ok(Filter::IsTrue(name)),
                (
                    ParsedOperand::Literal(EdmValue::Boolean(value)),
                    Token::End | Token::Close | Token::Word("and" | "or"),
                ) => Ok(Filter::Constant(value)),
                _ => Err(self.unexpected(Expected::Operator)),
            };
        };
        self.advance();
        // The service compares only a property with a literal.
        let expected = Expected::Expression(match left {
            ParsedOperand::Property(_) => "a literal",
            ParsedOperand::Literal(_) => "a property",
        });
        let at = self.at;
        match (left, self.operand(expected)?) {
            (ParsedOperand::Property(property), ParsedOperand::Literal(literal)) => {
                Ok(Filter::Compare { property, op, literal })
            }
            (ParsedOperand::Literal(literal), ParsedOperand::Property(property)) => {
                Ok(Filter::Compare { property, op: op.mirrored(), literal })
            }
            _ => Err(self.error(FilterErrorKind::Unexpected, at, expected)),
        }
    }

    fn operand(&mut self, expected: Expected) -> Result<ParsedOperand, FilterError> {
        let at = self.at;
        let bad_literal = |parser: &Self, expected| {
            parser.error(FilterErrorKind::BadLiteral, at, Expected::Expression(expected))
        };
        let literal = match self.token {
            Token::Quoted(text) => EdmValue::String(text.replace("''", "'")),
            Token::Number(text) => literal::number(text).map_err(|e| bad_literal(self, e))?,
            Token::Word("true") => EdmValue::Boolean(true),
            Token::Word("false") => EdmValue::Boolean(false),
            Token::Word("and" | "or" | "not") => return Err(self.unexpected(expected)),
            Token::Word(prefix) if self.lexer.quote_follows() => {
                self.advance();
                let Token::Quoted(text) = self.token else {
                    return Err(self.unexpected(expected));
                };
                literal::prefixed(prefix, text).map_err(|e| bad_literal(self, e))?
            }
            Token::Word(name) => {
                self.advance();
                if self.token == Token::Open {
                    return Err(self.error(FilterErrorKind::Function, at, expected));
                }
                return Ok(ParsedOperand::Property(name.to_owned()));
            }
            _ => return Err(self.unexpected(expected)),
        };
        self.advance();
        Ok(ParsedOperand::Literal(literal))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::edm::EdmDateTime;

    #[test]
    fn literals_of_every_type_are_parsed() {
        for (text, expected) in [
            ("A eq 'it''s'", EdmValue::String("it's".into())),
            ("A eq ''", EdmValue::String(String::new())),
            ("A eq true", EdmValue::Boolean(true)),
            ("A eq -5", EdmValue::Int32(-5)),
            ("A eq 5L", EdmValue::Int64(5)),
            ("A eq 3000000000L", EdmValue::Int64(3_000_000_000)),
            ("A eq binary''", EdmValue::Binary(vec![].into())),
            (
                "A eq GUID'c9da6455-213d-42c9-9a79-3e9149a57833'",
                EdmValue::Guid("c9da6455-213d-42c9-9a79-3e9149a57833".parse().unwrap()),
            ),
            ("A eq 5.0", EdmValue::Double(5.0)),
            ("A eq 5d", EdmValue::Double(5.0)),
            ("A eq -1.5e3D", EdmValue::Double(-1500.0)),
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
    fn a_boolean_literal_is_a_filter() {
        for (text, expected) in [
            ("true", "true"),
            ("(false)", "false"),
            ("not false", "not (false)"),
            ("true and A eq 1 or (false)", "true and A eq 1 or false"),
            ("A eq true", "A eq true"),
        ] {
            assert_eq!(Filter::parse(text).unwrap().to_string(), expected);
        }
        assert_eq!(Filter::parse("false"), Ok(Filter::Constant(false)));
        assert_eq!(Filter::parse("true").unwrap().comparisons(), 0);
        for text in ["5", "'true'", "true true", "true eq", "TRUE eq TRUE"] {
            assert!(Filter::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn precedence_is_kept_in_the_displayed_form() {
        for (text, expected) in [
            ("A eq 1 or B eq 2 and C eq 3", "A eq 1 or B eq 2 and C eq 3"),
            ("(A eq 1 or B eq 2) and C eq 3", "(A eq 1 or B eq 2) and C eq 3"),
            ("not A eq 1 and B eq 2", "not (A eq 1) and B eq 2"),
            ("not (A eq 1 and B eq 2)", "not (A eq 1 and B eq 2)"),
            ("3 le Rating", "Rating ge 3"),
            ("((  Open ))", "Open"),
            ("(A eq 1)and(B eq 2)", "A eq 1 and B eq 2"),
            ("A eq 1 and (B eq 2 and C eq 3)", "A eq 1 and (B eq 2 and C eq 3)"),
            ("(A eq 1 and B eq 2) and C eq 3", "(A eq 1 and B eq 2) and C eq 3"),
            ("A eq 1 or B eq 2 or C eq 3", "A eq 1 or B eq 2 or C eq 3"),
            ("not not Open", "not (not (Open))"),
            ("not(A eq 1)or(Open)", "not (A eq 1) or Open"),
            ("'b'lt\tA", "A gt 'b'"),
        ] {
            assert_eq!(Filter::parse(text).unwrap().to_string(), expected);
        }
    }

    #[test]
    fn errors_contain_the_position() {
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
            ("A eq B", Unexpected, 5),
            ("1 eq 1", Unexpected, 5),
            ("A eq 12x", BadLiteral, 5),
            ("A eq 5f", BadLiteral, 5),
            ("A eq 5m", BadLiteral, 5),
            ("A eq d", Unexpected, 5),
            ("A eq nand", Unexpected, 5),
            ("A eq 3000000000", BadLiteral, 5),
            ("A eq 9223372036854775808L", BadLiteral, 5),
            ("A eq null", Unexpected, 5),
            ("A eq guid'x", UnclosedQuote, 9),
            ("A eq tolower('x')", Function, 5),
            ("A eq 1 and (B", UnexpectedEnd, 13),
            ("A, B", Unexpected, 1),
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
        let error = Filter::parse("A eq").unwrap_err();
        assert_eq!(error.to_string(), "expected a literal at position 4, found the end");
        let error = Filter::parse("startswith(A, 'b')").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the Table service has no functions: expected a comparison, not or ( at position 0, \
             found startswith(A, 'b')"
        );
        for deep in ["(".repeat(100_000), "not ".repeat(100_000)] {
            assert_eq!(Filter::parse(&deep).unwrap_err().kind(), TooDeep);
        }
    }

    #[test]
    fn a_long_chain_is_not_a_deep_tree() {
        let is_full = std::env::var_os("AZURE_TABLE_TESTS_FULL").is_some();
        let terms = if is_full { 200_000 } else { 20_000 };
        for operator in [" and ", " or ", " and not ", " or not "] {
            let text = vec!["A eq 1"; terms].join(operator);
            let filter = Filter::parse(&text).unwrap();
            assert_eq!(Filter::parse(&filter.to_string()), Ok(filter));
        }
    }

    #[test]
    fn a_parsed_filter_can_be_parsed_again() {
        let nested = |open: &str, close: &str| {
            format!("{}A eq 1{}", open.repeat(MAX_DEPTH), close.repeat(MAX_DEPTH))
        };
        for (open, close) in [
            ("not ", ""),
            ("not (", ")"),
            ("not (B or ", ")"),
            ("(B and ", ")"),
            ("B and (C or ", ")"),
            ("B and not (C or ", ")"),
        ] {
            let text = nested(open, close);
            let filter = Filter::parse(&text).unwrap();
            assert_eq!(Filter::parse(&filter.to_string()).as_ref(), Ok(&filter), "{open}");
            assert_eq!(filter.clone().check_depth(), Ok(filter), "{open}");
            let deeper = format!("not ({text})");
            assert_eq!(Filter::parse(&deeper).unwrap_err().kind(), FilterErrorKind::TooDeep);
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
        let name = "[A-Zé_][a-z0-9_é]{0,8}";
        let leaf = prop_oneof![
            (name, proptest::sample::select(CompareOp::ALL.to_vec()), value())
                .prop_map(|(property, op, literal)| Filter::Compare { property, op, literal }),
            name.prop_map(Filter::IsTrue),
            any::<bool>().prop_map(Filter::Constant),
        ];
        leaf.prop_recursive(6, 40, 2, |inner| {
            let list = proptest::collection::vec(inner.clone(), 2..4);
            prop_oneof![
                list.clone().prop_map(Filter::And),
                list.prop_map(Filter::Or),
                inner.prop_map(|filter| !filter),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_displayed_filter_parses_to_the_same(filter in filter()) {
            prop_assert_eq!(Filter::parse(&filter.to_string()), Ok(filter));
        }

        #[test]
        fn the_depth_check_agrees_with_the_parser(filter in filter(), levels in 90..=MAX_DEPTH) {
            let nested = (0..levels).fold(filter, |filter, _| Filter::Not(Box::new(filter)));
            let parsed = Filter::parse(&nested.to_string());
            prop_assert_eq!(nested.check_depth().map_err(|e| e.kind()), parsed.map_err(|e| e.kind()));
        }

        #[test]
        fn no_text_panics(text in "[ ()'a-zA-Z0-9.,+\\-Lexé]{0,60}") {
            let _ = Filter::parse(&text);
        }
    }
}
