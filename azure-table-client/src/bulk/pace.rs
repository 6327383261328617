//! How fast the rows of a partition are sent, and how many slices are on their way at once. No I/O: time
//! is an argument.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// What the service promises a partition, in entities a second.
///
/// Source: [Scalability and performance targets](https://learn.microsoft.com/azure/storage/tables/scalability-targets).
const PROMISED: f64 = 2000.0;
/// The slowest that a partition is made, in entities a second; pauses are what makes it slower.
const SLOWEST: f64 = 100.0;
/// What is left of a rate that was too high.
const BACK: f64 = 0.95;
/// A rate grows as TCP CUBIC does, by this share of it times the cube of the seconds since it was cut:
/// slowly near what was too much, and fast where that was long ago. 5 % takes 3 s, twice 8 s.
const GROWTH: f64 = 0.002;
/// After so many seconds it grows no more, which only keeps the numbers small.
const GROWS_FOR: f64 = 60.0;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A timer that wakes late does not slow the rate down.
const SLACK: Duration = Duration::from_millis(20);

/// The pace of one partition: as fast as it goes until the service throttles, then below the rate
/// at which it did.
#[derive(Debug, Default)]
pub(super) struct Pace {
    sent: Recent,
    done: Recent,
    rate: Option<Rate>,
    free_at: Option<Instant>,
    pause: Option<Instant>,
    /// How often it was throttled since anything was done.
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

impl Pace {
    /// When the next rows may be sent.
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

    /// Rows that were sent at `sent_at` were throttled. Whether this says anything new: slices that
    /// were on their way when the rate was cut tell the same again.
    pub(super) fn throttled(&mut self, now: Instant, sent_at: Instant, rows: u32) -> bool {
        self.sent.remove(sent_at, rows);
        if self.rate.as_ref().is_some_and(|rate| sent_at < rate.since) {
            return false;
        }
        let present = self.rate.as_ref().map(|rate| rate.at(now));
        let done = f64::from(self.done.total(now));
        let entities = if done > 0.0 {
            // What the first rows came to may be little only because there was no time for more.
            BACK * present.map_or_else(|| done.max(PROMISED), |rate| rate.min(done))
        } else {
            // The service took nothing yet, which is no measure.
            present.map_or(BACK * PROMISED, |rate| rate / 2.0)
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

    /// Sends nothing before that.
    pub(super) fn pause_until(&mut self, at: Instant) {
        self.pause = Some(self.pause.map_or(at, |pause| pause.max(at)));
    }

    /// Whether there is nothing to remember of a partition without rows.
    pub(super) fn is_fresh(&self, now: Instant) -> bool {
        self.pause.is_none_or(|pause| pause <= now)
            && self.rate.as_ref().is_none_or(|rate| {
                now.saturating_duration_since(rate.since).as_secs_f64() >= GROWS_FOR
            })
    }
}

/// What happened in the last second.
#[derive(Debug, Default)]
struct Recent {
    /// Rows by the time at which the first of them came; those of 10 ms are one entry.
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

    /// When no more than so many rows lie within a second, if none come.
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

/// How many slices are on their way at once: one more after so many answers, 3 of 10 less where one in
/// eight of them says that a partition is throttled. That is the account, or its limit of connections;
/// one partition alone is slowed down by its [`Pace`].
#[derive(Debug)]
pub(super) struct Width {
    limit: usize,
    most: usize,
    answers: u32,
    throttled: u32,
}

/// Answers after which the width is set anew.
const ANSWERS: u32 = 16;

impl Width {
    pub(super) fn new(most: usize) -> Self {
        Self { limit: most, most, answers: 0, throttled: 0 }
    }

    pub(super) const fn limit(&self) -> usize {
        self.limit
    }

    pub(super) fn answered(&mut self, is_throttled: bool) {
        self.answers += 1;
        self.throttled += u32::from(is_throttled);
        if self.answers < ANSWERS {
            return;
        }
        self.limit = if self.throttled * 8 >= self.answers {
            (self.limit * 7 / 10).max(1)
        } else {
            (self.limit + 1).min(self.most)
        };
        (self.answers, self.throttled) = (0, 0);
    }
}
