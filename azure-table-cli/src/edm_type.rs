//! The names of types in arguments and in the headers of files.

use azure_table_client::edm::EdmType;

/// Reads the name of a type, with or without `Edm.` before it.
///
/// # Errors
/// A name that is not one of the eight types, by a text with all of them.
pub fn parse(name: &str) -> Result<EdmType, String> {
    let ty = EdmType::from_name(name).or_else(|| EdmType::from_name(&format!("Edm.{name}")));
    ty.ok_or_else(|| {
        format!(
            "the type {name:?} is unknown: the types are String, Boolean, Int32, Int64, Double, DateTime, Guid and \
             Binary, also with Edm. before the name"
        )
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
            assert_eq!(parse(name).unwrap().as_str(), long);
            assert_eq!(parse(&long).unwrap().as_str(), long);
        }
        for bad in ["", "int32", "Edm.", "edm.Int32", "Edm.Edm.Int32", "Int32 ", "Int\u{1b}"] {
            let error = parse(bad).unwrap_err();
            assert!(error.contains(&format!("the type {bad:?} is unknown")), "{error}");
        }
    }
}
