//! Descriptions of the stored form.

use super::StoredValue;
use crate::edm::{ConvertError, EdmValue, ToEdm};
use crate::entity::schema::{Kinds, Schema};
use crate::entity::schema::{ValueChoice, ValueForm};
use crate::entity::{Field, StoredType};

/// A property that a module of the user's encodes.
pub const fn encoded<T, R: StoredValue>(
    member: &'static str,
    rust_type: &'static str,
    _: fn(&T) -> Result<R, ConvertError>,
) -> Field {
    StoredType::of::<R>().field(member, rust_type)
}

/// The stored value of a default that a module of the user's encodes.
pub fn encoded_default<T, R: StoredValue>(
    default: Option<T>,
    encode: fn(&T) -> Result<R, ConvertError>,
) -> Result<Option<EdmValue>, ConvertError> {
    default.map_or(Ok(None), |value| super::stored_of(encode(&value)))
}

/// Describes an enum of entities.
pub fn schema_of_kinds<const N: usize>(
    table: Option<&str>,
    property: Option<&str>,
    list: [(&str, Schema); N],
    has_other: bool,
) -> Schema {
    let mut kinds = Kinds::default();
    kinds.property = property.map(str::to_owned);
    kinds.list = list.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    kinds.has_other = has_other;
    let mut schema = Schema::default();
    schema.table = table.map(str::to_owned);
    schema.kinds = Some(kinds);
    schema
}

/// The form of an enum.
pub fn choices(list: &[(&str, String, &[&str])], has_other: bool) -> ValueForm {
    let choices = list.iter().map(|(variant, stored, aliases)| {
        let mut choice = ValueChoice::new(*variant, stored);
        choice.aliases = aliases.iter().map(|alias| (*alias).to_owned()).collect();
        choice
    });
    ValueForm::Choice { choices: choices.collect(), has_other }
}

/// The text of a variant's number.
pub fn number_text(number: i32) -> String {
    number.to_string()
}

/// The form of an enum in a key, which is read only as it is written.
pub fn key_choices<T: ToEdm>() -> ValueForm {
    let mut form = T::form();
    if let ValueForm::Choice { choices, .. } = &mut form {
        for choice in choices {
            choice.aliases.clear();
        }
    }
    form
}
