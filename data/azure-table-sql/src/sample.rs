//! The rows from which the columns of a table are inferred.

use std::num::NonZeroUsize;
use std::str::FromStr;

/// The first rows of a table, or all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sample {
    First(NonZeroUsize),
    All,
}

impl Sample {
    /// The maximum number of rows.
    pub(crate) fn rows(self) -> usize {
        match self {
            Self::First(rows) => rows.get(),
            Self::All => usize::MAX,
        }
    }
}

impl FromStr for Sample {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "all" {
            return Ok(Self::All);
        }
        text.parse().map(Self::First).map_err(|_| "it must be a number from 1, or all".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_rows() {
        assert_eq!("7".parse::<Sample>().map(Sample::rows), Ok(7));
        assert_eq!("all".parse(), Ok(Sample::All));
        for bad in ["", "0", "-1", "ALL", "1e3"] {
            assert!(bad.parse::<Sample>().is_err(), "{bad}");
        }
    }
}
