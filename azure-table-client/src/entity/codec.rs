//! Other ways to store a field, for `#[table(with = "…")]` and the attributes of their names.
//!
//! Each codec is a module with two functions, like a module of your own: `encode` converts the field's value to a
//! value that can be stored, and `decode` is its reverse. Filters use the same functions, so they compare stored
//! values.
//!
//! ```
//! use azure_table_client::edm::{ConvertError, EdmType};
//! use azure_table_client::{DynamicEntity, TableEntity};
//!
//! /// Minutes since midnight, as text.
//! mod clock_time {
//!     use azure_table_client::edm::ConvertError;
//!
//!     pub fn encode(minutes: &u16) -> Result<String, ConvertError> {
//!         Ok(format!("{:02}:{:02}", minutes / 60, minutes % 60))
//!     }
//!
//!     pub fn decode(text: String) -> Result<u16, ConvertError> {
//!         let number = |part: &str| part.parse::<u16>().ok();
//!         text.split_once(':')
//!             .and_then(|(h, m)| number(h)?.checked_mul(60)?.checked_add(number(m)?))
//!             .ok_or_else(|| ConvertError::Other(format!("{text:?} is no time of day")))
//!     }
//! }
//!
//! #[derive(TableEntity)]
//! struct Alarm {
//!     #[table(partition_key)]
//!     owner: String,
//!     #[table(row_key)]
//!     id: u32,
//!     #[table(with = "clock_time")]
//!     at: u16,
//!     #[table(as_i64)]
//!     rings: u64,
//! }
//!
//! let alarm = Alarm { owner: "Joe".into(), id: 1, at: 7 * 60 + 30, rings: 3 };
//! let stored = DynamicEntity::from_entity(&alarm)?;
//! assert_eq!(stored.get::<String>("at"), Some(Ok("07:30".into())));
//! assert_eq!(stored.value("rings").unwrap().edm_type(), EdmType::Int64);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use crate::edm::ConvertError;
use crate::key::KeyPart;

/// [`as_string`] as a type, for columns.
#[derive(Debug, Clone, Copy)]
pub struct AsString;

/// [`as_padded`] as a type, for columns.
#[derive(Debug, Clone, Copy)]
pub struct AsPadded;

/// [`as_i32`] as a type, for columns.
#[derive(Debug, Clone, Copy)]
pub struct AsI32;

/// [`as_i64`] as a type, for columns.
#[derive(Debug, Clone, Copy)]
pub struct AsI64;

/// A type that [`as_string`] stores: one with `Display` and `FromStr`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored as text",
    label = "has no text",
    note = "`as_string` needs Display and FromStr, each the reverse of the other; or write `with = \"…\"` with a module of your own"
)]
#[doc(hidden)]
pub trait Textual: Sized {
    #[doc(hidden)]
    fn to_text(&self) -> String;
    #[doc(hidden)]
    fn from_text(text: &str) -> Result<Self, ConvertError>;
}

#[diagnostic::do_not_recommend]
impl<T: Display + FromStr<Err: Display>> Textual for T {
    fn to_text(&self) -> String {
        self.to_string()
    }

    fn from_text(text: &str) -> Result<Self, ConvertError> {
        text.parse().map_err(|error| ConvertError::Other(format!("{text:?}: {error}")))
    }
}

/// A type that [`as_padded`] can store, because it can be a key.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no text that keeps its order",
    label = "not a key type",
    note = "`as_padded` is for key types: integers, date-times, or a type that implements `KeyPart`"
)]
#[doc(hidden)]
pub trait Padded: Sized {
    #[doc(hidden)]
    fn to_padded(&self) -> Result<String, ConvertError>;
    #[doc(hidden)]
    fn from_padded(text: String) -> Result<Self, ConvertError>;
}

#[diagnostic::do_not_recommend]
impl<T: KeyPart> Padded for T {
    fn to_padded(&self) -> Result<String, ConvertError> {
        self.to_key().map(Cow::into_owned).map_err(|error| ConvertError::Other(error.to_string()))
    }

    fn from_padded(text: String) -> Result<Self, ConvertError> {
        T::from_key(Cow::Owned(text)).map_err(|error| ConvertError::Other(error.to_string()))
    }
}

/// A type that [`as_i32`] and [`as_i64`] store: one that converts to such an integer and back.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored as `{I}`",
    label = "does not convert to `{I}` and back",
    note = "`as_{I}` needs TryInto<{I}> for the type, and TryFrom<{I}>; an enum takes #[derive(TableEnum)]"
)]
#[doc(hidden)]
pub trait Integral<I>: Sized {
    #[doc(hidden)]
    fn to_integer(&self) -> Result<I, ConvertError>;
    #[doc(hidden)]
    fn from_integer(number: I) -> Result<Self, ConvertError>;
}

#[diagnostic::do_not_recommend]
impl<I, T> Integral<I> for T
where
    I: Copy + Display + TryInto<T, Error: Display>,
    T: Clone + TryInto<I, Error: Display>,
{
    fn to_integer(&self) -> Result<I, ConvertError> {
        self.clone().try_into().map_err(|error| {
            let target = std::any::type_name::<I>();
            ConvertError::Other(format!("the value does not fit {target}: {error}"))
        })
    }

    fn from_integer(number: I) -> Result<Self, ConvertError> {
        number.try_into().map_err(|error| ConvertError::Other(format!("{number}: {error}")))
    }
}

/// As text, by `Display` and `FromStr`: for `u64`, `u128`, decimals, addresses and the like.
///
/// The service compares text by its characters, so numbers are not ordered as numbers;
/// [`as_padded`] is.
pub mod as_string {
    use super::Textual;
    use crate::edm::ConvertError;

    /// The text of `value`.
    ///
    /// # Errors
    /// None.
    pub fn encode<T: Textual>(value: &T) -> Result<String, ConvertError> {
        Ok(value.to_text())
    }

    /// The value of `text`.
    ///
    /// # Errors
    /// `T` cannot be parsed from it.
    #[expect(clippy::needless_pass_by_value, reason = "of the type that `encode` returns")]
    pub fn decode<T: Textual>(text: String) -> Result<T, ConvertError> {
        T::from_text(&text)
    }
}

/// As text of fixed width that sorts as the values do: the text of [`KeyPart`].
pub mod as_padded {
    use super::Padded;
    use crate::edm::ConvertError;

    /// The key text of `value`.
    ///
    /// # Errors
    /// The value has no such form.
    pub fn encode<T: Padded>(value: &T) -> Result<String, ConvertError> {
        value.to_padded()
    }

    /// The value of a key text.
    ///
    /// # Errors
    /// `T` does not write this text.
    pub fn decode<T: Padded>(text: String) -> Result<T, ConvertError> {
        T::from_padded(text)
    }
}

/// As an Int32, by `TryInto` in both directions.
pub mod as_i32 {
    use super::Integral;
    use crate::edm::ConvertError;

    /// Returns `value` as an integer.
    ///
    /// # Errors
    /// The value does not fit `i32`.
    pub fn encode<T: Integral<i32>>(value: &T) -> Result<i32, ConvertError> {
        value.to_integer()
    }

    /// Returns the value that is stored as `number`.
    ///
    /// # Errors
    /// `T` has no such value.
    pub fn decode<T: Integral<i32>>(number: i32) -> Result<T, ConvertError> {
        T::from_integer(number)
    }
}

/// As an Int64, by `TryInto` in both directions: for `u64`, `usize` and others.
pub mod as_i64 {
    use super::Integral;
    use crate::edm::ConvertError;

    /// Returns `value` as an integer.
    ///
    /// # Errors
    /// The value does not fit `i64`.
    pub fn encode<T: Integral<i64>>(value: &T) -> Result<i64, ConvertError> {
        value.to_integer()
    }

    /// Returns the value that is stored as `number`.
    ///
    /// # Errors
    /// `T` has no such value.
    pub fn decode<T: Integral<i64>>(number: i64) -> Result<T, ConvertError> {
        T::from_integer(number)
    }
}
