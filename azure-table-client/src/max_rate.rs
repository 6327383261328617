//! The rate that the program sets for a bulk run or a query. No I/O: time is an argument.

use std::time::{Duration, Instant};

use crate::limits::TRANSACTION_OPERATIONS;

/// The share of the rate at which a ramp begins.
const BEGINNING: f64 = 0.1;
/// The seconds whose rows may be sent at once. A service that counts the rows of each second then accepts a run at its limit,
/// even if timers are late.
const AT_ONCE: f64 = 0.25;
/// The delay of a late timer or a slow input that later rows make up for.
const SLACK: Duration = Duration::from_millis(100);

/// The maximum rate of a run, and the time within which it is reached.
#[derive(Debug)]
pub(crate) struct MaxRate {
    /// Rows per second.
    rows: f64,
    ramp: Duration,
    begun: Option<Instant>,
    free_at: Option<Instant>,
}

impl MaxRate {
    pub(crate) fn new(rows_per_second: u32, ramp: Duration) -> Self {
        Self { rows: rows_per_second.max(1).into(), ramp, begun: None, free_at: None }
    }

    /// Returns the rate at this time, in rows per second.
    fn at(&self, now: Instant) -> f64 {
        let since = self.begun.map_or(Duration::ZERO, |begun| now.saturating_duration_since(begun));
        let share =
            if since < self.ramp { since.as_secs_f64() / self.ramp.as_secs_f64() } else { 1.0 };
        self.rows * (BEGINNING + (1.0 - BEGINNING) * share)
    }

    /// Returns the time at which the next rows may be sent.
    pub(crate) fn next_at(&self, now: Instant) -> Instant {
        self.free_at.map_or(now, |free| free.max(now))
    }

    /// Returns the number of rows that may be sent at once: at most those of a transaction.
    pub(crate) fn rows_at_once(&self, now: Instant) -> usize {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
        let rows = (AT_ONCE * self.at(now)) as usize;
        rows.clamp(1, TRANSACTION_OPERATIONS)
    }

    pub(crate) fn sent(&mut self, now: Instant, rows: u32) {
        self.begun.get_or_insert(now);
        let gap = Duration::from_secs_f64(f64::from(rows) / self.at(now));
        let start = now.checked_sub(SLACK).unwrap_or(now);
        self.free_at = Some(self.free_at.map_or(now, |free| free.max(start)) + gap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the rows that are sent in each second, if as many are sent as are allowed.
    fn rows_by_second(rate: u32, ramp: u64, seconds: usize) -> Vec<u32> {
        let start = Instant::now();
        let mut limit = MaxRate::new(rate, Duration::from_secs(ramp));
        let mut rows = vec![0; seconds];
        let mut now = start;
        loop {
            // Timers are late.
            now = limit.next_at(now) + Duration::from_millis(1);
            let second = usize::try_from(now.duration_since(start).as_secs()).unwrap();
            let Some(sum) = rows.get_mut(second) else { return rows };
            let sent = u32::try_from(limit.rows_at_once(now)).unwrap();
            *sum += sent;
            limit.sent(now, sent);
        }
    }

    #[test]
    fn a_run_has_its_rate() {
        for rate in [1, 7, 100, 150, 2_000, 20_000, 50_000] {
            let rows = rows_by_second(rate, 0, 60);
            let (all, most, at_once) =
                (rows.iter().sum::<u32>(), 60 * rate, (rate / 4).clamp(1, 100));
            assert!(all > most - most / 50 - 1 && all <= most + at_once, "{rate}: {all}");
            assert!(rows.iter().all(|sum| *sum <= rate + at_once), "{rate}: {rows:?}");
        }
        assert_eq!(rows_by_second(0, 0, 3), [1, 1, 1]);
    }

    #[test]
    fn the_rate_grows_from_a_tenth() {
        let rows = rows_by_second(2_000, 10, 15);
        assert!((200..400).contains(&rows[0]), "{rows:?}");
        assert!((1_000..1_200).contains(&rows[4]), "{rows:?}");
        assert!(rows.is_sorted_by(|one, next| *one <= next + 100), "{rows:?}");
        assert!(rows[10..].iter().all(|sum| (1_900..=2_100).contains(sum)), "{rows:?}");
    }

    #[test]
    fn a_late_run_does_not_catch_up() {
        let mut limit = MaxRate::new(1_000, Duration::ZERO);
        let start = Instant::now();
        limit.sent(start, 100);
        let now = start + Duration::from_secs(10);
        assert_eq!(limit.next_at(now), now);
        limit.sent(now, 100);
        limit.sent(now, 100);
        assert_eq!(limit.next_at(now) + SLACK, now + Duration::from_millis(200));
    }

    #[test]
    fn extreme_rates_do_not_panic() {
        for ramp in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX] {
            for rate in [0, u32::MAX] {
                let mut limit = MaxRate::new(rate, ramp);
                let now = Instant::now();
                limit.sent(now, u32::MAX);
                assert!(limit.next_at(now) >= now && limit.rows_at_once(now) >= 1);
            }
        }
    }
}
