use std::fmt;

/// One of the two places that hold an account's data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Location {
    /// Where everything is written.
    #[default]
    Primary,
    /// A copy that lags behind, for accounts with read access to it (RA-GRS, RA-GZRS).
    Secondary,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Primary => "primary",
            Self::Secondary => "secondary",
        })
    }
}
