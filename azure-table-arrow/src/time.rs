//! Date-times of the service in the units of Arrow.

use azure_table_client::edm::{DateTimeError, EdmDateTime};

/// Ticks from 0001-01-01 to 1970-01-01.
const UNIX_EPOCH_TICKS: i64 = 621_355_968_000_000_000;

/// Returns the nanoseconds since 1970; `None` outside of 64 bits.
pub(crate) fn to_nanos(time: EdmDateTime) -> Option<i64> {
    (time.ticks() - UNIX_EPOCH_TICKS).checked_mul(100)
}

/// Returns the microseconds since 1970, rounded down.
pub(crate) const fn to_micros(time: EdmDateTime) -> i64 {
    (time.ticks() - UNIX_EPOCH_TICKS).div_euclid(10)
}

/// Returns the time `value` units after 1970, rounded down to 100 ns; a second has `per_second` units.
pub(crate) fn from_unix(value: i64, per_second: i64) -> Result<EdmDateTime, DateTimeError> {
    // Exact for seconds to nanoseconds: either number is a multiple of the other.
    let ticks = if per_second > 10_000_000 {
        Some(value.div_euclid(per_second / 10_000_000))
    } else {
        value.checked_mul(10_000_000 / per_second)
    };
    let ticks = ticks.and_then(|ticks| ticks.checked_add(UNIX_EPOCH_TICKS));
    EdmDateTime::from_ticks(ticks.ok_or(DateTimeError::OutOfRange)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_of_nanoseconds_is_exact() {
        let time = |text: &str| text.parse::<EdmDateTime>().unwrap();
        for (inside, outside) in [
            ("1677-09-21T00:12:43.1452242Z", "1677-09-21T00:12:43.1452241Z"),
            ("2262-04-11T23:47:16.8547758Z", "2262-04-11T23:47:16.8547759Z"),
        ] {
            let nanos = to_nanos(time(inside)).unwrap();
            assert_eq!(from_unix(nanos, 1_000_000_000), Ok(time(inside)));
            assert_eq!(to_nanos(time(outside)), None);
        }
    }

    #[test]
    fn microseconds_round_down_before_and_after_1970() {
        for (text, rounded) in [
            ("1601-01-01T00:00:00.0000019Z", "1601-01-01T00:00:00.000001Z"),
            ("1969-12-31T23:59:59.9999999Z", "1969-12-31T23:59:59.999999Z"),
            ("9999-12-31T23:59:59.9999999Z", "9999-12-31T23:59:59.999999Z"),
        ] {
            let micros = to_micros(text.parse().unwrap());
            assert_eq!(from_unix(micros, 1_000_000), rounded.parse());
        }
    }

    #[test]
    fn times_outside_the_service_are_refused() {
        for unit in [1, 1000, 1_000_000] {
            for value in [i64::MIN, i64::MAX] {
                assert_eq!(from_unix(value, unit), Err(DateTimeError::OutOfRange), "{unit}");
            }
        }
        assert!(from_unix(i64::MIN, 1_000_000_000).is_ok());
        assert_eq!(from_unix(-1, 1_000_000_000), "1969-12-31T23:59:59.9999999Z".parse());
    }
}
