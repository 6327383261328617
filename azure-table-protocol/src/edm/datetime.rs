use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, Datelike, NaiveDate, TimeDelta, Utc};

const TICKS_PER_SECOND: i64 = 10_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
/// Ticks from 0001-01-01 to 1970-01-01.
const UNIX_EPOCH_TICKS: i64 = 621_355_968_000_000_000;
const MIN_TICKS: i64 = 504_911_232_000_000_000;
const MAX_TICKS: i64 = 3_155_378_975_999_999_999;

/// A UTC instant as the service stores it: 100 ns ticks from 1601-01-01 to 9999-12-31.
///
/// The number is that of .NET's `DateTime.Ticks`, counted from 0001-01-01. `Display` gives the
/// wire form with all seven digits, `2009-04-14T00:00:00.0000000Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdmDateTime(i64);

impl EdmDateTime {
    /// The first instant that the service stores, 1601-01-01T00:00:00Z.
    pub const MIN: Self = Self(MIN_TICKS);
    /// The last instant that the service stores, 9999-12-31T23:59:59.9999999Z.
    pub const MAX: Self = Self(MAX_TICKS);

    /// The instant that is `ticks` of 100 ns after 0001-01-01T00:00:00Z.
    ///
    /// # Errors
    /// Outside [`EdmDateTime::MIN`] to [`EdmDateTime::MAX`].
    pub const fn from_ticks(ticks: i64) -> Result<Self, DateTimeError> {
        if ticks < MIN_TICKS || ticks > MAX_TICKS {
            return Err(DateTimeError::OutOfRange);
        }
        Ok(Self(ticks))
    }

    /// 100 ns ticks since 0001-01-01T00:00:00Z, as .NET counts them.
    pub const fn ticks(self) -> i64 {
        self.0
    }

    /// The current time of the system's clock.
    pub fn now() -> Self {
        Self::from_system_time(SystemTime::now()).unwrap_or(Self::MIN)
    }

    /// The instant of `time`; a part below 100 ns is dropped.
    ///
    /// # Errors
    /// Outside [`EdmDateTime::MIN`] to [`EdmDateTime::MAX`].
    pub fn from_system_time(time: SystemTime) -> Result<Self, DateTimeError> {
        let ticks = |d: Duration| i64::try_from(d.as_nanos() / 100).ok();
        let since_epoch = match time.duration_since(UNIX_EPOCH) {
            Ok(after) => ticks(after),
            Err(before) => ticks(before.duration()).map(|t| -t),
        };
        since_epoch
            .and_then(|t| UNIX_EPOCH_TICKS.checked_add(t))
            .ok_or(DateTimeError::OutOfRange)
            .and_then(Self::from_ticks)
    }

    /// The instant of a chrono date-time; a part below 100 ns is dropped, because the service does not store it.
    ///
    /// # Errors
    /// Outside [`EdmDateTime::MIN`] to [`EdmDateTime::MAX`].
    pub fn from_chrono(time: DateTime<Utc>) -> Result<Self, DateTimeError> {
        Self::ticks_of(time).ok_or(DateTimeError::OutOfRange).and_then(Self::from_ticks)
    }

    /// The ticks of any instant of chrono's.
    pub(crate) fn ticks_of(time: DateTime<Utc>) -> Option<i64> {
        // A leap second is 1,000,000,000 ns or more of its second: it lands in the next one.
        time.timestamp()
            .checked_mul(TICKS_PER_SECOND)?
            .checked_add(UNIX_EPOCH_TICKS)?
            .checked_add(i64::from(time.timestamp_subsec_nanos() / 100))
    }

    /// The same instant for chrono.
    pub fn to_chrono(self) -> DateTime<Utc> {
        Self::chrono_of(self.0)
    }

    /// The instant `ticks` after 0001-01-01, up to [`EdmDateTime::MAX`].
    pub(crate) fn chrono_of(ticks: i64) -> DateTime<Utc> {
        let since_epoch = ticks - UNIX_EPOCH_TICKS;
        // Within the range of both types, so neither step can saturate.
        DateTime::UNIX_EPOCH
            + TimeDelta::seconds(since_epoch.div_euclid(TICKS_PER_SECOND))
            + TimeDelta::nanoseconds(since_epoch.rem_euclid(TICKS_PER_SECOND) * 100)
    }

    /// The instant as text without trailing zeros in the fraction, as the service itself writes
    /// it: `2009-04-14T00:00:00Z`, `2009-04-14T00:00:00.05Z`.
    pub fn trimmed(self) -> impl fmt::Display {
        Trimmed(self)
    }
}

#[doc(hidden)]
impl EdmDateTime {
    /// The instant without its fraction of a second.
    #[must_use]
    pub fn whole_second(self) -> Self {
        // The first instant has no fraction.
        Self(self.0 - self.0 % TICKS_PER_SECOND)
    }

    /// Subtracts a duration. A result before the first instant is the first instant.
    #[must_use]
    pub fn before(self, by: Duration) -> Self {
        let ticks = i64::try_from(by.as_nanos() / 100).unwrap_or(i64::MAX);
        Self::from_ticks(self.0 - ticks).unwrap_or(Self::MIN)
    }

    /// The text without trailing zeros in the fraction, and its length.
    pub fn trimmed_text(self) -> ([u8; 28], usize) {
        let mut text = self.text();
        let zeros = text[20..27].iter().rev().take_while(|digit| **digit == b'0').count();
        // Without any digit, the point goes too.
        let end = if zeros == 7 { 19 } else { 27 - zeros };
        text[end] = b'Z';
        (text, end + 1)
    }

    /// The wire form, with all seven digits of the fraction.
    pub fn text(self) -> [u8; 28] {
        let mut text = *b"0000-00-00T00:00:00.0000000Z";
        let seconds = self.0 / TICKS_PER_SECOND;
        let part = |number: i64| u32::try_from(number).unwrap_or_default();
        let of_day = part(seconds % SECONDS_PER_DAY);
        // Day 1 of chrono's common era count is 0001-01-01. All days of the service are within the range of chrono.
        let days = i32::try_from(seconds / SECONDS_PER_DAY).ok();
        let date = days.and_then(|days| NaiveDate::from_num_days_from_ce_opt(days + 1));
        let date = date.unwrap_or_default();
        let year = date.year().unsigned_abs();
        let fraction = part(self.0 % TICKS_PER_SECOND);
        let pairs = [
            (0, year / 100),
            (2, year),
            (5, date.month()),
            (8, date.day()),
            (11, of_day / 3600),
            (14, of_day / 60 % 60),
            (17, of_day % 60),
            (20, fraction / 100_000),
            (22, fraction / 1000),
            (24, fraction / 10),
            (25, fraction),
        ];
        for (at, number) in pairs {
            let digits = DIGIT_PAIRS[(number % 100) as usize];
            text[at] = digits[0];
            text[at + 1] = digits[1];
        }
        text
    }
}

/// The two digits of each number below 100.
const DIGIT_PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number as usize] = [b'0' + number / 10, b'0' + number % 10];
        number += 1;
    }
    pairs
};

#[doc(hidden)]
impl EdmDateTime {
    /// Reads a time as .NET reads it, and so the service and programs that use it: the zone, the seconds and the time of
    /// day may be missing, and digits below 100 ns are dropped. A time without a zone is UTC.
    pub fn parse_lenient(text: &str) -> Result<Self, DateTimeError> {
        Self::lenient_ticks(text).and_then(Self::from_ticks)
    }

    /// Reads the time of a literal in a filter. A time before [`EdmDateTime::MIN`], such as .NET's `DateTime.MinValue`,
    /// is less than all stored times.
    pub fn parse_literal(text: &str) -> Result<Self, DateTimeError> {
        let ticks = Self::lenient_ticks(text)?;
        if !(0..=MAX_TICKS).contains(&ticks) {
            return Err(DateTimeError::OutOfRange);
        }
        Ok(Self(ticks))
    }
}

impl EdmDateTime {
    fn lenient_ticks(text: &str) -> Result<i64, DateTimeError> {
        let (date, rest) = text.split_at_checked(10).ok_or(DateTimeError::Malformed)?;
        let zone_at = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
        let (clock, zone) = rest.split_at(zone_at);
        let zone = if zone.is_empty() { "Z" } else { zone };
        match clock.len() {
            0 => Self::ticks_of_text(&format!("{date}T00:00:00{zone}"), false),
            6 => Self::ticks_of_text(&format!("{date}{clock}:00{zone}"), false),
            _ if zone_at == rest.len() => Self::ticks_of_text(&format!("{text}Z"), false),
            _ => Self::ticks_of_text(text, false),
        }
    }

    /// The ticks of a text, which may be outside of the service's range.
    fn ticks_of_text(text: &str, is_exact: bool) -> Result<i64, DateTimeError> {
        let bytes = text.as_bytes();
        let (head, mut rest) = bytes.split_at_checked(19).ok_or(DateTimeError::Malformed)?;
        let separators = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
        if separators.iter().any(|&(at, c)| head[at] != c) {
            return Err(DateTimeError::Malformed);
        }
        let year = digits(&head[0..4])?;
        let (month, day) = (digits(&head[5..7])?, digits(&head[8..10])?);
        let (hour, minute, second) =
            (digits(&head[11..13])?, digits(&head[14..16])?, digits(&head[17..19])?);
        if hour > 23 || minute > 59 || second > 59 {
            return Err(DateTimeError::Malformed);
        }
        let date = i32::try_from(year)
            .ok()
            .and_then(|year| NaiveDate::from_ymd_opt(year, month, day))
            .ok_or(DateTimeError::Malformed)?;

        let mut fraction = 0;
        if let [b'.', after @ ..] = rest {
            let count = after.iter().take_while(|b| b.is_ascii_digit()).count();
            let (figures, tail) = after.split_at(count);
            let (kept, below) = figures.split_at(count.min(7));
            if figures.is_empty() {
                return Err(DateTimeError::Malformed);
            }
            if is_exact && below.iter().any(|&b| b != b'0') {
                return Err(DateTimeError::TooPrecise);
            }
            fraction = kept.iter().fold(0, |sum, b| sum * 10 + i64::from(b - b'0'))
                * 10_i64.pow(7 - u32::try_from(kept.len()).unwrap_or(7));
            rest = tail;
        }
        let offset = match rest {
            b"Z" | b"z" => 0,
            [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
                let (hours, minutes) = (digits(&[*h1, *h2])?, digits(&[*m1, *m2])?);
                if hours > 23 || minutes > 59 {
                    return Err(DateTimeError::Malformed);
                }
                let seconds = i64::from(hours * 3600 + minutes * 60);
                if *sign == b'-' { -seconds } else { seconds }
            }
            _ => return Err(DateTimeError::Malformed),
        };
        let days = i64::from(date.num_days_from_ce() - 1);
        let seconds =
            days * SECONDS_PER_DAY + i64::from(hour * 3600 + minute * 60 + second) - offset;
        Ok(seconds * TICKS_PER_SECOND + fraction)
    }
}

impl TryFrom<SystemTime> for EdmDateTime {
    type Error = DateTimeError;

    fn try_from(time: SystemTime) -> Result<Self, DateTimeError> {
        Self::from_system_time(time)
    }
}

impl TryFrom<DateTime<Utc>> for EdmDateTime {
    type Error = DateTimeError;

    fn try_from(time: DateTime<Utc>) -> Result<Self, DateTimeError> {
        Self::from_chrono(time)
    }
}

impl fmt::Display for EdmDateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.text()).map_err(|_| fmt::Error)?)
    }
}

struct Trimmed(EdmDateTime);

impl fmt::Display for Trimmed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, length) = self.0.trimmed_text();
        f.write_str(std::str::from_utf8(&text[..length]).map_err(|_| fmt::Error)?)
    }
}

impl FromStr for EdmDateTime {
    type Err = DateTimeError;

    /// Reads `YYYY-MM-DDTHH:MM:SS[.fraction]` with `Z` or an offset `±HH:MM`.
    ///
    /// # Errors
    /// Another form, no offset (the instant would be a guess), more than seven digits of fraction
    /// other than zeros, or an instant outside the service's range.
    fn from_str(text: &str) -> Result<Self, DateTimeError> {
        Self::ticks_of_text(text, true).and_then(Self::from_ticks)
    }
}

fn digits(text: &[u8]) -> Result<u32, DateTimeError> {
    text.iter().try_fold(0, |sum, b| match b {
        b'0'..=b'9' => Ok(sum * 10 + u32::from(b - b'0')),
        _ => Err(DateTimeError::Malformed),
    })
}

/// The error of a value that is not a valid [`EdmDateTime`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DateTimeError {
    /// Before 1601-01-01 or after 9999-12-31.
    OutOfRange,
    /// Not of the form `YYYY-MM-DDTHH:MM:SS[.fffffff]Z`.
    Malformed,
    /// The fraction has digits below 100 ns, which would be lost, or the time is in a leap second.
    TooPrecise,
}

impl fmt::Display for DateTimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OutOfRange => {
                "outside the service's range 1601-01-01T00:00:00Z to 9999-12-31T23:59:59.9999999Z"
            }
            Self::Malformed => "not a date-time of the form YYYY-MM-DDTHH:MM:SS[.fffffff]Z",
            Self::TooPrecise => "the fraction has digits below the service's 100 ns, or the time is in a leap second",
        })
    }
}

impl std::error::Error for DateTimeError {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ends_of_the_range() {
        assert_eq!(EdmDateTime::MIN.to_string(), "1601-01-01T00:00:00.0000000Z");
        assert_eq!(EdmDateTime::MAX.to_string(), "9999-12-31T23:59:59.9999999Z");
        assert_eq!("1601-01-01T00:00:00Z".parse(), Ok(EdmDateTime::MIN));
        assert_eq!("9999-12-31T23:59:59.9999999Z".parse(), Ok(EdmDateTime::MAX));
        assert_eq!(
            "1600-12-31T23:59:59.9999999Z".parse::<EdmDateTime>(),
            Err(DateTimeError::OutOfRange)
        );
        assert_eq!(EdmDateTime::from_ticks(i64::MIN), Err(DateTimeError::OutOfRange));
        assert_eq!(
            EdmDateTime::from_chrono(DateTime::<Utc>::MIN_UTC),
            Err(DateTimeError::OutOfRange)
        );
        assert_eq!(EdmDateTime::try_from(DateTime::<Utc>::MAX_UTC), Err(DateTimeError::OutOfRange));
    }

    #[test]
    fn fractions_are_kept_to_100_ns() {
        let parse = |text: &str| text.parse::<EdmDateTime>();
        assert_eq!(parse("2017-11-10T02:43:55.7662669Z").unwrap().ticks() % 10, 9);
        assert_eq!(
            parse("2017-11-10T02:43:55.05Z").unwrap().trimmed().to_string(),
            "2017-11-10T02:43:55.05Z"
        );
        assert_eq!(parse("2017-11-10T02:43:55.12345670Z"), parse("2017-11-10T02:43:55.1234567Z"));
        assert_eq!(parse("2017-11-10T02:43:55.12345678Z"), Err(DateTimeError::TooPrecise));
        let truncated = EdmDateTime::parse_lenient("2017-11-10T02:43:55.12345678Z");
        assert_eq!(truncated, parse("2017-11-10T02:43:55.1234567Z"));
        assert_eq!(parse("2017-11-10T02:43:55+01:30"), parse("2017-11-10T01:13:55Z"));
    }

    #[test]
    fn what_is_no_instant_is_refused() {
        for text in [
            "",
            "Z",
            "2017-11-10",
            "2017-11-10T02:43:55",
            "2017-13-10T02:43:55Z",
            "2017-02-29T00:00:00Z",
            "2017-11-10T24:00:00Z",
            "2017-11-10T02:43:60Z",
            "2017-11-10 02:43:55Z",
            "2017-11-10T02:43:55.Z",
            "2017-11-10T02:43:55ZZ",
            "+017-11-10T02:43:55Z",
            "2017-11-10T02:43:5\u{e9}Z",
            "2017-11-10T02:43:55+24:00",
        ] {
            assert_eq!(text.parse::<EdmDateTime>(), Err(DateTimeError::Malformed), "{text}");
        }
    }

    #[test]
    fn dotnet_ticks() {
        // DateTime.MaxValue.Ticks - ticks is how .NET programs order rows newest first.
        let posted: EdmDateTime = "2008-10-01T10:00:00Z".parse().unwrap();
        assert_eq!(EdmDateTime::MAX.ticks() - posted.ticks(), 2_521_794_455_999_999_999);
    }

    proptest! {
        #[test]
        fn the_wire_form_is_that_of_chrono(ticks in MIN_TICKS..=MAX_TICKS) {
            let time = EdmDateTime::from_ticks(ticks).unwrap();
            let seconds = time.to_chrono().format("%Y-%m-%dT%H:%M:%S");
            let fraction = ticks % TICKS_PER_SECOND;
            prop_assert_eq!(time.to_string(), format!("{seconds}.{fraction:07}Z"));
            let digits = format!("{fraction:07}");
            let digits = digits.trim_end_matches('0');
            let point = if digits.is_empty() { "" } else { "." };
            prop_assert_eq!(time.trimmed().to_string(), format!("{seconds}{point}{digits}Z"));
        }

        #[test]
        fn text_and_chrono_round_trip(ticks in MIN_TICKS..=MAX_TICKS) {
            let time = EdmDateTime::from_ticks(ticks).unwrap();
            prop_assert_eq!(time.to_string().parse(), Ok(time));
            prop_assert_eq!(time.trimmed().to_string().parse(), Ok(time));
            prop_assert_eq!(EdmDateTime::try_from(time.to_chrono()), Ok(time));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,40}") {
            let _ = text.parse::<EdmDateTime>();
        }
    }
}
