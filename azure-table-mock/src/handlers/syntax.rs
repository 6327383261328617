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
use crate::filter::{Expected, Filter, FilterError, FilterErrorKind};

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
            // A literal alone; a property alone is a condition.
            Expected::Operator if error.kind() == FilterErrorKind::UnexpectedEnd => {
                return Failure::syntax(NOT_A_CONDITION.to_owned());
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

const NOT_A_CONDITION: &str = "The $filter expression must evaluate to a single boolean value.";

/// Refuses a property of the service that stands for a condition: the types of keys and of the Timestamp are declared,
/// and those of all other properties are open.
pub(super) fn check_types(filter: &Filter) -> Result<(), Failure> {
    check_operands(filter)?;
    match type_of(filter) {
        BOOLEAN => Ok(()),
        _ => Err(Failure::syntax(NOT_A_CONDITION.to_owned())),
    }
}

const BOOLEAN: &str = "Edm.Boolean";

/// The type of a filter as an operand.
fn type_of(filter: &Filter) -> &'static str {
    match filter {
        Filter::IsTrue { 0: name, .. } => match &**name {
            "PartitionKey" | "RowKey" => "Edm.String",
            "Timestamp" => "Edm.DateTime",
            _ => BOOLEAN,
        },
        _ => BOOLEAN,
    }
}

fn check_operands(filter: &Filter) -> Result<(), Failure> {
    let (all, operator) = match filter {
        Filter::And { 0: all, .. } => (all, "And"),
        Filter::Or { 0: any, .. } => (any, "Or"),
        Filter::Not { 0: inner, .. } => {
            check_operands(inner)?;
            return match type_of(inner) {
                BOOLEAN => Ok(()),
                found => Err(Failure::syntax(format!(
                    "A unary operator with an incompatible type was detected. Found operand type '{found}' for \
                     operator kind 'Not'."
                ))),
            };
        }
        _ => return Ok(()),
    };
    let mut left = all.first().map_or(BOOLEAN, type_of);
    for (index, one) in all.iter().enumerate() {
        check_operands(one)?;
        let right = type_of(one);
        if index > 0 && (left, right) != (BOOLEAN, BOOLEAN) {
            return Err(Failure::syntax(format!(
                "A binary operator with incompatible types was detected. Found operand types '{left}' and \
                 '{right}' for operator kind '{operator}'."
            )));
        }
        if index > 0 {
            left = BOOLEAN;
        }
    }
    Ok(())
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
        assert_eq!(refused("1").message, NOT_A_CONDITION);
    }

    #[test]
    fn a_declared_property_is_no_condition() {
        let and = |left, right| {
            format!(
                "A binary operator with incompatible types was detected. Found operand types 'Edm.{left}' and \
                 'Edm.{right}' for operator kind 'And'."
            )
        };
        let checked = |text: &str| check_types(&Filter::parse(text).unwrap());
        for (text, expected) in [
            ("(PartitionKey) and (RowKey ge 'x')", and("String", "Boolean")),
            ("RowKey ge 'x' and Timestamp", and("Boolean", "DateTime")),
            ("A and true and (PartitionKey)", and("Boolean", "String")),
            ("A or (Timestamp and RowKey)", and("DateTime", "String")),
            ("(PartitionKey)", NOT_A_CONDITION.to_owned()),
            (
                "not RowKey",
                "A unary operator with an incompatible type was detected. Found operand type 'Edm.String' for \
                 operator kind 'Not'."
                    .to_owned(),
            ),
        ] {
            assert_eq!(checked(text).unwrap_err().message, expected, "{text}");
        }
        for text in ["A", "A and B or not C", "true", "RowKey eq 'x' and A"] {
            assert_eq!(checked(text), Ok(()), "{text}");
        }
    }
}
