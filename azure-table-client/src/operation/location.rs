use std::fmt;

/// One of the two locations of an account's data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Location {
    /// The location of all writes.
    #[default]
    Primary,
    /// A copy that may lag behind, for accounts with read access to it (RA-GRS, RA-GZRS).
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
