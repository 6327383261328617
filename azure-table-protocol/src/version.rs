use std::fmt;
use std::str::FromStr;

use http::HeaderValue;

use crate::limits::LimitError;

/// The default version as a header.
static DEFAULT: HeaderValue = HeaderValue::from_static("2019-02-02");

/// A version of the service, which is a date. Each request names its version in the
/// header `x-ms-version`.
///
/// The constants are the versions with which something changed for tables; every later date that the
/// service knows can be made of text.
///
/// ```
/// # use azure_table_client::client::ServiceVersion;
/// let version: ServiceVersion = "2017-11-09".parse()?;
/// assert!(version > ServiceVersion::V2015_12_11 && version < ServiceVersion::default());
/// # Ok::<(), azure_table_client::limits::LimitError>(())
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
