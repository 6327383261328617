//! The failures of filters that cannot be parsed.
//!
//! The service parses filters with Microsoft's OData library: one message is recorded in `test_query_invalid_filter`,
//! another one is in [AzureStorageExplorer#1382][literal], and both are texts of that library. The other messages are
//! its texts too (`ExpressionLexer` and `UriQueryExpressionParser` of `Microsoft.Data.OData`). Positions count the UTF-16
//! code units of a .NET string from 0.
//!
//! [literal]: https://github.com/microsoft/AzureStorageExplorer/issues/1382

use std::ops::Range;

use crate::failure::Failure;
use crate::filter::{Expected, FilterError, FilterErrorKind};

/// The failure of a filter with this text.
pub(super) fn failure(text: &str, error: &FilterError) -> Failure {
    let Range { start, end } = error.bytes();
    let found = text.get(start..end).unwrap_or_default();
    let [start, end, last] = [start, end, text.len()].map(|byte| position(text, byte));
    let message = match error.kind() {
        FilterErrorKind::Function => return Failure::not_implemented(),
        FilterErrorKind::UnclosedQuote => {
            format!("There is an unterminated string literal at position {last} in '{text}'.")
        }
        FilterErrorKind::BadLiteral => match type_of_literal(found) {
            Some(edm_type) => {
                format!("Unrecognized 'Edm.{edm_type}' literal '{found}' at '{start}' in '{text}'.")
            }
            None => return Failure::invalid_input(),
        },
        FilterErrorKind::Unexpected | FilterErrorKind::UnexpectedEnd => match error.expectation() {
            Expected::Close => {
                format!("')' or operator expected at position {start} in '{text}'.")
            }
            // The text up to here is an expression.
            Expected::End | Expected::Operator => {
                format!("Syntax error at position {end} in '{text}'.")
            }
            Expected::Expression(_) if start == end => {
                format!("Expression expected at position {start} in '{text}'.")
            }
            Expected::Expression(_) => return Failure::invalid_input(),
        },
        _ => return Failure::invalid_input(),
    };
    Failure::syntax(message)
}

/// The position of a byte: .NET counts the UTF-16 code units of a text.
fn position(text: &str, byte: usize) -> usize {
    text.get(..byte).map_or(0, |before| before.encode_utf16().count())
}

/// The type that the form of a literal states, if the service stores the type.
fn type_of_literal(text: &str) -> Option<&'static str> {
    if let Some((prefix, _)) = text.split_once('\'') {
        return match &*prefix.to_ascii_lowercase() {
            "datetime" => Some("DateTime"),
            "guid" => Some("Guid"),
            "x" | "binary" => Some("Binary"),
            _ => None,
        };
    }
    match text.chars().next_back()?.to_ascii_lowercase() {
        'l' => Some("Int64"),
        'd' => Some("Double"),
        _ if text.contains(['.', 'e', 'E']) => Some("Double"),
        '0'..='9' => Some("Int32"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Stage;
    use crate::filter::Filter;

    fn refused(text: &str) -> Failure {
        failure(text, &Filter::parse(text).unwrap_err())
    }

    #[test]
    fn a_syntax_error_has_the_position_after_the_unexpected_word() {
        for (text, expected) in [
            ("aaa bbb ccc", "Syntax error at position 7 in 'aaa bbb ccc'."),
            ("A = 1", "Syntax error at position 3 in 'A = 1'."),
            ("A eq 1 B eq 2", "Syntax error at position 8 in 'A eq 1 B eq 2'."),
            ("A eq 1)", "Syntax error at position 7 in 'A eq 1)'."),
            ("é é", "Syntax error at position 3 in 'é é'."),
            ("A eq '😀' B", "Syntax error at position 11 in 'A eq '😀' B'."),
        ] {
            let failure = refused(text);
            assert_eq!((failure.stage, &*failure.message), (Stage::Preparation, expected));
        }
    }

    #[test]
    fn other_errors_have_the_texts_of_the_odata_library() {
        for (text, expected) in [
            ("A eq", "Expression expected at position 4 in 'A eq'."),
            ("(A eq 1", "')' or operator expected at position 7 in '(A eq 1'."),
            ("A eq 'x", "There is an unterminated string literal at position 7 in 'A eq 'x'."),
            ("A eq '😀", "There is an unterminated string literal at position 8 in 'A eq '😀'."),
            ("A eq '😀' or", "Expression expected at position 12 in 'A eq '😀' or'."),
            (
                "A eq '😀' or B eq 5L5L",
                "Unrecognized 'Edm.Int64' literal '5L5L' at '18' in 'A eq '😀' or B eq 5L5L'.",
            ),
            (
                "A eq 5454161346626",
                "Unrecognized 'Edm.Int32' literal '5454161346626' at '5' in 'A eq 5454161346626'.",
            ),
            (
                "A eq datetime'x' and B",
                "Unrecognized 'Edm.DateTime' literal 'datetime'x'' at '5' in 'A eq datetime'x' and B'.",
            ),
        ] {
            assert_eq!(refused(text).message, expected);
        }
        for text in ["A eq B", "A eq 5f", "A eq 5m", "A eq float'1'", "and"] {
            assert_eq!(refused(text), Failure::invalid_input(), "{text}");
        }
        assert_eq!(refused("startswith(A, 'b')"), Failure::not_implemented());
    }
}
