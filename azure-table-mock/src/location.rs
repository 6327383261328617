//! The locations of the account.
//!
//! Source: [Azure Storage redundancy][redundancy], "Read access to data in the secondary region".
//!
//! [redundancy]: https://learn.microsoft.com/azure/storage/common/storage-redundancy

/// The suffix of the account's name in paths to the secondary location.
const SECONDARY: &str = "-secondary";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Location {
    Primary,
    /// The copy, which is read-only.
    Secondary,
}

impl Location {
    /// Splits a path into its location and the path after `/account` or `/account-secondary`. Returns
    /// `None` if the path names another account.
    pub(crate) fn split<'p>(path: &'p str, account: &str) -> Option<(Self, &'p str)> {
        let rest = path.strip_prefix('/')?.strip_prefix(account)?;
        let (location, rest) = match rest.strip_prefix(SECONDARY) {
            Some(rest) => (Self::Secondary, rest),
            None => (Self::Primary, rest),
        };
        (rest.is_empty() || rest.starts_with('/')).then_some((location, rest))
    }

    /// The suffix of the account's name in URLs.
    pub(crate) const fn suffix(self) -> &'static str {
        match self {
            Self::Primary => "",
            Self::Secondary => SECONDARY,
        }
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
