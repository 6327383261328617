//! Date-times and dates as keys, oldest first.

use std::borrow::Cow;

use chrono::{DateTime, NaiveDate, Utc};

use super::{KeyError, KeyPart};
use crate::edm::EdmDateTime;

impl KeyPart for EdmDateTime {
    const WIDTH: Option<usize> = Some(28);

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

    fn to_key(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Owned(EdmDateTime::from_chrono(*self)?.to_string()))
    }

    fn from_key(text: Cow<'_, str>) -> Result<Self, KeyError> {
        EdmDateTime::from_key(text).map(EdmDateTime::to_chrono)
    }
}

impl KeyPart for NaiveDate {
    const WIDTH: Option<usize> = Some(10);

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
