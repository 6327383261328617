use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::edm::{DateTimeError, EdmDateTime};

/// PartitionKey and RowKey: what identifies an entity within its table.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EntityKey {
    /// The PartitionKey as stored.
    pub partition_key: String,
    /// The RowKey as stored.
    pub row_key: String,
}

impl EntityKey {
    /// The key of these two strings.
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

impl fmt::Display for EntityKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({:?}, {:?})", self.partition_key, self.row_key)
    }
}

/// A type that can be the PartitionKey or the RowKey of an entity.
///
/// Keys are strings to the service and are ordered as strings, so a type's text form should
/// order as its values do: fixed width, most significant part first.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a PartitionKey or RowKey",
    label = "not a key type",
    note = "use a String (or another string type), Uuid, or Descending<DateTime<Utc>>; or implement `KeyPart` for your own type"
)]
pub trait KeyPart: Sized {
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

/// Why a key could not be converted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyError(pub(crate) String);

impl KeyError {
    /// An error that says `message`; for implementations of [`KeyPart`].
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
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

impl KeyPart for Uuid {
    fn to_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Owned(self.to_string()))
    }

    fn from_key(text: Cow<'_, str>) -> Result<Self, KeyError> {
        text.parse().map_err(|_| KeyError(format!("{text:?} is not a UUID")))
    }
}

/// Reverses the order of a key, so that the newest row comes first.
///
/// For date-times the text is that of .NET's
/// `string.Format("{0:D19}", DateTime.MaxValue.Ticks - ticks)`, so rows that .NET programs wrote
/// read as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Descending<T>(pub T);

impl<T> From<T> for Descending<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T: PartialOrd> PartialOrd for Descending<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        other.0.partial_cmp(&self.0)
    }
}

impl<T: Ord> Ord for Descending<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.0.cmp(&self.0)
    }
}

impl KeyPart for Descending<EdmDateTime> {
    fn to_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Owned(format!("{:019}", EdmDateTime::MAX.ticks() - self.0.ticks())))
    }

    fn from_key(text: Cow<'_, str>) -> Result<Self, KeyError> {
        let malformed = || KeyError(format!("{text:?} is not 19 digits of descending ticks"));
        if text.len() != 19 || !text.bytes().all(|b| b.is_ascii_digit()) {
            return Err(malformed());
        }
        let ticks: i64 = text.parse().map_err(|_| malformed())?;
        Ok(Self(EdmDateTime::from_ticks(EdmDateTime::MAX.ticks() - ticks)?))
    }
}

impl KeyPart for Descending<DateTime<Utc>> {
    fn to_key(&self) -> Result<Cow<'_, str>, KeyError> {
        let text = Descending(EdmDateTime::from_chrono(self.0)?).to_key()?.into_owned();
        Ok(Cow::Owned(text))
    }

    fn from_key(text: Cow<'_, str>) -> Result<Self, KeyError> {
        Descending::<EdmDateTime>::from_key(text).map(|d| Self(d.0.to_chrono()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn descending_is_what_dotnet_writes() {
        let posted: EdmDateTime = "2008-10-01T10:00:00Z".parse().unwrap();
        assert_eq!(Descending(posted).to_key().unwrap(), "2521794455999999999");
        let late: EdmDateTime = "9000-01-01T00:00:00Z".parse().unwrap();
        assert!(Descending(late).to_key().unwrap().starts_with("0315"), "padded to 19 digits");
        for bad in ["", "1", "-521794455999999999", "9999999999999999999", "25217944559999999990"] {
            assert!(Descending::<EdmDateTime>::from_key(bad.into()).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn descending_reverses_the_order(
            a in EdmDateTime::MIN.ticks()..=EdmDateTime::MAX.ticks(),
            b in EdmDateTime::MIN.ticks()..=EdmDateTime::MAX.ticks(),
        ) {
            let (a, b) = (EdmDateTime::from_ticks(a).unwrap(), EdmDateTime::from_ticks(b).unwrap());
            let key = |t: EdmDateTime| Descending(t).to_key().unwrap().into_owned();
            prop_assert_eq!(a.cmp(&b), key(b).cmp(&key(a)));
            prop_assert_eq!(Descending::<EdmDateTime>::from_key(key(a).into()), Ok(Descending(a)));
        }
    }
}
