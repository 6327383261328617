//! The version of a row: its Timestamp and its ETag.

use crate::dialect::ServiceDialect;
use crate::edm::EdmDateTime;

/// The step of a Timestamp if the clock did not advance, like in the service.
const STEP_TICKS: i64 = 10_000;

/// The time of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Version(EdmDateTime);

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
        Self(time)
    }

    /// The version of a write at this time.
    pub(crate) fn at(time: EdmDateTime) -> Self {
        Self(time)
    }

    /// The version that `W/"datetime'2017-11-10T02%3A43%3A55.7662669Z'"` names.
    pub(crate) fn of_etag(etag: &str) -> Option<Self> {
        let text = etag.strip_prefix("W/\"datetime'")?.strip_suffix("'\"")?;
        text.replace("%3A", ":").parse().ok().map(Self)
    }

    pub(crate) fn time(self) -> EdmDateTime {
        self.0
    }

    /// The Timestamp in the form of responses.
    pub(crate) fn text(self) -> VersionText {
        VersionText::of(self.0)
    }

    /// The Timestamp in the form of the dialect's responses.
    pub(crate) fn text_in(self, dialect: ServiceDialect) -> VersionText {
        match dialect {
            ServiceDialect::AzureStorage => VersionText::of(self.0),
            ServiceDialect::CosmosDb => VersionText { text: self.0.text(), length: 28 },
        }
    }

    /// `W/"datetime'2017-11-10T02%3A43%3A55.7662669Z'"`
    pub(crate) fn etag(self) -> String {
        self.etag_in(ServiceDialect::AzureStorage)
    }

    pub(crate) fn etag_in(self, dialect: ServiceDialect) -> String {
        let mut etag = Vec::with_capacity(56);
        etag.extend_from_slice(b"W/\"");
        self.text_in(dialect).push_tag(&mut etag);
        etag.push(b'"');
        String::from_utf8(etag).unwrap_or_default()
    }
}

/// The text of a Timestamp: `2017-11-10T02:43:55.7662669Z`. That of Azure Storage has no trailing zeros.
pub(crate) struct VersionText {
    text: [u8; 28],
    length: usize,
}

impl VersionText {
    fn of(time: EdmDateTime) -> Self {
        let mut text = time.text();
        let fraction = &text[SECONDS + 1..text.len() - 1];
        let length = match fraction.iter().rposition(|digit| *digit != b'0') {
            Some(last) => SECONDS + 1 + last + 1,
            None => SECONDS,
        };
        text[length] = b'Z';
        Self { text, length: length + 1 }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.text[..self.length]
    }

    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    /// Writes the text between the quotes of an ETag: `datetime'2017-11-10T02%3A43%3A55.7662669Z'`.
    pub(crate) fn push_tag(&self, out: &mut Vec<u8>) {
        let text = self.as_bytes();
        out.extend_from_slice(b"datetime'");
        out.extend_from_slice(&text[..HOURS]);
        out.extend_from_slice(b"%3A");
        out.extend_from_slice(&text[HOURS + 1..MINUTES]);
        out.extend_from_slice(b"%3A");
        out.extend_from_slice(&text[MINUTES + 1..]);
        out.push(b'\'');
    }
}

/// The ends of the parts of a Timestamp's text.
const HOURS: usize = "2017-11-10T02".len();
const MINUTES: usize = "2017-11-10T02:43".len();
const SECONDS: usize = "2017-11-10T02:43:55".len();

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn versions_advance_even_if_the_clock_does_not() {
        let now: EdmDateTime = "2017-11-10T02:43:55.05Z".parse().unwrap();
        let first = Version::after(EdmDateTime::MIN, now);
        assert_eq!(first.etag(), "W/\"datetime'2017-11-10T02%3A43%3A55.05Z'\"");
        let second = Version::after(first.time(), now);
        assert_eq!(second.text().as_str(), "2017-11-10T02:43:55.051Z");
        let earlier = "2001-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(
            Version::after(second.time(), earlier).text().as_str(),
            "2017-11-10T02:43:55.052Z"
        );
        let later = "2017-11-10T02:43:56Z".parse().unwrap();
        assert_eq!(Version::after(second.time(), later).text().as_str(), "2017-11-10T02:43:56Z");
    }

    proptest! {
        #[test]
        fn the_text_has_no_trailing_zeros(
            ticks in 504_911_233_000_000_000..3_155_378_975_999_999_999_i64,
            unit in proptest::sample::select(vec![1, 1000, 10_000_000]),
        ) {
            let time = EdmDateTime::from_ticks(ticks / unit * unit).unwrap();
            let text = Version::at(time).text();
            prop_assert_eq!(text.as_str(), time.trimmed().to_string());
        }
    }
}
