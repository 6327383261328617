//! Other ways to store a field, for `#[table(with = "…")]` and the attributes of their names.
//!
//! Each is a module with two functions, as users write their own: `encode` makes of the field's value
//! one that can be stored, and `decode` is its reverse. Filters use the same functions, so that what
//! is stored is what is compared.
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

/// As text, by `Display` and `FromStr`: for `u64`, `u128`, decimals, addresses and the like.
///
/// The service compares text by its characters, so numbers are not ordered as numbers;
/// [`as_padded`](super::as_padded) is.
pub mod as_string {
    use std::fmt::Display;
    use std::str::FromStr;

    use crate::edm::ConvertError;

    /// The text of `value`.
    ///
    /// # Errors
    /// None.
    pub fn encode<T: Display>(value: &T) -> Result<String, ConvertError> {
        Ok(value.to_string())
    }

    /// The value of `text`.
    ///
    /// # Errors
    /// `T` cannot be parsed from it.
    pub fn decode<T: FromStr<Err: Display>>(text: String) -> Result<T, ConvertError> {
        text.parse().map_err(|error| ConvertError::Other(format!("{error}")))
    }
}

/// As text of fixed width that sorts as the numbers do; what [`KeyPart`](super::KeyPart) writes.
pub mod as_padded {
    use std::borrow::Cow;

    use crate::edm::ConvertError;
    use crate::entity::KeyPart;

    /// The key text of `value`.
    ///
    /// # Errors
    /// The value has none.
    pub fn encode<T: KeyPart>(value: &T) -> Result<String, ConvertError> {
        value.to_key().map(Cow::into_owned).map_err(|error| ConvertError::Other(error.to_string()))
    }

    /// The value of a key text.
    ///
    /// # Errors
    /// It is not one that `T` writes.
    pub fn decode<T: KeyPart>(text: String) -> Result<T, ConvertError> {
        T::from_key(Cow::Owned(text)).map_err(|error| ConvertError::Other(error.to_string()))
    }
}

macro_rules! as_integer {
    ($(#[$doc:meta])* $name:ident: $type:ident) => {
        $(#[$doc])*
        pub mod $name {
            use std::fmt::Display;

            use crate::edm::ConvertError;

            /// The number of `value`.
            ///
            /// # Errors
            #[doc = concat!("It does not fit `", stringify!($type), "`.")]
            pub fn encode<T>(value: &T) -> Result<$type, ConvertError>
            where
                T: Clone + TryInto<$type, Error: Display>,
            {
                value.clone().try_into().map_err(|error| {
                    ConvertError::Other(format!("no value of {}: {error}", stringify!($type)))
                })
            }

            /// The value of `number`.
            ///
            /// # Errors
            /// `T` has no such value.
            pub fn decode<T>(number: $type) -> Result<T, ConvertError>
            where
                $type: TryInto<T, Error: Display>,
            {
                number
                    .try_into()
                    .map_err(|error| ConvertError::Other(format!("{number}: {error}")))
            }
        }
    };
}

as_integer! {
    /// As an Int32, by `TryInto` in both directions; a number that does not fit is an error.
    as_i32: i32
}
as_integer! {
    /// As an Int64, by `TryInto` in both directions: for `u64`, `usize` and others; a number that
    /// does not fit is an error.
    as_i64: i64
}
