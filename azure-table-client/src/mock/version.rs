//! The version of a row: its Timestamp, and the ETag that says the same.

use crate::edm::EdmDateTime;

/// What a Timestamp moves forward by where the clock did not move: the service does the same.
const STEP_TICKS: i64 = 10_000;

/// When a row was written. Its text is kept, as every reply shows it twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version {
    time: EdmDateTime,
    /// `2017-11-10T02:43:55.7662669Z`, without trailing zeros.
    text: Box<str>,
}

impl Version {
    /// The version of a write at `now` whose key was last written at `last`.
    ///
    /// It always moves forward, though the clock may stand still or run backward: a version that
    /// repeats would let a condition on the old row hold for the new one.
    pub(super) fn after(last: EdmDateTime, now: EdmDateTime) -> Self {
        let time = if now > last {
            now
        } else {
            EdmDateTime::from_ticks(last.ticks() + STEP_TICKS).unwrap_or(EdmDateTime::MAX)
        };
        Self { time, text: time.trimmed().to_string().into() }
    }

    pub(super) fn time(&self) -> EdmDateTime {
        self.time
    }

    /// The Timestamp as replies show it.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// `W/"datetime'2017-11-10T02%3A43%3A55.7662669Z'"`
    pub(super) fn etag(&self) -> String {
        let mut etag = String::with_capacity(self.text.len() + 20);
        etag.push_str("W/\"datetime'");
        for (index, part) in self.text.split(':').enumerate() {
            etag.push_str(if index > 0 { "%3A" } else { "" });
            etag.push_str(part);
        }
        etag.push_str("'\"");
        etag
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_forward_though_the_clock_does_not() {
        let now: EdmDateTime = "2017-11-10T02:43:55.05Z".parse().unwrap();
        let first = Version::after(EdmDateTime::MIN, now);
        assert_eq!(first.etag(), "W/\"datetime'2017-11-10T02%3A43%3A55.05Z'\"");
        let second = Version::after(first.time(), now);
        assert_eq!(second.text(), "2017-11-10T02:43:55.051Z");
        let earlier = "2001-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(Version::after(second.time(), earlier).text(), "2017-11-10T02:43:55.052Z");
        let later = "2017-11-10T02:43:56Z".parse().unwrap();
        assert_eq!(Version::after(second.time(), later).text(), "2017-11-10T02:43:56Z");
    }
}
