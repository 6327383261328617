//! Whole numbers as keys: decimal of fixed width.

use std::borrow::Cow;

use super::{Descending, KeyError, KeyPart};
use crate::edm::TableValue;
use crate::edm::ValueForm;

/// A whole number as a key part. The text of a value that is not negative is all digits, so a
/// key format such as `{year:04}` can give it another width.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be written as digits in a key",
    label = "not an integer",
    note = "a width as in `{{year:04}}` or `{{year:inv4}}` is for integers; leave it out for other types"
)]
pub trait KeyNumber: KeyPart {}

#[diagnostic::do_not_recommend]
impl<T: TableValue<Inner: KeyNumber>> KeyNumber for T {}

fn digits(text: &str, width: usize) -> Option<&str> {
    (text.len() == width && text.bytes().all(|b| b.is_ascii_digit())).then_some(text)
}

macro_rules! unsigned {
    ($($type:ident: $width:literal),*) => {$(
        impl KeyPart for $type {
            const WIDTH: Option<usize> = Some($width);

            fn form() -> ValueForm {
                ValueForm::named(stringify!($type))
            }

            fn to_key(&self) -> Result<Cow<'_, str>, KeyError> {
                Ok(Cow::Owned(format!("{self:0width$}", width = $width)))
            }

            fn from_key(text: Cow<'_, str>) -> Result<Self, KeyError> {
                digits(&text, $width).and_then(|text| text.parse().ok()).ok_or_else(|| {
                    KeyError(format!("{text:?} is not a {} of {} digits", stringify!($type), $width))
                })
            }
        }
        impl KeyNumber for $type {}
    )*};
}

unsigned!(u8: 3, u16: 5, u32: 10, u64: 20, u128: 39);

/// The sign comes first, and `-` sorts before `0`; of two negative numbers the smaller one is
/// nearer to the minimum.
macro_rules! signed {
    ($($type:ident: $unsigned:ident, $width:literal),*) => {$(
        impl KeyPart for $type {
            const WIDTH: Option<usize> = Some($width + 1);

            fn form() -> ValueForm {
                ValueForm::named(stringify!($type))
            }

            fn to_key(&self) -> Result<Cow<'_, str>, KeyError> {
                let (sign, rest) = if *self < 0 {
                    ('-', self.abs_diff(Self::MIN))
                } else {
                    ('0', self.unsigned_abs())
                };
                Ok(Cow::Owned(format!("{sign}{rest:0width$}", width = $width)))
            }

            fn from_key(text: Cow<'_, str>) -> Result<Self, KeyError> {
                let malformed = || KeyError(format!(
                    "{text:?} is not a {} of a sign and {} digits", stringify!($type), $width
                ));
                let number = |rest: &str| digits(rest, $width)?.parse::<$unsigned>().ok();
                let value = match text.split_at_checked(1) {
                    Some(("-", rest)) => number(rest)
                        .and_then(|rest| Self::MIN.checked_add_unsigned(rest))
                        .filter(|value| *value < 0),
                    Some(("0", rest)) => number(rest).and_then(|rest| Self::try_from(rest).ok()),
                    _ => None,
                };
                value.ok_or_else(malformed)
            }
        }
        impl KeyNumber for $type {}
    )*};
}

signed!(i8: u8, 3, i16: u16, 5, i32: u32, 10, i64: u64, 19, i128: u128, 39);

/// The complement reverses the order within the type's own range.
macro_rules! descending {
    ($($type:ident),*) => {$(
        impl KeyPart for Descending<$type> {
            const WIDTH: Option<usize> = <$type>::WIDTH;

            fn form() -> ValueForm {
                ValueForm::named(concat!("descending ", stringify!($type)))
            }

            fn to_key(&self) -> Result<Cow<'_, str>, KeyError> {
                Ok(Cow::Owned((!self.0).to_key()?.into_owned()))
            }

            fn from_key(text: Cow<'_, str>) -> Result<Self, KeyError> {
                <$type>::from_key(text).map(|value| Self(!value))
            }
        }
    )*};
}

descending!(u8, u16, u32, u64, u128, i8, i16, i32, i64, i128);
