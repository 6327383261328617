//! Periods of the calendar (UTC) and their names. No I/O.

use std::ops::Range;

use chrono::{DateTime, Datelike as _, Days, Months, NaiveDate, NaiveTime, Utc};

/// The time whose rows are in one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Period {
    /// From midnight to midnight, UTC. The suffix of the table is the date: `20261123`.
    Day,
    /// From Monday to Sunday, UTC. The suffix of the table is the week of ISO 8601: `2026W48`.
    Week,
    /// A month of the calendar, UTC. The suffix of the table is year and month: `202611`.
    Month,
}

impl Period {
    /// The first day of the period that contains `date`; `None` outside the years 1601 to 9998.
    pub(super) fn first_day(self, date: NaiveDate) -> Option<NaiveDate> {
        if !(1601..=9998).contains(&date.year()) {
            return None;
        }
        match self {
            Self::Day => Some(date),
            Self::Week => {
                date.checked_sub_days(Days::new(date.weekday().num_days_from_monday().into()))
            }
            Self::Month => date.with_day(1),
        }
    }

    /// The first day of the next period.
    pub(super) fn next(self, first_day: NaiveDate) -> Option<NaiveDate> {
        match self {
            Self::Day => first_day.succ_opt(),
            Self::Week => first_day.checked_add_days(Days::new(7)),
            Self::Month => first_day.checked_add_months(Months::new(1)),
        }
    }

    /// The end of a table's name. It begins with a digit, so that the prefix, which ends with a letter, is known.
    pub(super) fn suffix(self, first_day: NaiveDate) -> String {
        let week = first_day.iso_week();
        match self {
            Self::Day => first_day.format("%Y%m%d").to_string(),
            Self::Week => format!("{:04}W{:02}", week.year(), week.week()),
            Self::Month => first_day.format("%Y%m").to_string(),
        }
    }

    /// Reads a suffix; `None` if it is not exactly the suffix of a period of this kind.
    pub(super) fn parse(self, suffix: &str) -> Option<NaiveDate> {
        let number = |range: Range<usize>| suffix.get(range)?.parse::<u32>().ok();
        let year = i32::try_from(number(0..4)?).ok()?;
        let day = match self {
            Self::Day => NaiveDate::from_ymd_opt(year, number(4..6)?, number(6..8)?)?,
            Self::Week => NaiveDate::from_isoywd_opt(year, number(5..7)?, chrono::Weekday::Mon)?,
            Self::Month => NaiveDate::from_ymd_opt(year, number(4..6)?, 1)?,
        };
        let day = self.first_day(day)?;
        self.suffix(day).eq_ignore_ascii_case(suffix).then_some(day)
    }
}

/// The first instant of a day.
pub(super) fn midnight(day: NaiveDate) -> DateTime<Utc> {
    day.and_time(NaiveTime::MIN).and_utc()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Period; 3] = [Period::Day, Period::Week, Period::Month];

    fn date(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    #[test]
    fn periods_cover_the_calendar_without_gaps() {
        for period in ALL {
            let mut day = period.first_day(date("2019-12-01")).unwrap();
            while day < date("2033-02-01") {
                let next = period.next(day).unwrap();
                let mut inside = day;
                while inside < next {
                    assert_eq!(period.first_day(inside), Some(day));
                    inside = inside.succ_opt().unwrap();
                }
                assert_eq!(period.parse(&period.suffix(day)), Some(day));
                assert!(period.suffix(day) < period.suffix(next), "names are in the order of time");
                day = next;
            }
        }
    }

    #[test]
    fn suffixes() {
        let suffixes = |day| ALL.map(|period| period.suffix(period.first_day(date(day)).unwrap()));
        assert_eq!(suffixes("2026-11-23"), ["20261123", "2026W48", "202611"]);
        assert_eq!(suffixes("2027-01-01"), ["20270101", "2026W53", "202701"]);
        assert_eq!(Period::Day.first_day(date("9999-01-01")), None);
    }

    #[test]
    fn other_suffixes_are_not_read() {
        for text in [
            "",
            "2026",
            "20261323",
            "2026112",
            "202611230",
            "2026-1-1",
            "+2261123",
            "20261123x",
            "2026W54",
            "2026W00",
            "2026W4",
            "2026W480",
            "2025W53",
            "2026X48",
            "202613",
            "20261",
            "2026é1",
            "0000W01",
        ] {
            for period in ALL {
                assert_eq!(period.parse(text), None, "{text} {period:?}");
            }
        }
        assert_eq!(Period::Week.parse("2026w48"), Some(date("2026-11-23")));
    }
}
