//! Values as text, in the forms of `EdmValue`'s `Display`.

use azure_table_client::edm::{EdmDateTime, EdmType, EdmValue};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use uuid::Uuid;

/// Reads the name of a type, with or without `Edm.` before it.
pub(crate) fn parse_type(name: &str) -> Result<EdmType, String> {
    let ty = EdmType::from_name(name).or_else(|| EdmType::from_name(&format!("Edm.{name}")));
    ty.ok_or_else(|| {
        format!(
            "the type {name:?} is unknown: the types are String, Boolean, Int32, Int64, Double, DateTime, Guid and \
             Binary, also with Edm. before the name"
        )
    })
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_with_and_without_edm() {
        for name in ["String", "Boolean", "Int32", "Int64", "Double", "DateTime", "Guid", "Binary"]
        {
            let long = format!("Edm.{name}");
            assert_eq!(parse_type(name).unwrap().as_str(), long);
            assert_eq!(parse_type(&long).unwrap().as_str(), long);
        }
        for bad in ["", "int32", "Edm.", "edm.Int32", "Edm.Edm.Int32", "Int32 ", "Int\u{1b}"] {
            let error = parse_type(bad).unwrap_err();
            assert!(error.contains(&format!("the type {bad:?} is unknown")), "{error}");
        }
    }
}
