use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use super::{KeyArgument, KeyError, KeyPart};
use azure_table_protocol::edm::ValueForm;

/// A PartitionKey that is spread over `N` partitions, for more writes than one partition accepts.
///
/// A partition accepts about 2,000 entities per second. A key that all writers use at the same time, such as the current
/// day, is limited to that. `Bucketed<NaiveDate, 16>` stores the rows of a day in 16 partitions, `00_2009-04-14` to
/// `15_2009-04-14`: the number of the bucket, with as many digits as `N - 1` has, an underscore, and the key.
///
/// The bucket of a row comes from another value of the row, usually its RowKey: the [FNV-1a][fnv] hash of 64 bits of the
/// UTF-8 bytes of that value's [key text](KeyPart::to_key) without leading zeros, modulo `N`: a number has the same
/// bucket as a `u32` and as an `i64`. The hash is part of the stored form and does not change. A row is read by its key, since its bucket can be computed; all rows of a day are read by
/// [`in_all_buckets`](crate::filter::KeyColumn::in_all_buckets), one query per bucket.
///
/// ```
/// use azure_table_client::TableEntity;
/// use azure_table_client::entity::Bucketed;
/// use azure_table_client::mock::MockTableService;
/// use chrono::NaiveDate;
///
/// #[derive(TableEntity)]
/// #[table(name = "Events")]
/// struct Event {
///     #[table(partition_key)]
///     day: Bucketed<NaiveDate, 16>,
///     #[table(row_key)]
///     id: u32,
///     text: String,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let events = MockTableService::new().client().table::<Event>();
/// # events.create().await?;
/// let day = NaiveDate::from_ymd_opt(2009, 4, 14).unwrap();
/// for id in 0..100 {
///     events.insert(&Event { day: Bucketed::new(day, &id)?, id, text: "…".into() }).await?;
/// }
/// assert_eq!(Event::partition(Bucketed::<_, 16>::new(day, &7)?)?, "06_2009-04-14");
/// let one = events.get(Event::key(Bucketed::new(day, &7)?, 7)).await?;
/// assert_eq!(one.id, 7);
/// let all = events.query().filter(|e| e.day.in_all_buckets(day)).await?;
/// assert_eq!(all.len(), 100);
/// # Ok(())
/// # }
/// ```
///
/// `N` is fixed once rows are stored: a key with another `N` is in another bucket. Another number of digits is an error
/// when a row is read, another `N` with as many digits is not. Values compare by the bucket, then by the
/// order of `K`.
///
/// [fnv]: https://datatracker.ietf.org/doc/html/rfc9923
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bucketed<K, const N: u16> {
    bucket: u16,
    key: K,
}

impl<K, const N: u16> Bucketed<K, N> {
    /// The number of digits of a bucket. It is evaluated wherever a value is created, so `N` is never 0.
    const DIGITS: usize = {
        assert!(N > 0, "a key is spread over at least one bucket");
        match N - 1 {
            0..10 => 1,
            10..100 => 2,
            100..1000 => 3,
            1000..10_000 => 4,
            _ => 5,
        }
    };

    /// Returns the key in the bucket of `spread`, a value that differs between the rows of the key.
    ///
    /// # Errors
    /// `spread` has no key text.
    pub fn new(key: K, spread: &impl KeyPart) -> Result<Self, KeyError> {
        _ = Self::DIGITS;
        let text = spread.to_key()?;
        // An integer literal has another type, and another width, than the field that it stands for.
        let hash = fnv_1a(text.trim_start_matches('0').as_bytes()) % u64::from(N);
        // Less than N.
        Ok(Self { bucket: u16::try_from(hash).unwrap_or(0), key })
    }

    /// Returns the key in each bucket, to read or delete all of its partitions.
    pub fn all(key: &K) -> impl Iterator<Item = Self> + use<K, N>
    where
        K: Clone,
    {
        let key = key.clone();
        (0..N).map(move |bucket| Self { bucket, key: key.clone() })
    }

    /// Returns the number of the bucket, from 0 to `N - 1`.
    pub const fn bucket(&self) -> u16 {
        self.bucket
    }

    /// Returns the key without its bucket.
    pub fn into_key(self) -> K {
        self.key
    }

    fn write(bucket: u16, key: &str) -> String {
        format!("{bucket:0digits$}_{key}", digits = Self::DIGITS)
    }

    /// Returns the texts of the key in all buckets.
    pub(crate) fn texts(key: &impl KeyArgument<K>) -> Result<Vec<String>, KeyError> {
        let key = key.key_text()?;
        Ok((0..N).map(|bucket| Self::write(bucket, &key)).collect())
    }
}

impl<K, const N: u16> Deref for Bucketed<K, N> {
    type Target = K;

    fn deref(&self) -> &K {
        &self.key
    }
}

/// The key without its bucket.
impl<K: fmt::Display, const N: u16> fmt::Display for Bucketed<K, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.key.fmt(f)
    }
}

impl<K: KeyPart, const N: u16> KeyPart for Bucketed<K, N> {
    const WIDTH: Option<usize> = match K::WIDTH {
        Some(width) => Some(Self::DIGITS + 1 + width),
        None => None,
    };

    fn form() -> ValueForm {
        K::form().within(&format!("{N} buckets"))
    }

    fn to_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Owned(Self::write(self.bucket, &self.key.to_key()?)))
    }

    fn from_key(text: Cow<'_, str>) -> Result<Self, KeyError> {
        let bucket = text.split_once('_').and_then(|(digits, key)| {
            let is_number = digits.bytes().all(|b| b.is_ascii_digit());
            let bucket = digits.parse().ok().filter(|bucket| *bucket < N)?;
            (is_number && digits.len() == Self::DIGITS).then_some((bucket, key))
        });
        let Some((bucket, key)) = bucket else {
            let (digits, last) = (Self::DIGITS, N - 1);
            return Err(KeyError::new(format!(
                "{text:?} does not begin with a bucket of {digits} digits from 0 to {last} and an underscore"
            )));
        };
        K::from_key(Cow::Borrowed(key)).map(|key| Self { bucket, key })
    }
}

fn fnv_1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// From the test vectors of RFC 9923.
    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!(fnv_1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv_1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv_1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn the_number_of_digits_is_that_of_the_last_bucket() {
        fn first<const N: u16>() -> String {
            Bucketed::<String, N>::all(&"k".into()).next().unwrap().to_key().unwrap().into_owned()
        }
        assert_eq!(first::<1>(), "0_k");
        assert_eq!(first::<10>(), "0_k");
        assert_eq!(first::<11>(), "00_k");
        assert_eq!(first::<100>(), "00_k");
        assert_eq!(first::<101>(), "000_k");
        assert_eq!(first::<10_001>(), "00000_k");
        assert_eq!(first::<{ u16::MAX }>(), "00000_k");
    }

    #[test]
    fn other_texts_are_refused() {
        for bad in ["", "k", "1_k", "16_k", "001_k", "+1_k", "1k_", " 1_k", "é1_k"] {
            let error = Bucketed::<String, 16>::from_key(bad.into()).unwrap_err();
            assert!(error.to_string().contains("a bucket of 2 digits from 0 to 15"), "{error}");
        }
        assert!(Bucketed::<u8, 16>::from_key("01_7".into()).is_err());
    }

    /// Each bucket has its share, also of ids that differ in the last digits only.
    #[test]
    fn rows_are_spread_evenly() {
        let mut rows = [0_u32; 16];
        for id in 0..16_000_u32 {
            rows[usize::from(Bucketed::<_, 16>::new((), &id).unwrap().bucket())] += 1;
        }
        assert!(rows.iter().all(|count| (900..1100).contains(count)), "{rows:?}");
    }

    /// A literal without a suffix is an `i32`, whatever the field is.
    #[test]
    fn a_number_has_the_same_bucket_in_each_integer_type() {
        for id in [0, 7, 10, 100, 120_u8] {
            let expected = Bucketed::<_, 1000>::new((), &id).unwrap();
            assert_eq!(Bucketed::new((), &i32::from(id)).unwrap(), expected);
            assert_eq!(Bucketed::new((), &u64::from(id)).unwrap(), expected);
            assert_eq!(Bucketed::new((), &i128::from(id)).unwrap(), expected);
        }
    }

    proptest! {
        #[test]
        fn keys_are_read_back_and_in_order(a: (String, u32), b: (String, u32)) {
            let [a, b] = [a, b].map(|(key, id)| Bucketed::<_, 300>::new(key, &id).unwrap());
            let [text_a, text_b] = [&a, &b].map(|key| key.to_key().unwrap().into_owned());
            let read = Bucketed::from_key(text_a.as_str().into());
            prop_assert_eq!(read.as_ref(), Ok(&a));
            prop_assert_eq!(text_a.cmp(&text_b), a.cmp(&b));
        }
    }
}
