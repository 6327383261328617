//! The result of a pass.

use std::fmt;
use std::time::Duration;

use crate::progress::{counted, duration, grouped};

/// The numbers of rows of a pass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) number: u64,
    pub(super) copied: u64,
    pub(super) deleted: u64,
    pub(super) refused: u64,
    /// The rows that another program wrote before they were deleted.
    pub(super) left: u64,
    /// The rows whose write or deletion has no outcome. The next pass repeats it.
    pub(super) unresolved: u64,
    pub(super) time: Duration,
}

impl Report {
    /// Whether the pass found nothing to do. Refused rows are not a change: the target stays as it is.
    pub(super) fn is_unchanged(&self) -> bool {
        self.copied + self.deleted + self.left + self.unresolved == 0
    }
}

/// `pass 3: 1,204 rows copied, 87 deleted, 0 refused in 12 s`
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let copied = counted(self.copied, "row");
        let [number, deleted, refused] = [self.number, self.deleted, self.refused].map(grouped);
        write!(f, "pass {number}: {copied} copied, {deleted} deleted, {refused} refused")?;
        for (rows, state) in [
            (self.left, "written by another program and left"),
            (self.unresolved, "without an outcome, which the next pass repeats"),
        ] {
            if rows > 0 {
                write!(f, ", {} {state}", grouped(rows))?;
            }
        }
        write!(f, " in {}", duration(self.time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_numbers_of_a_pass() {
        let time = Duration::from_secs(12);
        let report = Report { number: 3, copied: 1_204, deleted: 87, time, ..Report::default() };
        let line = "pass 3: 1,204 rows copied, 87 deleted, 0 refused in 12 s";
        assert_eq!((report.to_string(), report.is_unchanged()), (line.to_owned(), false));
        let report = Report { number: 4, left: 1, unresolved: 2, ..Report::default() };
        let line = "pass 4: 0 rows copied, 0 deleted, 0 refused, 1 written by another program and left, \
                    2 without an outcome, which the next pass repeats in 0.0 s";
        assert_eq!((report.to_string(), report.is_unchanged()), (line.to_owned(), false));
        assert!(Report { number: 5, refused: 1, time, ..Report::default() }.is_unchanged());
    }
}
