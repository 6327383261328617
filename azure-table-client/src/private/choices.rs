//! Enums that are values.

use super::{KeyText, Text};
use crate::edm::{ConvertError, EdmCow, EdmType, FromEdm, ToEdm};
use crate::entity::{KeyError, KeyPart};

/// The content of the variant for all other values of an enum.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold the other values of an enum that is stored as `{V}`",
    label = "not `{V}`",
    note = "write `{V}`, as the enum is stored; #[table(as_i32)] on the enum stores it as i32"
)]
pub trait OtherValue<V> {
    /// The value.
    fn into_value(self) -> V;

    /// The value.
    fn as_value(&self) -> &V;

    /// The variant's content.
    fn from_value(value: V) -> Self;
}

#[diagnostic::do_not_recommend]
impl<V> OtherValue<V> for V {
    fn into_value(self) -> V {
        self
    }

    fn as_value(&self) -> &V {
        self
    }

    fn from_value(value: V) -> Self {
        value
    }
}

/// The number of a variant, for the compiler.
pub const fn variant_number(number: i128) -> i32 {
    assert!(
        number >= i32::MIN as i128 && number <= i32::MAX as i128,
        "the number of a variant does not fit i32"
    );
    #[expect(clippy::cast_possible_truncation, reason = "checked")]
    let number = number as i32;
    number
}

/// An error about a variant's value, for the conversions of enums.
pub fn no_variant(found: impl std::fmt::Debug, known: &str) -> ConvertError {
    ConvertError::Other(format!("{found:?} is not one of {known}"))
}

/// The text of a property that an enum reads.
pub fn text_of(value: EdmCow<'_>) -> Result<Text<'_>, ConvertError> {
    match value {
        EdmCow::String(text) => Ok(text),
        other => {
            Err(ConvertError::WrongType { expected: EdmType::String, found: other.edm_type() })
        }
    }
}

/// The key of an enum that is stored as text.
pub fn text_key<T: ToEdm>(value: &T) -> KeyText<'_> {
    match value.to_edm() {
        Ok(Some(EdmCow::String(text))) => Ok(text),
        _ => Err(KeyError::new("the value has no text")),
    }
}

/// The key of an enum that is stored as a number.
pub fn number_key<T: ToEdm>(value: &T) -> KeyText<'_> {
    match value.to_edm() {
        Ok(Some(EdmCow::Int32(number))) => number.to_key().map(|text| text.into_owned().into()),
        _ => Err(KeyError::new("the value has no number")),
    }
}

/// The enum of a key that is a number.
pub fn from_number_key<T: FromEdm>(text: Text<'_>) -> Result<T, KeyError> {
    T::from_edm(EdmCow::Int32(i32::from_key(text)?))
        .map_err(|error| KeyError::new(error.to_string()))
}

/// Returns the error of a key that is not a variant.
pub fn no_key(found: &str, known: &str) -> KeyError {
    KeyError::new(format!("{found:?} is not one of {known}"))
}
