//! The values and the key texts of a form, by the conversions of its Rust type.

use std::borrow::Cow;
use std::time::Duration;

use azure_table_client::edm::{EdmDateTime, EdmValue, FromEdm};
use azure_table_client::entity::codec::{as_i32, as_i64, as_string};
use azure_table_client::entity::schema::{ValueChoice, ValueForm};
use azure_table_client::entity::{Descending, KeyPart};
use chrono::{NaiveDate, NaiveDateTime, TimeDelta};
use serde::de::IgnoredAny;
use uuid::Uuid;

/// Whether a value of the right type is one of the form. Values of forms without a description are.
pub(super) fn has_value(form: &ValueForm, value: &EdmValue) -> bool {
    match form {
        ValueForm::Named(name) => match &**name {
            "i8" => is::<i8>(value),
            "i16" => is::<i16>(value),
            "u8" => is::<u8>(value),
            "u16" => is::<u16>(value),
            "u32" => is::<u32>(value),
            "f32" => is::<f32>(value),
            "date" => is::<NaiveDate>(value),
            "date-time" => is::<EdmDateTime>(value),
            "duration" => is::<Duration>(value),
            "signed duration" => is::<TimeDelta>(value),
            name => has_length(name, value),
        },
        ValueForm::Choice { choices, has_other } => {
            *has_other || has_choice(choices, &value.to_string())
        }
        _ => true,
    }
}

fn is<T: FromEdm>(value: &EdmValue) -> bool {
    value.get::<T>().is_ok()
}

fn has_choice(choices: &[ValueChoice], text: &str) -> bool {
    choices
        .iter()
        .any(|choice| choice.stored == text || choice.aliases.iter().any(|alias| alias == text))
}

/// Checks the length for a form such as `16 bytes`.
fn has_length(name: &str, value: &EdmValue) -> bool {
    let length = name.strip_suffix(" bytes").and_then(|number| number.parse::<usize>().ok());
    match (length, value) {
        (Some(length), EdmValue::Binary(bytes)) => bytes.len() == length,
        _ => true,
    }
}

/// Whether a key has a text of the form; `None` if the form is not known.
pub(super) fn has_key(form: &ValueForm, text: &str) -> Option<bool> {
    macro_rules! reads {
        ($($name:literal => $type:ty),* $(,)?) => {
            |name: &str| Some(match name {
                $($name => <$type>::from_key(Cow::Borrowed(text)).is_ok(),)*
                _ => return None,
            })
        };
    }
    let reads = reads! {
        "text" => String, "bool" => bool, "guid" => Uuid,
        "u8" => u8, "u16" => u16, "u32" => u32, "u64" => u64, "u128" => u128,
        "i8" => i8, "i16" => i16, "i32" => i32, "i64" => i64, "i128" => i128,
        "date" => NaiveDate, "date-time" => EdmDateTime, "date-time without Z" => NaiveDateTime,
        "duration" => Duration, "signed duration" => TimeDelta,
        "descending u8" => Descending<u8>, "descending u16" => Descending<u16>,
        "descending u32" => Descending<u32>, "descending u64" => Descending<u64>,
        "descending u128" => Descending<u128>, "descending i8" => Descending<i8>,
        "descending i16" => Descending<i16>, "descending i32" => Descending<i32>,
        "descending i64" => Descending<i64>, "descending i128" => Descending<i128>,
        "descending date" => Descending<NaiveDate>, "descending date-time" => Descending<EdmDateTime>,
    };
    match form {
        ValueForm::Named(name) => reads(name),
        ValueForm::Choice { choices, has_other } => Some(*has_other || has_choice(choices, text)),
        _ => None,
    }
}

/// Whether a codec with this Rust type reads a stored value; `None` if that is not known.
pub(super) fn decodes(codec: &str, rust_type: &str, value: &EdmValue) -> Option<bool> {
    macro_rules! reads {
        ($($type:ident)*) => {
            match (codec, value, rust_type) {
                ("as_json", EdmValue::String(text), _) => {
                    return serde_json::from_str::<IgnoredAny>(text).is_err().then_some(false);
                }
                $(
                    ("as_string", EdmValue::String(text), stringify!($type)) => as_string::decode::<$type>(text.clone()).is_ok(),
                    ("as_i32", EdmValue::Int32(number), stringify!($type)) => as_i32::decode::<$type>(*number).is_ok(),
                    ("as_i64", EdmValue::Int64(number), stringify!($type)) => as_i64::decode::<$type>(*number).is_ok(),
                )*
                _ => return None,
            }
        };
    }
    Some(reads!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize))
}
