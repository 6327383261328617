//! The responses at one rate.

use std::time::Duration;

/// The share of throttled responses above which a rate counts as throttled, in percent.
const THROTTLED_PERCENT: usize = 1;
/// The share of the due requests below which the requests in flight count as too many, in percent.
const SENT_PERCENT: u64 = 90;

/// Returns the number of requests of `rows` rows each that `rate`, in rows per second, requires in this time. The first
/// request is due after half of the interval between requests, so that the number is rounded to the nearest.
pub(super) fn due(rate: u64, rows: u64, time: Duration) -> u64 {
    let halves = 2 * u128::from(rate) * time.as_micros() / (1_000_000 * u128::from(rows.max(1)));
    u64::try_from(halves.div_ceil(2)).unwrap_or(u64::MAX)
}

/// Returns the time from the start of the step at which the next request is due, after this number of requests.
pub(super) fn due_at(rate: u64, rows: u64, requests: u64) -> Duration {
    let halves = 2 * u128::from(requests) + 1;
    let micros = halves * u128::from(rows) * 500_000;
    let micros = micros.div_ceil(u128::from(rate.max(1)));
    Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
}

/// The responses at one rate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Step {
    /// The requested rows per second.
    pub(super) rate: u64,
    /// The rows of each request.
    pub(super) rows: u64,
    /// The time in which requests were sent.
    pub(super) time: Duration,
    /// The requests that the rate requires.
    pub(super) due: u64,
    /// The requests that were sent.
    pub(super) sent: u64,
    /// The requests that the service throttled.
    pub(super) throttled: usize,
    /// The times of the successful requests.
    pub(super) latencies: Vec<Duration>,
}

impl Step {
    /// Returns the requests that succeeded.
    pub(super) fn applied(&self) -> usize {
        self.latencies.len()
    }

    /// Returns the rows per second of the requests that succeeded.
    pub(super) fn rows_per_second(&self) -> u64 {
        let rows = self.applied() as u128 * u128::from(self.rows);
        let rate = (rows * 1_000_000).checked_div(self.time.as_micros()).unwrap_or_default();
        u64::try_from(rate).unwrap_or(u64::MAX)
    }

    pub(super) fn is_throttled(&self) -> bool {
        self.throttled * 100 > (self.throttled + self.applied()) * THROTTLED_PERCENT
    }

    /// Returns whether clearly fewer requests were sent than the rate requires, because too many were in flight.
    pub(super) fn is_saturated(&self) -> bool {
        self.sent * 100 < self.due * SENT_PERCENT
    }

    /// Returns the share of throttled responses in thousandths.
    pub(super) fn throttled_permille(&self) -> usize {
        (self.throttled * 1000).checked_div(self.throttled + self.applied()).unwrap_or_default()
    }

    /// Returns the time that this percentage of the successful requests did not exceed; `None` without any.
    pub(super) fn percentile(&self, percent: usize) -> Option<Duration> {
        let mut latencies = self.latencies.clone();
        latencies.sort_unstable();
        let rank = (latencies.len() * percent).div_ceil(100);
        latencies.get(rank.saturating_sub(1)).copied()
    }

    /// Adds the responses of another time at the same rate.
    pub(super) fn with(mut self, other: &Self) -> Self {
        self.time += other.time;
        self.due += other.due;
        self.sent += other.sent;
        self.throttled += other.throttled;
        self.latencies.extend(&other.latencies);
        Self { rate: other.rate, rows: other.rows, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_due_at_its_time_and_not_before() {
        for (rate, rows) in [(1, 1), (250, 1), (299, 100), (5_000, 100), (100_000, 1)] {
            for requests in [0, 1, 7, 1_000] {
                let at = due_at(rate, rows, requests);
                assert_eq!(due(rate, rows, at), requests + 1, "{rate} by {rows}");
                let before = at.saturating_sub(Duration::from_micros(1));
                assert_eq!(due(rate, rows, before), requests, "{rate} by {rows}");
            }
            assert_eq!(due(rate, rows, Duration::from_secs(1_000)), rate * 1_000 / rows);
        }
    }

    #[test]
    fn percentiles_are_times_of_requests() {
        let latencies = (1..=200).rev().map(Duration::from_millis).collect();
        let step = Step {
            latencies,
            throttled: 50,
            rows: 100,
            time: Duration::from_secs(10),
            ..Step::default()
        };
        let of = |percent| step.percentile(percent).unwrap().as_millis();
        assert_eq!([0, 1, 50, 99, 100].map(of), [1, 2, 100, 198, 200]);
        assert_eq!(Step::default().percentile(50), None);
        assert_eq!((step.rows_per_second(), step.throttled_permille()), (2_000, 200));
        assert_eq!(Step::default().rows_per_second(), 0);
    }
}
