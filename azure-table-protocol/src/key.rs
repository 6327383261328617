//! Keys: the pair that identifies an entity, and the types that are part of it.

mod descending;
mod escape;
mod layout;
mod number;
mod order;
mod range;
mod serde;
mod time;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use uuid::Uuid;

use crate::edm::ValueForm;
use crate::edm::{DateTimeError, TableValue};

pub use descending::Descending;
pub use escape::Escaped;
#[doc(hidden)]
pub use escape::escape;
#[doc(hidden)]
pub use layout::{KeyForm, KeyLayout, KeyPiece, PartTexts};
pub use number::KeyNumber;
pub use order::{by_keys, ordinal};
pub use range::after_prefix;
pub use range::{KeyRange, LeadingKeys};
pub use time::TickKey;

/// PartitionKey and RowKey, which identify an entity within its table.
///
/// The functions of an entity convert between a key and its typed parts: `Blog::key(…)` and `Blog::parse_key(&key)`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EntityKey {
    /// The PartitionKey as stored.
    pub partition_key: String,
    /// The RowKey as stored.
    pub row_key: String,
}

impl EntityKey {
    /// Returns the key of these two strings.
    pub fn new(partition_key: impl Into<String>, row_key: impl Into<String>) -> Self {
        Self { partition_key: partition_key.into(), row_key: row_key.into() }
    }
}

impl<P: Into<String>, R: Into<String>> From<(P, R)> for EntityKey {
    fn from((partition_key, row_key): (P, R)) -> Self {
        Self::new(partition_key, row_key)
    }
}

impl From<&Self> for EntityKey {
    fn from(key: &Self) -> Self {
        key.clone()
    }
}

/// A value that names an entity: an [`EntityKey`], a pair of texts, or the `Result` of a function that creates a key,
/// such as `T::key(…)`. The error of such a result becomes the error of the call.
///
/// ```
/// # use azure_table_client::{TableEntity, mock::MockTableService};
/// #[derive(TableEntity)]
/// #[table(name = "Blogs")]
/// struct Blog {
///     #[table(partition_key)]
///     channel: String,
///     #[table(row_key)]
///     id: u32,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), azure_table_client::Error> {
/// # let blogs = MockTableService::new().client().table::<Blog>();
/// # blogs.create().await?;
/// blogs.insert(&Blog { channel: "Channel9".into(), id: 7 }).await?;
/// assert_eq!(blogs.get(Blog::key("Channel9", 7)).await?.id, 7);
/// assert_eq!(blogs.get(("Channel9", "0000000007")).await?.id, 7);
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the key of an entity",
    label = "not a key",
    note = "create it from typed parts by the entity's own function: `Blog::key(\"a\", 1)?`",
    note = "or use an EntityKey, or a pair of texts (PartitionKey, RowKey) exactly as they are stored; a number in a key is stored as digits of fixed width"
)]
pub trait IntoKey {
    #[doc(hidden)]
    fn into_key(self) -> Result<EntityKey, KeyError>;
}

#[diagnostic::do_not_recommend]
impl<K: Into<EntityKey>> IntoKey for K {
    fn into_key(self) -> Result<EntityKey, KeyError> {
        Ok(self.into())
    }
}

#[diagnostic::do_not_recommend]
impl IntoKey for Result<EntityKey, KeyError> {
    fn into_key(self) -> Result<EntityKey, KeyError> {
        self
    }
}

impl fmt::Display for EntityKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({:?}, {:?})", self.partition_key, self.row_key)
    }
}

/// A type that can be the PartitionKey or the RowKey of an entity, or a part of it.
///
/// Keys are strings to the service and are ordered as strings by UTF-16 code units, so a type's
/// text should order as its values do: fixed width, most significant part first.
///
/// | Rust | key |
/// |---|---|
/// | `String`, `Cow<str>`, `Box<str>`, `Arc<str>` | the text itself |
/// | [`Escaped`] | text with reversible escapes for characters that keys must not hold |
/// | `u8` to `u128` | decimal, padded with zeros to the width of the type's maximum |
/// | `i8` to `i128` | the same after a `0`; negative numbers after a `-` as their distance from the minimum |
/// | `bool` | `0` or `1` |
/// | `uuid::Uuid` | hyphenated, lower case |
/// | `DateTime<Utc>`, [`EdmDateTime`](crate::edm::EdmDateTime) | `2009-04-14T01:02:03.4567891Z`, always seven digits; digits below 100 ns are dropped, or an error with `#[table(on_inexact = "error")]` |
/// | `chrono::NaiveDateTime` | the same without the `Z` |
/// | `chrono::NaiveDate` | `2009-04-14` |
/// | `std::time::Duration` | `00000000000000093784.500000000`, seconds of 20 digits and nanoseconds |
/// | `chrono::TimeDelta` | the same with seconds as an `i64` |
/// | [`Descending`] of a number, a date-time or a date | the reverse order |
/// | `Bucketed` of the client | the number of a bucket before another key, to spread a partition |
/// | an enum with `#[derive(TableEnum)]` | its text or its number |
/// | a newtype with `#[derive(TableValue)]` | the key of its field |
///
/// A text that [`KeyPart::to_key`] does not write is refused when it is read, even if it could be parsed: written
/// again, it would be another key, and so another entity.
///
/// ```
/// use std::borrow::Cow;
/// use azure_table_client::entity::{KeyError, KeyPart};
///
/// /// A country, by its two letters.
/// #[derive(Debug, PartialEq)]
/// struct Country([u8; 2]);
///
/// impl KeyPart for Country {
///     const WIDTH: Option<usize> = Some(2);
///
///     fn to_key(&self) -> Result<Cow<'_, str>, KeyError> {
///         std::str::from_utf8(&self.0).map(Cow::Borrowed).map_err(|_| KeyError::new("no country"))
///     }
///
///     fn from_key(text: Cow<'_, str>) -> Result<Self, KeyError> {
///         match text.as_bytes() {
///             [a @ b'A'..=b'Z', b @ b'A'..=b'Z'] => Ok(Self([*a, *b])),
///             _ => Err(KeyError::new(format!("{text:?} is not a country"))),
///         }
///     }
/// }
///
/// assert_eq!(Country(*b"DE").to_key()?, "DE");
/// # Ok::<(), KeyError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a PartitionKey or RowKey",
    label = "not a key type",
    note = "use a String (or another string type), an integer, bool, Uuid, DateTime<Utc>, NaiveDate, or Descending of a number or time; or implement `KeyPart` for your own type"
)]
pub trait KeyPart: Sized {
    /// The number of characters of every text, if they all have the same.
    ///
    /// A part of fixed width needs no separator to be found again in a key of several parts.
    const WIDTH: Option<usize> = None;

    /// The texts that the type writes and reads. Types that implement the trait themselves may leave it out: tools that
    /// compare schemas then compare the name of the type.
    fn form() -> ValueForm {
        ValueForm::Unknown
    }

    /// The key's text.
    ///
    /// # Errors
    /// The value has no text form.
    fn to_key(&self) -> Result<Cow<'_, str>, KeyError>;

    /// The value of a stored key.
    ///
    /// # Errors
    /// The text is not one that [`KeyPart::to_key`] writes.
    fn from_key(text: Cow<'_, str>) -> Result<Self, KeyError>;
}

/// The error of a conversion from or to a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyError(pub(crate) String);

impl KeyError {
    /// Returns an error with this message; for implementations of [`KeyPart`].
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Refuses two texts of a field that is in both keys.
    pub fn unless_equal(field: &str, in_partition_key: &str, in_row_key: &str) -> Result<(), Self> {
        if in_partition_key == in_row_key {
            return Ok(());
        }
        Err(Self(format!(
            "`{field}` is {in_partition_key:?} in the PartitionKey and {in_row_key:?} in the RowKey"
        )))
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for KeyError {}

impl From<DateTimeError> for KeyError {
    fn from(error: DateTimeError) -> Self {
        Self(error.to_string())
    }
}

macro_rules! string_key {
    ($($type:ty: $from:expr),*) => {$(
        impl KeyPart for $type {
            fn form() -> ValueForm {
                ValueForm::named("text")
            }
            fn to_key(&self) -> Result<Cow<'_, str>, KeyError> {
                Ok(Cow::Borrowed(self))
            }
            fn from_key(text: Cow<'_, str>) -> Result<Self, KeyError> {
                let from: fn(Cow<'_, str>) -> Self = $from;
                Ok(from(text))
            }
        }
    )*};
}

string_key! {
    String: |t| t.into_owned(),
    Cow<'static, str>: |t| Cow::Owned(t.into_owned()),
    Box<str>: |t| t.into_owned().into_boxed_str(),
    Arc<str>: |t| Arc::from(&*t)
}

#[diagnostic::do_not_recommend]
impl<T: TableValue<Inner: KeyPart>> KeyPart for T {
    const WIDTH: Option<usize> = T::Inner::WIDTH;

    fn form() -> ValueForm {
        T::Inner::form()
    }

    fn to_key(&self) -> Result<Cow<'_, str>, KeyError> {
        self.inner().to_key()
    }

    fn from_key(text: Cow<'_, str>) -> Result<Self, KeyError> {
        T::Inner::from_key(text).map(Self::from_inner)
    }
}

impl KeyPart for Uuid {
    const WIDTH: Option<usize> = Some(36);

    fn form() -> ValueForm {
        ValueForm::named("guid")
    }

    fn to_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Owned(self.to_string()))
    }

    fn from_key(text: Cow<'_, str>) -> Result<Self, KeyError> {
        let malformed = || KeyError(format!("{text:?} is not a hyphenated lower-case UUID"));
        let id: Self = text.parse().map_err(|_| malformed())?;
        let mut buffer = Self::encode_buffer();
        if *id.hyphenated().encode_lower(&mut buffer) == *text { Ok(id) } else { Err(malformed()) }
    }
}

impl KeyPart for bool {
    const WIDTH: Option<usize> = Some(1);

    fn form() -> ValueForm {
        ValueForm::named("bool")
    }

    fn to_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Borrowed(if *self { "1" } else { "0" }))
    }

    fn from_key(text: Cow<'_, str>) -> Result<Self, KeyError> {
        match &*text {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err(KeyError(format!("{text:?} is not 0 or 1"))),
        }
    }
}

#[cfg(test)]
mod tests;
