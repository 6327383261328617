//! The reasons for which a copy stops by itself.

use std::error::Error;
use std::fmt;

use super::frontier::MAX_UNRESOLVED;
use crate::key_order::{OutOfOrder, advice};
use crate::progress::counted;

/// An error of a copy that is not one of a request.
#[derive(Debug)]
pub(super) enum Stop {
    /// The rows of the source are not in key order, so that a position does not separate the copied rows from the others.
    OutOfOrder { table: String, problem: OutOfOrder },
    /// The list of unresolved rows is full.
    TooManyUnresolved,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfOrder { table, problem } => {
                let advice = advice("--from-dialect");
                write!(f, "table {table} is not in key order: {problem}; {advice}")
            }
            Self::TooManyUnresolved => {
                let limit = counted(MAX_UNRESOLVED as u64, "row");
                write!(f, "the copy stopped: {limit} are neither copied nor refused (the limit)")
            }
        }
    }
}

impl Error for Stop {}
