use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, Utc};

use super::{KeyError, KeyPart};
use crate::edm::ValueForm;
use crate::edm::{ConvertError, EdmCow, EdmDateTime, EdmType, FromEdm, TableValue, ToEdm};

/// Reverses the order of a key, so that the newest row comes first.
///
/// For date-times the text is that of .NET's
/// `string.Format("{0:D19}", DateTime.MaxValue.Ticks - ticks)`, so rows that .NET programs wrote
/// read as well. A date counts as its midnight. For integers the text is that of the complement
/// `!value`.
///
/// Filters compare such a key by its value with `newer_than(x)`, `newer_or_equal(x)`, `older_than(x)` and
/// `older_or_equal(x)`, and in stored order with `lt(Descending(x))` and the like.
///
/// `Display`, `Deref` and serde are those of the value. The order is reversed.
///
/// ```
/// use azure_table_client::TableEntity;
/// use azure_table_client::entity::Descending;
/// use azure_table_client::mock::MockTableService;
///
/// #[derive(TableEntity)]
/// #[table(name = "Ranked", rename_all = "PascalCase", row_key(rating, title))]
/// struct Ranked {
///     #[table(partition_key)]
///     channel: String,
///     rating: Descending<u8>, // best first
///     title: String,          // then by title
///     text: String,
/// }
///
/// #[tokio::main(flavor = "current_thread")]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let ranked = MockTableService::new().client().table::<Ranked>();
///     ranked.create().await?;
///     for (rating, title) in [(3, "Mix"), (5, "TCP/IP"), (5, "Going deep")] {
///         let channel = "Channel9".to_owned();
///         let (title, text) = (title.to_owned(), String::new());
///         ranked.insert(&Ranked { channel, rating: Descending(rating), title, text }).await?;
///     }
///     assert_eq!(Ranked::key("Channel9", 5, "TCP/IP")?.row_key, "250!TCP.1IP"); // keys cannot contain a slash
///
///     let titles = ranked.query().select(|r| r.row_key).await?;
///     let titles: Vec<_> = titles.iter().map(|(_, title)| title.as_str()).collect();
///     assert_eq!(titles, ["Going deep", "TCP/IP", "Mix"]);
///
///     // Entities rated five: a range of keys, without a scan.
///     let best =
///         ranked.query().filter(|r| r.channel.eq("Channel9") & r.row_key.starts_with((5,))).await?;
///     assert_eq!(best.len(), 2);
///     Ok(())
/// }
/// ```
#[doc(alias("order_by", "newest_first", "log_tail", "DateTime.MaxValue"))]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Descending<T>(pub T);

impl<T> Deref for Descending<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: fmt::Display> fmt::Display for Descending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T> From<T> for Descending<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

/// A property has the value itself; only the text of a key is reversed.
impl<T: ToEdm> ToEdm for Descending<T> {
    const EDM_TYPE: EdmType = T::EDM_TYPE;

    fn form() -> ValueForm {
        T::form()
    }

    fn to_edm(&self) -> Result<Option<EdmCow<'_>>, ConvertError> {
        self.0.to_edm()
    }
}

impl<T: FromEdm> FromEdm for Descending<T> {
    const EDM_TYPE: EdmType = T::EDM_TYPE;

    fn from_edm(value: EdmCow<'_>) -> Result<Self, ConvertError> {
        T::from_edm(value).map(Self)
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

const TICKS_WIDTH: usize = 19;

impl KeyPart for Descending<EdmDateTime> {
    const WIDTH: Option<usize> = Some(TICKS_WIDTH);

    fn form() -> ValueForm {
        ValueForm::named("descending date-time")
    }

    fn to_key(&self) -> Result<Cow<'_, str>, KeyError> {
        let ticks = EdmDateTime::MAX.ticks() - self.0.ticks();
        Ok(Cow::Owned(format!("{ticks:0TICKS_WIDTH$}")))
    }

    fn from_key(text: Cow<'_, str>) -> Result<Self, KeyError> {
        let ticks = EdmDateTime::MAX.ticks() - descending_ticks(&text)?;
        Ok(Self(EdmDateTime::from_ticks(ticks)?))
    }
}

/// From the year 1 on, as .NET has them: a key is text and not bound to the range of a DateTime
/// property.
impl KeyPart for Descending<DateTime<Utc>> {
    const WIDTH: Option<usize> = Some(TICKS_WIDTH);

    fn form() -> ValueForm {
        ValueForm::named("descending date-time")
    }

    fn to_key(&self) -> Result<Cow<'_, str>, KeyError> {
        let ticks = EdmDateTime::ticks_of(self.0)
            .filter(|ticks| (0..=EdmDateTime::MAX.ticks()).contains(ticks))
            .ok_or_else(|| KeyError(format!("{} is outside the years 1 to 9999", self.0)))?;
        let ticks = EdmDateTime::MAX.ticks() - ticks;
        Ok(Cow::Owned(format!("{ticks:0TICKS_WIDTH$}")))
    }

    fn from_key(text: Cow<'_, str>) -> Result<Self, KeyError> {
        let ticks = EdmDateTime::MAX.ticks() - descending_ticks(&text)?;
        if ticks < 0 {
            return Err(KeyError(format!("{text:?} is before the year 1")));
        }
        Ok(Self(EdmDateTime::chrono_of(ticks)))
    }
}

fn descending_ticks(text: &str) -> Result<i64, KeyError> {
    let malformed = || KeyError(format!("{text:?} is not 19 digits of descending ticks"));
    if text.len() != TICKS_WIDTH || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(malformed());
    }
    text.parse().map_err(|_| malformed())
}

impl KeyPart for Descending<NaiveDate> {
    const WIDTH: Option<usize> = Some(TICKS_WIDTH);

    fn form() -> ValueForm {
        ValueForm::named("descending date")
    }

    fn to_key(&self) -> Result<Cow<'_, str>, KeyError> {
        let midnight = self.0.and_time(NaiveTime::MIN).and_utc();
        Ok(Cow::Owned(Descending(midnight).to_key()?.into_owned()))
    }

    fn from_key(text: Cow<'_, str>) -> Result<Self, KeyError> {
        let instant = Descending::<DateTime<Utc>>::from_key(text)?.0;
        if instant.time() == NaiveTime::MIN {
            Ok(Self(instant.date_naive()))
        } else {
            Err(KeyError(format!("{instant} is not the midnight of a date")))
        }
    }
}

/// A time without a zone counts as UTC.
impl KeyPart for Descending<NaiveDateTime> {
    const WIDTH: Option<usize> = Some(TICKS_WIDTH);

    fn form() -> ValueForm {
        ValueForm::named("descending date-time")
    }

    fn to_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Owned(Descending(self.0.and_utc()).to_key()?.into_owned()))
    }

    fn from_key(text: Cow<'_, str>) -> Result<Self, KeyError> {
        Descending::<DateTime<Utc>>::from_key(text).map(|time| Self(time.0.naive_utc()))
    }
}

/// The reverse order of a newtype is that of its field.
#[diagnostic::do_not_recommend]
impl<T: TableValue<Inner: Clone>> KeyPart for Descending<T>
where
    Descending<T::Inner>: KeyPart,
{
    const WIDTH: Option<usize> = <Descending<T::Inner> as KeyPart>::WIDTH;

    fn form() -> ValueForm {
        <Descending<T::Inner> as KeyPart>::form()
    }

    fn to_key(&self) -> Result<Cow<'_, str>, KeyError> {
        let inner = Descending(self.0.inner().clone());
        Ok(Cow::Owned(inner.to_key()?.into_owned()))
    }

    fn from_key(text: Cow<'_, str>) -> Result<Self, KeyError> {
        Descending::<T::Inner>::from_key(text).map(|inner| Self(T::from_inner(inner.0)))
    }
}
