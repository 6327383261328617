//! The names of tables in Cosmos DB.

use std::borrow::Cow;

use azure_table_protocol::dialect::{NameFault, cosmos_name_fault};

use crate::failure::Failure;

const NAME_LENGTH: &str = "Message: {\"Errors\":[\"The input name is invalid. Ensure to provide a unique non-empty string \
    less than '255' characters.\",\"The request payload is invalid. Ensure to provide a valid request payload.\"]}";

/// Checks the name of a table before it is created (recorded in `test_table_name_errors_bad_chars` and
/// `test_table_name_errors_bad_length`).
pub(super) fn check_new_table_name(name: &str) -> Result<(), Failure> {
    let invalid = |message: Cow<'static, str>| Failure { message, ..Failure::invalid_name() };
    let length = Failure {
        code: "BadRequest".into(),
        message: NAME_LENGTH.into(),
        ..Failure::invalid_name()
    };
    match cosmos_name_fault(name) {
        Some(NameFault::Character(character)) => {
            let message = format!("The table name contains an invalid character {character}.");
            Err(invalid(message.into()))
        }
        Some(NameFault::LastSpace) => Err(invalid("Table name cannot end with a space.".into())),
        Some(NameFault::LengthOrReserved) => Err(length),
        // No source shows control characters.
        None if name.contains(char::is_control) => Err(length),
        None => Ok(()),
    }
}
