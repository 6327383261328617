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
//!             .ok_or_else(|| ConvertError::Other(format!("{text:?} is not a time of day")))
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

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::edm::ConvertError;
use crate::key::KeyPart;

/// [`as_string`] as a type, for columns.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct AsString;

/// [`as_padded`] as a type, for columns.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct AsPadded;

/// [`as_i32`] as a type, for columns.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct AsI32;

/// [`as_i64`] as a type, for columns.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct AsI64;

/// [`as_json`] as a type, for columns. Filters cannot compare JSON.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct AsJson;

/// [`exact`] as a type, for columns.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Exact;

/// A type that [`as_json`] stores: one that serde reads and writes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored as JSON",
    label = "serde cannot read and write it",
    note = "`as_json` needs serde's Serialize and Deserialize: write #[derive(Serialize, Deserialize)] on the type"
)]
#[doc(hidden)]
pub trait Json: Serialize + DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned> Json for T {}

/// A type that [`as_string`] stores: one with `Display` and `FromStr`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored as text",
    label = "has no text",
    note = "`as_string` needs Display and FromStr, each the reverse of the other; or write `with = \"…\"` with a module of your own"
)]
#[doc(hidden)]
pub trait Textual: Sized {
    #[doc(hidden)]
    fn to_text(&self) -> Result<String, ConvertError>;
    #[doc(hidden)]
    fn from_text(text: &str) -> Result<Self, ConvertError>;
}

#[diagnostic::do_not_recommend]
impl<T: Display + FromStr<Err: Display>> Textual for T {
    /// Parses the text again: some types do not read what they display.
    fn to_text(&self) -> Result<String, ConvertError> {
        let text = self.to_string();
        let problem = match text.parse::<T>().map(|value| value.to_string()) {
            Ok(again) if again == text => return Ok(text),
            Ok(again) => format!("it is read as {again:?}"),
            Err(error) => error.to_string(),
        };
        Err(ConvertError::NotReadBack { text, problem })
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
    note = "`as_{I}` needs TryInto<{I}> for the type, and TryFrom<{I}>",
    note = "an enum is stored as its numbers by #[derive(TableEnum)] and #[table(as_i32)] on the enum, without an attribute on the field"
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
///
/// `FromStr` must read what `Display` writes. Some types do not do this, for example because `Display` is meant for
/// people. The text is therefore parsed again before it is written, and a text that is not read back is an error.
pub mod as_string {
    use super::Textual;
    use crate::edm::ConvertError;

    /// The text of `value`.
    ///
    /// # Errors
    /// `T` does not read this text, or reads a value with another text.
    pub fn encode<T: Textual>(value: &T) -> Result<String, ConvertError> {
        value.to_text()
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

/// As JSON text, by serde: for lists, maps, and structs whose parts need no property of their own.
///
/// ```
/// use azure_table_client::{DynamicEntity, TableEntity};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Link {
///     title: String,
///     uri: String,
/// }
///
/// #[derive(TableEntity)]
/// struct Page {
///     #[table(partition_key)]
///     site: String,
///     #[table(row_key)]
///     id: u32,
///     #[table(as_json, default)]
///     links: Vec<Link>,
/// }
///
/// let links = vec![Link { title: "Rust".into(), uri: "https://www.rust-lang.org".into() }];
/// let page = Page { site: "blog".into(), id: 1, links };
/// let stored = DynamicEntity::from_entity(&page)?;
/// let json = r#"[{"title":"Rust","uri":"https://www.rust-lang.org"}]"#;
/// assert_eq!(stored.get::<String>("links"), Some(Ok(json.into())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The text is a String property of at most 64 KiB; a longer text is
/// [`LimitError::StringTooLong`](crate::limits::LimitError::StringTooLong). The text is read back before it is
/// written, and a text that `T` does not read is an error.
///
/// JSON has no NaN and no infinities: `serde_json` writes `null` for them. An `f64` does not read `null`, so this is an
/// error. An `Option<f64>`, or another type that reads `null`, loses the number without an error: it reads `None`.
///
/// Filters cannot compare such a property, because equal values can have different texts. Store a value that a filter
/// needs in a property of its own.
pub mod as_json {
    use super::Json;
    use crate::edm::ConvertError;

    /// The JSON text of `value`.
    ///
    /// # Errors
    /// serde cannot serialize the value, or cannot deserialize the text.
    pub fn encode<T: Json>(value: &T) -> Result<String, ConvertError> {
        let text = serde_json::to_string(value)
            .map_err(|error| ConvertError::Other(format!("the value has no JSON: {error}")))?;
        match serde_json::from_str::<T>(&text) {
            Ok(_) => Ok(text),
            Err(error) => Err(ConvertError::NotReadBack { text, problem: error.to_string() }),
        }
    }

    /// The value of a JSON text.
    ///
    /// # Errors
    /// The text is not JSON, or not that of a `T`.
    #[expect(clippy::needless_pass_by_value, reason = "of the type that `encode` returns")]
    pub fn decode<T: Json>(text: String) -> Result<T, ConvertError> {
        serde_json::from_str(&text)
            .map_err(|error| ConvertError::Other(format!("not the expected JSON: {error}")))
    }
}

/// As a DateTime; a part below 100 ns, and a leap second, is an error. For `#[table(on_inexact = "error")]`.
#[doc(hidden)]
pub mod exact {
    use crate::edm::{ConvertError, DateTimeError, DateTimeValue, EdmDateTime};

    /// The ticks of `value`.
    ///
    /// # Errors
    /// The value has a part below 100 ns, is in a leap second, or is outside the range of the service.
    pub fn encode<T: DateTimeValue>(value: &T) -> Result<EdmDateTime, ConvertError> {
        if value.is_inexact() {
            return Err(DateTimeError::TooPrecise.into());
        }
        value.to_ticks()
    }

    /// The value of a number of ticks.
    ///
    /// # Errors
    /// `T` cannot hold this time.
    pub fn decode<T: DateTimeValue>(ticks: EdmDateTime) -> Result<T, ConvertError> {
        Ok(T::from_ticks(ticks))
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};

    use super::exact;
    use crate::edm::DateTimeError;

    #[test]
    fn a_leap_second_is_not_exact() {
        let time: DateTime<Utc> = "2016-12-31T23:59:60.5Z".parse().unwrap();
        assert_eq!(exact::encode(&time), Err(DateTimeError::TooPrecise.into()));
    }
}
