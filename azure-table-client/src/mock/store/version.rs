//! The version of a row: its Timestamp and its ETag.

use std::io::Write as _;

use crate::edm::EdmDateTime;

/// The step of a Timestamp if the clock did not advance, like in the service.
const STEP_TICKS: i64 = 10_000;

const MAX_TEXT: usize = "2017-11-10T02:43:55.7662669Z".len();

/// The time of a write. Its text is stored too, since every response shows it twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::mock) struct Version {
    time: EdmDateTime,
    /// `2017-11-10T02:43:55.7662669Z`, without trailing zeros.
    text: [u8; MAX_TEXT],
    length: u8,
}

impl Version {
    /// The version of a write at `now` whose key was last written at `last`.
    ///
    /// Versions always advance, even if the clock does not: with a repeated version, a condition on the old
    /// row would match the new one.
    pub(super) fn after(last: EdmDateTime, now: EdmDateTime) -> Self {
        let time = if now > last {
            now
        } else {
            EdmDateTime::from_ticks(last.ticks() + STEP_TICKS).unwrap_or(EdmDateTime::MAX)
        };
        Self::at(time)
    }

    /// The version of a write at this time.
    pub(super) fn at(time: EdmDateTime) -> Self {
        let mut text = [0; MAX_TEXT];
        let mut rest = &mut text[..];
        // The array has room for every time.
        let _ = write!(rest, "{}", time.trimmed());
        let left = rest.len();
        let length = u8::try_from(MAX_TEXT - left).unwrap_or_default();
        Self { time, text, length }
    }

    pub(in crate::mock) fn time(&self) -> EdmDateTime {
        self.time
    }

    /// The Timestamp in the form of responses.
    pub(in crate::mock) fn text(&self) -> &str {
        std::str::from_utf8(&self.text[..self.length.into()]).unwrap_or_default()
    }

    /// `W/"datetime'2017-11-10T02%3A43%3A55.7662669Z'"`
    pub(in crate::mock) fn etag(&self) -> String {
        let mut etag = Vec::with_capacity(2 * MAX_TEXT);
        etag.extend_from_slice(b"W/\"");
        self.push_tag(&mut etag);
        etag.push(b'"');
        String::from_utf8(etag).unwrap_or_default()
    }

    /// Writes the text between the quotes of an ETag: `datetime'2017-11-10T02%3A43%3A55.7662669Z'`.
    pub(in crate::mock) fn push_tag(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"datetime'");
        for byte in &self.text[..self.length.into()] {
            match byte {
                b':' => out.extend_from_slice(b"%3A"),
                byte => out.push(*byte),
            }
        }
        out.push(b'\'');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_advance_even_if_the_clock_does_not() {
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
