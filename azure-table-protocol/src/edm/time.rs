//! The date and time types of chrono as DateTime properties.

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, Timelike as _, Utc};

use super::ValueForm;
use super::{ConvertError, DateTimeError, EdmCow, EdmDateTime, EdmType, FromEdm, ToEdm};

/// A time that a DateTime property holds, for `#[table(on_inexact = "error")]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a time that could be inexact",
    label = "not a time with a fraction of a second",
    note = "`on_inexact` is for DateTime<Utc> and NaiveDateTime, whose digits below 100 ns a DateTime property does not hold"
)]
#[doc(hidden)]
pub trait DateTimeValue: Sized {
    /// Whether the value differs from the one that is read back: it has digits below 100 ns, or is in a leap second.
    fn is_inexact(&self) -> bool;

    /// Returns the ticks, without the digits below them.
    fn to_ticks(&self) -> Result<EdmDateTime, ConvertError>;

    /// Returns the value of these ticks.
    fn from_ticks(ticks: EdmDateTime) -> Self;
}

impl DateTimeValue for DateTime<Utc> {
    fn is_inexact(&self) -> bool {
        // In a leap second, chrono counts on to 2,000,000,000 ns.
        !self.nanosecond().is_multiple_of(100) || self.nanosecond() >= 1_000_000_000
    }

    fn to_ticks(&self) -> Result<EdmDateTime, ConvertError> {
        Ok(EdmDateTime::from_chrono(*self)?)
    }

    fn from_ticks(ticks: EdmDateTime) -> Self {
        ticks.to_chrono()
    }
}

/// A time without a zone counts as UTC.
impl DateTimeValue for NaiveDateTime {
    fn is_inexact(&self) -> bool {
        self.and_utc().is_inexact()
    }

    fn to_ticks(&self) -> Result<EdmDateTime, ConvertError> {
        self.and_utc().to_ticks()
    }

    fn from_ticks(ticks: EdmDateTime) -> Self {
        ticks.to_chrono().naive_utc()
    }
}

macro_rules! date_time {
    ($($type:ty),*) => {$(
        impl ToEdm for $type {
            const EDM_TYPE: EdmType = EdmType::DateTime;

            fn form() -> ValueForm {
                ValueForm::named("date-time")
            }

            fn to_edm(&self) -> Result<Option<EdmCow<'_>>, ConvertError> {
                Ok(Some(EdmCow::DateTime(self.to_ticks()?)))
            }
        }

        impl FromEdm for $type {
            const EDM_TYPE: EdmType = EdmType::DateTime;

            fn from_edm(value: EdmCow<'_>) -> Result<Self, ConvertError> {
                EdmDateTime::from_edm(value).map(Self::from_ticks)
            }
        }
    )*};
}

date_time!(DateTime<Utc>, NaiveDateTime);

/// A date is stored as its midnight in UTC.
impl ToEdm for NaiveDate {
    const EDM_TYPE: EdmType = EdmType::DateTime;

    fn form() -> ValueForm {
        ValueForm::named("date")
    }

    fn to_edm(&self) -> Result<Option<EdmCow<'_>>, ConvertError> {
        let midnight = self.and_time(NaiveTime::MIN).and_utc();
        let ticks = EdmDateTime::from_chrono(midnight).map_err(|error| match error {
            DateTimeError::OutOfRange => {
                ConvertError::OutOfRange { value: self.to_string(), target: "Edm.DateTime" }
            }
            other => other.into(),
        })?;
        Ok(Some(EdmCow::DateTime(ticks)))
    }
}

impl FromEdm for NaiveDate {
    const EDM_TYPE: EdmType = EdmType::DateTime;

    fn from_edm(value: EdmCow<'_>) -> Result<Self, ConvertError> {
        let time = EdmDateTime::from_edm(value)?;
        let chrono = time.to_chrono();
        if chrono.time() == NaiveTime::MIN {
            return Ok(chrono.date_naive());
        }
        Err(ConvertError::Other(format!("{} is not the midnight of a date", time.trimmed())))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stored(value: &impl ToEdm) -> EdmDateTime {
        let Some(EdmCow::DateTime(time)) = value.to_edm().unwrap() else { panic!("a DateTime") };
        time
    }

    #[test]
    fn a_date_is_its_midnight_and_no_other_time() {
        let date = NaiveDate::from_ymd_opt(2009, 4, 14).unwrap();
        assert_eq!(stored(&date).to_string(), "2009-04-14T00:00:00.0000000Z");
        let later: EdmDateTime = "2009-04-14T00:00:00.0000001Z".parse().unwrap();
        let error = NaiveDate::from_edm(EdmCow::DateTime(later)).unwrap_err().to_string();
        assert_eq!(error, "2009-04-14T00:00:00.0000001Z is not the midnight of a date");
        let error = NaiveDate::from_ymd_opt(1600, 12, 31).unwrap().to_edm().unwrap_err();
        assert_eq!(error.to_string(), "1600-12-31 does not fit Edm.DateTime without loss");
    }

    #[test]
    fn digits_below_ticks_are_dropped_and_can_be_detected() {
        let time: NaiveDateTime = "2009-04-14T01:02:03.456789199".parse().unwrap();
        assert_eq!(stored(&time).to_string(), "2009-04-14T01:02:03.4567891Z");
        assert!(time.is_inexact() && time.and_utc().is_inexact());
        let exact = NaiveDateTime::from_ticks(stored(&time));
        assert!(!exact.is_inexact());
    }

    #[test]
    fn a_leap_second_is_inexact() {
        let time: DateTime<Utc> = "2016-12-31T23:59:60.5Z".parse().unwrap();
        assert_eq!(stored(&time).to_string(), "2017-01-01T00:00:00.5000000Z");
        assert!(time.is_inexact() && time.naive_utc().is_inexact());
    }

    proptest! {
        #[test]
        fn every_tick_is_read_back(
            ticks in EdmDateTime::MIN.ticks()..=EdmDateTime::MAX.ticks()
        ) {
            let ticks = EdmDateTime::from_ticks(ticks).unwrap();
            let naive = NaiveDateTime::from_edm(EdmCow::DateTime(ticks)).unwrap();
            prop_assert_eq!(stored(&naive), ticks);
            let date = naive.date();
            let Some(midnight) = date.to_edm().unwrap() else { panic!("a value") };
            prop_assert_eq!(NaiveDate::from_edm(midnight).unwrap(), date);
        }
    }
}
