//! Limits the rate at which a command reads the rows of a table.

use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt as _};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::args::Rate;

/// The maximum number of rows that pass at once.
const ROWS_AT_ONCE: f64 = 100.0;
/// The seconds whose rows pass at once, up to this maximum.
const AT_ONCE: f64 = 0.25;
/// The share of the rate at which a ramp begins.
const BEGINNING: f64 = 0.1;
/// The delay, for example of a slow page, that later rows make up for.
const SLACK: Duration = Duration::from_secs(1);

/// Limits the rows of one scan.
#[derive(Debug)]
pub(crate) struct Pacer(Option<Schedule>);

impl Pacer {
    pub(crate) fn new(rate: Rate) -> Self {
        Self(rate.limit().map(|(rows, ramp)| Schedule::new(rows, ramp)))
    }

    /// Counts a row. It may pass after the returned wait.
    pub(crate) fn wait(&mut self) -> Option<Sleep> {
        self.0.as_mut()?.next(Instant::now()).map(sleep_until)
    }

    /// Passes the rows of a stream on at this rate. While rows wait, no further page is read.
    pub(crate) fn stream<T: Send + 'static>(
        self,
        rows: BoxStream<'static, T>,
    ) -> BoxStream<'static, T> {
        if self.0.is_none() {
            return rows;
        }
        let paced = stream::unfold((rows, self), |(mut rows, mut pacer)| async move {
            let row = rows.next().await?;
            if let Some(wait) = pacer.wait() {
                wait.await;
            }
            Some((row, (rows, pacer)))
        });
        paced.boxed()
    }
}

/// The number of rows that pass at once, and that a bulk run with this rate writes in one transaction.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
pub(crate) fn rows_at_once(rows_per_second: f64) -> u32 {
    (AT_ONCE * rows_per_second).clamp(1.0, ROWS_AT_ONCE) as u32
}

/// The times at which rows may pass. No I/O: time is an argument.
#[derive(Debug)]
struct Schedule {
    /// Rows per second.
    rate: f64,
    ramp: Duration,
    begun: Option<Instant>,
    /// The time at which the next block of rows begins.
    next: Option<Instant>,
    /// The rows of the present block that have not passed.
    left: u32,
}

impl Schedule {
    fn new(rows_per_second: u32, ramp: Duration) -> Self {
        Self { rate: rows_per_second.into(), ramp, begun: None, next: None, left: 0 }
    }

    /// Counts a row, and returns the time at which it may pass unless that is now.
    fn next(&mut self, now: Instant) -> Option<Instant> {
        if self.left > 0 {
            self.left -= 1;
            return None;
        }
        let earliest = now.checked_sub(SLACK).unwrap_or(now);
        let at = self.next.map_or(now, |next| next.max(earliest));
        let rate = self.rate_at(at);
        let rows = rows_at_once(rate);
        self.next = Some(at + Duration::from_secs_f64(f64::from(rows) / rate));
        self.left = rows - 1;
        Some(at).filter(|at| *at > now)
    }

    fn rate_at(&mut self, at: Instant) -> f64 {
        let since = at.saturating_duration_since(*self.begun.get_or_insert(at));
        if since >= self.ramp {
            return self.rate;
        }
        let share = since.as_secs_f64() / self.ramp.as_secs_f64();
        self.rate * (BEGINNING + (1.0 - BEGINNING) * share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the rows that pass in each second of virtual time.
    async fn rows_by_second(rate: u32, ramp: u64, seconds: usize) -> Vec<u32> {
        let pacer = Pacer(Some(Schedule::new(rate, Duration::from_secs(ramp))));
        let mut rows = pacer.stream(stream::repeat(()).boxed());
        let (mut counts, start) = (vec![0; seconds], Instant::now());
        while rows.next().await.is_some() {
            let second = usize::try_from(start.elapsed().as_secs()).unwrap();
            let Some(count) = counts.get_mut(second) else { break };
            *count += 1;
        }
        counts
    }

    #[tokio::test(start_paused = true)]
    async fn rows_pass_at_their_rate() {
        for rate in [1, 7, 50, 150, 2_000, 20_000] {
            let rows = rows_by_second(rate, 0, 30).await;
            let at_once = (rate / 4).clamp(1, 100);
            let (all, most) = (rows.iter().sum::<u32>(), 30 * rate);
            assert!(all > most - most / 20 - 1 && all <= most + at_once, "{rate}: {rows:?}");
            assert!(rows.iter().all(|count| *count <= rate + at_once), "{rate}: {rows:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_rate_grows_from_a_tenth() {
        let rows = rows_by_second(2_000, 10, 15).await;
        assert!((200..400).contains(&rows[0]), "{rows:?}");
        assert!((1_000..1_200).contains(&rows[4]), "{rows:?}");
        assert!(rows.is_sorted_by(|one, next| *one <= next + 100), "{rows:?}");
        assert!(rows[10..].iter().all(|count| (1_900..=2_100).contains(count)), "{rows:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn rows_make_up_for_a_short_delay_only() {
        let mut schedule = Schedule::new(100, Duration::ZERO);
        let mut passed = |now: Instant| {
            let mut rows = 0;
            while schedule.next(now).is_none() {
                rows += 1;
            }
            rows
        };
        let start = Instant::now();
        assert_eq!(passed(start), 25);
        // The row that has to wait begins the second block.
        assert_eq!(passed(start + Duration::from_secs(60)), 24 + 125);
    }

    #[tokio::test(start_paused = true)]
    async fn a_scan_without_a_rate_does_not_wait() {
        let start = Instant::now();
        let rows = Pacer(None).stream(stream::repeat(()).take(1_000_000).boxed());
        assert_eq!(rows.count().await, 1_000_000);
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn extreme_rates_do_not_panic() {
        for ramp in [Duration::from_millis(1), Duration::from_millis(u64::MAX)] {
            for rate in [1, u32::MAX] {
                let mut schedule = Schedule::new(rate, ramp);
                let now = Instant::now();
                for _ in 0..1_000 {
                    schedule.next(now);
                }
                assert!(schedule.next.is_some_and(|next| next > now));
            }
        }
    }
}
