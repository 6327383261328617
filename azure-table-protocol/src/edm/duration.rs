//! Durations as properties. They are text, because the service does not have a type for them.
//!
//! `Azure.Data.Tables` writes a `TimeSpan` as an XML duration, `P1DT2H3M4.5S`
//! ([`WriteObjectValue`][write], format `P`), and reads it since 12.11 ([`TablesTypeBinder`][read]). The older
//! `Microsoft.Azure.Cosmos.Table` wrote the result of `TimeSpan.ToString`, `1.02:03:04.5000000`
//! ([`EntityPropertyConverter`][older]).
//!
//! [write]: https://github.com/Azure/azure-sdk-for-net/blob/main/sdk/tables/Azure.Data.Tables/src/Generated/Internal/ModelSerializationExtensions.cs
//! [read]: https://github.com/Azure/azure-sdk-for-net/pull/49967
//! [older]: https://learn.microsoft.com/dotnet/api/microsoft.azure.cosmos.table.entitypropertyconverter

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use chrono::TimeDelta;

use super::ValueForm;
use super::{ConvertError, EdmCow, EdmType, FromEdm, ToEdm};

/// A duration with a sign. Zero is not negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    is_negative: bool,
    length: Duration,
}

impl Span {
    fn new(is_negative: bool, length: Duration) -> Self {
        Self { is_negative: is_negative && !length.is_zero(), length }
    }

    fn of_delta(delta: TimeDelta) -> Result<Self, ConvertError> {
        // The absolute value of every TimeDelta is one, and is not negative.
        let length =
            delta.abs().to_std().map_err(|error| ConvertError::Other(error.to_string()))?;
        Ok(Self::new(delta < TimeDelta::zero(), length))
    }
}

/// The XML duration.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanos) = (self.length.as_secs(), self.length.subsec_nanos());
        f.write_str(if self.is_negative { "-P" } else { "P" })?;
        let (days, of_day) = (seconds / 86_400, seconds % 86_400);
        if days > 0 {
            write!(f, "{days}D")?;
            if of_day == 0 && nanos == 0 {
                return Ok(());
            }
        }
        f.write_str("T")?;
        let (hours, minutes, seconds) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        if hours > 0 {
            write!(f, "{hours}H")?;
        }
        if minutes > 0 {
            write!(f, "{minutes}M")?;
        }
        if nanos > 0 {
            let fraction = format!("{nanos:09}");
            write!(f, "{seconds}.{}S", fraction.trim_end_matches('0'))
        } else if seconds > 0 || self.length.is_zero() {
            write!(f, "{seconds}S")
        } else {
            Ok(())
        }
    }
}

impl Span {
    /// Returns the text of the older clients, which has ticks of 100 ns; `None` for a duration with digits below them.
    fn older_text(self) -> Option<String> {
        let (seconds, nanos) = (self.length.as_secs(), self.length.subsec_nanos());
        if !nanos.is_multiple_of(100) {
            return None;
        }
        let sign = if self.is_negative { "-" } else { "" };
        let days = match seconds / 86_400 {
            0 => String::new(),
            days => format!("{days}."),
        };
        let fraction = match nanos / 100 {
            0 => String::new(),
            ticks => format!(".{ticks:07}"),
        };
        let (hours, minutes) = (seconds / 3600 % 24, seconds / 60 % 60);
        Some(format!("{sign}{days}{hours:02}:{minutes:02}:{:02}{fraction}", seconds % 60))
    }
}

/// Parses both forms, and forms that no client writes.
fn parse(text: &str) -> Option<Span> {
    let (is_negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let length = match rest.strip_prefix('P') {
        Some(rest) => xml(rest),
        None => time_span(rest),
    };
    Some(Span::new(is_negative, length?))
}

/// Parses an XML duration without its sign and its `P`. Years and months have no fixed length.
fn xml(text: &str) -> Option<Duration> {
    let (days, time) = match text.split_once('T') {
        Some((_, "")) => return None,
        Some((days, time)) => (days, time),
        None if text.is_empty() => return None,
        None => (text, ""),
    };
    let mut seconds = match days.strip_suffix('D') {
        Some(days) => number(days)?.checked_mul(86_400)?,
        None if days.is_empty() => 0,
        None => return None,
    };
    let mut rest = time;
    for (unit, length) in [('H', 3600), ('M', 60)] {
        if let Some((count, tail)) = rest.split_once(unit) {
            seconds = seconds.checked_add(number(count)?.checked_mul(length)?)?;
            rest = tail;
        }
    }
    let mut nanos = 0;
    if !rest.is_empty() {
        let (whole, fraction) = split_fraction(rest.strip_suffix('S')?)?;
        seconds = seconds.checked_add(number(whole)?)?;
        nanos = fraction;
    }
    Some(Duration::new(seconds, nanos))
}

/// Parses `[d.]hh:mm:ss[.fffffff]` without its sign.
fn time_span(text: &str) -> Option<Duration> {
    let (hours, rest) = text.split_once(':')?;
    let (minutes, seconds) = rest.split_once(':')?;
    let (days, hours) = match hours.split_once('.') {
        Some((days, hours)) => (number(days)?, hours),
        None => (0, hours),
    };
    let (seconds, nanos) = split_fraction(seconds)?;
    let part = |text: &str, below| {
        let is_of_two_digits = text.len() == 2;
        number(text).filter(|number| is_of_two_digits && *number < below)
    };
    let of_day = part(hours, 24)? * 3600 + part(minutes, 60)? * 60 + part(seconds, 60)?;
    Some(Duration::new(days.checked_mul(86_400)?.checked_add(of_day)?, nanos))
}

fn number(digits: &str) -> Option<u64> {
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

/// Splits `4.5` into `4` and 500,000,000 ns.
fn split_fraction(text: &str) -> Option<(&str, u32)> {
    let Some((whole, fraction)) = text.split_once('.') else { return Some((text, 0)) };
    let digits = fraction.trim_end_matches('0');
    if fraction.is_empty() || digits.len() > 9 {
        return None;
    }
    let nanos = number(&format!("{digits:0<9}"))?;
    Some((whole, u32::try_from(nanos).ok()?))
}

/// Reads a duration in one of the two forms that filters find.
fn read(value: EdmCow<'_>) -> Result<Span, ConvertError> {
    let text = Cow::<'static, str>::from_edm(value)?;
    let span = parse(&text).ok_or_else(|| {
        ConvertError::Other(format!(
            "{text:?} is not a duration such as P1DT2H3M4.5S or 1.02:03:04.5000000"
        ))
    })?;
    if span.to_string() == text || span.older_text().is_some_and(|older| older == text) {
        return Ok(span);
    }
    Err(ConvertError::Other(format!(
        "{text:?} is the duration {span} in a form that filters do not find"
    )))
}

/// The texts besides the XML duration that are read as this duration.
fn aliases(span: Span) -> Vec<Cow<'static, str>> {
    span.older_text().map(Cow::Owned).into_iter().collect()
}

impl ToEdm for Duration {
    const EDM_TYPE: EdmType = EdmType::String;

    fn form() -> ValueForm {
        ValueForm::named("duration")
    }

    fn to_edm(&self) -> Result<Option<EdmCow<'_>>, ConvertError> {
        Ok(Some(EdmCow::String(Cow::Owned(Span::new(false, *self).to_string()))))
    }

    fn aliases(&self) -> Vec<Cow<'static, str>> {
        aliases(Span::new(false, *self))
    }
}

impl FromEdm for Duration {
    const EDM_TYPE: EdmType = EdmType::String;

    fn from_edm(value: EdmCow<'_>) -> Result<Self, ConvertError> {
        let span = read(value)?;
        if span.is_negative {
            let value = span.to_string();
            return Err(ConvertError::OutOfRange { value, target: "Duration" });
        }
        Ok(span.length)
    }
}

impl ToEdm for TimeDelta {
    const EDM_TYPE: EdmType = EdmType::String;

    fn form() -> ValueForm {
        ValueForm::named("signed duration")
    }

    fn to_edm(&self) -> Result<Option<EdmCow<'_>>, ConvertError> {
        Ok(Some(EdmCow::String(Cow::Owned(Span::of_delta(*self)?.to_string()))))
    }

    fn aliases(&self) -> Vec<Cow<'static, str>> {
        Span::of_delta(*self).map(aliases).unwrap_or_default()
    }
}

impl FromEdm for TimeDelta {
    const EDM_TYPE: EdmType = EdmType::String;

    fn from_edm(value: EdmCow<'_>) -> Result<Self, ConvertError> {
        let span = read(value)?;
        let length = Self::from_std(span.length).map_err(|_| ConvertError::OutOfRange {
            value: span.to_string(),
            target: "TimeDelta",
        })?;
        Ok(if span.is_negative { -length } else { length })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(value: &impl ToEdm) -> String {
        let Some(EdmCow::String(text)) = value.to_edm().unwrap() else { panic!("a String") };
        text.into_owned()
    }

    fn of_text<T: FromEdm>(text: &str) -> Result<T, ConvertError> {
        T::from_edm(EdmCow::String(text.into()))
    }

    /// The texts are those of `XmlConvert.ToString(TimeSpan)`.
    #[test]
    fn durations_are_written_as_azure_data_tables_writes_them() {
        for (seconds, nanos, expected) in [
            (0, 0, "PT0S"),
            (4, 500_000_000, "PT4.5S"),
            (60, 0, "PT1M"),
            (86_400, 0, "P1D"),
            (93_784, 500_000_000, "P1DT2H3M4.5S"),
            (86_401, 0, "P1DT1S"),
            (0, 100, "PT0.0000001S"),
        ] {
            let duration = Duration::new(seconds, nanos);
            assert_eq!(text(&duration), expected);
            assert_eq!(of_text(expected), Ok(duration));
            let negative = -TimeDelta::from_std(duration).unwrap();
            let sign = if duration.is_zero() { "" } else { "-" };
            assert_eq!(text(&negative), format!("{sign}{expected}"));
            assert_eq!(of_text(&format!("{sign}{expected}")), Ok(negative));
        }
    }

    #[test]
    fn the_form_of_the_older_clients_is_read() {
        for (older, expected) in [
            ("1.02:03:04.5000000", "P1DT2H3M4.5S"),
            ("00:00:00", "PT0S"),
            ("-00:00:01", "-PT1S"),
            ("10675199.02:48:05.4775807", "P10675199DT2H48M5.4775807S"),
        ] {
            let delta = of_text::<TimeDelta>(older).unwrap();
            assert_eq!((text(&delta).as_str(), delta.aliases()), (expected, vec![older.into()]));
        }
        assert!(Duration::from_nanos(50).aliases().is_empty());
    }

    /// Filters could not find all of these forms.
    #[test]
    fn other_forms_of_a_duration_are_refused() {
        for (other, expected) in [
            ("PT90S", "PT1M30S"),
            ("PT26H", "P1DT2H"),
            ("PT1.50S", "PT1.5S"),
            ("P1DT0S", "P1D"),
            ("-PT0S", "PT0S"),
            ("00:00:04.5", "PT4.5S"),
            ("0.00:00:01", "PT1S"),
            ("01.00:00:00", "P1D"),
            ("00:00:00.0000000", "PT0S"),
            ("00:00:00.000000050", "PT0.00000005S"),
        ] {
            let error = of_text::<TimeDelta>(other).unwrap_err().to_string();
            let reason = format!("is the duration {expected} in a form that filters do not find");
            assert_eq!(error, format!("{other:?} {reason}"));
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for bad in [
            "",
            "P",
            "PT",
            "P1DT",
            "-",
            "P1Y",
            "P1M",
            "P-1D",
            "PT1",
            "PT1.S",
            "PT.5S",
            "1",
            "1:02",
            "24:00:00",
            "00:60:00",
            "0:00:00",
            "00:00:00.",
            "1D",
            "pt1s",
            "PT1S ",
            "PT1M1H",
            "PT0.0000000001S",
            "P99999999999999999999D",
        ] {
            let error = of_text::<TimeDelta>(bad).unwrap_err().to_string();
            assert!(error.contains("is not a duration such as"), "{bad}: {error}");
        }
        let error = of_text::<Duration>("-PT1S").unwrap_err().to_string();
        assert_eq!(error, "-PT1S does not fit Duration without loss");
        let error = of_text::<TimeDelta>(&text(&Duration::MAX)).unwrap_err().to_string();
        assert!(error.ends_with("does not fit TimeDelta without loss"), "{error}");
        assert_eq!(of_text(&text(&Duration::MAX)), Ok(Duration::MAX));
        for extreme in [TimeDelta::MIN, TimeDelta::MAX] {
            assert_eq!(of_text(&text(&extreme)), Ok(extreme));
        }
    }

    proptest! {
        #[test]
        fn every_duration_is_read_back(seconds: u64, nanos in 0..1_000_000_000_u32) {
            let duration = Duration::new(seconds, nanos);
            prop_assert_eq!(of_text(&text(&duration)), Ok(duration));
            for alias in duration.aliases() {
                prop_assert_eq!(of_text(&alias), Ok(duration));
            }
        }

        #[test]
        fn every_text_that_is_read_is_found(
            text in "-?(P([0-9]D)?T([0-9]H)?([0-9]M)?([0-9]S)?|([0-9]\\.)?0[0-9]:00:0[0-9](\\.[0-9]{7})?)"
        ) {
            let Ok(delta) = of_text::<TimeDelta>(&text) else { return Ok(()) };
            prop_assert!(self::text(&delta) == text || delta.aliases().contains(&text.into()));
        }

        #[test]
        fn reading_any_text_does_not_panic(text in "-?P?[0-9DTHMS.:]{0,20}") {
            let _ = of_text::<TimeDelta>(&text);
        }
    }
}
