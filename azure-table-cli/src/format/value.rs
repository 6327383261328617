//! Values as text, in the forms of `EdmValue`'s `Display`.

use azure_table_client::edm::{EdmDateTime, EdmType, EdmValue};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use uuid::Uuid;

/// Reads a value of a type. The error contains the reason why the text is not one.
pub(crate) fn parse(ty: EdmType, text: &str) -> Result<EdmValue, String> {
    let invalid = |why: String| format!("{text:?} is not a value of type {ty}: {why}");
    let number = "it is not a number of this type".to_owned();
    Ok(match ty {
        EdmType::String => text.into(),
        EdmType::Boolean if text.eq_ignore_ascii_case("true") => true.into(),
        EdmType::Boolean if text.eq_ignore_ascii_case("false") => false.into(),
        EdmType::Boolean => return Err(invalid("it is not true or false".to_owned())),
        EdmType::Int32 => text.parse::<i32>().map_err(|error| invalid(error.to_string()))?.into(),
        EdmType::Int64 => text.parse::<i64>().map_err(|error| invalid(error.to_string()))?.into(),
        EdmType::Double => {
            let value: f64 = text.parse().map_err(|_| invalid(number))?;
            if value.is_infinite() && text.contains(|c: char| c.is_ascii_digit()) {
                return Err(invalid("it exceeds the range of a double".to_owned()));
            }
            value.into()
        }
        EdmType::DateTime => {
            let value: Result<EdmDateTime, _> = text.parse();
            value.map_err(|error| invalid(error.to_string()))?.into()
        }
        EdmType::Guid => Uuid::try_parse(text).map_err(|error| invalid(error.to_string()))?.into(),
        EdmType::Binary => {
            STANDARD.decode(text).map_err(|error| invalid(error.to_string()))?.into()
        }
    })
}
