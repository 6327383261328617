//! Date-times, dates and durations as keys, oldest and shortest first.

use std::borrow::Cow;
use std::time::Duration;

use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeDelta, Utc};

use super::{Descending, KeyError, KeyPart};
use crate::edm::ValueForm;
use crate::edm::{DateTimeValue, EdmDateTime};

impl KeyPart for EdmDateTime {
    const WIDTH: Option<usize> = Some(28);

    fn form() -> ValueForm {
        ValueForm::named("date-time")
    }

    fn to_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Owned(self.to_string()))
    }

    fn from_key(text: Cow<'_, str>) -> Result<Self, KeyError> {
        let time: Self = text.parse().map_err(|error| KeyError(format!("{text:?}: {error}")))?;
        if time.to_string() == text {
            Ok(time)
        } else {
            Err(KeyError(format!("{text:?} is not of the form YYYY-MM-DDTHH:MM:SS.fffffffZ")))
        }
    }
}

impl KeyPart for DateTime<Utc> {
    const WIDTH: Option<usize> = EdmDateTime::WIDTH;

    fn form() -> ValueForm {
        ValueForm::named("date-time")
    }

    fn to_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Owned(EdmDateTime::from_chrono(*self)?.to_string()))
    }

    fn from_key(text: Cow<'_, str>) -> Result<Self, KeyError> {
        EdmDateTime::from_key(text).map(EdmDateTime::to_chrono)
    }
}

impl KeyPart for NaiveDate {
    const WIDTH: Option<usize> = Some(10);

    fn form() -> ValueForm {
        ValueForm::named("date")
    }

    fn to_key(&self) -> Result<Cow<'_, str>, KeyError> {
        let text = self.to_string();
        // chrono writes other years with a sign and more digits, which order differently.
        if text.len() == 10 && !text.starts_with('-') {
            Ok(Cow::Owned(text))
        } else {
            Err(KeyError(format!("the date {text} is outside the years 0 to 9999")))
        }
    }

    fn from_key(text: Cow<'_, str>) -> Result<Self, KeyError> {
        text.parse::<Self>()
            .ok()
            .filter(|date| date.to_key().is_ok_and(|key| key == text))
            .ok_or_else(|| KeyError(format!("{text:?} is not a date of the form YYYY-MM-DD")))
    }
}

/// Without the `Z`, since the time has no zone.
impl KeyPart for NaiveDateTime {
    const WIDTH: Option<usize> = Some(27);

    fn form() -> ValueForm {
        ValueForm::named("date-time without Z")
    }

    fn to_key(&self) -> Result<Cow<'_, str>, KeyError> {
        let mut text = EdmDateTime::from_chrono(self.and_utc())?.to_string();
        text.pop();
        Ok(Cow::Owned(text))
    }

    fn from_key(text: Cow<'_, str>) -> Result<Self, KeyError> {
        EdmDateTime::from_key(Cow::Owned(format!("{text}Z")))
            .map(|time| time.to_chrono().naive_utc())
            .map_err(|_| {
                KeyError(format!("{text:?} is not of the form YYYY-MM-DDTHH:MM:SS.fffffff"))
            })
    }
}

/// The seconds and the nanoseconds of a duration, as numbers of fixed width.
fn seconds_key<S: KeyPart>(seconds: &S, nanos: u32) -> Result<Cow<'static, str>, KeyError> {
    Ok(Cow::Owned(format!("{}.{nanos:09}", seconds.to_key()?)))
}

fn from_seconds_key<S: KeyPart>(text: &str) -> Result<(S, u32), KeyError> {
    let malformed = || KeyError(format!("{text:?} is not a duration in seconds of fixed width"));
    let (seconds, nanos) = text.split_once('.').ok_or_else(malformed)?;
    if nanos.len() != 9 || !nanos.bytes().all(|b| b.is_ascii_digit()) {
        return Err(malformed());
    }
    let seconds = S::from_key(Cow::Borrowed(seconds)).map_err(|_| malformed())?;
    Ok((seconds, nanos.parse().map_err(|_| malformed())?))
}

impl KeyPart for Duration {
    const WIDTH: Option<usize> = Some(30);

    fn form() -> ValueForm {
        ValueForm::named("duration")
    }

    fn to_key(&self) -> Result<Cow<'_, str>, KeyError> {
        seconds_key(&self.as_secs(), self.subsec_nanos())
    }

    fn from_key(text: Cow<'_, str>) -> Result<Self, KeyError> {
        from_seconds_key(&text).map(|(seconds, nanos)| Self::new(seconds, nanos))
    }
}

/// Seconds rounded down, and the nanoseconds since then: -0.5 s is -1 s and 500,000,000 ns.
impl KeyPart for TimeDelta {
    const WIDTH: Option<usize> = Some(30);

    fn form() -> ValueForm {
        ValueForm::named("signed duration")
    }

    fn to_key(&self) -> Result<Cow<'_, str>, KeyError> {
        let nanos = self.subsec_nanos();
        let borrowed = nanos < 0;
        let seconds = self.num_seconds() - i64::from(borrowed);
        let nanos = if borrowed { nanos + 1_000_000_000 } else { nanos };
        seconds_key(&seconds, nanos.unsigned_abs())
    }

    fn from_key(text: Cow<'_, str>) -> Result<Self, KeyError> {
        let (seconds, nanos) = from_seconds_key(&text)?;
        Self::new(seconds, nanos)
            .ok_or_else(|| KeyError(format!("{text:?} is beyond the durations of chrono")))
    }
}

/// A key whose text has ticks of 100 ns, for `#[table(on_inexact = "error")]`.
#[diagnostic::on_unimplemented(
    message = "a key of type `{Self}` is always exact",
    label = "not a time with a fraction of a second",
    note = "`on_inexact` is for keys of type DateTime<Utc> or NaiveDateTime, and Descending of one"
)]
#[doc(hidden)]
pub trait TickKey {
    /// Whether the value has digits that the text does not have.
    fn is_inexact(&self) -> bool;

    /// Refuses a time that a key would not hold: with digits below 100 ns, or in a leap second.
    fn check_ticks(&self, name: &str) -> Result<(), KeyError> {
        if self.is_inexact() {
            return Err(KeyError::new(format!(
                "{name} has digits below 100 ns, or is in a leap second, which a key does not hold \
                 (`trunc_subsecs(7)` of chrono removes the digits)"
            )));
        }
        Ok(())
    }
}

impl TickKey for DateTime<Utc> {
    fn is_inexact(&self) -> bool {
        DateTimeValue::is_inexact(self)
    }
}

impl TickKey for NaiveDateTime {
    fn is_inexact(&self) -> bool {
        DateTimeValue::is_inexact(self)
    }
}

impl<T: TickKey> TickKey for Descending<T> {
    fn is_inexact(&self) -> bool {
        self.0.is_inexact()
    }
}

#[diagnostic::do_not_recommend]
impl<T: TickKey> TickKey for &T {
    fn is_inexact(&self) -> bool {
        (**self).is_inexact()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::{keeps_order, key};
    use super::*;
    use crate::edm::TableValue;

    #[test]
    fn texts_of_times_and_durations() {
        let time: DateTime<Utc> = "2009-04-14T01:02:03.5Z".parse().unwrap();
        assert_eq!(key(&time.naive_utc()), "2009-04-14T01:02:03.5000000");
        assert_eq!(key(&Descending(time.naive_utc())), key(&Descending(time)));
        assert_eq!(key(&Duration::new(93_784, 500_000_000)), "00000000000000093784.500000000");
        assert_eq!(key(&TimeDelta::milliseconds(-500)), "-9223372036854775807.500000000");
        assert_eq!(key(&TimeDelta::milliseconds(500)), "00000000000000000000.500000000");
    }

    #[test]
    fn a_text_that_is_not_written_is_not_read() {
        fn refused<T: KeyPart>(texts: &[&str]) {
            for text in texts {
                assert!(T::from_key((*text).into()).is_err(), "{text}");
            }
        }
        refused::<NaiveDateTime>(&[
            "2009-04-14T01:02:03.5000000Z",
            "2009-04-14T01:02:03",
            "2009-04-14T01:02:03.500000000",
            "2009-04-14",
        ]);
        refused::<Duration>(&[
            "",
            "5",
            "00000000000000000005",
            "00000000000000000005.5",
            "00000000000000000005.5000000000",
            "-9223372036854775807.500000000",
            "00000000000000000005.+00000000",
        ]);
        refused::<TimeDelta>(&["09223372036854775807.000000000", "00000000000000000005.5"]);
    }

    #[test]
    fn digits_that_a_key_does_not_hold_are_detected() {
        let time: DateTime<Utc> = "2009-04-14T01:02:03.123456789Z".parse().unwrap();
        assert!(TickKey::is_inexact(&Descending(time)));
        let exact = DateTime::<Utc>::from_key(time.to_key().unwrap()).unwrap();
        assert!(!TickKey::is_inexact(&Descending(exact)));
        assert!(!TickKey::is_inexact(&exact.naive_utc()));
    }

    #[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
    struct Points(i16);

    impl TableValue for Points {
        type Inner = i16;

        fn inner(&self) -> &i16 {
            &self.0
        }

        fn from_inner(inner: i16) -> Self {
            Self(inner)
        }
    }

    fn naive() -> impl Strategy<Value = NaiveDateTime> {
        (EdmDateTime::MIN.ticks()..=EdmDateTime::MAX.ticks())
            .prop_map(|ticks| EdmDateTime::from_ticks(ticks).unwrap().to_chrono().naive_utc())
    }

    fn delta() -> impl Strategy<Value = TimeDelta> {
        let near = (-3_000_000_000_i64..3_000_000_000).prop_map(TimeDelta::nanoseconds);
        let far = (-i64::MAX..=i64::MAX).prop_map(TimeDelta::milliseconds);
        prop_oneof![near, far, Just(TimeDelta::MIN), Just(TimeDelta::MAX)]
    }

    proptest! {
        #[test]
        fn order_of_times_without_a_zone(a in naive(), b in naive()) {
            keeps_order(&a, &b, a.cmp(&b));
            keeps_order(&Descending(a), &Descending(b), b.cmp(&a));
        }

        #[test]
        fn order_of_durations(a: (u64, u32), b: (u64, u32), c in delta(), d in delta()) {
            let [a, b] = [a, b].map(|(secs, nanos)| Duration::new(secs, nanos % 1_000_000_000));
            keeps_order(&a, &b, a.cmp(&b));
            keeps_order(&c, &d, c.cmp(&d));
        }

        #[test]
        fn order_of_newtypes(a: i16, b: i16) {
            keeps_order(&Points(a), &Points(b), a.cmp(&b));
            keeps_order(&Descending(Points(a)), &Descending(Points(b)), b.cmp(&a));
        }
    }
}
