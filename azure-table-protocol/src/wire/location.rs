//! The locations of an account.
//!
//! Source: [Azure Storage redundancy][redundancy], "Read access to data in the secondary region".
//!
//! [redundancy]: https://learn.microsoft.com/azure/storage/common/storage-redundancy

use std::fmt;

/// The suffix of the account's name in paths to the secondary location.
const SECONDARY: &str = "-secondary";

/// One of the two locations of an account's data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Location {
    /// The location of all writes.
    #[default]
    Primary,
    /// A copy that may lag behind, for accounts with read access to it (RA-GRS, RA-GZRS).
    Secondary,
}

impl Location {
    /// Splits a path into its location and the path after `/account` or `/account-secondary`. Returns
    /// `None` if the path names another account.
    #[doc(hidden)]
    pub fn split<'p>(path: &'p str, account: &str) -> Option<(Self, &'p str)> {
        let rest = path.strip_prefix('/')?.strip_prefix(account)?;
        let (location, rest) = match rest.strip_prefix(SECONDARY) {
            Some(rest) => (Self::Secondary, rest),
            None => (Self::Primary, rest),
        };
        (rest.is_empty() || rest.starts_with('/')).then_some((location, rest))
    }

    /// The suffix of the account's name in URLs.
    #[doc(hidden)]
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Primary => "",
            Self::Secondary => SECONDARY,
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Primary => "primary",
            Self::Secondary => "secondary",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_segment_names_the_location() {
        for (path, expected) in [
            ("/me", Some((Location::Primary, ""))),
            ("/me/Tables", Some((Location::Primary, "/Tables"))),
            ("/me-secondary", Some((Location::Secondary, ""))),
            ("/me-secondary/", Some((Location::Secondary, "/"))),
            ("/me-secondaryTables", None),
            ("/me-other/Tables", None),
            ("/met/Tables", None),
            ("me/Tables", None),
            ("", None),
        ] {
            assert_eq!(Location::split(path, "me"), expected, "{path}");
        }
    }
}
