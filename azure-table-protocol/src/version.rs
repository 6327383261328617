use std::fmt;
use std::str::FromStr;

use http::HeaderValue;

use crate::limits::LimitError;

/// The default version as a header.
static DEFAULT: HeaderValue = HeaderValue::from_static("2019-02-02");

/// A version of the service, which is a date. Each request names its version in the
/// header `x-ms-version`, and the service responds as that version does.
///
/// The default is 2019-02-02 (2020-12-06 with tokens of Entra ID). Older versions are for servers that support only those, and
/// for programs that must see the responses of an old client. The constants are the versions with which something changed for
/// tables; every later date that the service knows can be made of text.
///
/// ```
/// # use azure_table_client::client::ServiceVersion;
/// let version: ServiceVersion = "2017-11-09".parse()?;
/// assert!(version > ServiceVersion::V2015_12_11 && version < ServiceVersion::default());
/// # Ok::<(), azure_table_client::limits::LimitError>(())
/// ```
///
/// | from | |
/// |---|---|
/// | 2009-04-14 | transactions, Atom. The oldest version that the client supports |
/// | 2011-08-18 | upserts, projections |
/// | 2012-02-12 | signatures for tables, and stored access policies |
/// | 2013-08-15 | JSON; responses to inserts without the entity; CORS, the service properties in the form that the client uses, and stats |
/// | 2015-12-11 | JSON only; the last version with Atom is 2015-07-08 |
/// | 2020-12-06 | the response to a request without a token names the required tenant |
/// | 2025-07-05 | user delegation keys for tables |
///
/// If the client can reach the same result without a feature that the version lacks, it does so. Otherwise the call fails
/// before anything is sent:
///
/// | feature | without it |
/// |---|---|
/// | upserts, access policies, service properties, stats | an error of kind `InvalidInput`, also in transactions, saves and bulk runs |
/// | projections (before 2011-08-18) | the client reads whole rows and drops the other columns, so more data is transferred. The results are the same, except that rows of `select_names` have all their properties |
/// | inserts without the entity (before 2013-08-15) | the response has the whole entity, which the client does not read |
/// | a [format](crate::PayloadFormat) that the version does not support | an error when the client is built, or of the call that requests the format |
///
/// A signature names its own version (`TableSas`), which may differ from the client's.
///
/// ```
/// use azure_table_client::mock::MockTableService;
/// use azure_table_client::client::ServiceVersion;
/// use azure_table_client::{DynamicEntity, ErrorKind, TableServiceClient};
///
/// #[tokio::main(flavor = "current_thread")]
/// async fn main() -> Result<(), azure_table_client::Error> {
///     let mock = MockTableService::new();
///     let speaks = |version| {
///         TableServiceClient::builder_from_connection_string(&mock.connection_string())?
///             .transport(mock.transport())
///             .clock(mock.clock())
///             .service_version(version)
///             .build()
///     };
///
///     // The version of the paper's year: Atom, and no upserts.
///     let service = speaks(ServiceVersion::V2009_04_14)?;
///     let blogs = service.table_named::<DynamicEntity>("Blogs");
///     blogs.create().await?;
///     let mut blog = DynamicEntity::new("Channel9", "1");
///     blog.set("Rating", 3);
///     blogs.insert(&blog).await?;
///     let payload = mock.requests().last().unwrap().payload;
///     assert!(payload.starts_with(b"<?xml"));
///
///     let refused = blogs.insert_or_merge(&blog).await.unwrap_err();
///     assert_eq!((refused.kind(), refused.attempts()), (ErrorKind::InvalidInput, 0));
///     let text = "service version 2009-04-14 has no InsertOrMerge, which requires 2011-08-18 or later";
///     assert!(refused.to_string().contains(text));
///
///     // Every other version reads these rows.
///     let newer = speaks(ServiceVersion::default())?.table_named::<DynamicEntity>("Blogs");
///     assert_eq!(newer.get(("Channel9", "1")).await?.get::<i32>("Rating"), Some(Ok(3)));
///     Ok(())
/// }
/// ```
///
/// Source: [Versioning for Azure Storage][versions].
///
/// [versions]: https://learn.microsoft.com/rest/api/storageservices/versioning-for-the-azure-storage-services
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceVersion([u8; 10]);

impl ServiceVersion {
    /// The first one with transactions, and the oldest one that this client supports. Its only format is
    /// Atom, and it has neither upserts nor projections.
    pub const V2009_04_14: Self = Self(*b"2009-04-14");
    /// The first one with upserts and projections.
    pub const V2011_08_18: Self = Self(*b"2011-08-18");
    /// The first one with shared access signatures and access policies of tables.
    pub const V2012_02_12: Self = Self(*b"2012-02-12");
    /// The first one with JSON.
    pub const V2013_08_15: Self = Self(*b"2013-08-15");
    /// The last one with Atom.
    pub const V2015_07_08: Self = Self(*b"2015-07-08");
    /// The first one without Atom.
    pub const V2015_12_11: Self = Self(*b"2015-12-11");
    /// The default version.
    pub const V2019_02_02: Self = Self(*b"2019-02-02");
    /// The first one with user delegation keys for tables.
    pub const V2025_07_05: Self = Self(*b"2025-07-05");

    /// The date.
    pub fn as_str(&self) -> &str {
        // It is ASCII.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

#[doc(hidden)]
impl ServiceVersion {
    /// The version of this date, even if this client does not support it.
    pub fn of_date(text: &str) -> Option<Self> {
        let bytes: [u8; 10] = text.as_bytes().try_into().ok()?;
        let is_date = bytes.iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        });
        is_date.then_some(Self(bytes))
    }

    pub fn has_json(self) -> bool {
        self >= Self::V2013_08_15
    }

    pub fn has_atom(self) -> bool {
        self < Self::V2015_12_11
    }

    /// The highest version of OData that it supports.
    pub fn odata(self) -> u8 {
        match self {
            version if version >= Self::V2013_08_15 => 3,
            version if version >= Self::V2011_08_18 => 2,
            _ => 1,
        }
    }

    /// The value of `x-ms-version`.
    pub fn header(self) -> HeaderValue {
        if self == Self::default() {
            return DEFAULT.clone();
        }
        // Digits and hyphens are always a header.
        HeaderValue::from_str(self.as_str()).unwrap_or(DEFAULT.clone())
    }
}

impl Default for ServiceVersion {
    fn default() -> Self {
        Self::V2019_02_02
    }
}

impl fmt::Display for ServiceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for ServiceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ServiceVersion {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        let version = Self::of_date(text).filter(|version| *version >= Self::V2009_04_14);
        version.ok_or_else(|| LimitError::ServiceVersion {
            text: text.to_owned(),
            oldest: Self::V2009_04_14.as_str(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_dates_and_in_their_order() {
        let newer: ServiceVersion = "2026-02-06".parse().unwrap();
        assert!(newer > ServiceVersion::default());
        assert_eq!(newer.to_string(), "2026-02-06");
        assert_eq!("2009-04-14".parse(), Ok(ServiceVersion::V2009_04_14));
        for bad in ["", "now", "2009-04-13", "2008-10-27", "2019-2-2", "20190202--", "2019-02-0é"]
        {
            let error = bad.parse::<ServiceVersion>().unwrap_err();
            assert!(error.to_string().contains("2009-04-14"), "{error}");
        }
    }
}
