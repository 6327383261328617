//! The rate at which the rows of a partition are sent. No I/O: time is an argument.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The documented throughput of a partition, in entities per second.
///
/// Source: [Scalability and performance targets](https://learn.microsoft.com/azure/storage/tables/scalability-targets).
const DOCUMENTED: f64 = 2000.0;
/// The lowest rate of a partition, in entities per second; only pauses make it slower.
const SLOWEST: f64 = 100.0;
/// The factor by which a rate is reduced that was too high.
const REDUCTION: f64 = 0.95;
/// A rate grows like in TCP CUBIC, by this share times the cube of the seconds since it was reduced: slowly near the
/// rate that was too high, and fast long after. It grows by 5 % in 3 s, and doubles in 8 s.
const GROWTH: f64 = 0.002;
/// The seconds after which a rate stops growing, which keeps the numbers small.
const GROWS_FOR: f64 = 60.0;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The delay of a late timer that does not reduce the rate.
const SLACK: Duration = Duration::from_millis(20);

/// The rate limit of one partition: unlimited until the service throttles, then below the rate at which it did.
#[derive(Debug, Default)]
pub(super) struct RateLimit {
    sent: Recent,
    done: Recent,
    rate: Option<Rate>,
    free_at: Option<Instant>,
    pause: Option<Instant>,
    /// The number of times that it was throttled since the last success.
    setbacks: u32,
}

#[derive(Debug)]
struct Rate {
    entities: f64,
    since: Instant,
}

impl Rate {
    fn at(&self, now: Instant) -> f64 {
        let seconds = now.saturating_duration_since(self.since).as_secs_f64().min(GROWS_FOR);
        self.entities * (1.0 + GROWTH * seconds.powi(3))
    }
}

impl RateLimit {
    /// Returns the time at which the next rows may be sent.
    pub(super) fn next_at(&mut self, now: Instant) -> Instant {
        let mut at = self.pause.map_or(now, |pause| pause.max(now));
        if let Some(rate) = &self.rate {
            at = self.free_at.map_or(at, |free| free.max(at));
            at = at.max(self.sent.falls_to(now, rate.at(now)));
        }
        at
    }

    pub(super) fn sent(&mut self, now: Instant, rows: u32) {
        self.sent.add(now, rows);
        if let Some(rate) = &self.rate {
            let gap = Duration::from_secs_f64(f64::from(rows) / rate.at(now));
            let start = now.checked_sub(SLACK).unwrap_or(now);
            self.free_at = Some(self.free_at.map_or(now, |free| free.max(start)) + gap);
        }
    }

    pub(super) fn done(&mut self, now: Instant, rows: u32) {
        self.done.add(now, rows);
        self.setbacks = 0;
    }

    /// Records that rows which were sent at `sent_at` were throttled. Returns `false` for rows that were in flight when
    /// the rate was reduced.
    pub(super) fn throttled(&mut self, now: Instant, sent_at: Instant, rows: u32) -> bool {
        self.sent.remove(sent_at, rows);
        if self.rate.as_ref().is_some_and(|rate| sent_at < rate.since) {
            return false;
        }
        let present = self.rate.as_ref().map(|rate| rate.at(now));
        let done = f64::from(self.done.total(now));
        let entities = if done > 0.0 {
            // The first second may have applied few rows only because it was not over.
            REDUCTION * present.map_or_else(|| done.max(DOCUMENTED), |rate| rate.min(done))
        } else {
            // The service applied nothing yet.
            present.map_or(REDUCTION * DOCUMENTED, |rate| rate / 2.0)
        };
        self.rate = Some(Rate { entities: entities.max(SLOWEST), since: now });
        self.free_at = None;
        if self.setbacks > 0 || done <= 0.0 {
            let longest = FIRST_PAUSE.saturating_mul(1 << self.setbacks.min(10)).min(LONGEST_PAUSE);
            self.pause_until(now + longest.mul_f64(0.5 + 0.5 * fastrand::f64()));
        }
        self.setbacks = self.setbacks.saturating_add(1);
        true
    }

    /// Sends nothing before `at`.
    pub(super) fn pause_until(&mut self, at: Instant) {
        self.pause = Some(self.pause.map_or(at, |pause| pause.max(at)));
    }

    /// Whether a partition without rows has the limit of a new one.
    pub(super) fn is_fresh(&self, now: Instant) -> bool {
        self.pause.is_none_or(|pause| pause <= now)
            && self.rate.as_ref().is_none_or(|rate| {
                now.saturating_duration_since(rate.since).as_secs_f64() >= GROWS_FOR
            })
    }
}

/// The rows of the last second.
#[derive(Debug, Default)]
struct Recent {
    /// The number of rows by time; 10 ms are one entry.
    entries: VecDeque<(Instant, u32)>,
    total: u32,
}

const SECOND: Duration = Duration::from_secs(1);
const ENTRY: Duration = Duration::from_millis(10);

impl Recent {
    fn add(&mut self, now: Instant, rows: u32) {
        self.forget(now);
        match self.entries.back_mut() {
            Some((start, count)) if now.saturating_duration_since(*start) < ENTRY => *count += rows,
            _ => self.entries.push_back((now, rows)),
        }
        self.total += rows;
    }

    fn remove(&mut self, at: Instant, rows: u32) {
        let entry = self.entries.iter_mut().rev().find(|(start, _)| *start <= at);
        if let Some((_, count)) = entry {
            let removed = rows.min(*count);
            *count -= removed;
            self.total -= removed;
        }
    }

    fn forget(&mut self, now: Instant) {
        while let Some(&(start, rows)) = self.entries.front()
            && start + SECOND <= now
        {
            self.total -= rows;
            self.entries.pop_front();
        }
    }

    fn total(&mut self, now: Instant) -> u32 {
        self.forget(now);
        self.total
    }

    /// Returns the time at which the last second will contain at most `most` rows, if no row is added.
    fn falls_to(&mut self, now: Instant, most: f64) -> Instant {
        let mut left = self.total(now);
        let mut at = now;
        for (start, rows) in &self.entries {
            if f64::from(left) <= most {
                break;
            }
            left -= rows;
            at = *start + SECOND;
        }
        at
    }
}
